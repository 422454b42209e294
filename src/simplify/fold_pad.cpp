#include <algorithm>
#include <limits>

#include "simplify/edit.h"
#include "simplify/rewrites.h"

// Padding goes into the windows that read it.
//
//   p = Pad(x, {0,0,1,1,0,0,1,1})     →   y = Conv(x, w) {pads=[1,1,1,1]}
//   y = Conv(p, w)
//
// Conv: the pad is constant 0. AveragePool: constant 0, and the pool counts its padding (or has none yet:
// then it must count the new one); ceil_mode shifts windows, so not there. MaxPool: the pad is the lowest
// number, which is what the pool's own padding amounts to. Always: spatial axes only, no negative pads,
// explicit padding, one reader.

namespace cryolite::simplify {
namespace {

using graph::Graph;
using graph::Node;

/// Begin and end pads of the spatial axes, as Conv's `pads` has them.
std::optional<std::vector<int64_t>> spatial_pads(const Graph& graph, const Node& pad) {
  const graph::Tensor* given = graph.constant_input(pad, 1);
  const graph::TensorType& type = graph.input_type(pad, 0);
  if (given == nullptr || !type.is_fixed() || type.dims.size() < 3) return std::nullopt;
  const auto rank = static_cast<int64_t>(type.dims.size());
  std::vector<int64_t> axes(rank);
  for (int64_t i = 0; i < rank; ++i) axes[i] = i;
  if (pad.inputs.size() > 3 && pad.inputs[3] != graph::absent) {
    const graph::Tensor* named = graph.constant_input(pad, 3);
    if (named == nullptr) return std::nullopt;
    axes = named->as_integers();
  }
  const std::vector<int64_t> numbers = given->as_integers();
  if (numbers.size() != 2 * axes.size()) return std::nullopt;
  std::vector<int64_t> pads(2 * (rank - 2), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int axis = graph::normalized_axis(axes[i], static_cast<int>(rank), pad);
    const int64_t low = numbers[i], high = numbers[i + axes.size()];
    if (low < 0 || high < 0 || (axis < 2 && (low != 0 || high != 0))) return std::nullopt;
    if (axis < 2) continue;
    pads[axis - 2] = low;
    pads[axis - 2 + rank - 2] = high;
  }
  return pads;
}

std::optional<double> fill_of(const Graph& graph, const Node& pad) {
  if (graph::string_attribute(pad, "mode", "constant") != "constant") return std::nullopt;
  if (pad.inputs.size() < 3 || pad.inputs[2] == graph::absent) return 0;
  return uniform_constant(graph, pad.inputs[2]);
}

bool is_all_zero(const std::vector<int64_t>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](int64_t n) { return n == 0; });
}

bool is_lowest(double fill, graph::ElementType type) {
  if (fill == -std::numeric_limits<double>::infinity()) return true;
  return type == graph::ElementType::Float32 && fill == std::numeric_limits<float>::lowest();
}

bool may_take(const Graph& graph, const Node& window, double fill, const std::vector<int64_t>& own) {
  if (graph::string_attribute(window, "auto_pad", "NOTSET") != "NOTSET") return false;
  if (window.op_type == "Conv") return fill == 0;
  if (graph::int_attribute(window, "ceil_mode", 0) != 0) return false;
  if (window.op_type == "AveragePool")
    return fill == 0 && (is_all_zero(own) || graph::int_attribute(window, "count_include_pad", 0) == 1);
  // The lowest number and the pool's own padding agree unless a window sees padding only.
  return window.op_type == "MaxPool" && window.outputs.size() == 1 &&
         is_lowest(fill, graph.input_type(window, 0).element);
}

}  // namespace

bool fold_pad(Graph& graph, const graph::Uses& uses, graph::NodeId id) {
  Node& window = graph.nodes[id];
  if (window.op_type != "Conv" && window.op_type != "AveragePool" && window.op_type != "MaxPool")
    return false;
  const Node* pad = sole_producer(graph, uses, window, 0, "Pad");
  if (pad == nullptr) return false;
  const auto added = spatial_pads(graph, *pad);
  const auto fill = fill_of(graph, *pad);
  if (!added || !fill) return false;
  std::vector<int64_t> pads = graph::ints_attribute(window, "pads", std::vector<int64_t>(added->size(), 0));
  if (pads.size() != added->size() || !may_take(graph, window, *fill, pads)) return false;
  // ONNX wants a pool's pads smaller than its kernel, so that every window sees an element.
  const std::vector<int64_t> kernel = graph::ints_attribute(window, "kernel_shape");
  for (size_t i = 0; i < pads.size(); ++i) {
    pads[i] += (*added)[i];
    if (window.op_type != "Conv" && pads[i] >= kernel.at(i % kernel.size())) return false;
  }
  window.inputs[0] = pad->inputs[0];
  window.attributes["pads"] = pads;
  if (window.op_type == "AveragePool") window.attributes["count_include_pad"] = int64_t{1};
  return true;
}

}  // namespace cryolite::simplify
