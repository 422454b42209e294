#include <fmt/format.h>

#include <numeric>

#include "base/error.h"
#include "ops/access.h"
#include "ops/accumulate.h"
#include "ops/families.h"

/// Norms: rows (or channels, or groups of channels) reduced, then every element written.
///
///     x ──► y_total ──► y_mean ──► y_squares ──► y_variance ──► y_inverse = 1 / sqrt(variance + epsilon)
///       └────────────────────────────────────────────────────► y = (x - mean) * inverse * scale + bias
///
/// The inner stages have extent 1 on the axes reduced, so that a schedule can compute them once a row. The
/// variance is the mean of the squared distances from the mean: two passes, exact where the mean is large.
/// The stages of LpNormalization are y_total and y_norm; of LRN, y_padded and y_sum; those of
/// BatchNormalization, which reduces nothing, y_factor and y_offset.
namespace cryolite::ops {
namespace {

using graph::Graph;
using graph::Node;
using Halide::Expr;
using Halide::Type;

using Element = std::function<Expr(const Index&)>;

/// A pure stage of the extents and layout of another.
LaidFunc stage_like(Builder& build, const LaidFunc& other, const std::vector<int64_t>& extents,
                    const char* name, const Element& element) {
  LaidFunc stage = build.stage(name, extents, other.layout);
  stage.definition() = element(build.index(stage));
  return stage;
}

/// Mean of `element` over `axes` of input 0: stages `total` and `mean`.
LaidFunc mean_stage(Builder& build, const char* total, const char* mean, const std::vector<int>& axes,
                    Type type, const Element& element) {
  const LaidFunc sum = sum_stage(build, total, axes, type, element);
  const auto extents = build.extents(0);
  const Expr count = constant(type, static_cast<double>(count_of(extents, axes)));
  return stage_like(build, sum, reduced_extents(extents, axes), mean,
                    [&](const Index& i) { return sum.at(i) / count; });
}

struct Moments {
  LaidFunc mean, variance;
};

Moments moments(Builder& build, const std::vector<int>& axes, Type type) {
  const auto x = [&](const Index& i) { return Halide::cast(type, build.read(0, i)); };
  const LaidFunc mean = mean_stage(build, "total", "mean", axes, type, x);
  const LaidFunc variance = mean_stage(build, "squares", "variance", axes, type, [&](const Index& i) {
    const Expr distance = x(i) - mean.at(reduced(i, axes));
    return distance * distance;
  });
  return {mean, variance};
}

LaidFunc inverse_stage(Builder& build, const LaidFunc& variance, const std::vector<int64_t>& extents,
                       Type type) {
  const Expr epsilon = constant(type, graph::float_attribute(build.node(), "epsilon", 1e-5f));
  return stage_like(build, variance, extents, "inverse", [&](const Index& i) {
    return constant(type, 1) / Halide::sqrt(variance.at(i) + epsilon);
  });
}

/// The type that statistics are computed in: float32 at least, float64 for float64.
Type statistics_type(const Builder& build) { return accumulator_type(build.type(0)); }

std::vector<int> axes_from(int first, int rank) {
  std::vector<int> axes(rank - first);
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

std::vector<int> row_axes(const Graph& graph, const Node& node) {
  const int rank = static_cast<int>(graph.input_type(node, 0).dims.size());
  return axes_from(graph::normalized_axis(graph::int_attribute(node, "axis", -1), rank, node), rank);
}

/// normalized * scale + bias, both broadcast to the rows.
Expr scaled_row(const Builder& build, Expr normalized, const Index& i, Type type) {
  Expr result = normalized * Halide::cast(type, build.read_broadcast(1, i));
  if (build.has_input(2)) result = result + Halide::cast(type, build.read_broadcast(2, i));
  return result;
}

void layer_normalization(Builder& build) {
  const auto axes = row_axes(build.graph(), build.node());
  const auto extents = build.extents(0);
  const Type type = statistics_type(build);
  const Moments row = moments(build, axes, type);
  const LaidFunc inverse = inverse_stage(build, row.variance, reduced_extents(extents, axes), type);
  if (build.has_output(1)) build.define(1, [&](const Index& i) { return Expr(row.mean.at(i)); });
  if (build.has_output(2)) build.define(2, [&](const Index& i) { return Expr(inverse.at(i)); });
  build.define(0, [&](const Index& i) {
    const Index at = reduced(i, axes);
    const Expr x = Halide::cast(type, build.read(0, i));
    return scaled_row(build, (x - row.mean.at(at)) * inverse.at(at), i, type);
  });
}

void rms_normalization(Builder& build) {
  const auto axes = row_axes(build.graph(), build.node());
  const Type type = statistics_type(build);
  const auto x = [&](const Index& i) { return Halide::cast(type, build.read(0, i)); };
  const LaidFunc mean =
      mean_stage(build, "squares", "mean", axes, type, [&](const Index& i) { return x(i) * x(i); });
  const LaidFunc inverse = inverse_stage(build, mean, reduced_extents(build.extents(0), axes), type);
  build.define(
      0, [&](const Index& i) { return scaled_row(build, x(i) * inverse.at(reduced(i, axes)), i, type); });
}

void instance_normalization(Builder& build) {
  const auto axes = axes_from(2, build.rank(0));
  const Type type = statistics_type(build);
  const Moments channel = moments(build, axes, type);
  const LaidFunc inverse =
      inverse_stage(build, channel.variance, reduced_extents(build.extents(0), axes), type);
  build.define(0, [&](const Index& i) {
    const Index at = reduced(i, axes);
    const Expr x = Halide::cast(type, build.read(0, i));
    const Expr scale = read_wide(build, 1, {i[1]}), bias = read_wide(build, 2, {i[1]});
    return (x - channel.mean.at(at)) * inverse.at(at) * scale + bias;
  });
}

/// A sum over each group of channels: a stage (n, group), its domain walking the spatial axes, innermost in
/// memory first where that is possible, and the channels of the group.
struct Groups {
  Builder& build;
  int64_t count, size;  ///< groups, and channels in each
  Type type;

  std::vector<int64_t> extents() const { return {build.extents(0)[0], count}; }
  Expr group_of(Expr c) const { return size == 1 ? c : c / static_cast<int>(size); }

  LaidFunc mean_of(const char* total, const char* mean, const Element& element) const {
    const auto input = build.extents(0);
    const auto axes = innermost_first(build, 0, axes_from(1, static_cast<int>(input.size())));
    LaidFunc sum = build.stage(total, extents());
    const Index at = build.index(sum);
    sum.definition() = Halide::Internal::make_zero(type);
    int64_t elements = size;
    for (size_t axis = 2; axis < input.size(); ++axis) elements *= input[axis];
    if (!is_empty(input)) {
      std::vector<std::pair<Expr, Expr>> ranges;
      for (int axis : axes) ranges.emplace_back(0, static_cast<int>(axis == 1 ? size : input[axis]));
      const Halide::RDom r = build.reduction(sum, ranges);
      Index from(input.size());
      from[0] = at[0];
      for (size_t d = 0; d < axes.size(); ++d) from[axes[d]] = r[static_cast<int>(d)];
      from[1] = at[1] * static_cast<int>(size) + from[1];
      sum.at(at) += element(from);
    }
    const Expr divisor = constant(type, static_cast<double>(elements));
    return stage_like(build, sum, extents(), mean, [&](const Index& i) { return sum.at(i) / divisor; });
  }
};

void group_normalization(Builder& build) {
  const int64_t count = graph::int_attribute(build.node(), "num_groups", 1);
  const Groups groups{build, count, build.extents(0)[1] / count, statistics_type(build)};
  const auto x = [&](const Index& i) { return Halide::cast(groups.type, build.read(0, i)); };
  const auto group = [&](const Index& i) { return Index{i[0], groups.group_of(i[1])}; };
  const LaidFunc mean = groups.mean_of("total", "mean", x);
  const LaidFunc variance = groups.mean_of("squares", "variance", [&](const Index& i) {
    const Expr distance = x(i) - mean.at(group(i));
    return distance * distance;
  });
  const LaidFunc inverse = inverse_stage(build, variance, groups.extents(), groups.type);
  // Since opset 21 scale and bias are given a channel, before that a group.
  const bool is_by_channel = build.extents(1)[0] == build.extents(0)[1];
  build.define(0, [&](const Index& i) {
    const Index parameter = {is_by_channel ? i[1] : groups.group_of(i[1])};
    const Expr normalized = (x(i) - mean.at(group(i))) * inverse.at(group(i));
    return normalized * read_wide(build, 1, parameter) + read_wide(build, 2, parameter);
  });
}

void batch_normalization(Builder& build) {
  enum { scale = 1, bias, mean, variance };
  const Type type = statistics_type(build);
  const Expr epsilon = constant(type, graph::float_attribute(build.node(), "epsilon", 1e-5f));
  const auto parameter = [&](size_t input, const Index& i) {
    return Halide::cast(type, build.read(input, i));
  };
  const LaidFunc factor = build.stage("factor", build.extents(scale));
  Index c = build.index(factor);
  factor.definition() = parameter(scale, c) / Halide::sqrt(parameter(variance, c) + epsilon);
  const LaidFunc offset = build.stage("offset", build.extents(scale));
  c = build.index(offset);
  offset.definition() = parameter(bias, c) - parameter(mean, c) * factor.at(c);
  build.define(0, [&](const Index& i) {
    const Index channel = {i.size() > 1 ? i[1] : Expr(0)};
    return Halide::cast(type, build.read(0, i)) * factor.at(channel) + offset.at(channel);
  });
}

/// base to the power -beta; by square roots for the quarters in use.
Expr inverse_power(Expr base, double beta) {
  const Expr one = constant(base.type(), 1);
  if (beta == 1) return one / base;
  if (beta == 0.5) return one / Halide::sqrt(base);
  if (beta == 0.75) return one / (Halide::sqrt(base) * Halide::sqrt(Halide::sqrt(base)));
  return Halide::pow(base, constant(base.type(), -beta));
}

/// Sum of squares over a window of channels, the border of zeros a stage of its own.
void local_response_normalization(Builder& build) {
  const Node& node = build.node();
  const Type type = statistics_type(build);
  const int64_t size = graph::int_attribute(node, "size", 1);
  std::vector<int64_t> low(build.rank(0), 0), high = low;
  low[1] = (size - 1) / 2;
  high[1] = size - 1 - low[1];
  const LaidFunc padded = build.padded(0, low, high, Halide::Internal::make_zero(build.type(0)));
  LaidFunc sum = build.stage("sum", build.output_extents(), build.output_layout());
  const Index at = build.index(sum);
  sum.definition() = Halide::Internal::make_zero(type);
  const Halide::RDom r = build.reduction(sum, {{0, static_cast<int>(size)}});
  const Expr x = Halide::cast(type, padded.at(with(at, 1, at[1] + r.x - static_cast<int>(low[1]))));
  sum.at(at) += x * x;
  const Expr bias = constant(type, graph::float_attribute(node, "bias", 1));
  const Expr alpha = constant(type, static_cast<double>(graph::float_attribute(node, "alpha", 1e-4f)) / size);
  const double beta = graph::float_attribute(node, "beta", 0.75f);
  build.define(0, [&](const Index& i) {
    return Halide::cast(type, build.read(0, i)) * inverse_power(bias + alpha * sum.at(i), beta);
  });
}

/// x / norm; a row of norm 0 stays as it is.
void lp_normalization(Builder& build) {
  const Node& node = build.node();
  const std::vector<int> axes = {
      graph::normalized_axis(graph::int_attribute(node, "axis", -1), build.rank(0), node)};
  const bool is_first = graph::int_attribute(node, "p", 2) == 1;
  const Type type = statistics_type(build);
  const LaidFunc total = sum_stage(build, "total", axes, type, [&](const Index& i) {
    const Expr x = Halide::cast(type, build.read(0, i));
    return is_first ? Halide::abs(x) : x * x;
  });
  const LaidFunc norm =
      stage_like(build, total, reduced_extents(build.extents(0), axes), "norm",
                 [&](const Index& i) { return is_first ? Expr(total.at(i)) : Halide::sqrt(total.at(i)); });
  build.define(0, [&](const Index& i) {
    const Expr x = Halide::cast(type, build.read(0, i)), length = norm.at(reduced(i, axes));
    return Halide::select(length == 0, x, x / length);
  });
}

std::vector<int> moment_axes(const Graph& graph, const Node& node) {
  const int rank = static_cast<int>(graph.input_type(node, 0).dims.size());
  std::vector<int> axes;
  for (int64_t axis : graph::ints_attribute(node, "axes", {0, 2, 3}))
    axes.push_back(graph::normalized_axis(axis, rank, node));
  return axes;
}

void mean_variance_normalization(Builder& build) {
  constexpr double epsilon = 1e-9;  // the operator's own definition adds it to the deviation
  const auto axes = moment_axes(build.graph(), build.node());
  const Type type = statistics_type(build);
  const Moments all = moments(build, axes, type);
  build.define(0, [&](const Index& i) {
    const Index at = reduced(i, axes);
    const Expr deviation = Halide::sqrt(all.variance.at(at)) + constant(type, epsilon);
    return (Halide::cast(type, build.read(0, i)) - all.mean.at(at)) / deviation;
  });
}

// ---- checks ----

void require_same_shape(const Graph& graph, const Node& node) {
  if (graph.input_type(node, 0).dims == graph.output_type(node).dims) return;
  throw Error(fmt::format("{} gives a value of another shape than its input", node.op_type),
              {.node = node.name}, "correct the shape of its output");
}

/// Input i has one axis of `extent` elements.
void require_parameter(const Graph& graph, const Node& node, size_t input, int64_t extent) {
  require_inputs(node, input + 1);
  const auto extents = graph.input_type(node, input).extents();
  if (extents == std::vector<int64_t>{extent}) return;
  throw Error(fmt::format("{} has a parameter (input {}) of a wrong shape", node.op_type, input),
              {.node = node.name, .value = graph.value(node.inputs[input]).name},
              fmt::format("give it one axis of {} elements", extent));
}

void require_rank_of_two(const Graph& graph, const Node& node) {
  if (graph.input_type(node, 0).dims.size() >= 2) return;
  throw Error(fmt::format("{} of a value that has no channels", node.op_type), {.node = node.name},
              "give it a value of rank 2 or more");
}

void check_rows(const Graph& graph, const Node& node) {
  require_float(graph, node, 0);
  require_inputs(node, 2);
  require_same_shape(graph, node);
  row_axes(graph, node);
  const auto extents = graph.input_type(node, 0).extents();
  for (size_t input = 1; input < node.inputs.size(); ++input) {
    if (node.inputs[input] == graph::absent) continue;
    const auto own = graph.input_type(node, input).extents();
    bool fits = own.size() <= extents.size();
    for (size_t axis = 0; fits && axis < own.size(); ++axis)
      fits = own[axis] == 1 || own[axis] == extents[extents.size() - own.size() + axis];
    if (!fits)
      throw Error(fmt::format("{} has a scale or bias (input {}) that does not broadcast to its data",
                              node.op_type, input),
                  {.node = node.name}, "give it the extents of the normalized axes");
  }
}

void check_instance(const Graph& graph, const Node& node) {
  require_float(graph, node, 0);
  require_rank_of_two(graph, node);
  require_same_shape(graph, node);
  for (size_t input : {1, 2}) require_parameter(graph, node, input, graph.input_type(node, 0).extents()[1]);
}

void check_groups(const Graph& graph, const Node& node) {
  require_float(graph, node, 0);
  require_rank_of_two(graph, node);
  require_same_shape(graph, node);
  require_inputs(node, 3);
  const int64_t channels = graph.input_type(node, 0).extents()[1];
  const int64_t groups = graph::int_attribute(node, "num_groups", 0);
  if (groups < 1 || channels % groups != 0)
    throw Error(fmt::format("GroupNormalization splits {} channels into {} groups", channels, groups),
                {.node = node.name}, "correct num_groups");
  const auto scale = graph.input_type(node, 1).extents();
  const int64_t wanted = scale == std::vector<int64_t>{groups} ? groups : channels;
  for (size_t input : {1, 2}) require_parameter(graph, node, input, wanted);
}

void check_batch(const Graph& graph, const Node& node) {
  require_float(graph, node, 0);
  require_same_shape(graph, node);
  if (graph::int_attribute(node, "training_mode", 0) != 0)
    throw Error("BatchNormalization is in training mode", {.node = node.name},
                "export the model for inference");
  for (size_t output = 1; output < node.outputs.size(); ++output)
    if (node.outputs[output] != graph::absent)
      throw Error("BatchNormalization gives running statistics", {.node = node.name},
                  "export the model for inference: one output");
  const auto extents = graph.input_type(node, 0).extents();
  for (size_t input = 1; input <= 4; ++input)
    require_parameter(graph, node, input, extents.size() > 1 ? extents[1] : 1);
}

void check_response(const Graph& graph, const Node& node) {
  require_float(graph, node, 0);
  require_rank_of_two(graph, node);
  require_same_shape(graph, node);
  if (graph::int_attribute(node, "size", 0) < 1)
    throw Error("LRN has no size of at least 1", {.node = node.name},
                "give the number of channels to sum over");
}

void check_lp(const Graph& graph, const Node& node) {
  require_float(graph, node, 0);
  require_same_shape(graph, node);
  const int64_t p = graph::int_attribute(node, "p", 2);
  if (p != 1 && p != 2)
    throw Error(fmt::format("LpNormalization has p = {}", p), {.node = node.name}, "use p = 1 or p = 2");
}

void check_moments(const Graph& graph, const Node& node) {
  require_float(graph, node, 0);
  require_same_shape(graph, node);
  moment_axes(graph, node);
}

int64_t response_flops(const Graph& graph, const Node& node) {
  return graph.output_type(node).elements() * (2 * graph::int_attribute(node, "size", 1) + 6);
}

constexpr auto row_access = first_and_others<AccessMap::WholeAxis, AccessMap::Broadcast>;
constexpr auto point_access = first_and_others<AccessMap::Identity, AccessMap::Broadcast>;
constexpr auto window_access = every_input<AccessMap::Window>;

constexpr Operator rows[] = {
    {"BatchNormalization", Category::Broadcast, Kernel::Pointwise, point_access, flops_an_output<2>,
     check_batch, batch_normalization},
    {"GroupNormalization", Category::Reduction, Kernel::Rows, row_access, flops_an_input<8>, check_groups,
     group_normalization},
    {"InstanceNormalization", Category::Reduction, Kernel::Rows, row_access, flops_an_input<8>,
     check_instance, instance_normalization},
    {"LRN", Category::Reduction, Kernel::Pool, window_access, response_flops, check_response,
     local_response_normalization},
    {"LayerNormalization", Category::Reduction, Kernel::Rows, row_access, flops_an_input<8>, check_rows,
     layer_normalization},
    {"LpNormalization", Category::Reduction, Kernel::Rows, row_access, flops_an_input<3>, check_lp,
     lp_normalization},
    {"MeanVarianceNormalization", Category::Reduction, Kernel::Rows, row_access, flops_an_input<6>,
     check_moments, mean_variance_normalization},
    {"RMSNormalization", Category::Reduction, Kernel::Rows, row_access, flops_an_input<4>, check_rows,
     rms_normalization},
};

}  // namespace

std::span<const Operator> normalization_operators() { return rows; }

}  // namespace cryolite::ops
