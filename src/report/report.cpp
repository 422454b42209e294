#include "report/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

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

std::string shortened(const std::string& text, size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 1) + "…";
}

/// "conv1+relu1+pool1", cut in the middle of long lists.
std::string joined_nodes(const plan::Plan& plan, const plan::Group& group) {
  std::string text;
  for (graph::NodeId n : group.nodes) text += (text.empty() ? "" : "+") + plan.graph.nodes[n].name;
  return text;
}

std::string bytes_text(int64_t bytes) {
  if (bytes >= 10'000'000) return fmt::format("{:.1f} MB", bytes / 1e6);
  if (bytes >= 10'000) return fmt::format("{:.1f} kB", bytes / 1e3);
  return fmt::format("{} B", bytes);
}

std::string flops_text(int64_t flops) {
  if (flops >= 10'000'000) return fmt::format("{:.1f} M", flops / 1e6);
  return fmt::format("{:.1f} k", flops / 1e3);
}

}  // namespace

json to_json(const plan::Plan& plan, const GroupResources& resources) {
  json groups = json::array(), decisions = json::array();
  for (const plan::Group& group : plan.groups) groups.push_back(group_json(plan, group, resources));
  for (const plan::Decision& d : plan.decisions)
    decisions.push_back({{"producer", d.producer},
                         {"consumer", d.consumer},
                         {"fused", d.fused},
                         {"rule", d.rule},
                         {"why", d.why}});
  return {{"model", plan.model},     {"device", plan.device},           {"planner", plan.planner},
          {"unfused", totals(plan.unfused)}, {"fused", totals(plan.fused)}, {"groups", groups},
          {"decisions", decisions},  {"arena_bytes", plan.arena_bytes}};
}

std::string to_table(const plan::Plan& plan) {
  std::string text = fmt::format("{} on {}, planner {} (times are predicted)\n\n", plan.model, plan.device, plan.planner);
  text += fmt::format("{:>4}  {:<44}  {:<18}  {:>10}  {:>10}  {:>8}  {:>9}  {}\n", "id", "nodes", "strategy", "flops",
                      "traffic", "fl/byte", "time us", "bound by");
  for (const plan::Group& g : plan.groups)
    text += fmt::format("{:>4}  {:<44}  {:<18}  {:>10}  {:>10}  {:>8.1f}  {:>9.1f}  {}\n", g.id,
                        shortened(joined_nodes(plan, g), 44), g.strategy, flops_text(g.cost.flops),
                        bytes_text(g.cost.bytes()), g.cost.intensity(), g.cost.seconds * 1e6, g.cost.bound_by);
  const auto row = [](const char* name, const cost::Total& t) {
    return fmt::format("{:<10} {:>8}  {:>12}  {:>12}  {:>9.1f}  {:>12.1f}\n", name, t.kernels, flops_text(t.flops),
                       bytes_text(t.bytes), t.intensity(), t.seconds * 1e6);
  };
  text += fmt::format("\n{:<10} {:>8}  {:>12}  {:>12}  {:>9}  {:>12}\n", "", "kernels", "flops", "traffic", "fl/byte",
                      "predicted us");
  text += row("unfused", plan.unfused) + row("fused", plan.fused);
  text += fmt::format("arena      {}\n", bytes_text(plan.arena_bytes));
  return text;
}

std::string explanation(const plan::Plan& plan, const std::string& node_or_edge) {
  const size_t arrow = node_or_edge.find("->");
  const std::string from = node_or_edge.substr(0, arrow);
  const std::string to = arrow == std::string::npos ? "" : node_or_edge.substr(arrow + 2);
  std::string text;
  for (const plan::Decision& d : plan.decisions) {
    const bool wanted = to.empty() ? d.producer == from || d.consumer == from : d.producer == from && d.consumer == to;
    if (wanted)
      text += fmt::format("{} -> {}: {} ({}): {}\n", d.producer, d.consumer, d.fused ? "fused" : "apart", d.rule, d.why);
  }
  if (!text.empty()) return text;
  const bool known = std::any_of(plan.graph.nodes.begin(), plan.graph.nodes.end(),
                                 [&](const graph::Node& node) { return node.name == from; });
  if (known && to.empty()) return fmt::format("{} has no neighbour\n", from);
  throw Error(fmt::format("the plan has no {} '{}'", to.empty() ? "node" : "edge", node_or_edge), {},
              "`cryolite plan` lists the nodes of each kernel");
}

}  // namespace cryolite::report
