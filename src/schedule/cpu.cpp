#include "schedule/cpu.h"

#include <algorithm>

#include "schedule/cpu_parts.h"

/// make_schedule asks the strategy of the group's anchor; where that one finds the group not of its form, or leaves
/// an accumulator without a place, `separate` takes over, which is legal for every group.
namespace cryolite::schedule::cpu {
namespace {

struct Row {
  const char* name;
  Strategy* write;
};
constexpr Row strategies[] = {
    {"attention", attention},     {"conv_transpose", conv_transpose}, {"depthwise", depthwise},
    {"direct_conv", direct_conv}, {"gemm", gemm},                     {"gemm_rows", attention},
    {"pointwise", pointwise},     {"pool", pool},                     {"reduce", reduce},
    {"rows", rows},               {"window_chain", window_chain},
};

bool has_line(const GroupSchedule& schedule, const std::string& func) {
  return std::any_of(schedule.funcs.begin(), schedule.funcs.end(),
                     [&](const FuncSchedule& line) { return line.func == func; });
}

/// Halide takes no accumulator inlined, and one at root would not see what is computed inside of other loops.
bool places_every_accumulator(const GroupSchedule& schedule, const GroupView& view) {
  return std::all_of(view.lowered.stages.begin(), view.lowered.stages.end(), [&](const ops::Stage& stage) {
    return stage.updates.empty() || has_line(schedule, stage.name);
  });
}

}  // namespace

GroupSchedule make_schedule(const GroupView& view, const Machine& machine, const Parameters& parameters) {
  GroupSchedule schedule;
  schedule.group = view.anchor;
  const std::string wanted = strategy_of(view.graph, view.anchor);
  const auto found = std::find_if(std::begin(strategies), std::end(strategies),
                                  [&](const Row& row) { return wanted == row.name; });
  const bool fits = found != std::end(strategies) && found->write(schedule, view, machine, parameters) &&
                    places_every_accumulator(schedule, view);
  if (!fits) {
    schedule.funcs.clear();
    separate(schedule, view, machine);
  }
  return schedule;
}

}  // namespace cryolite::schedule::cpu
