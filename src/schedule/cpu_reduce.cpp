#include <algorithm>

#include "schedule/cpu_parts.h"

/// reduce: every accumulator where its result is needed. A block of results side by side where the innermost axis is
/// kept, so that memory is read in long pieces; partial results along it where it is reduced (cpu_accumulate.cpp).
///
///     for outer axes (threads)
///       for blocks of the innermost axis: sum[in] over r
namespace cryolite::schedule::cpu {
namespace {

constexpr Tunable block_vectors{"vectors", 1, 16};  // vectors of a block; rule: 8, fewer where the axis is short

std::vector<const ops::Stage*> accumulators(const GroupView& view, const std::string& node) {
  std::vector<const ops::Stage*> stages;
  for (const ops::Stage* stage : inner_stages(view, node))
    if (!stage->updates.empty()) stages.push_back(stage);
  return stages;
}

/// The result's loops, innermost first. Where the data's innermost axis is kept and those before it are reduced away,
/// its loop comes first, so that memory is read in long pieces.
std::vector<Loop> loops_by_data(const GroupView& view, const ops::Stage& output) {
  auto loops = loops_of(output);
  const graph::Value& data = view.graph.value(anchor_of(view).inputs[0]);
  if (data.type.dims.size() != output.axes.size() || output.axes.empty()) return loops;
  const std::string inner = data.layout.order.empty() ? output.axes.back() : output.axes[data.layout.order.back()];
  const auto along = std::find_if(loops.begin(), loops.end(), [](const Loop& loop) { return loop.extent > 1; });
  if (along != loops.end() && along->name == inner) std::rotate(loops.begin(), along, along + 1);
  return loops;
}

/// The axis that the result is walked along is the accumulator's too, and nothing is summed along it.
bool keeps_axis(const Loop& along, const ops::Stage& stage) {
  const auto its = loops_of(stage);
  return along.extent > 1 && std::any_of(its.begin(), its.end(), [&](const Loop& loop) {
    return loop.name == along.name && loop.extent == along.extent;
  });
}

}  // namespace

bool reduce(GroupSchedule& schedule, const GroupView& view, const Machine& machine, const Parameters& parameters) {
  const graph::Node& anchor = anchor_of(view);
  if (!only_epilogue_follows(view, anchor.name)) return false;
  const ops::Stage& output = output_of(view);
  const auto loops = loops_by_data(view, output);
  const auto stages = accumulators(view, anchor.name);
  if (loops.empty() || stages.empty()) return false;
  const int64_t lanes = lanes_of(output, machine);
  const bool is_wide = std::all_of(stages.begin(), stages.end(), [&](const ops::Stage* stage) {
    return stage->updates.size() == 1 && keeps_axis(loops[0], *stage);
  });
  const int64_t wanted = is_wide ? tuned(parameters, block_vectors, 8) : 1;
  const int64_t block = loops[0].extent < lanes ? loops[0].extent : lanes * std::min(wanted, loops[0].extent / lanes);
  Line line(output.name);
  const std::string blocks = loops[0].name + "_block", in = loops[0].name + "_in";
  line.call("split", {loops[0].name, blocks, in, block, "ShiftInwards"});
  std::vector<Argument> order{in, blocks};
  for (size_t axis = 1; axis < loops.size(); ++axis) order.emplace_back(loops[axis].name);
  line.call("reorder", order);
  vectorize_block(line, in, block, lanes);
  // Blocks of the innermost axis go to threads only where there is nothing else to cut: they share cache lines.
  std::vector<Loop> outer(loops.begin() + 1, loops.end());
  const bool others_are_one = std::all_of(outer.begin(), outer.end(), [](const Loop& l) { return l.extent == 1; });
  if (others_are_one) outer = {{blocks, (loops[0].extent + block - 1) / block}};
  const Chunks chunks = parallel_chunks(line, outer, cost_of_steps(view), machine);
  const std::string at = others_are_one ? chunks.innermost : blocks;
  schedule.funcs.push_back(line);
  for (const ops::Stage* stage : stages) {
    if (!is_wide) {
      accumulate_at(schedule, *stage, output.name, at, machine);
      continue;
    }
    Line wide(stage->name);
    wide.call("compute_at", {output.name, at});
    for (const bool update : {false, true}) {
      if (update) begin_update(wide, *stage, {loops[0].name});
      vectorize_block(wide, loops[0].name, block, lanes_of(*stage, machine));
    }
    schedule.funcs.push_back(wide);
  }
  return true;
}

}  // namespace cryolite::schedule::cpu
