#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/operator.h"
#include "plan/sibling_family.h"
#include "simplify/edit.h"

/// What follows the branches of a family joins the merged contraction where it can be told by constants along the
/// joined axis: an addend (zero where a branch has none), bounds (infinite where it has none), or one activation of all.
namespace cryolite::plan::siblings {

using graph::absent;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

/// The only reader of what the branch gives so far, or nullptr.
const Node* next_of(const Graph& graph, const graph::Uses& uses, const Branch& branch, NodeId& id) {
  if (uses.use_count(branch.tip) != 1 || uses.consumers[branch.tip].size() != 1) return nullptr;
  id = uses.consumers[branch.tip][0];
  const Node& node = graph.nodes[id];
  return node.inputs[0] == branch.tip || node.op_type == "Add" ? &node : nullptr;
}

void absorb(const Graph& graph, Branch& branch, NodeId id) {
  branch.absorbed.push_back(id);
  branch.tip = graph.nodes[id].outputs[0];
}

void add_step(Family& family, const std::string& op_type, const std::vector<std::vector<double>>& operands,
              std::vector<std::string> names) {
  for (size_t b = 0; b < operands.size(); ++b) family.branches[b].operands.push_back(operands[b]);
  family.steps.push_back({op_type, true, {}, {}, std::move(names)});
}

/// Constants added along the joined axis: zeros where a branch has none.
bool absorb_biases(const Graph& graph, const graph::Uses& uses, Family& family) {
  std::vector<std::vector<double>> operands;
  std::vector<std::string> names;
  for (Branch& branch : family.branches) {
    NodeId id = absent;
    const Node* next = next_of(graph, uses, branch, id);
    std::optional<std::vector<double>> addend;
    if (next && next->op_type == "Add" && graph.output_type(*next).dims == graph.value(branch.tip).type.dims) {
      const ValueId other = next->inputs[0] == branch.tip ? next->inputs[1] : next->inputs[0];
      if (graph.value(other).constant)
        addend = simplify::along_axis(graph, other, static_cast<int>(graph.output_type(*next).dims.size()), family.axis,
                                      branch.width);
    }
    if (addend) {
      absorb(graph, branch, id);
      names.push_back(next->name);
    }
    operands.push_back(addend.value_or(std::vector<double>(branch.width, 0)));
  }
  if (names.empty()) return false;
  add_step(family, "Add", operands, std::move(names));
  return true;
}

/// The same activation on every branch.
bool absorb_equal_activations(const Graph& graph, const graph::Uses& uses, Family& family) {
  std::vector<NodeId> ids;
  for (const Branch& branch : family.branches) {
    NodeId id = absent;
    const Node* next = next_of(graph, uses, branch, id);
    if (!next || !ops::is_elementwise(graph, *next) || next->outputs.size() != 1 || next->inputs[0] != branch.tip) return false;
    if (graph.output_type(*next).dims != graph.value(branch.tip).type.dims) return false;
    for (size_t i = 1; i < next->inputs.size(); ++i)
      if (next->inputs[i] != absent &&
          (!graph.value(next->inputs[i]).constant || graph.value(next->inputs[i]).type.elements() != 1))
        return false;
    ids.push_back(id);
  }
  const Node& first = graph.nodes[ids[0]];
  for (NodeId id : ids) {
    const Node& node = graph.nodes[id];
    if (node.op_type != first.op_type || node.inputs.size() != first.inputs.size() || !equal(node.attributes, first.attributes))
      return false;
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      if ((node.inputs[i] == absent) != (first.inputs[i] == absent)) return false;
      if (node.inputs[i] != absent &&
          *graph.value(node.inputs[i]).constant->bytes != *graph.value(first.inputs[i]).constant->bytes)
        return false;
    }
  }
  std::vector<std::string> names;
  for (size_t b = 0; b < ids.size(); ++b) {
    absorb(graph, family.branches[b], ids[b]);
    names.push_back(graph.nodes[ids[b]].name);
    family.branches[b].operands.emplace_back();
  }
  family.steps.push_back(
      {first.op_type, false, first.attributes, {first.inputs.begin() + 1, first.inputs.end()}, std::move(names)});
  return true;
}

struct Bounds {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
};

/// Relu and Clip as bounds; nothing for other nodes.
std::optional<Bounds> bounds_of(const Graph& graph, const Node& node) {
  Bounds bounds;
  if (node.op_type == "Relu") return bounds.low = 0, bounds;
  if (node.op_type != "Clip") return std::nullopt;
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == absent) continue;
    const auto bound = simplify::uniform_constant(graph, node.inputs[i]);
    if (!bound || std::isnan(*bound)) return std::nullopt;
    (i == 1 ? bounds.low : bounds.high) = *bound;
  }
  return bounds.low <= bounds.high ? std::optional(bounds) : std::nullopt;
}

/// Relu or Clip on some branches: bounds along the joined axis, infinite where a branch has none.
bool absorb_bounds(const Graph& graph, const graph::Uses& uses, Family& family) {
  std::vector<std::vector<double>> low, high;
  std::vector<std::string> names;
  for (Branch& branch : family.branches) {
    NodeId id = absent;
    const Node* next = next_of(graph, uses, branch, id);
    const auto bounds = next ? bounds_of(graph, *next) : std::nullopt;
    if (bounds) {
      absorb(graph, branch, id);
      names.push_back(next->name);
    }
    low.emplace_back(branch.width, bounds.value_or(Bounds{}).low);
    high.emplace_back(branch.width, bounds.value_or(Bounds{}).high);
  }
  const auto is_infinite = [](const std::vector<double>& bounds) { return std::isinf(bounds[0]); };
  const bool from_below = !std::all_of(low.begin(), low.end(), is_infinite);
  const bool from_above = !std::all_of(high.begin(), high.end(), is_infinite);
  if (from_below) add_step(family, "Max", low, names);
  if (from_above) add_step(family, "Min", high, names);
  return from_below || from_above;
}

}  // namespace

void absorb_epilogues(const Graph& graph, const graph::Uses& uses, Family& family) {
  bool grows = true;
  while (grows) {
    grows = absorb_biases(graph, uses, family);
    grows = absorb_equal_activations(graph, uses, family) || absorb_bounds(graph, uses, family) || grows;
  }
}

}  // namespace cryolite::plan::siblings
