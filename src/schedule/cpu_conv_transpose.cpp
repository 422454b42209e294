#include <algorithm>

#include "schedule/cpu_convolution.h"

/// conv_transpose: one vector of output channels of a pixel, over the input channels and taps that reach it.
///
///     for y (threads)
///       for c_block
///         for x: sum[c_in] over the input channels and taps
namespace cryolite::schedule::cpu {

bool conv_transpose(GroupSchedule& schedule, const GroupView& view, const Machine& machine, const Parameters&) {
  const graph::Node& conv = anchor_of(view);
  if (!only_epilogue_follows(view, conv.name)) return false;
  const ops::Stage& output = output_of(view);
  const int64_t channels = extent_of(output, "c");
  const int64_t lanes = std::min(lanes_of(output, machine), channels);
  Line line(output.name);
  line.call("split", {"c", "c_block", "c_in", lanes, "ShiftInwards"});
  const auto outer = loops_around_rows(output);
  std::vector<Argument> order{"c_in", "x", "c_block"};
  for (const Loop& loop : outer) order.emplace_back(loop.name);
  line.call("reorder", order);
  if (lanes > 1) line.call("vectorize", {"c_in"});
  const std::string chunk = parallel_chunks(line, outer, cost_of_steps(view), machine).thread;
  schedule.funcs.push_back(line);
  for (const ops::Stage* stage : inner_stages(view, conv.name)) {
    if (stage->updates.empty()) {
      if (is_copied(view, conv, stage)) copy_border(schedule, *stage, output.name, chunk, machine);
      continue;
    }
    if (stage->updates.size() != 1) return false;
    Line accumulator(stage->name);
    accumulator.call("compute_at", {output.name, "x"});
    if (lanes > 1) accumulator.call("vectorize", {"c", lanes});
    begin_update(accumulator, *stage, {"c"});
    if (lanes > 1) accumulator.call("vectorize", {"c", lanes});
    schedule.funcs.push_back(accumulator);
  }
  return true;
}

}  // namespace cryolite::schedule::cpu
