#include "simplify/edit.h"
#include "simplify/rewrites.h"

// Constant factors and terms by channel in a row.
//
//   Mul(Mul(x, a), b)   →   Mul(x, a*b)
//   Add(Add(x, a), b)   →   Add(x, a+b)
//   Mul(Add(x, a), b)   →   Add(Mul(x, b), a*b)
//
// So any chain ends as one Mul and one Add. Only floating-point constants that vary over axis 1 alone (or not
// at all) and do not widen x, and only where nothing else reads the value between.

namespace cryolite::simplify {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;

/// A Mul or Add of a value and a constant by channel.
struct Term {
  ValueId value;
  std::vector<double> constant;
};

std::optional<Term> term_of(const Graph& graph, const Node& node) {
  if ((node.op_type != "Mul" && node.op_type != "Add") || node.inputs.size() != 2) return std::nullopt;
  const graph::TensorType& type = graph.output_type(node);
  if (!type.is_fixed() || !graph::is_float(type.element)) return std::nullopt;
  const int rank = static_cast<int>(type.dims.size());
  const int axis = rank >= 2 ? 1 : 0;
  if (rank == 0) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    if (graph.input_type(node, i) != type || graph.value(node.inputs[i]).constant) continue;
    auto constant = along_axis(graph, node.inputs[1 - i], rank, axis, type.dims[axis].extent);
    if (constant) return Term{node.inputs[i], std::move(*constant)};
  }
  return std::nullopt;
}

/// A scalar where all are equal, else of the shape that broadcasts over axis 1.
ValueId add_channel_constant(Graph& graph, const std::string& name, const graph::TensorType& type,
                             const std::vector<double>& elements) {
  const int rank = static_cast<int>(type.dims.size());
  const graph::TensorType shape{
      type.element, channel_shape(rank, rank >= 2 ? 1 : 0, static_cast<int64_t>(elements.size()))};
  return add_constant(graph, name, tensor_of(shape, elements));
}

}  // namespace

bool merge_affine(Graph& graph, const graph::Uses& uses, graph::NodeId id) {
  const auto outer = term_of(graph, graph.nodes[id]);
  if (!outer || uses.producer[outer->value] == graph::absent || uses.use_count(outer->value) != 1)
    return false;
  const graph::NodeId inner_id = uses.producer[outer->value];
  const auto inner = term_of(graph, graph.nodes[inner_id]);
  if (!inner) return false;
  const bool inner_adds = graph.nodes[inner_id].op_type == "Add",
             outer_adds = graph.nodes[id].op_type == "Add";
  if (!inner_adds && outer_adds) return false;  // Add(Mul(x, a), b) is what all others become
  const graph::TensorType type = graph.output_type(graph.nodes[id]);
  std::vector<double> merged(inner->constant);
  for (size_t c = 0; c < merged.size(); ++c)
    merged[c] = outer_adds ? merged[c] + outer->constant[c] : merged[c] * outer->constant[c];
  const std::string name = graph.nodes[id].name;
  const ValueId constant = add_channel_constant(graph, name + ".merged", type, merged);
  if (inner_adds == outer_adds) {
    graph.nodes[id].inputs = {inner->value, constant};
    return true;
  }
  const ValueId factor = add_channel_constant(graph, name + ".factor", type, outer->constant);
  graph.nodes[inner_id].op_type = "Mul";
  graph.nodes[inner_id].inputs = {inner->value, factor};
  graph.nodes[id].op_type = "Add";
  graph.nodes[id].inputs = {outer->value, constant};
  return true;
}

}  // namespace cryolite::simplify
