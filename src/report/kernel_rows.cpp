#include "report/kernel_rows.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace cryolite::report {
namespace {

/// Rules of the decisions between the nodes of a group, or, where it is one node, of those about its result.
std::string reason(const plan::Plan& plan, const plan::Group& group,
                   const std::map<std::string, std::vector<const plan::Decision*>>& decisions_of) {
  std::vector<std::string> names, rules;
  for (graph::NodeId n : group.nodes) names.push_back(plan.graph.nodes[n].name);
  const auto is_inside = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const std::string& name : names) {
    const auto found = decisions_of.find(name);
    if (found == decisions_of.end()) continue;
    for (const plan::Decision* decision : found->second) {
      const bool is_about = names.size() == 1 ? !decision->fused : decision->fused && is_inside(decision->consumer);
      const bool is_new = std::find(rules.begin(), rules.end(), decision->rule) == rules.end();
      if (is_about && is_new) rules.push_back(decision->rule);
    }
  }
  if (names.size() > 1) return fmt::format("{}", fmt::join(rules, ", "));
  return rules.empty() ? "alone" : fmt::format("alone: {}", fmt::join(rules, ", "));
}

}  // namespace

std::vector<KernelRow> kernel_rows(const plan::Plan& plan, const device::Device& device) {
  std::map<std::string, std::vector<const plan::Decision*>> decisions_of;  // by producer
  for (const plan::Decision& decision : plan.decisions) decisions_of[decision.producer].push_back(&decision);
  std::vector<KernelRow> rows;
  for (const plan::Group& group : plan.groups) {
    KernelRow row;
    row.group = &group;
    for (graph::NodeId n : group.nodes) {
      row.nodes += (row.nodes.empty() ? "" : "+") + plan.graph.nodes[n].name;
      row.before.add(cost::of_node(plan.graph, n, device));
    }
    row.why = reason(plan, group, decisions_of);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace cryolite::report
