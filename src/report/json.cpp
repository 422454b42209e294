#include <cmath>

#include "report/report.h"

namespace cryolite::report {
namespace {

using nlohmann::json;

json totals(const cost::Total& total) {
  return {{"kernels", total.kernels},
          {"flops", total.flops},
          {"bytes", total.bytes},
          {"intensity", total.intensity()},
          {"time_us", total.seconds * 1e6}};
}

json placements(const plan::Plan& plan, const plan::Group& group) {
  json list = json::array();
  for (const plan::Placement& p : group.placements)
    list.push_back({{"node", plan.graph.nodes[p.node].name},
                    {"place", plan::name_of(p.place)},
                    {"at", p.at.empty() ? json(nullptr) : json(p.at)},
                    {"recompute", p.recompute}});
  return list;
}

json group_json(const plan::Plan& plan, const plan::Group& group, const GroupResources& resources) {
  json nodes = json::array();
  for (graph::NodeId n : group.nodes) nodes.push_back(plan.graph.nodes[n].name);
  json entry{{"id", group.id},
             {"nodes", nodes},
             {"anchor", plan.graph.nodes[group.anchor].name},
             {"strategy", group.strategy},
             {"flops", group.cost.flops},
             {"bytes", group.cost.bytes()},
             {"intensity", group.cost.intensity()},
             {"time_us", group.cost.seconds * 1e6},
             {"bound_by", group.cost.bound_by},
             {"placements", placements(plan, group)},
             {"registers", nullptr},
             {"spill_bytes", nullptr},
             {"occupancy", nullptr}};
  if (const auto found = resources.find(group.id); found != resources.end()) {
    entry["registers"] = found->second.registers;
    entry["spill_bytes"] = found->second.spill_bytes;
    entry["occupancy"] = found->second.occupancy;
  }
  return entry;
}

/// Microseconds; null where there is no price.
json price(double seconds) { return std::isfinite(seconds) ? json(seconds * 1e6) : json(nullptr); }

}  // namespace

json to_json(const plan::Plan& plan, const GroupResources& resources) {
  json groups = json::array(), decisions = json::array();
  for (const plan::Group& group : plan.groups) groups.push_back(group_json(plan, group, resources));
  for (const plan::Decision& d : plan.decisions)
    decisions.push_back({{"producer", d.producer},
                         {"consumer", d.consumer},
                         {"fused", d.fused},
                         {"rule", d.rule},
                         {"why", d.why},
                         {"as_is_us", price(d.as_is_seconds)},
                         {"otherwise_us", price(d.otherwise_seconds)}});
  return {{"model", plan.model},         {"device", plan.device},
          {"planner", plan.planner},     {"unfused", totals(plan.unfused)},
          {"fused", totals(plan.fused)}, {"groups", groups},
          {"decisions", decisions},      {"arena_bytes", plan.arena_bytes}};
}

std::string to_json_text(const plan::Plan& plan, const GroupResources& resources) {
  return to_json(plan, resources).dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace cryolite::report
