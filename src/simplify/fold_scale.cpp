#include "simplify/edit.h"
#include "simplify/rewrites.h"

// A scale or shift by channel goes into the contraction before it.
//
//   c = Conv(x, w, b)              →   y = Conv(x, w*s, b*s)        y = Conv(x, w, b+t)
//   y = Mul(c, s)  or  Add(c, t)
//
// Legal where w, b and the factor are constants, the factor varies over the output channels alone, does not
// widen the result, and nothing else reads c. The same for ConvTranspose of one group and for Gemm (over its
// columns).

namespace cryolite::simplify {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;

/// Where output channels lie: axis of the result and of the weights.
struct Contraction {
  int result_axis, weight_axis;
};

std::optional<Contraction> contraction_of(const Node& node) {
  if (node.op_type == "Conv") return Contraction{1, 0};
  if (node.op_type == "ConvTranspose" && graph::int_attribute(node, "group", 1) == 1)
    return Contraction{1, 1};
  if (node.op_type == "Gemm" && graph::float_attribute(node, "beta", 1) == 1)
    return Contraction{1, graph::int_attribute(node, "transB", 0) != 0 ? 0 : 1};
  return std::nullopt;
}

/// y = c * factor + shift, element-wise by channel.
struct Step {
  size_t result_input;  ///< which input of the node is c
  std::vector<double> factor, shift;
};

std::optional<Step> step_of(const Graph& graph, const Node& node, size_t result_input, int rank, int axis,
                            int64_t channels) {
  if (node.inputs.size() != 2) return std::nullopt;
  const auto constant = along_axis(graph, node.inputs[1 - result_input], rank, axis, channels);
  if (!constant) return std::nullopt;
  Step step{result_input, std::vector<double>(channels, 1), std::vector<double>(channels, 0)};
  const bool is_left = result_input == 0;
  for (int64_t c = 0; c < channels; ++c) {
    const double k = (*constant)[c];
    if (node.op_type == "Mul") {
      step.factor[c] = k;
    } else if (node.op_type == "Div" && is_left) {
      step.factor[c] = 1 / k;
    } else if (node.op_type == "Add") {
      step.shift[c] = k;
    } else if (node.op_type == "Sub") {
      step.factor[c] = is_left ? 1 : -1;
      step.shift[c] = is_left ? -k : k;
    } else {
      return std::nullopt;
    }
  }
  return step;
}

std::optional<std::vector<double>> bias_of(const Graph& graph, const Node& contraction, int64_t channels) {
  if (contraction.inputs.size() < 3 || contraction.inputs[2] == graph::absent)
    return std::vector<double>(channels, 0);
  // Gemm's C may be [N], [1,N] or a scalar; Conv's B is [M].
  const int rank = contraction.op_type == "Gemm" ? 2 : 1;
  return along_axis(graph, contraction.inputs[2], rank, rank - 1, channels);
}

bool is_all(const std::vector<double>& numbers, double number) {
  for (const double n : numbers)
    if (n != number) return false;
  return true;
}

void apply(Graph& graph, Node& contraction, const Contraction& axes, const Step& step,
           std::vector<double> bias) {
  const ValueId weight = contraction.inputs[1];
  const graph::TensorType bias_type{graph.value(weight).type.element, {static_cast<int64_t>(bias.size())}};
  for (size_t c = 0; c < bias.size(); ++c) bias[c] = bias[c] * step.factor[c] + step.shift[c];
  const std::string name = contraction.name;
  ValueId new_weight = weight;
  if (!is_all(step.factor, 1))
    new_weight = add_constant(graph, graph.value(weight).name + "_scaled",
                              scaled(*graph.value(weight).constant, axes.weight_axis, step.factor));
  const ValueId new_bias = add_constant(graph, name + ".bias", tensor_of(bias_type, bias));
  contraction.inputs.resize(3, graph::absent);
  contraction.inputs[1] = new_weight;
  contraction.inputs[2] = new_bias;
}

}  // namespace

bool fold_scale(Graph& graph, const graph::Uses& uses, graph::NodeId id) {
  const std::string& op = graph.nodes[id].op_type;
  if (op != "Mul" && op != "Div" && op != "Add" && op != "Sub") return false;
  for (size_t i = 0; i < 2; ++i) {
    Node& node = graph.nodes[id];
    const Node* before = producer_of(graph, uses, node.inputs.at(i));
    const auto axes = before ? contraction_of(*before) : std::nullopt;
    if (!axes || uses.use_count(node.inputs[i]) != 1) continue;
    const graph::TensorType& type = graph.input_type(node, i);
    if (!type.is_fixed() || type != graph.output_type(node) || !graph::is_float(type.element)) continue;
    if (graph.constant_input(*before, 1) == nullptr) continue;
    const int64_t channels = type.dims[axes->result_axis].extent;
    const auto step =
        step_of(graph, node, i, static_cast<int>(type.dims.size()), axes->result_axis, channels);
    auto bias = bias_of(graph, *before, channels);
    if (!step || !bias) continue;
    Node& contraction = graph.nodes[uses.producer[node.inputs[i]]];
    apply(graph, contraction, *axes, *step, std::move(*bias));
    contraction.outputs[0] = node.outputs[0];
    clear_node(node);
    return true;
  }
  return false;
}

}  // namespace cryolite::simplify
