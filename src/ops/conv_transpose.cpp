#include <fmt/format.h>

#include <numeric>

#include "base/error.h"
#include "ops/access.h"
#include "ops/accumulate.h"
#include "ops/convolution.h"
#include "ops/families.h"

/// ConvTranspose in the form that gathers: output o is reached from input i through tap k where
/// o + low = i * stride + k * dilation. Only the taps that reach it are walked: with g = gcd(stride,
/// dilation) and period = stride / g these are k = phase(o) + period * t, t in [0, ceil(kernel / period)).
///
///     stride 2, kernel 3:   o even: k = 0, 2     o odd: k = 1, (3: outside, its weight is zero)
///
///     c_padded ─┐
///     c_weights ┴► c_sum (bias, then ONE update) ──► c
///
/// The update walks r.x = channel, r.y = t of x, r.z = t of y, r.w = t of z.
namespace cryolite::ops {
namespace {

using graph::Graph;
using graph::Node;
using Halide::Expr;
using namespace convolution_inputs;

int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/// One spatial axis.
struct Phases {
  int64_t stride, dilation, kernel, low;
  int64_t shared;       ///< greatest common divisor of stride and dilation
  int64_t period;       ///< stride / shared: distance of two taps that reach one output
  int64_t inverse = 0;  ///< of dilation / shared, modulo period

  Phases(int64_t stride, int64_t dilation, int64_t kernel, int64_t low)
      : stride(stride),
        dilation(dilation),
        kernel(kernel),
        low(low),
        shared(std::gcd(stride, dilation)),
        period(stride / shared) {
    while (period > 1 && (dilation / shared * inverse) % period != 1) ++inverse;
  }

