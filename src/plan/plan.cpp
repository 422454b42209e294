#include "plan/plan.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "lower/lowered_group.h"
#include "ops/operator.h"
#include "plan/draft.h"

namespace cryolite::plan {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

void check(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    ops::require(graph, node);
    for (const auto* list : {&node.inputs, &node.outputs})
      for (ValueId id : *list)
        if (id != graph::absent && !graph.value(id).type.is_fixed())
          throw Error("has a shape that is not fixed", {.node = node.name, .value = graph.value(id).name},
                      "give every free dimension with --dim name=value");
  }
}

/// Values that leave the group: model outputs, those read by other kernels, and parents or children of views.
bool leaves(const graph::Uses& uses, const Views& views, const std::set<NodeId>& nodes, ValueId id) {
  if (uses.is_output[id] || views.parent[id] != id) return true;
  for (NodeId consumer : uses.consumers[id])
    if (views.is_view_node[consumer] || !nodes.count(consumer)) return true;
  return uses.consumers[id].empty();
}

Group make_group(const Graph& graph, const graph::Uses& uses, const Views& views,
                 const Partition::Members& members) {
  Group group;
  group.nodes = members.nodes;
  group.anchor = members.anchor;
  const std::set<NodeId> inside(members.nodes.begin(), members.nodes.end());
  std::set<ValueId> made, read;
  for (NodeId n : members.nodes)
    for (ValueId id : graph.nodes[n].outputs)
      if (id != graph::absent) made.insert(id);
  for (NodeId n : members.nodes)
    for (ValueId id : graph.nodes[n].inputs) {
      if (id == graph::absent || made.count(id) || is_compile_time(graph.value(id))) continue;
      if (graph.value(id).type.elements() > 0 && read.insert(id).second) group.inputs.push_back(id);
    }
  for (NodeId n : members.nodes)
    for (ValueId id : graph.nodes[n].outputs) {
      if (id == graph::absent) continue;
      // A node recomputed in several groups is read by nodes outside of this one too: only results speak.
      if (members.is_result(n) && leaves(uses, views, inside, id)) group.outputs.push_back(id);
    }
  const ops::Operator* op = ops::find(graph.nodes[members.anchor].op_type);
  group.strategy = op->kernel == ops::Kernel::Extern ? "extern" : "";
  return group;
}

/// Placements follow from the schedule: a node is computed where the Func of its value is.
Placement placement_of(const Graph& group, const Node& node, const schedule::GroupSchedule& schedule,
                       bool is_output) {
  Placement placement;
  placement.place = is_output ? Place::ComputeRoot : Place::Inline;
  if (is_output) return placement;
  std::string prefix;
  for (ValueId id : node.outputs)
    if (id != graph::absent && prefix.empty()) prefix = ops::identifier(group.value(id).name);
  for (const schedule::FuncSchedule& line : schedule.funcs) {
    if (line.func != prefix && !line.func.starts_with(prefix + "_")) continue;
    const std::string stage = line.func.substr(std::min(line.func.size(), prefix.size() + 1));
    if (!stage.empty() && (stage == "padded" || stage == "a" || stage == "b")) continue;
    for (const schedule::Directive& call : line.directives) {
      if (call.call == "compute_root") return {0, Place::ComputeRoot, "", 1};
      if (call.call != "compute_at" || call.arguments.size() != 2) continue;
      placement.place = Place::ComputeAt;
      placement.at = std::get<std::string>(call.arguments[0]) + "." + std::get<std::string>(call.arguments[1]);
    }
  }
  return placement;
}

