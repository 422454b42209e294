#include "simplify/edit.h"
#include "simplify/rewrites.h"

// Layer normalisation spelled out.
//
//   m = ReduceMean(x)                             →   y = LayerNormalization(x, gamma, beta)
//   d = Sub(x, m)
//   v = ReduceMean(Pow(d, 2))    or Mul(d, d)
//   n = Div(d, Sqrt(Add(v, epsilon)))
//   y = Add(Mul(n, gamma), beta)
//
// Both means over the same last axes, kept; float32 (the operator computes in float32); gamma and beta of
// exactly the normalised shape: one that broadcasts otherwise means something else (onnxruntime issue 25855).

namespace cryolite::simplify {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;

struct Matcher {
  const Graph& graph;
  const graph::Uses& uses;

  const Node* producer(ValueId value, std::string_view op_type) const {
    const Node* node = producer_of(graph, uses, value);
    return node && node->op_type == op_type ? node : nullptr;
  }

  /// The first of the last axes that a ReduceMean averages over, or nothing where it is not of that kind.
  std::optional<int> first_axis(const Node& mean) const {
    const graph::Tensor* axes = graph.constant_input(mean, 1);
    const graph::TensorType& type = graph.input_type(mean, 0);
    if (!axes || !type.is_fixed() || graph::int_attribute(mean, "keepdims", 1) != 1) return std::nullopt;
    const int rank = static_cast<int>(type.dims.size());
    std::vector<bool> averaged(rank, false);
    for (const int64_t axis : axes->as_integers()) averaged[graph::normalized_axis(axis, rank, mean)] = true;
    int first = rank;
    while (first > 0 && averaged[first - 1]) --first;
    for (int axis = 0; axis < first; ++axis)
      if (averaged[axis]) return std::nullopt;
    return first < rank ? std::optional(first) : std::nullopt;
  }

  /// d where `value` is d squared.
  ValueId squared(ValueId value) const {
    if (const Node* pow = producer(value, "Pow"))
      return uniform_constant(graph, pow->inputs.at(1)) == 2.0 ? pow->inputs[0] : graph::absent;
    const Node* product = producer(value, "Mul");
    return product && product->inputs.at(0) == product->inputs.at(1) ? product->inputs[0] : graph::absent;
  }
};

struct Normalized {
  ValueId x;
  int axis;
  double epsilon;
};

/// x, axis and epsilon of a value that is (x - mean) / sqrt(variance + epsilon).
std::optional<Normalized> normalized(const Matcher& match, ValueId value) {
  const Node* div = match.producer(value, "Div");
  if (!div) return std::nullopt;
  const ValueId deviation = div->inputs.at(0);
  const Node* sub = match.producer(deviation, "Sub");
  const Node* root = match.producer(div->inputs.at(1), "Sqrt");
  const Node* add = root ? match.producer(root->inputs.at(0), "Add") : nullptr;
  if (!sub || !add) return std::nullopt;
  const bool epsilon_first = match.graph.value(add->inputs.at(0)).constant.has_value();
  const auto epsilon = uniform_constant(match.graph, add->inputs[epsilon_first ? 0 : 1]);
  const Node* variance = match.producer(add->inputs[epsilon_first ? 1 : 0], "ReduceMean");
  const Node* mean = match.producer(sub->inputs.at(1), "ReduceMean");
  if (!epsilon || !variance || !mean) return std::nullopt;
  if (mean->inputs.at(0) != sub->inputs[0] || match.squared(variance->inputs.at(0)) != deviation)
    return std::nullopt;
  const auto axis = match.first_axis(*mean);
  if (!axis || match.first_axis(*variance) != axis) return std::nullopt;
  return Normalized{sub->inputs[0], *axis, *epsilon};
}

bool has_shape_from(const graph::TensorType& type, const graph::TensorType& x, int axis) {
  return type.element == x.element &&
         std::vector<graph::Dim>(x.dims.begin() + axis, x.dims.end()) == type.dims;
}

}  // namespace

bool find_layer_normalization(Graph& graph, const graph::Uses& uses, graph::NodeId id) {
  const Node& add = graph.nodes[id];
  if (add.op_type != "Add" || !graph.output_type(add).is_fixed()) return false;
  const Matcher match{graph, uses};
  for (int scaled_input = 0; scaled_input < 2; ++scaled_input) {
    const Node* mul = match.producer(add.inputs.at(scaled_input), "Mul");
    if (!mul || uses.use_count(add.inputs[scaled_input]) != 1) continue;
    const ValueId beta = add.inputs[1 - scaled_input];
    for (int normal_input = 0; normal_input < 2; ++normal_input) {
      const auto found = normalized(match, mul->inputs.at(normal_input));
      const ValueId gamma = mul->inputs[1 - normal_input];
      if (!found || uses.use_count(mul->inputs[normal_input]) != 1) continue;
      const graph::TensorType& x = graph.value(found->x).type;
      if (x.element != graph::ElementType::Float32 ||
          !has_shape_from(graph.value(gamma).type, x, found->axis) ||
          !has_shape_from(graph.value(beta).type, x, found->axis))
        continue;
      graph.nodes[id] = {add.name,
                         "LayerNormalization",
                         {found->x, gamma, beta},
                         {add.outputs[0]},
                         {{"axis", int64_t{found->axis}}, {"epsilon", static_cast<float>(found->epsilon)}}};
      return true;
    }
  }
  return false;
}

}  // namespace cryolite::simplify
