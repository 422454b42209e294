#include <algorithm>

#include "schedule/cpu_parts.h"

/// pointwise: vectors along the innermost axis of the result, threads over the outer ones; nothing is stored between
/// the nodes, but for values that a long expression would compute again and again.
///
///     for outer axes (threads)
///       for vectors of the innermost axis
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

}  // namespace

void pointwise_output(GroupSchedule& schedule, const GroupView& view, const ops::Stage& output,
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

bool pointwise(GroupSchedule& schedule, const GroupView& view, const Machine& machine, const Parameters&) {
  const size_t count = view.lowered.outputs.size();
  for (size_t i = 0; i < count; ++i) pointwise_output(schedule, view, output_of(view, i), machine, count == 1);
  return true;
}

}  // namespace cryolite::schedule::cpu