  int64_t taps() const { return (kernel + period - 1) / period; }
  int64_t tap_bound() const { return taps() * period; }  ///< taps walked lie in [0, tap_bound())
  Expr shifted(Expr o) const { return low == 0 ? o : o + static_cast<int>(low); }
  Expr phase(Expr o) const {
    if (period == 1) return 0;
    Expr steps = shared == 1 ? shifted(o) : shifted(o) / static_cast<int>(shared);
    if (inverse != 1) steps = steps * static_cast<int>(inverse);
    return steps % static_cast<int>(period);
  }
  Expr tap(Expr o, Expr t) const { return period == 1 ? t : phase(o) + t * static_cast<int>(period); }
  Expr source(Expr o, Expr t) const {
    // With dilation 1, (o - o % stride) / stride is o / stride: spelled out, for Halide does not see it.
    Expr start = dilation == 1 ? shifted(o) : shifted(o) - phase(o) * static_cast<int>(dilation);
    if (stride != 1) start = start / static_cast<int>(stride);
    return start - t * static_cast<int>(dilation / shared);
  }
  /// Outputs where o + low is no multiple of the shared factor are reached by no tap.
  Expr is_reached(Expr o) const { return shifted(o) % static_cast<int>(shared) == 0; }
  int64_t least_source() const { return floor_divide(low - (tap_bound() - 1) * dilation, stride); }
  int64_t greatest_source(int64_t outputs) const { return floor_divide(outputs - 1 + low, stride); }
};

/// Border before each spatial axis of the output.
std::vector<int64_t> low_of(const Graph& graph, const Node& node) {
  const auto kernel = kernel_of(graph, node);
  const auto input = graph.input_type(node, data).extents();
  const auto output = graph.output_type(node).extents();
  const size_t rank = kernel.size();
  const std::vector<int64_t> ones(rank, 1), zeros(2 * rank, 0);
  const std::string mode = graph::string_attribute(node, "auto_pad", "NOTSET");
  const bool is_same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (!is_same && graph::ints_attribute(node, "output_shape").empty()) {
    const auto pads = mode == "VALID" ? zeros : graph::ints_attribute(node, "pads", zeros);
    return {pads.begin(), pads.begin() + static_cast<int64_t>(rank)};
  }
  const auto strides = graph::ints_attribute(node, "strides", ones);
  const auto dilations = graph::ints_attribute(node, "dilations", ones);
  const auto extra = graph::ints_attribute(node, "output_padding", zeros);
  std::vector<int64_t> low;
  for (size_t axis = 0; axis < rank; ++axis) {
    const int64_t reach = (kernel[axis] - 1) * dilations[axis] + 1;
    const int64_t full = strides[axis] * (input[2 + axis] - 1) + extra[axis] + reach;
    const int64_t total = std::max<int64_t>(0, full - output[2 + axis]);
    low.push_back(mode == "SAME_UPPER" ? total / 2 : total - total / 2);
  }
  return low;
}

std::vector<Phases> phases_of(const Graph& graph, const Node& node) {
  const auto kernel = kernel_of(graph, node);
  const std::vector<int64_t> ones(kernel.size(), 1);
  const auto strides = graph::ints_attribute(node, "strides", ones);
  const auto dilations = graph::ints_attribute(node, "dilations", ones);
  const auto low = low_of(graph, node);
  std::vector<Phases> phases;
  for (size_t axis = 0; axis < kernel.size(); ++axis)
    phases.emplace_back(strides[axis], dilations[axis], kernel[axis], low[axis]);
  return phases;
}

/// The input with zeros around it wherever a tap may fall. One element at least on each side: Halide's bounds
/// of a quotient may lie one beyond what is read.
LaidFunc padded_data(Builder& build, const std::vector<Phases>& phases) {
  const auto extents = build.extents(data), outputs = build.output_extents();
  std::vector<int64_t> low(extents.size(), 0), high(extents.size(), 0);
  for (size_t axis = 0; axis < phases.size(); ++axis) {
    low[2 + axis] = std::max<int64_t>(1, -phases[axis].least_source());
    high[2 + axis] =
        std::max<int64_t>(1, phases[axis].greatest_source(outputs[2 + axis]) - extents[2 + axis] + 1);
  }
  return build.padded(data, low, high, Halide::Internal::make_zero(build.type(data)));
}

/// The weights with zeros for the taps that the last step of a phase walks past the kernel.
LaidFunc padded_weights(Builder& build, const std::vector<Phases>& phases) {
  auto extents = build.extents(weights);
  for (size_t axis = 0; axis < phases.size(); ++axis) extents[2 + axis] = phases[axis].tap_bound();
  LaidFunc stage = build.stage("weights", extents, build.input_layout(weights));
  const Index at = build.index(stage);
  Index inside = at;
  Expr is_inside = Halide::Internal::const_true();
  for (size_t axis = 0; axis < phases.size(); ++axis) {
    const Phases& phase = phases[axis];
    if (phase.tap_bound() == phase.kernel) continue;
    const int last = static_cast<int>(phase.kernel) - 1;
    is_inside = is_inside && at[2 + axis] <= last;
    inside[2 + axis] = Halide::min(at[2 + axis], last);
  }
  const Expr element = read_wide(build, weights, inside);
  stage.definition() = Halide::select(is_inside, element, Halide::Internal::make_zero(element.type()));
  return stage;
}

void update_sum(Builder& build, const LaidFunc& sum, const std::vector<Phases>& phases) {
  const int64_t groups = graph::int_attribute(build.node(), "group", 1);
  const int group_inputs = static_cast<int>(build.extents(data)[1] / groups);
  const int group_outputs = static_cast<int>(build.extents(weights)[1]);
  const LaidFunc padded = padded_data(build, phases);
  const LaidFunc kernel = padded_weights(build, phases);
  const int rank = static_cast<int>(phases.size());
  const Index at = build.index(sum);
  std::vector<std::pair<Expr, Expr>> ranges = {{0, group_inputs}};
  for (int axis = rank; axis-- > 0;) ranges.emplace_back(0, static_cast<int>(phases[axis].taps()));
  const Halide::RDom r = build.reduction(sum, ranges);
  const Expr channel = input_channel(at[1], r[0], groups, group_outputs, group_inputs);
  Index from = {at[0], channel}, tap = {channel, groups == 1 ? at[1] : at[1] % group_outputs};
  Expr is_reached = Halide::Internal::const_true();
  for (int axis = 0; axis < rank; ++axis) {
    const Expr o = at[2 + axis], t = r[rank - axis];
    from.push_back(phases[axis].source(o, t));
    tap.push_back(phases[axis].tap(o, t));
    if (phases[axis].shared > 1) is_reached = is_reached && phases[axis].is_reached(o);
  }
  const Expr weight = kernel.at(tap);
  const Expr zero = Halide::Internal::make_zero(weight.type());
  sum.at(at) += Halide::cast(weight.type(), padded.at(from)) * Halide::select(is_reached, weight, zero);
}

void conv_transpose(Builder& build) {
  const auto phases = phases_of(build.graph(), build.node());
  LaidFunc sum = build.stage("sum", build.output_extents(), build.output_layout());
  sum.definition() = bias_or_zero(build, build.index(sum)[1], accumulator_type(build.output_type()));
  if (!is_empty(build.extents(data)) && !is_empty(build.extents(weights))) update_sum(build, sum, phases);
  build.define(0, [&](const Index& i) { return Expr(sum.at(i)); });
}

int64_t conv_transpose_flops(const Graph& graph, const Node& node) {
  const auto kernel = graph.input_type(node, weights).extents();
  int64_t taps = 1;
  for (size_t axis = 1; axis < kernel.size(); ++axis) taps *= kernel[axis];
  const bool has_bias = node.inputs.size() > bias && node.inputs[bias] != graph::absent;
  return 2 * graph.input_type(node, data).elements() * taps + has_bias * graph.output_type(node).elements();
}

void require_numbers(const Node& node, const char* name, size_t count, int64_t least) {
  for (int64_t number : graph::ints_attribute(node, name, std::vector<int64_t>(count, least)))
    if (number < least)
      throw Error(fmt::format("ConvTranspose has {} with {} in it", name, number), {.node = node.name},
                  fmt::format("give numbers of at least {}", least));
  const size_t given = graph::ints_attribute(node, name, std::vector<int64_t>(count, least)).size();
  if (given != count)
    throw Error(fmt::format("ConvTranspose has {} numbers of {}", given, name), {.node = node.name},
                fmt::format("give {} numbers", count));
}

void check_conv_transpose(const Graph& graph, const Node& node) {
  const int64_t groups = check_convolution_operands(graph, node);
  const auto w = graph.input_type(node, weights).extents();
  require_channels(node, w[0], graph.input_type(node, data).extents()[1], "input channels");
  require_channels(node, w[1] * groups, graph.output_type(node).extents()[1], "output channels");
  check_bias(graph, node, w[1] * groups);
  const size_t rank = w.size() - 2;
  require_numbers(node, "strides", rank, 1);
  require_numbers(node, "dilations", rank, 1);
  require_numbers(node, "pads", 2 * rank, 0);
  require_numbers(node, "output_padding", rank, 0);
}

AccessMaps transposed_access(const Graph&, const Node& node) {
  AccessMaps maps = {AccessMap::Window, AccessMap::WholeAxis, AccessMap::Broadcast};
  maps.resize(node.inputs.size());
  return maps;
}

constexpr Operator rows[] = {
    {"ConvTranspose", Category::Reduction, Kernel::Transposed, transposed_access, conv_transpose_flops,
     check_conv_transpose, conv_transpose},
};

}  // namespace

std::span<const Operator> conv_transpose_operators() { return rows; }

}  // namespace cryolite::ops
