#include "ops/slice.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "ops/access.h"
#include "ops/builder.h"
#include "ops/families.h"

namespace cryolite::ops {
namespace {

using graph::Graph;
using graph::Node;
using Halide::Expr;

SliceAxis slice_of(int64_t extent, int64_t start, int64_t end, int64_t step) {
  // Ends may be INT64_MIN or INT64_MAX: clamped before anything is added to them.
  const auto from_end = [&](int64_t position) {
    position = std::clamp(position, -extent - 1, extent + 1);
    return position < 0 ? position + extent : position;
  };
  const int64_t lowest = step < 0 ? -1 : 0, highest = step < 0 ? extent - 1 : extent;
  const int64_t first =
      std::clamp(from_end(start), step < 0 ? int64_t{0} : lowest, std::max(highest, int64_t{0}));
  const int64_t stop = std::clamp(from_end(end), lowest, std::max(highest, lowest));
  const int64_t length = step < 0 ? first - stop : stop - first;
  const int64_t stride = step < 0 ? -step : step;
  if (extent == 0 || length <= 0) return {0, step, 0};
  return {first, step, 1 + (length - 1) / stride};
}

void slice(Builder& build) {
  const auto taken = slice_axes(build.graph(), build.node());
  const bool is_empty = build.graph().output_type(build.node()).elements() == 0;
  build.define(0, [&](const Index& at) {
    if (is_empty) return Halide::Internal::make_zero(build.output_type());
    Index from = at;
    for (size_t axis = 0; axis < at.size(); ++axis) {
      if (taken[axis].step != 1) from[axis] = from[axis] * static_cast<int>(taken[axis].step);
      if (taken[axis].start != 0) from[axis] = from[axis] + static_cast<int>(taken[axis].start);
    }
    return build.read(0, from);
  });
}

void check_slice(const Graph& graph, const Node& node) {
  require_inputs(node, 1);
  const auto taken = slice_axes(graph, node);
  const auto wanted = graph.output_type(node).extents();
  for (size_t axis = 0; axis < taken.size(); ++axis)
    if (taken[axis].extent != wanted.at(axis))
      throw Error("the Slice does not give the shape that the model declares", {.node = node.name},
                  "repair the model's declared shapes");
}

constexpr Operator rows[] = {
    {"Slice", Category::Injective, Kernel::Pointwise,
     first_and_others<AccessMap::Permute, AccessMap::Broadcast>, no_flops, check_slice, slice},
};

}  // namespace

std::vector<SliceAxis> slice_axes(const Graph& graph, const Node& node) {
  const auto extents = graph.input_type(node, 0).extents();
  const int rank = static_cast<int>(extents.size());
  const auto starts = require_constant(graph, node, 1, "starts").as_integers();
  const auto ends = require_constant(graph, node, 2, "ends").as_integers();
  std::vector<int64_t> all(starts.size());
  std::iota(all.begin(), all.end(), 0);
  const auto axes = constant_integers(graph, node, 3, "axes", all);
  const auto steps = constant_integers(graph, node, 4, "steps", std::vector<int64_t>(starts.size(), 1));
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    throw Error("starts, ends, axes and steps of the Slice differ in length", {.node = node.name},
                "repair the model");
  std::vector<SliceAxis> taken;
  for (int64_t extent : extents) taken.push_back({0, 1, extent});
  for (size_t i = 0; i < axes.size(); ++i) {
    const int axis = graph::normalized_axis(axes[i], rank, node);
    if (steps[i] == 0) throw Error("a step of the Slice is 0", {.node = node.name}, "repair the model");
    taken[axis] = slice_of(extents[axis], starts[i], ends[i], steps[i]);
  }
  return taken;
}

std::span<const Operator> slice_operators() { return rows; }

}  // namespace cryolite::ops
