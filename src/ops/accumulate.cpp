#include "ops/accumulate.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace cryolite::ops {

using Halide::Expr;
using Halide::Type;

namespace {

bool holds(const std::vector<int>& axes, int axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

/// A stage of reduced extents: `initial`, then one update with `combine` over `axes` of input 0.
LaidFunc reduced_stage(Builder& build, const std::string& name, const std::vector<int>& axes, Expr initial,
                       const std::function<Expr(const Index&)>& element, Expr (*combine)(Expr, Expr)) {
  const auto extents = build.extents(0);
  LaidFunc stage =
      build.stage(name, reduced_extents(extents, axes), reduced_layout(build.input_layout(0), axes));
  const Index at = build.index(stage);
  if (axes.empty()) {
    stage.definition() = combine(initial, element(at));
    return stage;
  }
  stage.definition() = initial;
  if (is_empty(extents)) return stage;
  std::vector<std::pair<Expr, Expr>> ranges;
  for (int axis : innermost_first(build, 0, axes)) ranges.emplace_back(0, static_cast<int>(extents[axis]));
  const Halide::RDom r = build.reduction(stage, ranges);
  Index from = at;
  int next = 0;
  for (int axis : innermost_first(build, 0, axes)) from[axis] = r[next++];
  const Index to = reduced(at, axes);
  Expr before = stage.at(at);
  stage.at(at) = combine(before, element(from));
  return stage;
}

}  // namespace

Type accumulator_type(Type type) { return type.is_float() && type.bits() < 32 ? Halide::Float(32) : type; }

Expr read_wide(const Builder& build, size_t input, const Index& index) {
  const Expr element = build.read(input, index);
  const Type wide = accumulator_type(element.type());
  return element.type() == wide ? element : Halide::cast(wide, element);
}

std::vector<int64_t> reduced_extents(std::vector<int64_t> extents, const std::vector<int>& axes) {
  for (int axis : axes) extents[axis] = 1;
  return extents;
}

graph::Layout reduced_layout(graph::Layout layout, const std::vector<int>& axes) {
  if (holds(axes, layout.block_axis)) {
    layout.block_axis = -1;
    layout.block = 1;
  }
  return layout;
}

std::vector<int> innermost_first(const Builder& build, size_t input, std::vector<int> axes) {
  const graph::Layout layout = build.input_layout(input);
  const auto depth = [&](int axis) {
    if (layout.order.empty()) return axis;
    return static_cast<int>(std::find(layout.order.begin(), layout.order.end(), axis) - layout.order.begin());
  };
  std::sort(axes.begin(), axes.end(), [&](int a, int b) { return depth(a) > depth(b); });
  return axes;
}

LaidFunc sum_stage(Builder& build, const std::string& name, const std::vector<int>& axes, Type type,
                   const std::function<Expr(const Index&)>& element) {
  return reduced_stage(build, name, axes, Halide::Internal::make_zero(type), element,
                       [](Expr total, Expr next) { return total + next; });
}

LaidFunc max_stage(Builder& build, const std::string& name, const std::vector<int>& axes, Type type,
                   const std::function<Expr(const Index&)>& element) {
  return reduced_stage(build, name, axes, type.min(), element,
                       [](Expr greatest, Expr next) { return Halide::max(greatest, next); });
}

Index reduced(Index index, const std::vector<int>& axes) {
  for (int axis : axes) index[axis] = 0;
  return index;
}

int64_t count_of(const std::vector<int64_t>& extents, const std::vector<int>& axes) {
  int64_t count = 1;
  for (int axis : axes) count *= extents[axis];
  return count;
}

bool is_empty(const std::vector<int64_t>& extents) {
  return std::find(extents.begin(), extents.end(), 0) != extents.end();
}

Expr constant(Type type, double number) { return Halide::Internal::make_const(type, number); }

}  // namespace cryolite::ops
