#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "ops/access.h"
#include "ops/builder.h"
#include "ops/families.h"

/// Pad: constant, reflect, edge and wrap borders; a negative pad cuts elements off.
namespace cryolite::ops {
namespace {

using graph::Graph;
using graph::Node;
using Halide::Expr;

struct Border {
  std::vector<int64_t> low, high;  // by axis
};

Border border_of(const Graph& graph, const Node& node) {
  const int rank = static_cast<int>(graph.input_type(node, 0).dims.size());
  const auto pads = require_constant(graph, node, 1, "pads").as_integers();
  std::vector<int64_t> all(rank);
  std::iota(all.begin(), all.end(), 0);
  const auto axes = constant_integers(graph, node, 3, "axes", all);
  if (pads.size() != 2 * axes.size())
    throw Error("pads of the Pad are not two an axis", {.node = node.name}, "repair the model");
  Border border{std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 0)};
  for (size_t i = 0; i < axes.size(); ++i) {
    const int axis = graph::normalized_axis(axes[i], rank, node);
    border.low[axis] = pads[i];
    border.high[axis] = pads[axes.size() + i];
  }
  return border;
}

/// Where the element comes from, for a position that may lie outside of 0 … extent - 1.
Expr source_position(const std::string& mode, const Expr& position, int extent) {
  if (mode == "wrap") return position % extent;
  if (mode == "reflect" && extent > 1) {
    const int period = 2 * (extent - 1);
    const Expr phase = position % period;
    return Halide::clamp(Halide::min(phase, period - phase), 0,
                         extent - 1);  // so that Halide knows the bound
  }
  return Halide::clamp(position, 0, extent - 1);
}

Expr fill_value(const Builder& build) {
  if (!build.has_input(2)) return Halide::Internal::make_zero(build.output_type());
  return build.read(2, Index(build.rank(2), 0));
}

void pad(Builder& build) {
  const Border border = border_of(build.graph(), build.node());
  const std::string mode = graph::string_attribute(build.node(), "mode", "constant");
  const auto extents = build.extents(0);
  const bool is_empty = build.graph().input_type(build.node(), 0).elements() == 0;
  build.define(0, [&](const Index& at) {
    if (is_empty) return fill_value(build);
    Index from = at;
    Expr inside = Halide::Internal::const_true();
    for (size_t axis = 0; axis < at.size(); ++axis) {
      const int extent = static_cast<int>(extents[axis]), low = static_cast<int>(border.low[axis]);
      const Expr position = low == 0 ? at[axis] : at[axis] - low;
      from[axis] = position;
      if (border.low[axis] <= 0 && border.high[axis] <= 0) continue;
      inside = inside && position >= 0 && position < extent;
      from[axis] = source_position(mode, position, extent);
    }
    const Expr element = build.read(0, from);
    return mode == "constant" ? Halide::select(inside, Halide::likely(element), fill_value(build)) : element;
  });
}

void check_pad(const Graph& graph, const Node& node) {
  require_inputs(node, 2);
  border_of(graph, node);
  const std::string mode = graph::string_attribute(node, "mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap")
    throw Error(fmt::format("Pad's mode is \"{}\"", mode), {.node = node.name},
                "use constant, reflect, edge or wrap");
  if (mode != "constant" && graph.input_type(node, 0).elements() == 0 &&
      graph.output_type(node).elements() > 0)
    throw Error("Pad has nothing to repeat: its input is empty", {.node = node.name},
                "use the mode constant");
}

constexpr Operator rows[] = {
    {"Pad", Category::Injective, Kernel::Pointwise,
     first_and_others<AccessMap::Permute, AccessMap::Broadcast>, no_flops, check_pad, pad},
};

}  // namespace

std::span<const Operator> pad_operators() { return rows; }

}  // namespace cryolite::ops
