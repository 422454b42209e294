#include "simplify/edit.h"
#include "simplify/rewrites.h"

// Softmax spelled out.
//
//   m = ReduceMax(x, {axis})         →   y = Softmax(x) {axis}
//   e = Exp(Sub(x, m))
//   y = Div(e, ReduceSum(e, {axis}))
//
// One axis, kept. Without the maximum it is another function: it overflows where Softmax does not.

namespace cryolite::simplify {
namespace {

using graph::Graph;
using graph::Node;

/// The axis of a reduction over one constant axis that it keeps.
std::optional<int> kept_axis(const Graph& graph, const Node& reduce) {
  if (graph::int_attribute(reduce, "keepdims", 1) != 1) return std::nullopt;
  const graph::Tensor* axes = graph.constant_input(reduce, 1);
  if (axes == nullptr || axes->type.elements() != 1 || !graph.input_type(reduce, 0).is_fixed())
    return std::nullopt;
  return graph::normalized_axis(axes->as_integers()[0],
                                static_cast<int>(graph.input_type(reduce, 0).dims.size()), reduce);
}

}  // namespace

bool find_softmax(Graph& graph, const graph::Uses& uses, graph::NodeId id) {
  const Node& div = graph.nodes[id];
  if (div.op_type != "Div") return false;
  const Node* exp = producer_of(graph, uses, div.inputs.at(0));
  const Node* sum = producer_of(graph, uses, div.inputs.at(1));
  if (!exp || !sum || exp->op_type != "Exp" || sum->op_type != "ReduceSum") return false;
  if (sum->inputs.at(0) != div.inputs[0] || uses.use_count(div.inputs[0]) != 2 ||
      uses.use_count(div.inputs[1]) != 1)
    return false;
  const Node* sub = producer_of(graph, uses, exp->inputs.at(0));
  if (!sub || sub->op_type != "Sub" || uses.use_count(exp->inputs[0]) != 1) return false;
  const Node* max = producer_of(graph, uses, sub->inputs.at(1));
  if (!max || max->op_type != "ReduceMax" || max->inputs.at(0) != sub->inputs[0]) return false;
  const auto axis = kept_axis(graph, *max);
  if (!axis || kept_axis(graph, *sum) != axis) return false;
  graph.nodes[id] = {div.name, "Softmax", {sub->inputs[0]}, {div.outputs[0]}, {{"axis", int64_t{*axis}}}};
  return true;
}

}  // namespace cryolite::simplify
