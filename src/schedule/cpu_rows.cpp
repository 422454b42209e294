#include <algorithm>

#include "schedule/cpu_parts.h"

/// rows (softmax, norms): the statistics of a row right before the row is written, so that the row is still in the
/// nearest cache; what several of them read of every element (the exponentials of a softmax) is kept for the row.
///
///     for rows (threads)
///       max, exp, sum
///       for vectors of the row
namespace cryolite::schedule::cpu {
namespace {

/// Copies of the input that the algorithm offers to schedules; nothing is gained by making them here.
bool is_copy(const ops::Stage& stage) { return stage.is_padding || stage.name.ends_with("_padded"); }

/// The innermost loop of the output outside of every axis that one of the stages is reduced over.
size_t level_of_rows(const std::vector<Loop>& loops, const std::vector<const ops::Stage*>& stages) {
  size_t outermost_reduced = 0;
  for (const ops::Stage* stage : stages)
    for (size_t l = 0; l < loops.size(); ++l)
      if (!stage->updates.empty() && extent_of(*stage, loops[l].name) == 1 && loops[l].extent > 1)
        outermost_reduced = std::max(outermost_reduced, l);
  return outermost_reduced + 1;
}

}  // namespace

bool rows(GroupSchedule& schedule, const GroupView& view, const Machine& machine, const Parameters&) {
  const graph::Node& anchor = anchor_of(view);
  if (!only_epilogue_follows(view, anchor.name)) return false;
  const ops::Stage& output = output_of(view);
  const auto loops = loops_of(output);
  const auto stages = inner_stages(view, anchor.name);
  const size_t level = level_of_rows(loops, stages);
  if (level >= loops.size()) return false;
  for (const ops::Stage* stage : stages)
    if (stage->extents.size() != output.extents.size()) return false;
  const int64_t lanes = lanes_of(output, machine);
  Line line(output.name);
  if (loops[0].extent >= lanes)
    line.call("split", {loops[0].name, loops[0].name + "_vectors", loops[0].name + "_in", lanes, "ShiftInwards"})
        .call("vectorize", {loops[0].name + "_in"});
  else if (loops[0].extent > 1)
    line.call("vectorize", {loops[0].name});
  const std::vector<Loop> outer(loops.begin() + static_cast<long>(level), loops.end());
  const Chunks chunks = parallel_chunks(line, outer, cost_of_steps(view), machine);
  schedule.funcs.push_back(line);
  for (const ops::Stage* stage : stages) {
    if (is_copy(*stage)) continue;
    if (!stage->updates.empty()) {
      accumulate_at(schedule, *stage, output.name, chunks.innermost, machine);
      continue;
    }
    const auto its = loops_of(*stage);
    const int64_t own = std::min(lanes_of(*stage, machine), its[0].extent);
    Line kept(stage->name);
    kept.call("compute_at", {output.name, chunks.innermost});
    if (own > 1) kept.call("vectorize", {its[0].name, own, "ShiftInwards"});
    schedule.funcs.push_back(kept);
  }
  return true;
}

}  // namespace cryolite::schedule::cpu
