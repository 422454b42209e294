#include "schedule/companions.h"

#include <algorithm>
#include <map>
#include <set>

#include "ops/operator.h"
#include "schedule/nest.h"

///     x ──► q ──► q_bias      for rows (threads): q's columns, then k's, then v's
///     ├──► k                  q_bias at root; k.compute_with(q_bias, y_tile); v.compute_with(q_bias, y_tile)
///     └──► v
namespace cryolite::schedule {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;

/// The nodes that `output` needs; by node.
std::vector<bool> needed_for(const Graph& group, ValueId output) {
  std::vector<bool> needed(group.nodes.size(), false);
  std::set<ValueId> wanted{output};
  for (size_t n = group.nodes.size(); n-- > 0;) {
    const Node& node = group.nodes[n];
    needed[n] = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) { return wanted.count(id) > 0; });
    if (needed[n]) wanted.insert(node.inputs.begin(), node.inputs.end());
  }
  return needed;
}

lower::LoweredGroup restricted(const GroupView& view, const Graph& graph) {
  const lower::LoweredGroup& whole = view.lowered;
  lower::LoweredGroup part{whole.inputs, {}, {}, {}};
  std::map<int, int> renumbered;
  for (const lower::LoweredGroup::Node& node : whole.nodes) {
    const bool is_inside = std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) { return n.name == node.name; });
    if (!is_inside) continue;
    part.nodes.push_back(node);
    for (int& stage : part.nodes.back().stages) {
      renumbered[stage] = static_cast<int>(part.stages.size());
      part.stages.push_back(whole.stages[stage]);
      stage = renumbered[stage];
    }
  }
  for (size_t i = 0; i < whole.outputs.size(); ++i)
    if (view.graph.outputs[i] == graph.outputs[0]) part.outputs.push_back(renumbered.at(whole.outputs[i]));
  return part;
}

/// Cuts off the loops inside of those at which something else is computed.
void forget_inner_loops(Nest& nest, const std::string& func, const std::vector<FuncSchedule>& lines) {
  for (const FuncSchedule& line : lines)
    for (const Directive& call : line.directives) {
      if (call.call != "compute_at" || std::get<std::string>(call.arguments.at(0)) != func) continue;
      const auto at = std::find(nest.loops.begin(), nest.loops.end(), std::get<std::string>(call.arguments.at(1)));
      if (at != nest.loops.end()) nest.loops.erase(nest.loops.begin(), at);
    }
}

FuncSchedule* line_of(std::vector<FuncSchedule>& lines, const std::string& func) {
  const auto found = std::find_if(lines.begin(), lines.end(), [&](const FuncSchedule& line) { return line.func == func; });
  return found == lines.end() ? nullptr : &*found;
}

}  // namespace

std::string anchor_of_graph(const Graph& group) {
  std::string anchor = group.nodes.back().name;
  int64_t most = -1;
  for (const Node& node : group.nodes) {
    const ops::Operator* op = ops::find(node.op_type);
    if (!op || op->kernel == ops::Kernel::Pointwise) continue;
    const int64_t flops = op->flops ? op->flops(group, node) : 0;
    if (flops > most) most = flops, anchor = node.name;
  }
  return anchor;
}

std::vector<Graph> companion_graphs(const Graph& group) {
  if (group.outputs.size() < 2) return {};
  std::vector<Graph> graphs;
  std::vector<int> owners(group.nodes.size(), 0);
  for (ValueId output : group.outputs) {
    const auto needed = needed_for(group, output);
    Graph own = group;
    own.nodes.clear();
    own.outputs = {output};
    for (size_t n = 0; n < group.nodes.size(); ++n) {
      if (!needed[n]) continue;
      if (++owners[n] > 1) return {};
      own.nodes.push_back(group.nodes[n]);
    }
    graphs.push_back(std::move(own));
  }
  return graphs;
}

GroupSchedule schedule_together(const GroupView& view, const std::vector<Graph>& graphs,
                                const std::function<GroupSchedule(const GroupView&)>& make) {
  GroupSchedule all;
  all.group = view.anchor;
  std::vector<std::string> results;
  std::vector<Nest> nests;
  for (const Graph& graph : graphs) {
    const lower::LoweredGroup lowered = restricted(view, graph);
    const GroupSchedule own = make({graph, lowered, anchor_of_graph(graph)});
    all.funcs.insert(all.funcs.end(), own.funcs.begin(), own.funcs.end());
    const ops::Stage& result = lowered.stages[lowered.outputs[0]];
    const FuncSchedule* line = line_of(all.funcs, result.name);
    results.push_back(result.name);
    nests.push_back(line && result.updates.empty() ? nest_of(*line, result) : Nest{});
    forget_inner_loops(nests.back(), result.name, own.funcs);
  }
  for (size_t i = 1; i < results.size(); ++i) {
    const std::string loop = innermost_shared(nests[0], nests[i]);
    if (!loop.empty()) line_of(all.funcs, results[i])->directives.push_back({"compute_with", {results[0], loop}});
  }
  return all;
}

}  // namespace cryolite::schedule
