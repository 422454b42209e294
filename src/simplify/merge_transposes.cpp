#include <numeric>

#include "simplify/edit.h"
#include "simplify/rewrites.h"

// Transposes in a row.
//
//   a = Transpose(x) {perm=[0,2,3,1]}        →   y = Transpose(x) {perm=p∘q}
//   y = Transpose(a) {perm=[0,3,1,2]}            (and none at all where that is the identity)
//
// A Transpose that keeps the order of all axes longer than 1 moves no element: it becomes a Reshape.

namespace cryolite::simplify {
namespace {

using graph::Graph;
using graph::Node;

/// The axes of the input, in the order of the output.
std::vector<int64_t> order_of(const Graph& graph, const Node& node) {
  const size_t rank = graph.input_type(node, 0).dims.size();
  std::vector<int64_t> order = graph::ints_attribute(node, "perm");
  if (!order.empty()) return order;
  order.resize(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

bool moves_no_element(const Graph& graph, const Node& node) {
  int64_t last = -1;
  for (const int64_t axis : order_of(graph, node)) {
    if (graph.input_type(node, 0).dims[axis].extent == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

}  // namespace

bool merge_transposes(Graph& graph, const graph::Uses& uses, graph::NodeId id) {
  if (graph.nodes[id].op_type != "Transpose" || !graph.input_type(graph.nodes[id], 0).is_fixed())
    return false;
  if (!graph.output_type(graph.nodes[id]).is_fixed()) return false;
  if (moves_no_element(graph, graph.nodes[id])) {
    const std::vector<int64_t> extents = graph.output_type(graph.nodes[id]).extents();
    const graph::ValueId shape = add_integers(graph, graph.nodes[id].name + ".shape", extents);
    Node& node = graph.nodes[id];
    node.op_type = "Reshape";
    node.inputs.push_back(shape);
    node.attributes = {{"allowzero", int64_t{1}}};
    return true;
  }
  Node& node = graph.nodes[id];
  const Node* first = producer_of(graph, uses, node.inputs.at(0));
  if (first == nullptr || first->op_type != "Transpose") return false;
  std::vector<int64_t> order = order_of(graph, node);
  const std::vector<int64_t> inner = order_of(graph, *first);
  for (int64_t& axis : order) axis = inner[axis];
  node.inputs[0] = first->inputs.at(0);
  node.attributes["perm"] = order;
  return true;
}

}  // namespace cryolite::simplify
