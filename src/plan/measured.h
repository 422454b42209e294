#pragma once
#include <set>
#include <string>
#include <vector>

#include "plan/plan.h"

/// What a plan learns from kernels that were run: never slower fused than apart.
namespace cryolite::plan {

/// Nodes whose results lie between reductions of one kernel: storing them cuts each such kernel into one a reduction.
std::set<std::string> between_reductions(const Plan& plan);

/// A group with the least seconds that it was measured to take.
struct Timed {
  const Group* group = nullptr;
  double seconds = 0;
};

struct Cut {
  std::string group;             ///< name_of the kernel
  std::set<std::string> stored;  ///< what to store instead
  double seconds_as_one = 0, seconds_apart = 0;
};

/// Kernels of `fused` that take longer than the kernels of `apart` which compute the same nodes. Those whose nodes are
/// not found in kernels of their own there are left alone.
std::vector<Cut> slower_as_one(const Plan& fused, const std::vector<Timed>& fused_times, const Plan& apart,
                               const std::vector<Timed>& apart_times);

Decision decision_of(const Cut& cut);

}  // namespace cryolite::plan
