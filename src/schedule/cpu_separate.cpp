#include <algorithm>

#include "schedule/cpu_parts.h"

/// separate: the schedule that fits every group. Each accumulator has a buffer of its own and is computed in full
/// before what reads it; pure stages are substituted; outputs are written last, one nest each.
namespace cryolite::schedule::cpu {
namespace {

/// Whether update `u` walks the axis of every element once, as the pure definition does: then it may go along vectors
/// and threads. A scatter writes where its data says.
bool walks_axis(const ops::Stage& stage, size_t u, const std::string& axis) {
  for (const Halide::Expr& argument : stage.laid.func.update_args(static_cast<int>(u))) {
    const auto* variable = argument.as<Halide::Internal::Variable>();
    if (variable && variable->name == axis && !variable->reduction_domain.defined()) return true;
  }
  return false;
}

FuncSchedule at_root(const ops::Stage& stage, bool is_large, const Machine& machine) {
  Line line(stage.name);
  line.call("compute_root");
  const auto loops = loops_of(stage);
  if (loops.empty()) return line;
  const int64_t lanes = lanes_of(stage, machine);
  const bool has_vectors = loops[0].extent >= lanes && lanes > 1;
  const bool has_threads = is_large && loops.size() > 1 && loops.back().extent > 1;
  if (has_vectors) line.call("vectorize", {loops[0].name, lanes});
  for (size_t u = 0; u < stage.updates.size(); ++u) {
    line.call("update", {static_cast<int64_t>(u)});
    if (has_vectors && walks_axis(stage, u, loops[0].name))
      line.call("vectorize", {loops[0].name, lanes, "GuardWithIf"});
    if (has_threads && walks_axis(stage, u, loops.back().name)) line.call("parallel", {loops.back().name});
  }
  return line;
}

}  // namespace

void separate(GroupSchedule& schedule, const GroupView& view, const Machine& machine) {
  const auto& outputs = view.lowered.outputs;
  const bool is_large = cost_of_steps(view) >= least_parallel_work;
  for (size_t s = 0; s < view.lowered.stages.size(); ++s) {
    const ops::Stage& stage = view.lowered.stages[s];
    const bool is_output = std::count(outputs.begin(), outputs.end(), static_cast<int>(s)) > 0;
    if (!stage.updates.empty() && !is_output) schedule.funcs.push_back(at_root(stage, is_large, machine));
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    pointwise_output(schedule, view, output_of(view, i), machine, false);
}

}  // namespace cryolite::schedule::cpu
