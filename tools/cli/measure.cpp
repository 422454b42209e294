#include "tools/cli/measure.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "plan/measured.h"
#include "tools/cli/session.h"

namespace cryolite::cli {
namespace {

constexpr int rounds = 5, runs = 8;  // of each plan in turn: a burst of other work then hits both

void keep_least(std::vector<double>& least, const std::vector<double>& times) {
  if (least.empty()) least = times;
  for (size_t i = 0; i < times.size(); ++i) least[i] = std::min(least[i], times[i]);
}

std::vector<plan::Timed> timed(const Session& session, const std::vector<double>& milliseconds) {
  std::vector<plan::Timed> groups;
  const auto steps = session.steps();
  for (size_t s = 0; s < steps.size(); ++s) groups.push_back({steps[s], 1e-3 * milliseconds[s]});
  return groups;
}

}  // namespace

PlannedModel measured_plan(const ModelOptions& options, int threads) {
  PlannedModel together = plan_model(options);
  if (together.plan.machine.kind != schedule::Machine::Kind::Cpu)
    throw Error("--measure times kernels on this machine's CPU, not on a GPU", {},
                "leave --measure out, or give --target host");
  ModelOptions cut = options;
  cut.stored = plan::between_reductions(together.plan);
  if (cut.stored.empty()) return together;
  Session fused(std::move(together), options, threads), apart(plan_model(cut), cut, threads);
  const auto inputs = made_up_inputs(fused.planned.plan.graph);
  std::vector<double> fused_times, apart_times;
  for (int round = 0; round < rounds; ++round) {
    keep_least(fused_times, fused.model.time_steps(inputs, 1, runs, fused.steps().size()));
    keep_least(apart_times, apart.model.time_steps(inputs, 1, runs, apart.steps().size()));
  }
  const auto slower = plan::slower_as_one(fused.planned.plan, timed(fused, fused_times), apart.planned.plan,
                                          timed(apart, apart_times));
  if (slower.empty()) return std::move(fused.planned);
  cut.stored.clear();
  for (const plan::Cut& one : slower) {
    fmt::print(stderr, "cut: {} takes {:.4g} us as one kernel, {:.4g} us in parts (measured)\n", one.group,
               1e6 * one.seconds_as_one, 1e6 * one.seconds_apart);
    cut.stored.insert(one.stored.begin(), one.stored.end());
  }
  PlannedModel best = plan_model(cut);
  for (const plan::Cut& one : slower) best.plan.decisions.push_back(plan::decision_of(one));
  return best;
}

}  // namespace cryolite::cli
