#pragma once
#include <Halide.h>

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"

/// Windows that slide over the spatial axes of a value (n, c, spatial…): what convolutions and pools share.
namespace cryolite::ops {

/// One entry a spatial axis, ONNX's order (y before x).
///
///     output o reads input o * stride + k * dilation - low, k in [0, kernel)
struct Window {
  std::vector<int64_t> kernel, strides, dilations;
  std::vector<int64_t> low, high;  ///< the border as the node has it, elements
  std::vector<int64_t> input, output;

  int rank() const { return static_cast<int>(kernel.size()); }
  /// Elements from the first tap to the last, both included.
  int64_t reach(int axis) const { return (kernel[axis] - 1) * dilations[axis] + 1; }
  /// Border that the windows touch behind the input: `high`, and what rounding up (ceil_mode) adds; never
  /// negative.
  int64_t touched_high(int axis) const;
  /// Product of `kernel`.
  int64_t taps() const;
};

/// The window of a Conv or pool node, its border computed from the extents where auto_pad asks for it.
/// `kernel` holds the spatial extents. Precondition: checked with check_window.
Window window_of(const graph::Graph& graph, const graph::Node& node, const std::vector<int64_t>& kernel);
/// kernel_shape of a pool.
std::vector<int64_t> kernel_shape(const graph::Node& node);
/// Throws Error where an attribute of the window is malformed, the rank is not 3 to 5, or the output's
/// extents are not what input, kernel and border give.
void check_window(const graph::Graph& graph, const graph::Node& node, const std::vector<int64_t>& kernel);

/// Border of all axes of the value, batch and channel included, for Builder::padded.
std::vector<int64_t> low_border(const Window& window);
std::vector<int64_t> high_border(const Window& window);

/// The taps of the window as ranges of a reduction domain, innermost axis first: r.x = kernel x, r.y = kernel
/// y…
std::vector<std::pair<Halide::Expr, Halide::Expr>> tap_ranges(const Window& window);

}  // namespace cryolite::ops
