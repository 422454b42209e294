#include "schedule/cpu_parts.h"

#include <algorithm>
#include <map>
#include <set>

#include "ops/operator.h"

namespace cryolite::schedule::cpu {
namespace {

/// Operations of a value's expression once everything before it in the group is substituted.
std::map<graph::ValueId, double> inlined_sizes(const graph::Graph& group) {
  std::map<graph::ValueId, double> sizes;
  for (const graph::Node& node : group.nodes) {
    double size = 1;
    for (graph::ValueId id : node.inputs)
      if (auto found = sizes.find(id); found != sizes.end()) size += found->second;
    for (graph::ValueId id : node.outputs)
      if (id != graph::absent) sizes[id] = size;
  }
  return sizes;
}

}  // namespace

std::vector<Loop> loops_of(const ops::Stage& stage) {
  std::vector<Loop> loops;
  const auto extents = graph::storage_extents(stage.laid.layout, stage.extents);
  for (size_t i = 0; i < stage.laid.vars.size(); ++i)
    loops.push_back({stage.laid.vars[i].name(), extents[extents.size() - 1 - i]});
  return loops;
}

int64_t extent_of(const ops::Stage& stage, const std::string& name) {
  for (const Loop& loop : loops_of(stage))
    if (loop.name == name) return loop.extent;
  return 1;
}

int64_t lanes_of(const ops::Stage& stage, const Machine& machine) {
  const int bytes = std::max(1, stage.laid.func.types()[0].bytes());
  return std::max<int64_t>(1, machine.vector_bytes / bytes);
}

const ops::Stage& output_of(const GroupView& view, size_t i) {
  return view.lowered.stages[view.lowered.outputs.at(i)];
}

const graph::Node& anchor_of(const GroupView& view) {
  return *std::find_if(view.graph.nodes.begin(), view.graph.nodes.end(),
                       [&](const graph::Node& node) { return node.name == view.anchor; });
}

std::vector<const ops::Stage*> inner_stages(const GroupView& view, const std::string& node_name) {
  std::vector<const ops::Stage*> inner;
  for (size_t n = 0; n < view.lowered.nodes.size(); ++n) {
    if (view.lowered.nodes[n].name != node_name) continue;
    for (int stage : view.lowered.nodes[n].stages) {
      const std::string& name = view.lowered.stages[stage].name;
      const bool is_value =
          std::any_of(view.graph.nodes[n].outputs.begin(), view.graph.nodes[n].outputs.end(), [&](graph::ValueId id) {
            return id != graph::absent && ops::identifier(view.graph.value(id).name) == name;
          });
      if (!is_value) inner.push_back(&view.lowered.stages[stage]);
    }
  }
  return inner;
}

int64_t tuned(const Parameters& parameters, const Tunable& tunable, int64_t rule) {
  const auto found = parameters.find(tunable.name);
  return found == parameters.end() ? rule : std::clamp(found->second, tunable.least, tunable.most);
}

bool only_epilogue_follows(const GroupView& view, const std::string& name, const std::string& feeding) {
  const graph::Graph& group = view.graph;
  if (group.outputs.size() != 1) return false;
  std::set<graph::ValueId> derived;
  std::vector<int64_t> extents;
  for (const graph::Node& node : group.nodes) {
    if (node.name == name) {
      if (node.outputs.size() != 1) return false;
      derived.insert(node.outputs[0]);
      extents = group.output_type(node).extents();
      continue;
    }
    const bool reads = std::any_of(node.inputs.begin(), node.inputs.end(),
                                   [&](graph::ValueId id) { return derived.count(id) > 0; });
    if (!reads) {
      const ops::Operator* op = ops::find(node.op_type);
      if (node.name != feeding && (!op || op->kernel != ops::Kernel::Pointwise)) return false;
      continue;
    }
    if (!ops::is_elementwise(group, node) || group.output_type(node).extents() != extents) return false;
    derived.insert(node.outputs.begin(), node.outputs.end());
  }
  return derived.count(group.outputs[0]) > 0;
}

void vectorize_block(Line& line, const std::string& axis, int64_t extent, int64_t lanes) {
  if (extent == 1) return;
  if (extent <= lanes || extent % lanes != 0) {
    line.call("vectorize", {axis});
  } else {
    line.call("vectorize", {axis, lanes});
    if (extent > lanes) line.call("unroll", {axis});
  }
}

void begin_update(Line& line, const ops::Stage& stage, std::vector<Argument> inner) {
  line.call("update", {0});
  for (const auto& [name, rvar] : stage.updates.at(0).rvars) inner.emplace_back(name);
  if (inner.size() > 1) line.call("reorder", inner);
}

int64_t cost_of_steps(const GroupView& view) {
  int64_t steps = 0;
  for (const graph::Node& node : view.graph.nodes) {
    const ops::Operator* op = ops::find(node.op_type);
    const int64_t flops = op && op->flops ? op->flops(view.graph, node) : 0;
    steps += std::max(flops, view.graph.output_type(node).elements());
  }
  return steps;
}

const ops::Stage* inner_stage(const GroupView& view, const std::string& node, const std::string& stage) {
  for (const ops::Stage* inner : inner_stages(view, node))
    if (inner->name.ends_with("_" + stage)) return inner;
  return nullptr;
}

Chunks parallel_chunks(Line& line, const std::vector<Loop>& outer, int64_t work, const Machine& machine) {
  std::vector<Loop> loops;
  for (const Loop& loop : outer)
    if (loop.extent > 1) loops.push_back(loop);
  Chunks chunks{"", outer.empty() ? "" : outer.front().name};
  if (loops.empty() || work < least_parallel_work || machine.threads < 2) return chunks;
  // The outermost loop alone is cut where it has enough steps: fusing costs divisions.
  std::string chunk = loops.back().name;
  int64_t extent = loops.back().extent;
  size_t innermost = loops.size() - 1;
  while (innermost > 0 && extent < 4 * machine.threads && extent % machine.threads != 0) {
    --innermost;
    const std::string fused = loops[innermost].name + "_" + chunk;
    line.call("fuse", {loops[innermost].name, chunk, fused});
    chunk = fused;
    extent *= loops[innermost].extent;
  }
  const int64_t size = (extent + machine.threads - 1) / machine.threads;
  line.call("split", {chunk, chunk + "_thread", chunk + "_step", size, "GuardWithIf"});
  line.call("parallel", {chunk + "_thread"});
  chunks.thread = chunk + "_thread";
  if (loops[innermost].name == outer.front().name) chunks.innermost = chunk + "_step";
  return chunks;
}

void keep_shared_values(GroupSchedule& schedule, const GroupView& view, const std::string& output,
                        const std::string& at, const std::string& axis, int64_t lanes) {
  constexpr double large = 40;  // operations; below it the compiler's own sharing does as well
  const auto sizes = inlined_sizes(view.graph);
  const graph::Uses uses = graph::uses_of(view.graph);
  const auto out_extents = output_of(view).extents;
  double whole = 0;
  for (const auto& [id, size] : sizes) whole = std::max(whole, size);
  if (whole < large) return;
  for (const graph::Node& node : view.graph.nodes) {
    const graph::ValueId id = node.outputs[0];
    if (id == graph::absent || uses.consumers[id].size() < 2 || uses.is_output[id] || sizes.at(id) < 2) continue;
    if (view.graph.value(id).type.extents() != out_extents) continue;
    Line line(ops::identifier(view.graph.value(id).name));
    line.call("compute_at", {output, at});
    if (lanes > 1) line.call("vectorize", {axis, lanes});
    schedule.funcs.push_back(line);
  }
}

}  // namespace cryolite::schedule::cpu
