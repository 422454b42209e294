#include "plan/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ops/operator.h"

namespace cryolite::plan {
namespace {

using graph::NodeId;
using graph::ValueId;

// As one may measure so much slower before it is cut: differences below are noise.
constexpr double noise = 1.03;

bool is_reduction(const Plan& plan, NodeId node) {
  const ops::Operator* op = ops::find(plan.graph.nodes[node].op_type);
  return op && op->kernel != ops::Kernel::Pointwise && op->kernel != ops::Kernel::Extern;
}

/// Of one group: results of reductions, and what reductions read of what was made of them.
std::set<std::string> between_reductions(const Plan& plan, const Group& group) {
  std::set<std::string> names;
  std::map<ValueId, NodeId> made_after_reduction;
  int reductions = 0;
  for (NodeId n : group.nodes) {
    const graph::Node& node = plan.graph.nodes[n];
    bool is_after = is_reduction(plan, n);
    reductions += is_after;
    for (ValueId id : node.inputs) {
      const auto made = made_after_reduction.find(id);
      if (made == made_after_reduction.end()) continue;
      is_after = true;
      if (is_reduction(plan, n)) names.insert(plan.graph.nodes[made->second].name);
    }
    const bool is_statistic = is_reduction(plan, n) && ops::find(node.op_type)->kernel == ops::Kernel::Reduce;
    if (is_statistic && n != group.nodes.back()) names.insert(node.name);
    if (is_after)
      for (ValueId id : node.outputs)
        if (id != graph::absent) made_after_reduction[id] = n;
  }
  return reductions > 1 && group.outputs.size() == 1 ? names : std::set<std::string>{};
}

std::set<std::string> names_of(const Plan& plan, const Group& group) {
  std::set<std::string> names;
  for (NodeId n : group.nodes) names.insert(plan.graph.nodes[n].name);
  return names;
}

}  // namespace

std::set<std::string> between_reductions(const Plan& plan) {
  std::set<std::string> names;
  for (const Group& group : plan.groups) names.merge(between_reductions(plan, group));
  return names;
}

std::vector<Cut> slower_as_one(const Plan& fused, const std::vector<Timed>& fused_times, const Plan& apart,
                               const std::vector<Timed>& apart_times) {
  std::vector<Cut> cuts;
  for (const Timed& one : fused_times) {
    Cut cut{name_of(fused, *one.group), between_reductions(fused, *one.group), one.seconds, 0};
    if (cut.stored.empty()) continue;
    const auto wanted = names_of(fused, *one.group);
    std::set<std::string> found;
    for (const Timed& part : apart_times) {
      const auto names = names_of(apart, *part.group);
      if (!std::includes(wanted.begin(), wanted.end(), names.begin(), names.end())) continue;
      found.insert(names.begin(), names.end());
      cut.seconds_apart += part.seconds;
    }
    if (found == wanted && cut.seconds_as_one > noise * cut.seconds_apart) cuts.push_back(std::move(cut));
  }
  return cuts;
}

Decision decision_of(const Cut& cut) {
  return {*cut.stored.begin(), cut.group, false, "measured",
          fmt::format("as one kernel it was measured to take {:.4g} us, in parts {:.4g} us", 1e6 * cut.seconds_as_one,
                      1e6 * cut.seconds_apart)};
}

}  // namespace cryolite::plan
