#include "ops/convolution.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "ops/access.h"
#include "ops/accumulate.h"
#include "ops/families.h"
#include "ops/window.h"

/// Conv: out(n, c, y, x) = bias(c) + sum of
///     padded(n, channel of the group, y * stride + ky * dilation, x * …) * weights(c, channel, ky, kx)
///
///     c_padded ──► c_sum (bias, then ONE update) ──► c
///
/// The update walks r.x = channel, r.y = kernel x, r.z = kernel y, r.w = kernel z. Depthwise (one input channel a
/// group) there is no loop over channels: r.x = kernel x, r.y = kernel y, r.z = kernel z.
namespace cryolite::ops {

using graph::Graph;
using graph::Node;
using Halide::Expr;
using namespace convolution_inputs;

std::vector<int64_t> kernel_of(const Graph& graph, const Node& node) {
  const auto extents = graph.input_type(node, weights).extents();
  return {extents.begin() + std::min<size_t>(2, extents.size()), extents.end()};
}

Expr input_channel(Expr c, Expr r, int64_t groups, int64_t group_outputs, int64_t group_inputs) {
  if (groups == 1) return r;
  const Expr group = group_outputs == 1 ? c : c / static_cast<int>(group_outputs);
  return group_inputs == 1 ? group : group * static_cast<int>(group_inputs) + r;
}

Expr bias_or_zero(const Builder& build, Expr c, Halide::Type type) {
  return build.has_input(bias) ? read_wide(build, bias, {c}) : Halide::Internal::make_zero(type);
}

void require_channels(const Node& node, int64_t expected, int64_t given, const char* what) {
  if (expected == given) return;
  throw Error(fmt::format("{} has {} {} where its weights ask for {}", node.op_type, given, what, expected),
              {.node = node.name},
              "make the shapes of data, weights and bias, and the group attribute, agree");
}

int64_t check_convolution_operands(const Graph& graph, const Node& node) {
  require_inputs(node, 2);
  require_float(graph, node, data);
  const auto x = graph.input_type(node, data).extents();
  const auto w = graph.input_type(node, weights).extents();
  if (x.size() < 3 || x.size() > 5 || w.size() != x.size() || graph.output_type(node).dims.size() != x.size())
    throw Error(
        fmt::format("{} of data of rank {} with weights of rank {}", node.op_type, x.size(), w.size()),
        {.node = node.name}, "give it data and weights of one rank, 3 to 5");
  const int64_t groups = graph::int_attribute(node, "group", 1);
  if (groups < 1 || w[0] % groups != 0)
    throw Error(fmt::format("{} splits {} weights into {} groups", node.op_type, w[0], groups),
                {.node = node.name}, "correct the group attribute");
  const auto shape = graph::ints_attribute(node, "kernel_shape");
  if (!shape.empty() && shape != kernel_of(graph, node))
    throw Error(fmt::format("{} has a kernel_shape that is not its weights' shape", node.op_type),
                {.node = node.name}, "correct or remove kernel_shape");
  return groups;
}

void check_bias(const Graph& graph, const Node& node, int64_t channels) {
  if (node.inputs.size() <= bias || node.inputs[bias] == graph::absent) return;
  const auto extents = graph.input_type(node, bias).extents();
  require_channels(node, channels, extents.size() == 1 ? extents[0] : -1, "elements of bias");
}

namespace {

/// The input with its border of zeros; an exact copy where there is no border, so that a schedule finds the
/// same stage to place.
LaidFunc padded_data(Builder& build, const std::vector<int64_t>& low, const std::vector<int64_t>& high) {
  const bool has_border = std::any_of(low.begin(), low.end(), [](int64_t n) { return n != 0; }) ||
                          std::any_of(high.begin(), high.end(), [](int64_t n) { return n != 0; });
  if (!has_border) return build.staged(data, "padded");
  return build.padded(data, low, high, Halide::Internal::make_zero(build.type(data)));
}

void conv(Builder& build) {
  const Window window = window_of(build.graph(), build.node(), kernel_of(build.graph(), build.node()));
  const Halide::Type type = accumulator_type(build.output_type());
  const int64_t groups = graph::int_attribute(build.node(), "group", 1);
  const int64_t group_inputs = build.extents(weights)[1];
  const int64_t group_outputs = build.extents(weights)[0] / groups;
  const bool is_depthwise = group_inputs == 1;
  const bool is_nothing = is_empty(build.extents(data)) || group_inputs == 0;
  LaidFunc padded;
  if (!is_nothing) padded = padded_data(build, low_border(window), high_border(window));
  LaidFunc sum = build.stage("sum", build.output_extents(), build.output_layout());
  const Index at = build.index(sum);
  sum.definition() = bias_or_zero(build, at[1], type);
  if (!is_nothing) {
    auto ranges = tap_ranges(window);
    if (!is_depthwise) ranges.insert(ranges.begin(), {0, static_cast<int>(group_inputs)});
    const Halide::RDom r = build.reduction(sum, ranges);
    const Expr channel = is_depthwise ? Expr(0) : Expr(r[0]);
    Index from = {at[0], input_channel(at[1], channel, groups, group_outputs, group_inputs)};
    Index tap = {at[1], channel};
    for (int axis = 0; axis < window.rank(); ++axis) {
      const Expr k = r[r.dimensions() - 1 - axis];
      from.push_back(at[2 + axis] * static_cast<int>(window.strides[axis]) +
                     k * static_cast<int>(window.dilations[axis]) - static_cast<int>(window.low[axis]));
      tap.push_back(k);
    }
    sum.at(at) += Halide::cast(type, padded.at(from)) * read_wide(build, weights, tap);
  }
  build.define(0, [&](const Index& i) { return Expr(sum.at(i)); });
}

int64_t conv_flops(const Graph& graph, const Node& node) {
  const auto kernel = graph.input_type(node, weights).extents();
  const int64_t outputs = graph.output_type(node).elements();
  int64_t taps = 1;
  for (size_t axis = 1; axis < kernel.size(); ++axis) taps *= kernel[axis];
  const bool has_bias = node.inputs.size() > bias && node.inputs[bias] != graph::absent;
  return outputs * (2 * taps + has_bias);
}

void check_conv(const Graph& graph, const Node& node) {
  const int64_t groups = check_convolution_operands(graph, node);
  const auto w = graph.input_type(node, weights).extents();
  require_channels(node, w[1] * groups, graph.input_type(node, data).extents()[1], "input channels");
  require_channels(node, w[0], graph.output_type(node).extents()[1], "output channels");
  check_bias(graph, node, w[0]);
  check_window(graph, node, kernel_of(graph, node));
}

AccessMaps convolution_access(const Graph&, const Node& node) {
  AccessMaps maps = {AccessMap::Window, AccessMap::WholeAxis, AccessMap::Broadcast};
  maps.resize(node.inputs.size());
  return maps;
}

constexpr Operator rows[] = {
    {"Conv", Category::Reduction, Kernel::Convolution, convolution_access, conv_flops, check_conv, conv},
};

}  // namespace

std::span<const Operator> convolution_operators() { return rows; }

}  // namespace cryolite::ops
