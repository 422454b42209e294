#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "graph/text.h"
#include "plan/plan.h"

namespace cryolite::plan {

/// A device of round figures, so that prices in tests can be checked by hand: 1 TFLOP/s, 100 GB/s, 1 us a launch.
inline device::Device round_device() {
  device::Device device;
  device.name = "round";
  device.flops_per_second = 1e12;
  device.memory = {{"memory", 0, 100e9, 1}};
  device.launch_seconds = 1e-6;
  return device;
}

inline Plan plan_text(const std::string& text, const std::string& planner = "optimal") {
  const graph::Graph graph = graph::parse_text(text);
  Options options;
  options.planner = planner;
  options.model_name = graph.name;
  return make_plan(graph, graph, round_device(), options);
}

/// One line a kernel: "STRATEGY: node node* node" with the anchor starred.
inline std::string kernels(const Plan& plan) {
  std::string text;
  for (const Group& group : plan.groups) {
    text += group.strategy + ":";
    for (graph::NodeId node : group.nodes)
      text += " " + plan.graph.nodes[node].name + (node == group.anchor ? "*" : "");
    text += "\n";
  }
  return text;
}

/// "fused (rule)" or "apart (rule)" of an edge.
inline std::string verdict(const Plan& plan, const std::string& producer, const std::string& consumer) {
  for (const Decision& d : plan.decisions)
    if (d.producer == producer && d.consumer == consumer)
      return fmt::format("{} ({})", d.fused ? "fused" : "apart", d.rule);
  return "no such edge";
}

inline std::string why(const Plan& plan, const std::string& producer, const std::string& consumer) {
  for (const Decision& d : plan.decisions)
    if (d.producer == producer && d.consumer == consumer) return d.why;
  return "";
}

}  // namespace cryolite::plan
