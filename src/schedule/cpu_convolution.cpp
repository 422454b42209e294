#include "schedule/cpu_convolution.h"

#include <algorithm>

namespace cryolite::schedule::cpu {
namespace {

constexpr int64_t widest_group_block = 5;  // vectors

/// Blocks of a grouped convolution divide a group, so vectors may be odd: 68 channels are 4 vectors and a quarter. On
/// AMD Zen 5 (AVX-512, December 2026) 68 x 3 pixels reach 178 GFLOP/s, 34 x 7: 160, 17 x 14: 129.
int64_t divisor_block(int64_t per_group, int64_t row, const Machine& machine) {
  const int64_t lanes = machine.vector_bytes / 4;
  double best = 0;
  int64_t block = 1;
  for (int64_t width = 1; width <= std::min(per_group, widest_group_block * lanes); ++width) {
    if (per_group % width != 0) continue;
    const int64_t vectors = (width + lanes - 1) / lanes;
    const int64_t chains = vectors * tile_rows(width, row, machine);
    const double filled = static_cast<double>(width) / static_cast<double>(vectors * lanes);
    const double share = filled * std::min(1.0, static_cast<double>(chains) / 8.0);
    if (share > best * 1.001) best = share, block = width;
  }
  return block;
}

}  // namespace

ConvShape shape_of(const graph::Graph& graph, const graph::Node& conv) {
  const auto weights = graph.input_type(conv, 1).extents();
  ConvShape shape;
  shape.group = graph::int_attribute(conv, "group", 1);
  shape.outputs = weights[0];
  shape.per_group = weights[0] / shape.group;
  shape.row = graph.output_type(conv).extents().back();
  shape.weight_bytes = graph.input_type(conv, 1).bytes();
  const auto strides = graph::ints_attribute(conv, "strides", {1});
  shape.most_pixels = most_rows_at(weights[1] * shape.group * strides.back() * 4);
  shape.is_depthwise = shape.group > 1 && weights[1] == 1;
  return shape;
}

int64_t channel_block(const ConvShape& shape, const Machine& machine) {
  if (shape.group == 1) return packed_block(shape.outputs, shape.row, machine, shape.most_pixels);
  return divisor_block(shape.per_group, shape.row, machine);
}

bool is_packed(const graph::Graph& graph, const graph::Node& conv) {
  return graph.value(conv.inputs[1]).layout.block_axis == 0;
}

int64_t block_of(const graph::Graph& graph, const graph::Node& conv, const Machine& machine) {
  if (is_packed(graph, conv)) return graph.value(conv.inputs[1]).layout.block;
  return channel_block(shape_of(graph, conv), machine);
}

const char* channel_tail(const graph::Graph& graph, const graph::Node& conv, int64_t channels, int64_t block) {
  if (channels % block == 0) return "Auto";
  return is_packed(graph, conv) ? "GuardWithIf" : "ShiftInwards";
}

std::vector<Loop> loops_around_rows(const ops::Stage& output) {
  std::vector<Loop> outer;
  for (const std::string& axis : {std::string("y"), std::string("z"), std::string("n")})
    if (extent_of(output, axis) > 1) outer.push_back({axis, extent_of(output, axis)});
  return outer;
}

bool is_copied(const GroupView& view, const graph::Node& conv, const ops::Stage* padded) {
  if (!padded) return false;
  return padded->is_padding || graph::uses_of(view.graph).producer[conv.inputs[0]] != graph::absent;
}

void copy_border(GroupSchedule& schedule, const ops::Stage& padded, const std::string& output,
                 const std::string& at, const Machine& machine) {
  Line line(padded.name);
  if (at.empty())
    line.call("compute_root");
  else
    line.call("compute_at", {output, at});
  const Loop inner = loops_of(padded)[0];
  const int64_t lanes = lanes_of(padded, machine);
  // What is not a border is read where the copy says: never past what the convolution asks for.
  if (inner.extent > 1)
    line.call("vectorize", {inner.name, std::min(lanes, inner.extent), padded.is_padding ? "Auto" : "GuardWithIf"});
  if (at.empty()) {
    int64_t work = 1;
    for (const Loop& loop : loops_of(padded)) work *= loop.extent;
    if (work > 4 * least_parallel_work && inner.name != "y" && extent_of(padded, "y") > 1)
      line.call("parallel", {"y"});
  }
  schedule.funcs.push_back(line);
}

void accumulate_tile(GroupSchedule& schedule, const ops::Stage& sum, const std::string& output,
                     const std::string& at, int64_t block, bool unroll_row, int64_t lanes) {
  Line line(sum.name);
  line.call("compute_at", {output, at}).call("bound_extent", {"c", block});
  for (const bool update : {false, true}) {
    if (update) begin_update(line, sum, {"c", "x"});
    vectorize_block(line, "c", block, lanes);
    if (unroll_row) line.call("unroll", {"x"});
  }
  schedule.funcs.push_back(line);
}

}  // namespace cryolite::schedule::cpu
