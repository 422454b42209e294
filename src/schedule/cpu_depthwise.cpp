#include <algorithm>

#include "schedule/cpu_convolution.h"

/// depthwise: one vector of channels by a strip of pixels, the taps unrolled. A pixel of the input is read by every
/// tap from the nearest cache.
///
///     for y (threads)
///       for c_block
///         for x_tile: sum[c_in, x_in] over kx, ky
namespace cryolite::schedule::cpu {
namespace {

constexpr Tunable strip{"pixels", 1, 14};  // pixels of a tile; rule: 4

constexpr int64_t most_unrolled_taps = 25;

}  // namespace

bool depthwise(GroupSchedule& schedule, const GroupView& view, const Machine& machine,
               const Parameters& parameters) {
  const graph::Node& conv = anchor_of(view);
  const ops::Stage* sum = inner_stage(view, conv.name, "sum");
  if (!only_epilogue_follows(view, conv.name) || !sum || sum->updates.size() != 1) return false;
  const ops::Stage& output = output_of(view);
  const ops::Stage* padded = inner_stage(view, conv.name, "padded");
  const int64_t channels = extent_of(output, "c"), row = extent_of(output, "x");
  const int64_t lanes = std::min(lanes_of(output, machine), channels);
  const int64_t tile = std::min(tuned(parameters, strip, 4), row);
  Line line(output.name);
  line.call("split", {"c", "c_block", "c_in", lanes, "ShiftInwards"});
  line.call("split", {"x", "x_tile", "x_in", tile, "ShiftInwards"});
  const auto outer = loops_around_rows(output);
  std::vector<Argument> order{"c_in", "x_in", "x_tile", "c_block"};
  for (const Loop& loop : outer) order.emplace_back(loop.name);
  line.call("reorder", order);
  if (lanes > 1) line.call("vectorize", {"c_in"});
  if (tile > 1) line.call("unroll", {"x_in"});
  const std::string chunk = parallel_chunks(line, outer, cost_of_steps(view), machine).thread;
  schedule.funcs.push_back(line);
  if (is_copied(view, conv, padded)) copy_border(schedule, *padded, output.name, chunk, machine);
  int64_t taps = 1;
  const auto weights = view.graph.input_type(conv, 1).extents();
  for (size_t axis = 2; axis < weights.size(); ++axis) taps *= weights[axis];
  Line accumulator(sum->name);
  accumulator.call("compute_at", {output.name, "x_tile"});
  for (const bool update : {false, true}) {
    if (update) begin_update(accumulator, *sum, {"c", "x"});
    if (lanes > 1) accumulator.call("vectorize", {"c", lanes});
    if (tile > 1) accumulator.call("unroll", {"x"});
  }
  if (taps <= most_unrolled_taps)
    for (const auto& [name, rvar] : sum->updates[0].rvars) accumulator.call("unroll", {name});
  schedule.funcs.push_back(accumulator);
  return true;
}

}  // namespace cryolite::schedule::cpu
