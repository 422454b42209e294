#include <algorithm>

#include "ops/operator.h"
#include "schedule/cpu_parts.h"

/// reduce: every accumulator where its result is needed. rows (softmax, norms): the statistics of a row right
/// before the row is written, so that the row is still in the nearest cache.
namespace cryolite::schedule::cpu {
namespace {

std::vector<const ops::Stage*> accumulators(const GroupView& view, const std::string& node) {
  std::vector<const ops::Stage*> stages;
  for (const ops::Stage* stage : inner_stages(view, node))
    if (!stage->updates.empty()) stages.push_back(stage);
  return stages;
}

/// The accumulator along the vectors of its innermost axis where that axis is kept, else element by element.
void accumulate(GroupSchedule& schedule, const ops::Stage& stage, const std::string& output, const std::string& at,
                const Machine& machine) {
  const auto loops = loops_of(stage);
  const int64_t lanes = loops.empty() ? 1 : std::min(lanes_of(stage, machine), loops[0].extent);
  Line line(stage.name);
  line.call("compute_at", {output, at});
  if (lanes > 1) line.call("vectorize", {loops[0].name, lanes});
  for (size_t u = 0; u < stage.updates.size(); ++u) {
    line.call("update", {static_cast<int64_t>(u)});
    if (lanes <= 1) continue;
    std::vector<Argument> order{loops[0].name};
    for (const auto& [name, rvar] : stage.updates[u].rvars) order.emplace_back(name);
    line.call("reorder", order).call("vectorize", {loops[0].name, lanes});
  }
  schedule.funcs.push_back(line);
}

void accumulate_at_root(GroupSchedule& schedule, const ops::Stage& stage) {
  schedule.funcs.push_back(Line(stage.name).call("compute_root"));
}

}  // namespace

void reduce(GroupSchedule& schedule, const GroupView& view, const Machine& machine) {
  const graph::Node& anchor = anchor_of(view);
  const ops::Stage& output = output_of(view);
  const auto loops = loops_of(output);
  const auto stages = accumulators(view, anchor.name);
  if (loops.empty() || view.lowered.outputs.size() != 1) {
    for (const ops::Stage* stage : stages) accumulate_at_root(schedule, *stage);
    return pointwise(schedule, view, machine);
  }
  const int64_t lanes = lanes_of(output, machine);
  Line line(output.name);
  std::string at = loops[0].name;
  std::vector<Loop> outer(loops.begin() + 1, loops.end());
  if (loops[0].extent >= lanes) {
    at = loops[0].name + "_vectors";
    line.call("split", {loops[0].name, at, loops[0].name + "_in", lanes, "ShiftInwards"});
    line.call("vectorize", {loops[0].name + "_in"});
  }
  const bool others_are_one = std::all_of(outer.begin(), outer.end(), [](const Loop& l) { return l.extent == 1; });
  if (others_are_one && at != loops[0].name) {
    const int64_t count = (loops[0].extent + lanes - 1) / lanes;
    const int64_t chunk = (count + machine.threads - 1) / machine.threads;
    if (cost_of_steps(view) >= least_parallel_work && count > 1)
      line.call("split", {at, at + "_thread", at + "_step", chunk, "GuardWithIf"})
          .call("parallel", {at + "_thread"}), at += "_step";
  } else {
    parallel_chunks(line, outer, cost_of_steps(view), machine);
  }
  schedule.funcs.push_back(line);
  for (const ops::Stage* stage : stages) accumulate(schedule, *stage, output.name, at, machine);
}

void rows(GroupSchedule& schedule, const GroupView& view, const Machine& machine) {
  const graph::Node& anchor = anchor_of(view);
  const ops::Stage& output = output_of(view);
  const auto loops = loops_of(output);
  const auto stages = accumulators(view, anchor.name);
  // The updates of an opaque operator (a scatter, a running sum) have an order and loops of their own.
  const bool is_serial = ops::find(anchor.op_type)->category == ops::Category::Opaque;
  if (loops.size() < 2 || view.lowered.outputs.size() != 1 || is_serial) {
    for (const ops::Stage* stage : stages) accumulate_at_root(schedule, *stage);
    return pointwise(schedule, view, machine);
  }
  const int64_t lanes = lanes_of(output, machine);
  Line line(output.name);
  if (loops[0].extent >= lanes)
    line.call("split", {loops[0].name, loops[0].name + "_vectors", loops[0].name + "_in", lanes, "ShiftInwards"})
        .call("vectorize", {loops[0].name + "_in"});
  else if (loops[0].extent > 1)
    line.call("vectorize", {loops[0].name});
  // A statistic lives at the loop outside of every axis that it is reduced over: its own axes of one element.
  size_t outermost_reduced = 0;
  for (const ops::Stage* stage : stages)
    for (size_t l = 0; l < loops.size(); ++l)
      if (extent_of(*stage, loops[l].name) == 1 && loops[l].extent > 1) outermost_reduced = std::max(outermost_reduced, l);
  const size_t level = outermost_reduced + 1;
  if (level >= loops.size()) {
    schedule.funcs.push_back(line);
    for (const ops::Stage* stage : stages) accumulate_at_root(schedule, *stage);
    return;
  }
  const std::vector<Loop> outer(loops.begin() + static_cast<long>(level) + 1, loops.end());
  const bool others_are_one = std::all_of(outer.begin(), outer.end(), [](const Loop& l) { return l.extent == 1; });
  std::string at = loops[level].name;
  if (others_are_one && cost_of_steps(view) >= least_parallel_work && loops[level].extent > 1) {
    const int64_t chunk = (loops[level].extent + machine.threads - 1) / machine.threads;
    line.call("split", {at, at + "_thread", at + "_step", chunk, "GuardWithIf"}).call("parallel", {at + "_thread"});
    at += "_step";
  } else {
    parallel_chunks(line, outer, cost_of_steps(view), machine);
  }
  schedule.funcs.push_back(line);
  for (const ops::Stage* stage : stages) accumulate(schedule, *stage, output.name, at, machine);
}

}  // namespace cryolite::schedule::cpu
