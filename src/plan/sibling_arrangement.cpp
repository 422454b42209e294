#include <algorithm>

#include "plan/sibling_family.h"

namespace cryolite::plan::siblings {

using graph::absent;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

/// Where a Concat takes what a branch gives.
struct Joint {
  NodeId concat = absent;
  size_t position = 0;
};
std::optional<Joint> joint_of(const Graph& graph, const graph::Uses& uses, const Branch& branch, int axis) {
  if (uses.use_count(branch.tip) != 1 || uses.consumers[branch.tip].size() != 1) return std::nullopt;
  const NodeId id = uses.consumers[branch.tip][0];
  const Node& node = graph.nodes[id];
  if (node.op_type != "Concat") return std::nullopt;
  const int rank = static_cast<int>(graph.output_type(node).dims.size());
  if (graph::normalized_axis(graph::int_attribute(node, "axis", 0), rank, node) != axis) return std::nullopt;
  if (std::count(node.inputs.begin(), node.inputs.end(), branch.tip) != 1) return std::nullopt;
  return Joint{id, static_cast<size_t>(std::find(node.inputs.begin(), node.inputs.end(), branch.tip) - node.inputs.begin())};
}

}  // namespace

/// Those of one Concat in its order, at the end where they begin the Concat, else at the start.
std::optional<Arrangement> arrange(const Graph& graph, const graph::Uses& uses, Family& family) {
  Arrangement found;
  std::vector<std::pair<size_t, Branch>> joined;
  std::vector<Branch> others;
  for (const Branch& branch : family.branches) {
    if (uses.is_output[branch.tip]) return std::nullopt;
    const auto joint = joint_of(graph, uses, branch, family.axis);
    const bool is_read_by_concat =
        std::any_of(uses.consumers[branch.tip].begin(), uses.consumers[branch.tip].end(),
                    [&](NodeId consumer) { return graph.nodes[consumer].op_type == "Concat"; });
    if (is_read_by_concat && (!joint || (found.concat != absent && found.concat != joint->concat))) return std::nullopt;
    if (!joint) {
      others.push_back(branch);
      continue;
    }
    found.concat = joint->concat;
    joined.emplace_back(joint->position, branch);
  }
  if (joined.empty()) return found;
  std::sort(joined.begin(), joined.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  found.first = joined[0].first;
  found.count = joined.size();
  if (joined.back().first - found.first + 1 != found.count) return std::nullopt;
  found.at_start = found.first == 0;
  found.at_end = found.first + found.count == graph.nodes[found.concat].inputs.size();
  const bool is_output = uses.is_output[graph.nodes[found.concat].outputs[0]];
  if (!others.empty() && (is_output || !(found.at_start || found.at_end))) return std::nullopt;
  family.branches.clear();
  if (found.at_start) family.branches = others;
  for (auto& [position, branch] : joined) family.branches.push_back(std::move(branch));
  if (!found.at_start) family.branches.insert(family.branches.end(), others.begin(), others.end());
  return found;
}

}  // namespace cryolite::plan::siblings
