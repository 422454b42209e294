#include <algorithm>

#include "ops/operator.h"
#include "schedule/cpu_parts.h"

/// direct_conv: channels along the vectors, a strip of pixels across them, all accumulators in registers:
///
///     for y (threads)                     for c_block (threads)      <- weights larger than the cache
///       for c_block                         for y
///         for x_tile                          for x_tile
///           sum[c_in, x_in] over r.x, kx, ky    …
///
/// The input with its border is copied once a chunk of rows (left) or once in all (right).
namespace cryolite::schedule::cpu {
namespace {

using graph::Node;

struct ConvShape {
  int64_t outputs, per_group, group;  // channels
  int64_t weight_bytes;
};

ConvShape shape_of(const graph::Graph& graph, const Node& conv) {
  const auto weights = graph.input_type(conv, 1).extents();
  int64_t bytes = 4;
  for (int64_t extent : weights) bytes *= extent;
  const int64_t group = graph::int_attribute(conv, "group", 1);
  return {weights[0], weights[0] / group, group, bytes};
}

/// Channels of a register tile: they may not cross a group of the convolution, nor leave the packed block.
int64_t channel_block(const ConvShape& shape, int64_t row, const Machine& machine) {
  const int64_t block = packed_block(shape.per_group, row, machine);
  if (shape.group == 1 || shape.per_group % block == 0) return block;
  const int64_t lanes = machine.vector_bytes / 4;
  for (int64_t vectors : {4, 3, 2, 1})
    if (shape.per_group % (vectors * lanes) == 0) return vectors * lanes;
  return std::min<int64_t>(shape.per_group, 4 * lanes);
}

bool is_packed(const graph::Graph& graph, const Node& conv) {
  return graph.value(conv.inputs[1]).layout.block_axis == 0;
}
/// The tile's width follows the blocks that the weights lie in.
int64_t block_of(const graph::Graph& graph, const Node& conv, int64_t row, const Machine& machine) {
  if (is_packed(graph, conv)) return graph.value(conv.inputs[1]).layout.block;
  return channel_block(shape_of(graph, conv), row, machine);
}
/// Packed weights and biases are padded to whole blocks, so that the last tile may be computed in full and stored in
/// part; others may not be read past their end.
const char* channel_tail(const graph::Graph& graph, const Node& conv, int64_t channels, int64_t block) {
  if (channels % block == 0) return "Auto";
  return is_packed(graph, conv) ? "GuardWithIf" : "ShiftInwards";
}

int64_t output_row(const graph::Graph& graph, const Node& conv) {
  return graph.output_type(conv).extents().back();
}

std::vector<Argument> reduction_order(const ops::Stage& sum, std::vector<Argument> first) {
  for (const auto& [name, rvar] : sum.updates.at(0).rvars) first.emplace_back(name);
  return first;
}

/// Vectors along `axis`: in pieces of a register, unrolled, where the extent is a multiple; else in one piece.
void vectorize_block(Line& line, const std::string& axis, int64_t extent, int64_t lanes) {
  if (extent == 1) return;
  if (extent <= lanes || extent % lanes != 0) {
    line.call("vectorize", {axis});
  } else {
    line.call("vectorize", {axis, lanes});
    if (extent > lanes) line.call("unroll", {axis});
  }
}

void accumulate(GroupSchedule& schedule, const ops::Stage& sum, const std::string& output, const std::string& at,
                int64_t block, int64_t tile, int64_t lanes) {
  Line line(sum.name);
  line.call("compute_at", {output, at}).call("bound_extent", {"c", block});
  vectorize_block(line, "c", block, lanes);
  if (tile > 1) line.call("unroll", {"x"});
  line.call("update", {0}).call("reorder", reduction_order(sum, {"c", "x"}));
  vectorize_block(line, "c", block, lanes);
  if (tile > 1) line.call("unroll", {"x"});
  schedule.funcs.push_back(line);
}

/// Whether the input is worth a copy: it has a border, or is computed by the group. Otherwise it is read in place.
bool is_copied(const GroupView& view, const Node& conv, const ops::Stage* padded) {
  if (!padded) return false;
  return padded->is_padding || graph::uses_of(view.graph).producer[conv.inputs[0]] != graph::absent;
}

/// The copy of the input with its border, in vectors along its innermost axis.
void copy_border(GroupSchedule& schedule, const ops::Stage& padded, const std::string& output, const std::string& at,
                 const Machine& machine) {
  Line line(padded.name);
  if (at.empty())
    line.call("compute_root");
  else
    line.call("compute_at", {output, at});
  const Loop inner = loops_of(padded)[0];
  const int64_t lanes = lanes_of(padded, machine);
  if (inner.extent >= lanes)
    line.call("vectorize", {inner.name, lanes});
  else if (inner.extent > 1)
    line.call("vectorize", {inner.name});
  if (at.empty()) {
    int64_t work = 1;
    for (const Loop& loop : loops_of(padded)) work *= loop.extent;
    if (work > 4 * least_parallel_work && extent_of(padded, "y") > 1) line.call("parallel", {"y"});
  }
  schedule.funcs.push_back(line);
}

/// Loops around a row of pixels, innermost first.
std::vector<Loop> outer_loops(const ops::Stage& output) {
  std::vector<Loop> outer;
  for (const std::string& axis : {std::string("y"), std::string("z"), std::string("n")})
    if (extent_of(output, axis) > 1) outer.push_back({axis, extent_of(output, axis)});
  return outer;
}

}  // namespace

void direct_conv(GroupSchedule& schedule, const GroupView& view, const Machine& machine) {
  const Node& conv = anchor_of(view);
  const ops::Stage& output = output_of(view);
  const ops::Stage& sum = *inner_stage(view, conv.name, "sum");
  const ops::Stage* padded = inner_stage(view, conv.name, "padded");
  const ConvShape shape = shape_of(view.graph, conv);
  const int64_t row = output_row(view.graph, conv);
  const int64_t lanes = lanes_of(output, machine);
  const int64_t block = block_of(view.graph, conv, row, machine);
  const int64_t tile = std::min(register_tile(block, row, machine).rows, row);
  const int64_t blocks = (shape.outputs + block - 1) / block;
  const auto outer = outer_loops(output);
  const int64_t lines_count = outer.empty() ? 1 : outer.front().extent * (outer.size() > 1 ? outer[1].extent : 1);
  const int64_t work = cost_of_steps(view);
  const bool weights_are_large = shape.weight_bytes > machine.l2_bytes / 2;
  const bool rows_split_badly = lines_count < 4 * machine.threads && lines_count % machine.threads != 0;
  const bool by_channels = blocks >= machine.threads && (weights_are_large || rows_split_badly);

  Line line(output.name);
  line.call("split", {"c", "c_block", "c_in", block, channel_tail(view.graph, conv, shape.outputs, block)});
  line.call("split", {"x", "x_tile", "x_in", tile, "ShiftInwards"});
  std::vector<Argument> order{"c_in", "x_in", "x_tile"};
  if (!by_channels) order.emplace_back("c_block");
  for (const Loop& loop : outer) order.emplace_back(loop.name);
  if (by_channels) order.emplace_back("c_block");
  line.call("reorder", order);
  vectorize_block(line, "c_in", block, lanes);
  if (tile > 1) line.call("unroll", {"x_in"});
  std::string chunk;
  if (by_channels)
    chunk = parallel_chunks(line, {{"c_block", blocks}}, work, machine);
  else
    chunk = parallel_chunks(line, outer, work, machine);
  schedule.funcs.push_back(line);
  if (is_copied(view, conv, padded)) copy_border(schedule, *padded, output.name, by_channels ? "" : chunk, machine);
  accumulate(schedule, sum, output.name, "x_tile", block, tile, lanes);
}

void depthwise(GroupSchedule& schedule, const GroupView& view, const Machine& machine) {
  const Node& conv = anchor_of(view);
  const ops::Stage& output = output_of(view);
  const ops::Stage& sum = *inner_stage(view, conv.name, "sum");
  const ops::Stage* padded = inner_stage(view, conv.name, "padded");
  const int64_t channels = extent_of(output, "c"), row = extent_of(output, "x");
  const int64_t lanes = std::min(lanes_of(output, machine), channels);
  const int64_t tile = std::min<int64_t>(row, 4);
  Line line(output.name);
  line.call("split", {"c", "c_block", "c_in", lanes, "ShiftInwards"});
  line.call("split", {"x", "x_tile", "x_in", tile, "ShiftInwards"});
  const auto outer = outer_loops(output);
  std::vector<Argument> order{"c_in", "x_in", "x_tile", "c_block"};
  for (const Loop& loop : outer) order.emplace_back(loop.name);
  line.call("reorder", order);
  if (lanes > 1) line.call("vectorize", {"c_in"});
  if (tile > 1) line.call("unroll", {"x_in"});
  const std::string chunk = parallel_chunks(line, outer, cost_of_steps(view), machine);
  schedule.funcs.push_back(line);
  if (is_copied(view, conv, padded)) copy_border(schedule, *padded, output.name, chunk, machine);
  Line accumulator(sum.name);
  accumulator.call("compute_at", {output.name, "x_tile"});
  if (lanes > 1) accumulator.call("vectorize", {"c", lanes});
  if (tile > 1) accumulator.call("unroll", {"x"});
  accumulator.call("update", {0}).call("reorder", reduction_order(sum, {"c", "x"}));
  if (lanes > 1) accumulator.call("vectorize", {"c", lanes});
  if (tile > 1) accumulator.call("unroll", {"x"});
  for (const auto& [name, rvar] : sum.updates[0].rvars) accumulator.call("unroll", {name});
  schedule.funcs.push_back(accumulator);
}

void conv_transpose(GroupSchedule& schedule, const GroupView& view, const Machine& machine) {
  const Node& conv = anchor_of(view);
  const ops::Stage& output = output_of(view);
  const int64_t channels = extent_of(output, "c");
  const int64_t lanes = std::min(lanes_of(output, machine), channels);
  Line line(output.name);
  line.call("split", {"c", "c_block", "c_in", lanes, "ShiftInwards"});
  const auto outer = outer_loops(output);
  std::vector<Argument> order{"c_in", "x", "c_block"};
  for (const Loop& loop : outer) order.emplace_back(loop.name);
  line.call("reorder", order);
  if (lanes > 1) line.call("vectorize", {"c_in"});
  const std::string chunk = parallel_chunks(line, outer, cost_of_steps(view), machine);
  schedule.funcs.push_back(line);
  for (const ops::Stage* stage : inner_stages(view, conv.name)) {
    if (is_copied(view, conv, stage) && stage->updates.empty()) {
      copy_border(schedule, *stage, output.name, chunk, machine);
      continue;
    }
    if (stage->updates.empty()) continue;
    Line accumulator(stage->name);
    accumulator.call("compute_at", {output.name, "x"});
    if (lanes > 1) accumulator.call("vectorize", {"c", lanes});
    accumulator.call("update", {0}).call("reorder", reduction_order(*stage, {"c"}));
    if (lanes > 1) accumulator.call("vectorize", {"c", lanes});
    schedule.funcs.push_back(accumulator);
  }
}

/// Convolution, activation and pool in one nest: a strip of the convolution's rows is computed where a strip of
/// the pool's pixels needs it, stays in registers or the nearest cache, and is never written out.
void window_chain(GroupSchedule& schedule, const GroupView& view, const Machine& machine) {
  const ops::Stage& output = output_of(view);
  const Node* conv = nullptr;
  const Node* pool = nullptr;
  for (const Node& node : view.graph.nodes) {
    const ops::Operator* op = ops::find(node.op_type);
    if (op->kernel == ops::Kernel::Convolution) conv = &node;
    if (op->kernel == ops::Kernel::Pool) pool = &node;
  }
  const ConvShape shape = shape_of(view.graph, *conv);
  const auto windows = graph::ints_attribute(*pool, "kernel_shape");
  const int64_t window = windows.empty() ? 1 : windows.back();
  const int64_t pooled_row = extent_of(output, "x");
  const int64_t lanes = lanes_of(output, machine);
  const int64_t block = block_of(view.graph, *conv, pooled_row * window, machine);
  const int64_t fitting = std::max<int64_t>(1, register_tile(block, 14, machine).rows / window);
  const int64_t tile = std::min(fitting, pooled_row);
  const bool weights_are_large = shape.weight_bytes > machine.l2_bytes / 2;
  const auto outer = outer_loops(output);
  const int64_t blocks = (shape.outputs + block - 1) / block;
  const bool by_channels = blocks >= machine.threads && weights_are_large;

  Line line(output.name);
  line.call("split", {"c", "c_block", "c_in", block, channel_tail(view.graph, *conv, shape.outputs, block)});
  line.call("split", {"x", "x_tile", "x_in", tile, "ShiftInwards"});
  std::vector<Argument> order{"c_in", "x_in", "x_tile"};
  if (!by_channels) order.emplace_back("c_block");
  for (const Loop& loop : outer) order.emplace_back(loop.name);
  if (by_channels) order.emplace_back("c_block");
  line.call("reorder", order);
  vectorize_block(line, "c_in", block, lanes);
  if (tile > 1) line.call("unroll", {"x_in"});
  const std::string chunk = by_channels
                                ? parallel_chunks(line, {{"c_block", blocks}}, cost_of_steps(view), machine)
                                : parallel_chunks(line, outer, cost_of_steps(view), machine);
  schedule.funcs.push_back(line);

  // What the pool reads: the convolution with its epilogue, a patch of window x window pixels a pooled pixel.
  const Node* before_pool = nullptr;
  for (const Node& node : view.graph.nodes)
    if (node.outputs[0] == pool->inputs[0]) before_pool = &node;
  Line patch(ops::identifier(view.graph.value(before_pool->outputs[0]).name));
  patch.call("compute_at", {output.name, "x_tile"}).call("bound_extent", {"c", block});
  vectorize_block(patch, "c", block, lanes);
  patch.call("unroll", {"x"});
  const std::string patch_name = ops::identifier(view.graph.value(before_pool->outputs[0]).name);
  schedule.funcs.push_back(patch);
  const ops::Stage* padded = inner_stage(view, conv->name, "padded");
  if (is_copied(view, *conv, padded))
    copy_border(schedule, *padded, output.name, by_channels ? "" : chunk, machine);
  const ops::Stage& sum = *inner_stage(view, conv->name, "sum");
  Line accumulator(sum.name);
  accumulator.call("compute_at", {patch_name, "y"}).call("bound_extent", {"c", block});
  vectorize_block(accumulator, "c", block, lanes);
  accumulator.call("unroll", {"x"});
  accumulator.call("update", {0}).call("reorder", reduction_order(sum, {"c", "x"}));
  vectorize_block(accumulator, "c", block, lanes);
  accumulator.call("unroll", {"x"});
  schedule.funcs.push_back(accumulator);
  for (const ops::Stage* stage : inner_stages(view, pool->name)) {
    if (stage->updates.empty()) continue;
    Line best(stage->name);
    best.call("compute_at", {output.name, "x_tile"}).call("bound_extent", {"c", block});
    vectorize_block(best, "c", block, lanes);
    if (tile > 1) best.call("unroll", {"x"});
    best.call("update", {0}).call("reorder", reduction_order(*stage, {"c", "x"}));
    vectorize_block(best, "c", block, lanes);
    if (tile > 1) best.call("unroll", {"x"});
    schedule.funcs.push_back(best);
  }
}

namespace {

int64_t gemm_block(const graph::Graph& graph, const Node& gemm, const Machine& machine) {
  const auto result = graph.output_type(gemm).extents();
  return packed_block(result.back(), result.size() > 1 ? result[result.size() - 2] : 1, machine);
}

/// What is added to a product is read up to the end of the last block: it must be a constant that can be padded.
bool addend_can_be_packed(const graph::Graph& graph, const Node& gemm) {
  const bool has_addend = gemm.op_type == "Gemm" && gemm.inputs.size() > 2 && gemm.inputs[2] != graph::absent;
  return !has_addend || graph.value(gemm.inputs[2]).constant.has_value();
}

}  // namespace

graph::Layout weight_layout(const graph::Graph& graph, const Node& anchor, size_t input, const Machine& machine) {
  const ops::Operator* op = ops::find(anchor.op_type);
  graph::Layout layout;
  const int rank = static_cast<int>(graph.input_type(anchor, input).dims.size());
  if (op->kernel == ops::Kernel::Convolution) {
    const ConvShape shape = shape_of(graph, anchor);
    const bool is_depthwise = shape.group > 1 && graph.input_type(anchor, 1).extents()[1] == 1;
    const int64_t block = channel_block(shape, output_row(graph, anchor), machine);
    const bool free_bias = anchor.inputs.size() > 2 && anchor.inputs[2] != graph::absent &&
                           !graph.value(anchor.inputs[2]).constant;
    if (free_bias && shape.outputs % block != 0) return layout;
    if (input == 1 && is_depthwise) {
      for (int axis = 2; axis < rank; ++axis) layout.order.push_back(axis);  // ky, kx, (1), channel
      layout.order.push_back(1);
      layout.order.push_back(0);
    } else if (input == 1) {
      layout.order.push_back(0);  // block of outputs, ky, kx, input channel, output inside the block
      for (int axis = 2; axis < rank; ++axis) layout.order.push_back(axis);
      layout.order.push_back(1);
      layout.block_axis = 0;
      layout.block = block;
    } else if (input == 2 && !is_depthwise) {
      layout.order = {0};
      layout.block_axis = 0;
      layout.block = block;
    }
    return layout;
  }
  if (op->kernel == ops::Kernel::Transposed && input == 1) {
    for (int axis = 2; axis < rank; ++axis) layout.order.push_back(axis);  // ky, kx, input, output channel
    layout.order.push_back(0);
    layout.order.push_back(1);
    return layout;
  }
  if (op->kernel == ops::Kernel::Contraction && input == 1 && rank == 2) {
    const auto result = graph.output_type(anchor).extents();
    if (result.back() % gemm_block(graph, anchor, machine) != 0 && !addend_can_be_packed(graph, anchor)) return layout;
    const bool transposed = graph::int_attribute(anchor, "transB", 0) != 0;
    layout.order = transposed ? std::vector<int>{0, 1} : std::vector<int>{1, 0};
    layout.block_axis = transposed ? 0 : 1;
    layout.block = gemm_block(graph, anchor, machine);
    return layout;
  }
  if (anchor.op_type == "Gemm" && input == 2 && addend_can_be_packed(graph, anchor)) {
    const auto extents = graph.input_type(anchor, 2).extents();
    if (extents.empty() || extents.back() == 1) return layout;
    layout.order = rank == 1 ? std::vector<int>{0} : std::vector<int>{0, 1};
    layout.block_axis = rank - 1;
    layout.block = gemm_block(graph, anchor, machine);
  }
  return layout;
}

}  // namespace cryolite::schedule::cpu
