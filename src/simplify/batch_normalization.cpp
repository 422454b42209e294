#include <cmath>

#include "simplify/edit.h"
#include "simplify/rewrites.h"

// Batch normalisation with constant statistics is a scale and a shift by channel.
//
//   y = BatchNormalization(x, gamma, beta, mean, var)      →   m = Mul(x, scale[C,1,1])
//                                                              y = Add(m, shift[C,1,1])
//   scale = gamma / sqrt(var + epsilon),  shift = beta - mean * scale, in double, rounded once.
//
// fold_scale then takes both into a convolution where that is legal; elsewhere they fuse with what follows.

namespace cryolite::simplify {
namespace {

using graph::Graph;
using graph::Node;

struct Affine {
  std::vector<double> scale, shift;
};

std::optional<Affine> affine_of(const Graph& graph, const Node& node, int64_t channels) {
  std::vector<std::vector<double>> given;
  for (size_t i = 1; i <= 4; ++i) {
    const graph::Tensor* tensor = graph.constant_input(node, i);
    if (tensor == nullptr || tensor->type.elements() != channels) return std::nullopt;
    given.push_back(tensor->as_doubles());
  }
  const double epsilon = graph::float_attribute(node, "epsilon", 1e-5f);
  Affine affine;
  for (int64_t c = 0; c < channels; ++c) {
    affine.scale.push_back(given[0][c] / std::sqrt(given[3][c] + epsilon));
    affine.shift.push_back(given[1][c] - given[2][c] * affine.scale[c]);
  }
  return affine;
}

}  // namespace

bool split_batch_normalization(Graph& graph, const graph::Uses& uses, graph::NodeId id) {
  const Node& node = graph.nodes[id];
  if (node.op_type != "BatchNormalization" || node.inputs.size() < 5 || node.outputs.empty()) return false;
  if (graph::int_attribute(node, "training_mode", 0) != 0) return false;
  for (size_t i = 1; i < node.outputs.size(); ++i)
    if (node.outputs[i] != graph::absent && uses.use_count(node.outputs[i]) > 0) return false;
  const graph::TensorType& type = graph.input_type(node, 0);
  if (!type.is_fixed() || type.dims.size() < 2 || !graph::is_float(type.element)) return false;
  const int64_t channels = type.dims[1].extent;
  const std::optional<Affine> affine = affine_of(graph, node, channels);
  if (!affine) return false;

  const graph::TensorType constant{type.element,
                                   channel_shape(static_cast<int>(type.dims.size()), 1, channels)};
  const std::string name = node.name;
  const graph::ValueId x = node.inputs[0], y = node.outputs[0];
  const graph::ValueId scale = add_constant(graph, name + ".scale", tensor_of(constant, affine->scale));
  const graph::ValueId shift = add_constant(graph, name + ".shift", tensor_of(constant, affine->shift));
  const graph::ValueId product =
      graph.add_value({free_value_name(graph, name + ".scaled"), graph.value(y).type, {}, {}});
  graph.nodes[id] = {name, "Add", {product, shift}, {y}, {}};
  graph.nodes.insert(graph.nodes.begin() + id,
                     {free_node_name(graph, name + ".scale"), "Mul", {x, scale}, {product}, {}});
  return true;
}

}  // namespace cryolite::simplify
