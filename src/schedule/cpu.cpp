#include "schedule/cpu.h"

#include <algorithm>

#include "schedule/cpu_parts.h"

namespace cryolite::schedule::cpu {
namespace {

struct Strategy {
  const char* name;
  void (*write)(GroupSchedule&, const GroupView&, const Machine&);
};
constexpr Strategy strategies[] = {
    {"conv_transpose", conv_transpose}, {"depthwise", depthwise}, {"direct_conv", direct_conv},
    {"gemm", gemm},                     {"pointwise", pointwise}, {"pool", pool},
    {"reduce", reduce},                 {"rows", rows},           {"window_chain", window_chain},
};

}  // namespace

GroupSchedule make_schedule(const GroupView& view, const Machine& machine, const Parameters&) {
  GroupSchedule schedule;
  schedule.group = view.anchor;
  const std::string wanted = strategy_of(view.graph, view.anchor);
  const auto found = std::find_if(std::begin(strategies), std::end(strategies),
                                  [&](const Strategy& strategy) { return wanted == strategy.name; });
  (found != std::end(strategies) ? found->write : pointwise)(schedule, view, machine);
  return schedule;
}

}  // namespace cryolite::schedule::cpu
