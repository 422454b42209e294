#include <algorithm>

#include "schedule/gpu.h"
#include "schedule/gpu_tiles.h"

/// What the kernels of gpu_fill.cpp compute more than once: each block of columns fills its rows anew.
///
///     columns of y    0..63    64..127
///     rows 0..7      [ block ] [ block ]      both compute the depthwise sums, or the scores, of rows 0..7
namespace cryolite::schedule::gpu {
namespace {

constexpr int64_t most_terms = 49;         // of a sum that one thread computes by itself: a window of 7x7
constexpr int64_t least_rows = 8;          // of scores in a block: with fewer, keys and values are read too often
constexpr int64_t bytes_of_element = 4;
constexpr int64_t bytes_beside_rows = 12 << 10;  // chunks of values, sums, partial results

double blocks_of_columns(const Contraction& contraction, const Machine& machine) {
  const int64_t columns = choose_tile(contraction, machine, {}).columns();
  return static_cast<double>((contraction.columns + columns - 1) / columns);
}

bool is_float32(const graph::Graph& graph, const graph::Node& node) {
  return graph.output_type(node).element == graph::ElementType::Float32;
}

/// 1x1, no borders, no steps, all channels.
bool is_pointwise_convolution(const graph::Graph& graph, const graph::Node& node) {
  if (node.op_type != "Conv" || graph::int_attribute(node, "group", 1) != 1) return false;
  const auto is_over = [](int64_t limit) { return [limit](int64_t value) { return value > limit; }; };
  const auto weights = graph.input_type(node, 1).extents();
  const auto pads = graph::ints_attribute(node, "pads"), strides = graph::ints_attribute(node, "strides");
  return std::none_of(weights.begin() + 2, weights.end(), is_over(1)) &&
         std::none_of(pads.begin(), pads.end(), is_over(0)) && std::none_of(strides.begin(), strides.end(), is_over(1));
}

}  // namespace

double chain_recompute(const graph::Graph& graph, const graph::Node& first, const graph::Node& second,
                       const Machine& machine) {
  if (first.op_type != "Conv" || !is_pointwise_convolution(graph, second)) return -1;
  const auto window = graph.input_type(first, 1).extents();
  const auto out = graph.output_type(second).extents();
  Contraction contraction;
  contraction.fill_terms = 1;
  for (size_t axis = 1; axis < window.size(); ++axis) contraction.fill_terms *= window[axis];
  if (contraction.fill_terms > most_terms) return -1;
  contraction.rest = out[0];
  contraction.columns = out[1];
  contraction.rows = out.back();
  for (size_t axis = 2; axis + 1 < out.size(); ++axis) (axis + 2 == out.size() ? contraction.lines : contraction.rest) *= out[axis];
  contraction.depth = graph.input_type(second, 1).extents()[1];
  contraction.stages_rows = true;
  contraction.vectorizes = machine.kind != Machine::Kind::Vulkan;
  return blocks_of_columns(contraction, machine);
}

const char* why_no_attention(const graph::Graph& graph, const graph::Node& scores, const Machine& machine) {
  const auto extents = graph.output_type(scores).extents();
  if (extents.size() < 2 || !is_float32(graph, scores)) return "it has no rows of float32";
  if (least_rows * extents.back() * bytes_of_element + bytes_beside_rows > machine.shared_memory_bytes)
    return "rows of scores do not fit the shared memory of a block";
  return nullptr;
}

double attention_recompute(const graph::Graph& graph, const graph::Node& scores, const graph::Node& values,
                           const Machine& machine) {
  const auto held = graph.output_type(scores).extents(), out = graph.output_type(values).extents();
  Contraction contraction;
  contraction.columns = out.back();
  contraction.rows = out[out.size() - 2];
  for (size_t axis = 0; axis + 2 < out.size(); ++axis) contraction.rest *= out[axis];
  contraction.depth = held.back();
  contraction.stages_rows = true;
  contraction.held = held.back();
  contraction.held_terms = graph.input_type(scores, 0).extents().back();
  contraction.vectorizes = machine.kind != Machine::Kind::Vulkan;
  return blocks_of_columns(contraction, machine);
}

}  // namespace cryolite::schedule::gpu
