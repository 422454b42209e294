#include <algorithm>

#include "schedule/cpu_parts.h"

/// pointwise: vectors along the innermost axis of the result, threads over the outer ones; nothing is stored
/// between the nodes. pool: the same, with the window's running value in a register of the tile.
namespace cryolite::schedule::cpu {
namespace {

/// Splits the innermost loop into vectors; returns the loop that steps over them, empty where there is one vector.
std::string vectorize_innermost(Line& line, const std::vector<Loop>& loops, int64_t lanes) {
  const Loop& inner = loops[0];
  if (inner.extent < lanes) {
    if (inner.extent > 1) line.call("vectorize", {inner.name});
    return "";
  }
  const std::string vectors = inner.name + "_vectors", in = inner.name + "_in";
  line.call("split", {inner.name, vectors, in, lanes, "ShiftInwards"}).call("vectorize", {in});
  return vectors;
}

void schedule_output(GroupSchedule& schedule, const GroupView& view, const ops::Stage& output,
                     const Machine& machine, bool keep_shared) {
  Line line(output.name);
  line.call("compute_root");
  const auto loops = loops_of(output);
  if (loops.empty()) {
    schedule.funcs.push_back(line);
    return;
  }
  const int64_t lanes = lanes_of(output, machine);
  const std::string vectors = vectorize_innermost(line, loops, lanes);
  std::vector<Loop> outer(loops.begin() + 1, loops.end());
  if (!vectors.empty()) {
    const bool others_are_one = std::all_of(outer.begin(), outer.end(), [](const Loop& l) { return l.extent == 1; });
    if (others_are_one) outer.insert(outer.begin(), {vectors, (loops[0].extent + lanes - 1) / lanes});
  }
  // The loop that a shared value is computed in must not be one that is fused away.
  const bool innermost_is_free = !vectors.empty() && (outer.empty() || outer[0].name != vectors);
  parallel_chunks(line, outer, cost_of_steps(view), machine);
  schedule.funcs.push_back(line);
  if (keep_shared && innermost_is_free)
    keep_shared_values(schedule, view, output.name, vectors, loops[0].name, lanes);
}

}  // namespace

void pointwise(GroupSchedule& schedule, const GroupView& view, const Machine& machine) {
  const size_t count = view.lowered.outputs.size();
  for (size_t i = 0; i < count; ++i) schedule_output(schedule, view, output_of(view, i), machine, count == 1);
}

void pool(GroupSchedule& schedule, const GroupView& view, const Machine& machine) {
  const graph::Node& anchor = anchor_of(view);
  const ops::Stage& output = output_of(view);
  const bool single = view.lowered.outputs.size() == 1 && loops_of(output).size() >= 3;
  if (!single) {
    for (const ops::Stage* stage : inner_stages(view, anchor.name))
      if (!stage->updates.empty()) schedule.funcs.push_back(Line(stage->name).call("compute_root"));
    return pointwise(schedule, view, machine);
  }
  const auto loops = loops_of(output);
  const int64_t lanes = lanes_of(output, machine);
  Line line(output.name);
  const std::string vectors = vectorize_innermost(line, loops, lanes);
  const std::string at = vectors.empty() ? loops[1].name : vectors;
  std::vector<Loop> outer(loops.begin() + (vectors.empty() ? 2 : 1), loops.end());
  parallel_chunks(line, outer, cost_of_steps(view), machine);
  schedule.funcs.push_back(line);
  for (const ops::Stage* stage : inner_stages(view, anchor.name)) {
    if (stage->updates.empty()) continue;
    const int64_t own = std::min(lanes_of(*stage, machine), loops[0].extent);
    Line running(stage->name);
    running.call("compute_at", {output.name, at});
    if (loops[0].extent > 1) running.call("vectorize", {loops[0].name, own});
    running.call("update", {0});
    std::vector<Argument> order{loops[0].name};
    for (const auto& [name, rvar] : stage->updates[0].rvars) order.emplace_back(name);
    running.call("reorder", order);
    if (loops[0].extent > 1) running.call("vectorize", {loops[0].name, own});
    schedule.funcs.push_back(running);
  }
}

}  // namespace cryolite::schedule::cpu
