#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/access.h"
#include "ops/accumulate.h"
#include "ops/families.h"
#include "ops/window.h"

/// Pools: a window of every channel to a point.
///
///     p_padded ──► p_max | p_sum (ONE update over r.x = kernel x, r.y = kernel y, r.z = kernel z) ──► p
///
/// and the global pools: the whole of every channel to a point (r.x walks the axis that is innermost in
/// memory).
namespace cryolite::ops {
namespace {

using graph::Graph;
using graph::Node;
using Halide::Expr;
using Halide::Type;

Window pool_window(const Builder& build) {
  return window_of(build.graph(), build.node(), kernel_shape(build.node()));
}

/// The index of the input that tap `r` of an output reads; outside of the input where it falls on the border.
Index tap_index(const Window& window, const Index& at, const Halide::RDom& r) {
  Index index = {at[0], at[1]};
  for (int axis = 0; axis < window.rank(); ++axis)
    index.push_back(at[2 + axis] * static_cast<int>(window.strides[axis]) +
                    r[window.rank() - 1 - axis] * static_cast<int>(window.dilations[axis]) -
                    static_cast<int>(window.low[axis]));
  return index;
}

/// The input inside its border, the same stage where there is none.
LaidFunc padded_input(Builder& build, const Window& window, Expr fill) {
  const auto low = low_border(window), high = high_border(window);
  const bool has_border =
      low != std::vector<int64_t>(low.size(), 0) || high != std::vector<int64_t>(high.size(), 0);
  return has_border ? build.padded(0, low, high, fill) : build.staged(0, "padded");
}

/// Greatest element of the window and where it lies: (value, linear index in the input), the first on ties.
LaidFunc greatest_and_place(Builder& build, const Window& window, const LaidFunc& padded) {
  const auto extents = build.extents(0);
  const bool is_column_major = graph::int_attribute(build.node(), "storage_order", 0) != 0;
  LaidFunc best = build.stage("max", build.output_extents(), build.output_layout());
  const Index at = build.index(best);
  best.definition() = Halide::Tuple(build.type(0).min(), Expr(-1));
  const Halide::RDom r = build.reduction(best, tap_ranges(window));
  const Index from = tap_index(window, at, r);
  Expr is_inside = Halide::Internal::const_true();
  for (int axis = 0; axis < window.rank(); ++axis)
    is_inside = is_inside && from[2 + axis] >= 0 && from[2 + axis] < static_cast<int>(extents[2 + axis]);
  Expr place = at[0] * static_cast<int>(extents[1]) + at[1];
  for (int axis = 0; axis < window.rank(); ++axis) place = place * static_cast<int>(extents[2 + axis]);
  Expr inner = 0;
  for (int i = 0; i < window.rank(); ++i) {
    const int axis = is_column_major ? window.rank() - 1 - i : i;
    inner = inner * static_cast<int>(extents[2 + axis]) + from[2 + axis];
  }
  place = place + inner;
  const Expr value = padded.at(from);
  const Expr greatest = best.at(at)[0], greatest_place = best.at(at)[1];
  const Expr is_better = is_inside && (value > greatest || greatest_place < 0);
  best.at(at) = Halide::Tuple(Halide::select(is_better, value, greatest),
                              Halide::select(is_better, place, greatest_place));
  return best;
}

void max_pool(Builder& build) {
  const Window window = pool_window(build);
  const Type type = build.type(0);
  const LaidFunc padded = padded_input(build, window, type.min());
  if (build.has_output(1)) {
    const LaidFunc best = greatest_and_place(build, window, padded);
    if (build.has_output(0)) build.define(0, [&](const Index& i) { return Expr(best.at(i)[0]); });
    build.define(1, [&](const Index& i) { return Halide::cast<int64_t>(best.at(i)[1]); });
    return;
  }
  LaidFunc greatest = build.stage("max", build.output_extents(), build.output_layout());
  const Index at = build.index(greatest);
  greatest.definition() = type.min();
  const Halide::RDom r = build.reduction(greatest, tap_ranges(window));
  const Expr value = padded.at(tap_index(window, at, r));
  greatest.at(at) = Halide::max(Expr(greatest.at(at)), value);
  build.define(0, [&](const Index& i) { return Expr(greatest.at(i)); });
}

/// The sum of `element` over every window.
LaidFunc window_sum(Builder& build, const Window& window, Type type,
                    const std::function<Expr(Expr)>& element) {
  const LaidFunc padded = padded_input(build, window, Halide::Internal::make_zero(build.type(0)));
  LaidFunc sum = build.stage("sum", build.output_extents(), build.output_layout());
  const Index at = build.index(sum);
  sum.definition() = Halide::Internal::make_zero(type);
  const Halide::RDom r = build.reduction(sum, tap_ranges(window));
  sum.at(at) += element(Halide::cast(type, padded.at(tap_index(window, at, r))));
  return sum;
}

/// Taps of the windows of output `o` that fall into [begin, end) of the input's axis; a number where all do.
Expr taps_between(const Window& window, int axis, Expr o, int64_t begin, int64_t end) {
  const int64_t last =
      (window.output[axis] - 1) * window.strides[axis] - window.low[axis] + window.reach(axis) - 1;
  const int kernel = static_cast<int>(window.kernel[axis]),
            dilation = static_cast<int>(window.dilations[axis]);
  if (-window.low[axis] >= begin && last < end) return kernel;
  const Expr start = o * static_cast<int>(window.strides[axis]) - static_cast<int>(window.low[axis]);
  const auto taps_before = [&](int64_t position) {
    const Expr taps = (static_cast<int>(position) - start + (dilation - 1)) / dilation;
    return Halide::clamp(taps, 0, kernel);
  };
  return taps_before(end) - taps_before(begin);
}

void average_pool(Builder& build) {
  const Window window = pool_window(build);
  const Type type = accumulator_type(build.output_type());
  const bool counts_border = graph::int_attribute(build.node(), "count_include_pad", 0) != 0;
  const LaidFunc sum = window_sum(build, window, type, [](Expr x) { return x; });
  build.define(0, [&](const Index& i) {
    Expr count = 1;
    for (int axis = 0; axis < window.rank(); ++axis) {
      const int64_t begin = counts_border ? -window.low[axis] : 0;
      const int64_t end = window.input[axis] + (counts_border ? window.high[axis] : 0);
      count = count * taps_between(window, axis, i[2 + axis], begin, end);
    }
    return sum.at(i) / Halide::cast(type, Halide::Internal::simplify(count));
  });
}

/// |x| to the power p, and the p-th root: plain arithmetic for the norms in use.
Expr power(Expr x, int64_t p) {
  if (p == 1) return Halide::abs(x);
  if (p == 2) return x * x;
  return Halide::pow(Halide::abs(x), constant(x.type(), static_cast<double>(p)));
}
Expr root(Expr x, int64_t p) {
  if (p == 1) return x;
  if (p == 2) return Halide::sqrt(x);
  return Halide::select(x == 0, x, Halide::pow(x, constant(x.type(), 1.0 / static_cast<double>(p))));
}

void lp_pool(Builder& build) {
  const int64_t p = graph::int_attribute(build.node(), "p", 2);
  const Type type = accumulator_type(build.output_type());
  const LaidFunc sum = window_sum(build, pool_window(build), type, [&](Expr x) { return power(x, p); });
  build.define(0, [&](const Index& i) { return root(sum.at(i), p); });
}

std::vector<int> spatial_axes(const Builder& build) {
  std::vector<int> axes;
  for (int axis = 2; axis < build.rank(0); ++axis) axes.push_back(axis);
  return axes;
}

void global_average_pool(Builder& build) {
  const auto axes = spatial_axes(build);
  const Type type = accumulator_type(build.output_type());
  const LaidFunc sum =
      sum_stage(build, "sum", axes, type, [&](const Index& i) { return read_wide(build, 0, i); });
  const Expr count = constant(type, static_cast<double>(count_of(build.extents(0), axes)));
  build.define(0, [&](const Index& i) { return sum.at(i) / count; });
}

void global_max_pool(Builder& build) {
  const LaidFunc greatest = max_stage(build, "max", spatial_axes(build), build.type(0),
                                      [&](const Index& i) { return build.read(0, i); });
  build.define(0, [&](const Index& i) { return Expr(greatest.at(i)); });
}

void global_lp_pool(Builder& build) {
  const int64_t p = graph::int_attribute(build.node(), "p", 2);
  const Type type = accumulator_type(build.output_type());
  const LaidFunc sum = sum_stage(build, "sum", spatial_axes(build), type,
                                 [&](const Index& i) { return power(read_wide(build, 0, i), p); });
  build.define(0, [&](const Index& i) { return root(sum.at(i), p); });
}

int64_t pool_flops(const Graph& graph, const Node& node) {
  int64_t taps = 1;
  for (int64_t extent : kernel_shape(node)) taps *= extent;
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (node.outputs[i] != graph::absent) return taps * graph.output_type(node, i).elements();
  return 0;
}

void check_power(const Node& node) {
  if (graph::int_attribute(node, "p", 2) < 1)
    throw Error("has a norm of power p < 1", {.node = node.name}, "use p of at least 1");
}

void check_max_pool(const Graph& graph, const Node& node) {
  using enum graph::ElementType;
  require_element(graph, node, 0, {Float32, Float64, Float16, BFloat16, Int8, UInt8});
  if (node.outputs.empty() || node.outputs[0] == graph::absent)
    throw Error("MaxPool gives only Indices", {.node = node.name}, "name its first output");
  check_window(graph, node, kernel_shape(node));
}

void check_float_pool(const Graph& graph, const Node& node) {
  require_float(graph, node, 0);
  check_power(node);
  check_window(graph, node, kernel_shape(node));
}

void check_global_pool(const Graph& graph, const Node& node) {
  require_float(graph, node, 0);
  check_power(node);
  if (graph.input_type(node, 0).dims.size() < 2 ||
      graph.input_type(node, 0).dims.size() != graph.output_type(node).dims.size())
    throw Error("pools a value that has no channels", {.node = node.name},
                "give it a value of rank 2 or more: batch, channels, spatial axes");
}

constexpr auto window_access = every_input<AccessMap::Window>;
constexpr auto whole_access = every_input<AccessMap::WholeAxis>;

constexpr Operator rows[] = {
    {"AveragePool", Category::Reduction, Kernel::Pool, window_access, pool_flops, check_float_pool,
     average_pool},
    {"GlobalAveragePool", Category::Reduction, Kernel::Reduce, whole_access, flops_an_input<1>,
     check_global_pool, global_average_pool},
    {"GlobalLpPool", Category::Reduction, Kernel::Reduce, whole_access, flops_an_input<2>, check_global_pool,
     global_lp_pool},
    {"GlobalMaxPool", Category::Reduction, Kernel::Reduce, whole_access, flops_an_input<1>, check_global_pool,
     global_max_pool},
    {"LpPool", Category::Reduction, Kernel::Pool, window_access, pool_flops, check_float_pool, lp_pool},
    {"MaxPool", Category::Reduction, Kernel::Pool, window_access, pool_flops, check_max_pool, max_pool},
};

}  // namespace

std::span<const Operator> pool_operators() { return rows; }

}  // namespace cryolite::ops
