#include <algorithm>

#include "ops/operator.h"
#include "schedule/cpu_parts.h"

/// pool: a block of channels of one pixel (or of whatever axis is innermost) at a time, its running value in
/// registers, the taps around it:
///
///     for y (threads)
///       for x
///         for c_block: best[c_in] over kx, ky
namespace cryolite::schedule::cpu {
namespace {

constexpr Tunable block_vectors{"vectors", 1, 16};  // vectors of a block; rule: 4, fewer where the axis is short

}  // namespace

bool pool(GroupSchedule& schedule, const GroupView& view, const Machine& machine, const Parameters& parameters) {
  const graph::Node& anchor = anchor_of(view);
  if (!only_epilogue_follows(view, anchor.name)) return false;
  const ops::Stage& output = output_of(view);
  auto loops = loops_of(output);
  if (loops.size() < 3) return false;
  // One pixel: its channels lie side by side.
  const auto along = std::find_if(loops.begin(), loops.end(), [](const Loop& loop) { return loop.extent > 1; });
  if (along != loops.end()) std::rotate(loops.begin(), along, along + 1);
  const int64_t lanes = lanes_of(output, machine), inner = loops[0].extent;
  const int64_t wanted = tuned(parameters, block_vectors, 4);
  const int64_t block = inner < lanes ? inner : lanes * std::min(wanted, inner / lanes);
  Line line(output.name);
  const std::string blocks = loops[0].name + "_block", in = loops[0].name + "_in";
  line.call("split", {loops[0].name, blocks, in, block, "ShiftInwards"});
  std::vector<Argument> order{in, blocks};
  for (size_t axis = 1; axis < loops.size(); ++axis) order.emplace_back(loops[axis].name);
  line.call("reorder", order);
  vectorize_block(line, in, block, lanes);
  std::vector<Loop> outer(loops.begin() + 2, loops.end());
  const bool is_one = std::all_of(loops.begin() + 1, loops.end(), [](const Loop& loop) { return loop.extent == 1; });
  if (is_one) outer = {{blocks, (inner + block - 1) / block}};
  const Chunks chunks = parallel_chunks(line, outer, cost_of_steps(view), machine);
  const std::string at = is_one ? chunks.innermost : blocks;
  schedule.funcs.push_back(line);
  for (const ops::Stage* stage : inner_stages(view, anchor.name)) {
    if (stage->updates.empty()) continue;
    if (stage->updates.size() != 1) return false;
    Line running(stage->name);
    running.call("compute_at", {output.name, at});
    for (const bool update : {false, true}) {
      if (update) begin_update(running, *stage, {loops[0].name});
      vectorize_block(running, loops[0].name, block, lanes_of(*stage, machine));
    }
    schedule.funcs.push_back(running);
  }
  return true;
}

}  // namespace cryolite::schedule::cpu
