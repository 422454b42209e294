#include "ops/window.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"

namespace cryolite::ops {

using graph::Graph;
using graph::Node;

namespace {

constexpr int first_spatial_axis = 2;  // n, c stand before

std::vector<int64_t> spatial(const std::vector<int64_t>& extents) {
  return {extents.begin() + std::min<size_t>(first_spatial_axis, extents.size()), extents.end()};
}

std::vector<int64_t> filled(const Node& node, const char* name, int rank, int64_t fallback) {
  auto numbers = graph::ints_attribute(node, name);
  return numbers.empty() ? std::vector<int64_t>(rank, fallback) : numbers;
}

/// SAME: as many outputs as ceil(input / stride); the odd element of the border goes to the side of the name.
void pad_to_same(Window& window, bool odd_goes_low) {
  for (int axis = 0; axis < window.rank(); ++axis) {
    const int64_t outputs = (window.input[axis] + window.strides[axis] - 1) / window.strides[axis];
    const int64_t covered = (outputs - 1) * window.strides[axis] + window.reach(axis);
    const int64_t total = std::max<int64_t>(0, covered - window.input[axis]);
    window.low[axis] = odd_goes_low ? total - total / 2 : total / 2;
    window.high[axis] = total - window.low[axis];
  }
}

void require_positive(const Node& node, const char* name, const std::vector<int64_t>& numbers, size_t count,
                      int64_t least) {
  const bool is_fine =
      numbers.size() == count &&
      std::all_of(numbers.begin(), numbers.end(), [&](int64_t number) { return number >= least; });
  if (is_fine) return;
  throw Error(fmt::format("{} has {} = [{}]", node.op_type, name, fmt::join(numbers, ", ")),
              {.node = node.name}, fmt::format("give {} numbers of at least {}", count, least));
}

void require_rank(const Graph& graph, const Node& node) {
  const auto rank = graph.input_type(node, 0).dims.size();
  if (rank >= 3 && rank <= 5 && graph.output_type(node).dims.size() == rank) return;
  throw Error(fmt::format("{} of a value of rank {}", node.op_type, rank), {.node = node.name},
              "give it a value of rank 3 to 5: batch, channels, and one to three spatial axes");
}

/// The outputs that fit. Rounding up (ceil_mode) adds one where the last window still starts inside the input
/// or the border before it.
bool is_possible_output(const Window& window, int axis, bool rounds_up) {
  const int64_t padded = window.input[axis] + window.low[axis] + window.high[axis];
  const int64_t steps = padded - window.reach(axis);
  const int64_t stride = window.strides[axis];
  const int64_t floored = steps < 0 ? 0 : steps / stride + 1;
  if (window.output[axis] == floored) return true;
  const bool starts_inside = floored * stride < window.input[axis] + window.low[axis];
  return rounds_up && window.output[axis] == floored + 1 && starts_inside;
}

}  // namespace

int64_t Window::touched_high(int axis) const {
  const int64_t last = (output[axis] - 1) * strides[axis] + reach(axis) - low[axis];
  return std::max<int64_t>(0, last - input[axis]);
}

int64_t Window::taps() const {
  int64_t product = 1;
  for (int64_t extent : kernel) product *= extent;
  return product;
}

std::vector<int64_t> kernel_shape(const Node& node) { return graph::ints_attribute(node, "kernel_shape"); }

Window window_of(const Graph& graph, const Node& node, const std::vector<int64_t>& kernel) {
  Window window;
  const int rank = static_cast<int>(kernel.size());
  window.kernel = kernel;
  window.strides = filled(node, "strides", rank, 1);
  window.dilations = filled(node, "dilations", rank, 1);
  window.input = spatial(graph.input_type(node, 0).extents());
  window.output = spatial(graph.output_type(node).extents());
  window.low.assign(rank, 0);
  window.high.assign(rank, 0);
  const std::string mode = graph::string_attribute(node, "auto_pad", "NOTSET");
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    pad_to_same(window, mode == "SAME_LOWER");
  } else if (mode != "VALID") {
    const auto pads = filled(node, "pads", 2 * rank, 0);
    for (int axis = 0; axis < rank; ++axis) {
      window.low[axis] = pads[axis];
      window.high[axis] = pads[rank + axis];
    }
  }
  return window;
}

void check_window(const Graph& graph, const Node& node, const std::vector<int64_t>& kernel) {
  require_rank(graph, node);
  const size_t rank = graph.input_type(node, 0).dims.size() - first_spatial_axis;
  const int axes = static_cast<int>(rank);
  require_positive(node, "kernel_shape", kernel, rank, 1);
  require_positive(node, "strides", filled(node, "strides", axes, 1), rank, 1);
  require_positive(node, "dilations", filled(node, "dilations", axes, 1), rank, 1);
  require_positive(node, "pads", filled(node, "pads", 2 * axes, 0), 2 * rank, 0);
  const std::string mode = graph::string_attribute(node, "auto_pad", "NOTSET");
  if (mode != "NOTSET" && mode != "SAME_UPPER" && mode != "SAME_LOWER" && mode != "VALID" && !mode.empty())
    throw Error(fmt::format("{} has auto_pad = {}", node.op_type, mode), {.node = node.name},
                "use NOTSET, SAME_UPPER, SAME_LOWER or VALID");
  const Window window = window_of(graph, node, kernel);
  const bool rounds_up = graph::int_attribute(node, "ceil_mode", 0) != 0;
  for (int axis = 0; axis < axes; ++axis)
    if (!is_possible_output(window, axis, rounds_up))
      throw Error(
          fmt::format("{} cannot give {} elements on spatial axis {} from {} with a kernel of {}, stride {}, "
                      "dilation {} and a border of {} and {}",
                      node.op_type, window.output[axis], axis, window.input[axis], window.kernel[axis],
                      window.strides[axis], window.dilations[axis], window.low[axis], window.high[axis]),
          {.node = node.name}, "correct the shape of its output, or its attributes");
}

std::vector<int64_t> low_border(const Window& window) {
  std::vector<int64_t> border(first_spatial_axis, 0);
  border.insert(border.end(), window.low.begin(), window.low.end());
  return border;
}

std::vector<int64_t> high_border(const Window& window) {
  std::vector<int64_t> border(first_spatial_axis, 0);
  for (int axis = 0; axis < window.rank(); ++axis) border.push_back(window.touched_high(axis));
  return border;
}

std::vector<std::pair<Halide::Expr, Halide::Expr>> tap_ranges(const Window& window) {
  std::vector<std::pair<Halide::Expr, Halide::Expr>> ranges;
  for (int axis = window.rank(); axis-- > 0;) ranges.emplace_back(0, static_cast<int>(window.kernel[axis]));
  return ranges;
}

}  // namespace cryolite::ops
