#include <algorithm>

#include "schedule/cpu_parts.h"

/// Accumulators of reductions. Where the innermost axis in memory is kept, neighbours along it are summed side by side.
/// Where it is reduced, it is cut into vectors of partial results, which are joined at the end of the row:
///
///     parts[u] over r_steps        u: one lane of `chains` vectors
///     parts2[u2] over r_terms2, … sum over r_lanes3        by fours
namespace cryolite::schedule::cpu {
namespace {

constexpr int64_t chains = 4;  // vectors of partial results: an addition waits 4 cycles for the one before it

int64_t constant_extent(const Halide::RVar& rvar) {
  const auto* extent = rvar.extent().as<Halide::Internal::IntImm>();
  return extent ? extent->value : 0;
}

/// Whether partial results may be joined in any order, as Halide can prove for sums, products, minima and maxima.
bool joins_in_any_order(const ops::Stage& stage) {
  if (stage.updates.size() != 1 || stage.laid.func.outputs() != 1) return false;
  return Halide::Internal::prove_associativity(stage.laid.func.name(), stage.laid.func.update_args(0),
                                               {stage.laid.func.update_value(0)})
      .associative();
}

/// Lanes of the partial results; 0 where the innermost axis is kept, or too short for vectors.
int64_t partial_lanes(const ops::Stage& stage, const std::vector<Loop>& loops, const Machine& machine) {
  if (loops.empty() || loops[0].extent != 1 || stage.updates.size() != 1 || stage.updates[0].rvars.empty()) return 0;
  const int64_t lanes = lanes_of(stage, machine), row = constant_extent(stage.updates[0].rvars[0].second);
  if (lanes < 2 || row < 2 * lanes || !joins_in_any_order(stage)) return 0;
  return lanes * std::min(chains, row / lanes);
}

/// Whether neighbours along the innermost axis are updated alike: not so where the update itself chooses the place
/// (a scatter), or walks the axis (a running sum).
bool keeps_innermost_axis(const ops::Stage& stage, int update, const Loop& loop) {
  const auto* place = stage.laid.func.update_args(update)[0].as<Halide::Internal::Variable>();
  return place && place->name == loop.name;
}

/// Partial results joined to fewer, `lanes` at a time and then by fours: a tree, where one after the other would take
/// the latency of each.
void join_parts(GroupSchedule& schedule, Line& whole, const std::string& name, const std::string& output,
                const std::string& at, int64_t width, int64_t lanes) {
  std::string lane_loop = "r_lanes";
  for (int level = 1; width > 4; ++level) {
    const int64_t next = width > lanes ? lanes : std::max<int64_t>(1, width / 4);
    if (next == 1 || width % next != 0) break;
    const std::string number = std::to_string(level + 1), u = "u" + number, parts = name + "_parts" + number;
    const std::string terms = "r_terms" + number, kept = "r_lanes" + number;
    whole.call("split", {lane_loop, terms, kept, next}).call("rfactor", {kept, u, parts});
    Line part(parts);
    part.call("compute_at", {output, at}).call("vectorize", {u}).call("update", {0}).call("reorder", {u, terms});
    part.call("vectorize", {u}).call("unroll", {terms});
    schedule.funcs.push_back(part);
    lane_loop = kept;
    width = next;
  }
  whole.call("unroll", {lane_loop});
}

void accumulate_in_parts(GroupSchedule& schedule, const ops::Stage& stage, const std::string& output,
                         const std::string& at, int64_t width, const Machine& machine) {
  const auto& rvars = stage.updates[0].rvars;
  const int64_t lanes = lanes_of(stage, machine);
  const bool divides = constant_extent(rvars[0].second) % width == 0;
  const std::string parts = stage.name + "_parts";
  Line whole(stage.name);
  whole.call("compute_at", {output, at}).call("update", {0});
  whole.call("split", {rvars[0].first, "r_steps", "r_lanes", width, divides ? "Auto" : "GuardWithIf"});
  whole.call("rfactor", {"r_lanes", "u", parts});
  GroupSchedule joins;
  join_parts(joins, whole, stage.name, output, at, width, lanes);
  schedule.funcs.push_back(whole);
  schedule.funcs.insert(schedule.funcs.end(), joins.funcs.begin(), joins.funcs.end());
  std::vector<Argument> order{"u", "r_steps"};
  for (size_t r = 1; r < rvars.size(); ++r) order.emplace_back(rvars[r].first);
  for (const Loop& loop : loops_of(stage)) order.emplace_back(loop.name);
  Line part(parts);
  part.call("compute_at", {output, at});
  vectorize_block(part, "u", width, lanes);
  part.call("update", {0}).call("reorder", order);
  vectorize_block(part, "u", width, lanes);
  schedule.funcs.push_back(part);
}

}  // namespace

void accumulate_at(GroupSchedule& schedule, const ops::Stage& stage, const std::string& output,
                   const std::string& at, const Machine& machine) {
  const auto loops = loops_of(stage);
  if (const int64_t width = partial_lanes(stage, loops, machine))
    return accumulate_in_parts(schedule, stage, output, at, width, machine);
  const int64_t lanes = loops.empty() ? 1 : std::min(lanes_of(stage, machine), loops[0].extent);
  Line line(stage.name);
  line.call("compute_at", {output, at});
  // Guarded: nothing is known of how much of the axis is asked for here, and the input may not be read past its end.
  if (lanes > 1) line.call("vectorize", {loops[0].name, lanes, "GuardWithIf"});
  for (size_t u = 0; u < stage.updates.size(); ++u) {
    line.call("update", {static_cast<int64_t>(u)});
    if (lanes <= 1 || !keeps_innermost_axis(stage, static_cast<int>(u), loops[0])) continue;
    std::vector<Argument> order{loops[0].name};
    for (const auto& [name, rvar] : stage.updates[u].rvars) order.emplace_back(name);
    line.call("reorder", order).call("vectorize", {loops[0].name, lanes, "GuardWithIf"});
  }
  schedule.funcs.push_back(line);
}

}  // namespace cryolite::schedule::cpu
