#include <algorithm>
#include <numeric>

#include "simplify/edit.h"
#include "simplify/rewrites.h"

// Nodes that change nothing.
//
//   y = Identity(x)      →   (readers of y read x)
//   z = Relu(y)              z = Relu(x)
//
// Only where type and elements of output 0 are exactly those of input 0. A node between an input or constant
// and a graph output stays: the output needs a writer.

namespace cryolite::simplify {
namespace {

using graph::Graph;
using graph::Node;
using graph::Tensor;

bool all_equal(const std::vector<int64_t>& numbers, int64_t number) {
  return std::all_of(numbers.begin(), numbers.end(), [&](int64_t n) { return n == number; });
}

bool is_identity_transpose(const Graph& graph, const Node& node) {
  const std::vector<int64_t> order = graph::ints_attribute(node, "perm");
  if (order.empty()) return graph.input_type(node, 0).dims.size() <= 1;
  return std::is_sorted(order.begin(), order.end());
}

/// A Slice that keeps the shape takes everything, but may reverse it.
bool has_positive_steps(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 5 || node.inputs[4] == graph::absent) return true;
  const Tensor* steps = graph.constant_input(node, 4);
  return steps && all_equal(steps->as_integers(), 1);
}

bool has_zero_pads(const Graph& graph, const Node& node) {
  const Tensor* pads = graph.constant_input(node, 1);
  return pads && all_equal(pads->as_integers(), 0);
}

/// Dropout passes its input on, unless it trains.
bool is_idle_dropout(const Graph& graph, const graph::Uses& uses, const Node& node) {
  if (node.outputs.size() > 1 && node.outputs[1] != graph::absent && uses.use_count(node.outputs[1]) > 0)
    return false;
  if (node.inputs.size() < 3 || node.inputs[2] == graph::absent) return true;
  const auto training = uniform_constant(graph, node.inputs[2]);
  return training && *training == 0;
}

bool is_factor_one(const Graph& graph, const Node& node) {
  return node.inputs.size() == 2 && uniform_constant(graph, node.inputs[1]) == 1.0;
}

bool changes_nothing(const Graph& graph, const graph::Uses& uses, const Node& node) {
  const std::string& op = node.op_type;
  if (op == "Identity" || op == "Cast" || op == "Reshape" || op == "Flatten" || op == "Squeeze" ||
      op == "Unsqueeze" || op == "Expand" || op == "Tile")
    return true;  // for these, the same type says it all
  if (op == "Concat" || op == "Sum" || op == "Mean" || op == "Max" || op == "Min")
    return node.inputs.size() == 1;
  if (op == "Dropout") return is_idle_dropout(graph, uses, node);
  if (op == "Transpose") return is_identity_transpose(graph, node);
  if (op == "Slice") return has_positive_steps(graph, node);
  if (op == "Pad") return has_zero_pads(graph, node);
  if (op == "Mul" || op == "Div") return is_factor_one(graph, node);
  return false;
}

}  // namespace

bool remove_identity(Graph& graph, const graph::Uses& uses, graph::NodeId id) {
  Node& node = graph.nodes[id];
  if (node.inputs.empty() || node.inputs[0] == graph::absent || node.outputs.at(0) == graph::absent)
    return false;
  if (!graph.output_type(node).is_fixed() || graph.input_type(node, 0) != graph.output_type(node))
    return false;
  if (!changes_nothing(graph, uses, node)) return false;
  const graph::ValueId from = node.outputs[0], to = node.inputs[0];
  if (!replace_value(graph, uses, from, to)) return false;
  clear_node(graph.nodes[id]);
  return true;
}

bool drop_unused_outputs(Graph& graph, const graph::Uses& uses, graph::NodeId id) {
  Node& node = graph.nodes[id];
  if (node.op_type == "Split" || node.op_type == "TopK" || node.outputs.size() < 2)
    return false;  // all are required
  const size_t before = node.outputs.size();
  while (node.outputs.size() > 1 &&
         (node.outputs.back() == graph::absent || uses.use_count(node.outputs.back()) == 0))
    node.outputs.pop_back();
  return node.outputs.size() != before;
}

}  // namespace cryolite::simplify
