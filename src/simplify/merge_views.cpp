#include <algorithm>

#include "simplify/edit.h"
#include "simplify/rewrites.h"

// Views in a row.
//
//   a = Flatten(x)                   →   y = Reshape(x, {2,3,4})
//   y = Reshape(a, {2,3,4})
//
// Every one keeps the row-major order of the elements, so the last shape is all that counts. The first view
// stays where others read it too. Free: views cost nothing, fewer of them make longer chains of other
// operators.

namespace cryolite::simplify {
namespace {

bool is_shape_change(const graph::Node& node) {
  static constexpr std::string_view operators[] = {"Reshape", "Flatten", "Squeeze", "Unsqueeze"};
  return std::find(std::begin(operators), std::end(operators), node.op_type) != std::end(operators);
}

}  // namespace

bool merge_views(graph::Graph& graph, const graph::Uses& uses, graph::NodeId id) {
  if (!is_shape_change(graph.nodes[id]) || !graph.output_type(graph.nodes[id]).is_fixed()) return false;
  const graph::Node* first = producer_of(graph, uses, graph.nodes[id].inputs.at(0));
  if (first == nullptr || !is_shape_change(*first)) return false;
  const graph::ValueId source = first->inputs.at(0);
  const std::vector<int64_t> extents = graph.output_type(graph.nodes[id]).extents();
  const graph::ValueId shape = add_integers(graph, graph.nodes[id].name + ".shape", extents);
  graph::Node& node = graph.nodes[id];
  node.op_type = "Reshape";
  node.inputs = {source, shape};
  node.attributes = {{"allowzero", int64_t{1}}};  // an extent of 0 is meant as it stands
  return true;
}

}  // namespace cryolite::simplify
