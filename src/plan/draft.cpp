#include "plan/draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "plan/siblings.h"

namespace cryolite::plan {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;

/// Bytes: Vulkan lets devices ask for up to 256 (minStorageBufferOffsetAlignment); of OpenCL devices some ask for 512.
constexpr int64_t device_offset_alignment = 512;

/// Work that finding a plan may take, in states visited: a graph of a thousand nodes is planned in about a second.
constexpr size_t states_visited = 200'000, least_beam = 16, largest_beam = 4096;

Stored chosen(Pricer& pricer, const std::string& planner) {
  const size_t nodes = pricer.rules().facts().size();
  if (planner == "none") return Stored(nodes, true);
  Stored by_rules = greedy(pricer);
  if (planner == "greedy") return by_rules;
  Stored best = cheapest(pricer, std::clamp(states_visited / std::max<size_t>(nodes, 1), least_beam, largest_beam));
  // A beam may lose the best plan of a wide graph, so the rules have the last word.
  return pricer.seconds_of(best) <= pricer.seconds_of(by_rules) ? best : by_rules;
}

Draft draft_of(Graph graph, const device::Device& device, const Options& options, const NodeNames& computed) {
  Draft draft{std::move(graph), {}, {}, 0};
  assign_layouts(draft.graph, options.machine);
  const auto kind = options.machine.kind;
  const bool binds_parts = kind == schedule::Machine::Kind::OpenCl || kind == schedule::Machine::Kind::Vulkan;
  draft.views = assign_views(draft.graph, binds_parts ? device_offset_alignment : 1, computed);
  const graph::Uses uses = graph::uses_of(draft.graph);
  const FusionRules rules(draft.graph, uses, draft.views, options.machine, options.stored);
  Pricer pricer(rules, device);
  draft.stored = chosen(pricer, options.planner);
  draft.seconds = pricer.seconds_of(draft.stored);
  return draft;
}

bool is_pointwise(const Graph& graph, NodeId node) {
  const ops::Operator* op = ops::find(graph.nodes[node].op_type);
  return op && op->kernel == ops::Kernel::Pointwise;
}

/// Views between pointwise nodes: a view ends the kernel before it, but computed inside of a kernel it costs nothing.
NodeNames views_between_pointwise_nodes(const Draft& draft) {
  const Graph& graph = draft.graph;
  const graph::Uses uses = graph::uses_of(graph);
  NodeNames names;
  for (NodeId n = 0; n < static_cast<NodeId>(graph.nodes.size()); ++n) {
    const Node& node = graph.nodes[n];
    if (!draft.views.is_view_node[n] || node.op_type == "Concat" || node.outputs.size() != 1) continue;
    const graph::ValueId from = node.inputs[0], to = node.outputs[0];
    const NodeId producer = uses.producer[from];
    if (producer == graph::absent || !is_pointwise(graph, producer) || uses.use_count(from) != 1) continue;
    const auto& consumers = uses.consumers[to];
    if (uses.is_output[to] || consumers.empty()) continue;
    if (std::all_of(consumers.begin(), consumers.end(), [&](NodeId c) { return is_pointwise(graph, c); }))
      names.insert(node.name);
  }
  return names;
}

/// Of `computed`, those that a draft did compute inside of the kernels that read them.
NodeNames fused(const Draft& draft, const NodeNames& computed) {
  NodeNames names;
  for (size_t n = 0; n < draft.graph.nodes.size(); ++n)
    if (!draft.stored[n] && computed.count(draft.graph.nodes[n].name)) names.insert(draft.graph.nodes[n].name);
  return names;
}

Draft with_fused_views(const Graph& graph, const device::Device& device, const Options& options) {
  Draft best = draft_of(graph, device, options, {});
  if (options.planner == "none") return best;
  NodeNames computed = views_between_pointwise_nodes(best);
  for (int attempt = 0; attempt < 2 && !computed.empty(); ++attempt) {
    Draft draft = draft_of(graph, device, options, computed);
    NodeNames worth = fused(draft, computed);
    if (draft.seconds < best.seconds) best = std::move(draft);
    if (worth == computed) break;
    computed = std::move(worth);
  }
  return best;
}

}  // namespace

/// Merging siblings changes what else can be fused, so the whole plan has to be cheaper with it.
Draft best_draft(const Graph& graph, const device::Device& device, const Options& options,
                 std::vector<Decision>& decisions) {
  Draft apart = with_fused_views(graph, device, options);
  if (options.planner == "none") return apart;
  std::vector<Decision> horizontal;
  Graph merged = merge_siblings(graph, device, horizontal);
  std::optional<Draft> together;
  if (std::any_of(horizontal.begin(), horizontal.end(), [](const Decision& d) { return d.fused; }))
    together = with_fused_views(merged, device, options);
  const bool pays = together && together->seconds < apart.seconds;
  for (Decision& decision : horizontal) {
    if (decision.fused && !pays) {
      decision.fused = false;
      decision.why += fmt::format("; but the whole model is predicted to take {:.4g} us with it, {:.4g} us without",
                                  together->seconds * 1e6, apart.seconds * 1e6);
    }
    decisions.push_back(std::move(decision));
  }
  return pays ? std::move(*together) : std::move(apart);
}

}  // namespace cryolite::plan