void place_nodes(const Plan& plan, const Partition::Members& members, Group& group) {
  if (group.is_extern()) {
    for (NodeId n : group.nodes) group.placements.push_back({n, Place::Extern, "", 1});
    return;
  }
  const Graph own = graph_of(plan, group);
  group.strategy = schedule::strategy_of(own, plan.graph.nodes[group.anchor].name);
  const auto schedule = schedule_of(plan, group);
  for (size_t i = 0; i < group.nodes.size(); ++i) {
    Placement placement = placement_of(own, own.nodes[i], schedule, members.is_result(group.nodes[i]));
    placement.node = group.nodes[i];
    if (!members.recompute.empty()) placement.recompute = members.recompute[i];
    group.placements.push_back(placement);
  }
}

}  // namespace

std::string_view name_of(Place place) {
  switch (place) {
    case Place::Inline: return "inline";
    case Place::ComputeAt: return "compute_at";
    case Place::ComputeRoot: return "compute_root";
    case Place::Extern: return "extern";
  }
  return "";
}

bool is_compile_time(const graph::Value& value) {
  if (!value.constant) return false;
  const int64_t count = value.type.elements();
  return count == 1 || (count <= 64 && !graph::is_float(value.type.element));
}

bool Partition::Members::is_result(NodeId node) const {
  return results.empty() ? node == nodes.back() : std::count(results.begin(), results.end(), node) > 0;
}

Graph with_own_outputs(Graph graph) {
  const graph::Uses uses = graph::uses_of(graph);
  std::set<ValueId> taken;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const ValueId id = graph.outputs[i];
    if (uses.producer[id] != graph::absent && taken.insert(id).second) continue;
    graph::Value copy{graph.value(id).name + "_output" + std::to_string(i), graph.value(id).type, {}, {}};
    const std::string name = "Identity_output" + std::to_string(i);
    graph.outputs[i] = graph.add_value(std::move(copy));
    graph.add_node({name, "Identity", {id}, {graph.outputs[i]}, {}});
  }
  return graph;
}

schedule::GroupSchedule schedule_of(const Plan& plan, const Group& group) {
  const Graph own = graph_of(plan, group);
  const lower::LoweredGroup lowered = lower::lower(own);
  schedule::GroupSchedule schedule =
      schedule::make_schedule({own, lowered, plan.graph.nodes[group.anchor].name}, plan.machine);
  schedule.group = name_of(plan, group);
  return schedule;
}

std::string name_of(const Plan& plan, const Group& group) {
  return plan.graph.nodes[group.nodes.back()].name;
}

Plan make_plan(const Graph& simplified, const Graph& original, const device::Device& device,
               const Options& options) {
  check(simplified);
  Plan plan;
  plan.model = options.model_name;
  plan.device = device.name;
  plan.planner = options.planner;
  plan.machine = options.machine;
  Draft draft = best_draft(with_own_outputs(simplified), device, options, plan.decisions);
  plan.graph = std::move(draft.graph);
  const Views& views = draft.views;
  const graph::Uses uses = graph::uses_of(plan.graph);
  const FusionRules rules(plan.graph, uses, views, options.machine, options.stored);
  Pricer pricer(rules, device);
  Partition partition = partition_of(rules, draft.stored);
  if (options.planner != "none") join_companions(rules, device, partition, plan.decisions);
  for (const Partition::Members& members : partition.groups) {
    Group group = make_group(plan.graph, uses, views, members);
    group.id = static_cast<int>(plan.groups.size());
    group.cost =
        cost::of_kernel(plan.graph, group.nodes, group.inputs, group.outputs, device, members.recompute);
    plan.fused.add(group.cost);
    plan.groups.push_back(std::move(group));
  }
  for (size_t g = 0; g < plan.groups.size(); ++g) place_nodes(plan, partition.groups[g], plan.groups[g]);
  for (NodeId n = 0; n < static_cast<NodeId>(original.nodes.size()); ++n)
    plan.unfused.add(cost::of_node(original, n, device));
  for (Decision& decision : explain(plan, uses, pricer, draft.stored)) plan.decisions.push_back(std::move(decision));
  assign_memory(plan, views);
  return plan;
}

}  // namespace cryolite::plan
