#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "ops/access.h"
#include "ops/accumulate.h"
#include "ops/families.h"
#include "ops/functions.h"

/// Reduce*, ArgMax, ArgMin: whole axes to a point.
///
///     y_sum (identity, then ONE update over r.x = the innermost axis in memory, r.y …) ──► y = finish(y_sum)
///
/// The stage has the extents of the output (keepdims or not). Reducing over no axis at all leaves the stage
/// without an update. ReduceLogSumExp takes the greatest element first (y_max), so that no exponential
/// overflows.
namespace cryolite::ops {
namespace {

using graph::Graph;
using graph::Node;
using Halide::Expr;
using Halide::Type;

/// What tells one reduction from another. `count`: elements reduced to one.
struct Reduction {
  std::string_view op_type;
  const char* stage;  ///< "sum", "max", "min" or "product"
  Expr (*identity)(Type);
  Expr (*map)(Expr element);
  Expr (*combine)(Expr total, Expr element);
  Expr (*finish)(Expr total, int64_t count);
  int64_t flops_an_element;
};

Expr zero(Type type) { return Halide::Internal::make_zero(type); }
Expr one(Type type) { return Halide::Internal::make_one(type); }
Expr least(Type type) { return type.min(); }
Expr greatest(Type type) { return type.max(); }
Expr itself(Expr x) { return x; }
Expr square(Expr x) { return x * x; }
/// Plain |x| of the same type: Halide::abs of a signed integer is unsigned.
Expr magnitude(Expr x) {
  if (x.type().is_uint()) return x;
  return x.type().is_int() ? Halide::select(x < 0, -x, x) : Halide::abs(x);
}
Expr add(Expr a, Expr b) { return a + b; }
Expr multiply(Expr a, Expr b) { return a * b; }
Expr total_itself(Expr total, int64_t) { return total; }

/// A function of real numbers, taken of an integer through float64.
Expr real(Expr x, Expr (*function)(Expr)) {
  if (x.type().is_float()) return function(x);
  return Halide::cast(x.type(), function(Halide::cast<double>(x)));
}

Expr square_root(Expr total, int64_t) {
  return real(total, [](Expr x) { return Halide::sqrt(x); });
}

Expr logarithm_of_total(Expr total, int64_t count) {
  if (count == 0) return total.type().min();
  return real(total, [](Expr x) { return logarithm(x); });
}

/// Integers are divided as C does, toward zero; Halide's division rounds down.
Expr mean(Expr total, int64_t count) {
  const Type type = total.type();
  if (count == 0)
    return type.is_float() ? constant(type, std::numeric_limits<double>::quiet_NaN()) : zero(type);
  const Expr divisor = Halide::cast(type, Expr(count));
  return type.is_int() ? Halide::select(total < 0, -(-total / divisor), total / divisor) : total / divisor;
}

constexpr Reduction reductions[] = {
    {"ReduceL1", "sum", zero, magnitude, add, total_itself, 2},
    {"ReduceL2", "sum", zero, square, add, square_root, 2},
    {"ReduceLogSum", "sum", zero, itself, add, logarithm_of_total, 1},
    {"ReduceMax", "max", least, itself, Halide::max, total_itself, 1},
    {"ReduceMean", "sum", zero, itself, add, mean, 1},
    {"ReduceMin", "min", greatest, itself, Halide::min, total_itself, 1},
    {"ReduceProd", "product", one, itself, multiply, total_itself, 1},
    {"ReduceSum", "sum", zero, itself, add, total_itself, 1},
    {"ReduceSumSquare", "sum", zero, square, add, total_itself, 2},
};

const Reduction& reduction_of(const Node& node) {
  return *std::find_if(std::begin(reductions), std::end(reductions),
                       [&](const Reduction& candidate) { return candidate.op_type == node.op_type; });
}

/// The axes that the node reduces, ascending. No axes given: all, or none with noop_with_empty_axes.
std::vector<int> axes_of(const Graph& graph, const Node& node) {
  const int rank = static_cast<int>(graph.input_type(node, 0).dims.size());
  const auto given = constant_integers(graph, node, 1, "axes");
  std::vector<int> axes;
  for (int64_t axis : given) axes.push_back(graph::normalized_axis(axis, rank, node));
  if (given.empty() && graph::int_attribute(node, "noop_with_empty_axes", 0) == 0)
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

/// How an index of the output, and a point of the reduction domain, make an index of the input.
struct Walk {
  std::vector<int> axes;         ///< reduced, innermost in memory first
  std::vector<int64_t> extents;  ///< of the input
  bool keeps_dims;

  Walk(const Builder& build, const std::vector<int>& reduced)
      : axes(innermost_first(build, 0, reduced)),
        extents(build.extents(0)),
        keeps_dims(build.output_extents().size() == extents.size()) {}

  std::vector<std::pair<Expr, Expr>> ranges() const {
    std::vector<std::pair<Expr, Expr>> all;
    for (int axis : axes) all.emplace_back(0, static_cast<int>(extents[axis]));
    return all;
  }
  template <class Point>
  Index source(const Index& output, const Point& point) const {
    Index index;
    size_t next = 0;
    for (int axis = 0; axis < static_cast<int>(extents.size()); ++axis) {
      const auto at = std::find(axes.begin(), axes.end(), axis);
      if (at == axes.end() || keeps_dims) index.push_back(output[next++]);
      if (at == axes.end()) continue;
      const Expr walked = point[static_cast<int>(at - axes.begin())];
      if (keeps_dims)
        index.back() = walked;
      else
        index.push_back(walked);
    }
    return index;
  }
};

/// A stage of the output's extents: `identity` combined with `element` of every point.
LaidFunc reduce_stage(Builder& build, const char* name, const Walk& walk, Expr identity,
                      Expr (*combine)(Expr, Expr),
                      const std::function<Expr(const Index& source, const Index& output)>& element) {
  LaidFunc stage = build.stage(name, build.output_extents(), build.output_layout());
  const Index at = build.index(stage);
  if (walk.axes.empty()) {
    stage.definition() = element(at, at);
    return stage;
  }
  stage.definition() = identity;
  if (is_empty(walk.extents)) return stage;
  const Halide::RDom r = build.reduction(stage, walk.ranges());
  stage.at(at) = combine(stage.at(at), element(walk.source(at, r), at));
  return stage;
}

void reduce(Builder& build) {
  const Reduction& reduction = reduction_of(build.node());
  const auto axes = axes_of(build.graph(), build.node());
  const int64_t count = count_of(build.extents(0), axes);
  const LaidFunc total = reduce_stage(
      build, reduction.stage, Walk(build, axes), reduction.identity(accumulator_type(build.type(0))),
      reduction.combine,
      [&](const Index& source, const Index&) { return reduction.map(read_wide(build, 0, source)); });
  build.define(0, [&](const Index& i) { return reduction.finish(total.at(i), count); });
}

/// log(sum(exp(x - max))) + max. An infinite maximum is the result, and is not taken off: infinity less
/// itself is not a number.
void reduce_log_sum_exp(Builder& build) {
  const auto axes = axes_of(build.graph(), build.node());
  const Walk walk(build, axes);
  const Type type = build.type(0).is_float() ? accumulator_type(build.type(0)) : Halide::Float(64);
  const auto element = [&](const Index& source) { return Halide::cast(type, build.read(0, source)); };
  const LaidFunc most = reduce_stage(build, "max", walk, type.min(), Halide::max,
                                     [&](const Index& source, const Index&) { return element(source); });
  const auto offset = [&](const Index& i) {
    return Halide::select(Halide::is_finite(most.at(i)), most.at(i), zero(type));
  };
  const LaidFunc sum = reduce_stage(
      build, "sum", walk, zero(type), add,
      [&](const Index& source, const Index& i) { return exponential(element(source) - offset(i)); });
  const bool is_nothing = count_of(build.extents(0), axes) == 0;
  build.define(0, [&](const Index& i) {
    if (is_nothing) return build.output_type().min();
    const Expr total = sum.at(i), greatest = most.at(i);
    return Halide::select(Halide::is_inf(greatest) && !is_not_a_number(total), greatest,
                          logarithm(total) + offset(i));
  });
}

/// (greatest or least element, where), the first on ties unless select_last_index.
void reduce_to_place(Builder& build) {
  const Node& node = build.node();
  const bool takes_greatest = node.op_type == "ArgMax";
  const bool takes_last = graph::int_attribute(node, "select_last_index", 0) != 0;
  const int axis = graph::normalized_axis(graph::int_attribute(node, "axis", 0), build.rank(0), node);
  const Walk walk(build, {axis});
  const Type type = accumulator_type(build.type(0));
  LaidFunc best = build.stage("best", build.output_extents(), build.output_layout());
  const Index at = build.index(best);
  best.definition() = Halide::Tuple(takes_greatest ? type.min() : type.max(), Expr(0));
  if (!is_empty(walk.extents)) {
    const Halide::RDom r = build.reduction(best, walk.ranges());
    const Expr element = read_wide(build, 0, walk.source(at, r));
    const Expr so_far = best.at(at)[0], place = best.at(at)[1];
    const Expr is_better = takes_greatest ? (takes_last ? element >= so_far : element > so_far)
                                          : (takes_last ? element <= so_far : element < so_far);
    best.at(at) = Halide::Tuple(Halide::select(is_better, element, so_far),
                                Halide::select(is_better, Expr(r.x), place));
  }
  build.define(0, [&](const Index& i) { return Halide::cast<int64_t>(best.at(i)[1]); });
}

void require_output_rank(const Graph& graph, const Node& node, size_t reduced) {
  const size_t rank = graph.input_type(node, 0).dims.size();
  const bool keeps_dims = graph::int_attribute(node, "keepdims", 1) != 0;
  const size_t wanted = keeps_dims ? rank : rank - reduced;
  if (graph.output_type(node).dims.size() != wanted)
    throw Error(fmt::format("{} gives a value of rank {}, not {}", node.op_type, wanted,
                            graph.output_type(node).dims.size()),
                {.node = node.name}, "correct the shape of its output, or keepdims");
}

void check_reduce(const Graph& graph, const Node& node) {
  using enum graph::ElementType;
  if (node.op_type == "ReduceMax" || node.op_type == "ReduceMin")
    require_element(graph, node, 0,
                    {Float32, Float64, Float16, BFloat16, Int32, Int64, UInt32, UInt64, Int8, UInt8, Int16,
                     UInt16, Bool});
  else
    require_element(graph, node, 0, {Float32, Float64, Float16, BFloat16, Int32, Int64, UInt32, UInt64});
  require_output_rank(graph, node, axes_of(graph, node).size());
}

void check_place(const Graph& graph, const Node& node) {
  using enum graph::ElementType;
  require_element(
      graph, node, 0,
      {Float32, Float64, Float16, BFloat16, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64});
  const int rank = static_cast<int>(graph.input_type(node, 0).dims.size());
  graph::normalized_axis(graph::int_attribute(node, "axis", 0), rank, node);
  require_output_rank(graph, node, 1);
}

int64_t reduce_flops(const Graph& graph, const Node& node) {
  return reduction_of(node).flops_an_element * graph.input_type(node, 0).elements();
}

/// The axes (input 1) are constants of the compiler: nothing of them is read.
constexpr auto access = first_and_others<AccessMap::WholeAxis, AccessMap::Opaque>;

constexpr Operator reduce_row(std::string_view op_type) {
  return {op_type, Category::Reduction, Kernel::Reduce, access, reduce_flops, check_reduce, reduce};
}

constexpr Operator rows[] = {
    {"ArgMax", Category::Reduction, Kernel::Reduce, access, flops_an_input<1>, check_place, reduce_to_place},
    {"ArgMin", Category::Reduction, Kernel::Reduce, access, flops_an_input<1>, check_place, reduce_to_place},
    reduce_row("ReduceL1"),
    reduce_row("ReduceL2"),
    reduce_row("ReduceLogSum"),
    {"ReduceLogSumExp", Category::Reduction, Kernel::Reduce, access, flops_an_input<5>, check_reduce,
     reduce_log_sum_exp},
    reduce_row("ReduceMax"),
    reduce_row("ReduceMean"),
    reduce_row("ReduceMin"),
    reduce_row("ReduceProd"),
    reduce_row("ReduceSum"),
    reduce_row("ReduceSumSquare"),
};

}  // namespace

std::span<const Operator> reduce_operators() { return rows; }

}  // namespace cryolite::ops
