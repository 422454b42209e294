#pragma once
#include <random>
#include <string>
#include <vector>

#include "base/files.h"
#include "device/device.h"
#include "emit/compile_model.h"
#include "graph/text.h"
#include "plan/plan.h"

namespace cryolite::emit::test {

inline graph::Tensor random_tensor(const graph::TensorType& type, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> elements(type.elements());
  for (float& element : elements) element = uniform(random);
  return graph::Tensor::of_floats(elements, type.dims);
}

/// A graph from its text, the graph inputs named w… turned into constants of random numbers.
inline graph::Graph graph_with_weights(const std::string& text) {
  graph::Graph graph = graph::parse_text(text);
  std::vector<graph::ValueId> kept;
  for (graph::ValueId id : graph.inputs) {
    graph::Value& value = graph.values[id];
    if (value.name.starts_with("w"))
      value.constant = random_tensor(value.type, static_cast<unsigned>(id) + 1);
    else
      kept.push_back(id);
  }
  graph.inputs = kept;
  return graph;
}

inline std::vector<graph::Tensor> random_inputs(const graph::Graph& graph, unsigned seed = 100) {
  std::vector<graph::Tensor> inputs;
  for (graph::ValueId id : graph.inputs) inputs.push_back(random_tensor(graph.value(id).type, seed++));
  return inputs;
}

/// A described CPU, so that tests neither measure this machine nor depend on it.
inline device::Device described_cpu() {
  device::Device device;
  device.name = "test-cpu";
  device.flops_per_second = 1e11;
  device.memory = {{"l1", 32 << 10, 1e12, 2}, {"l2", 1 << 20, 5e11, 2}, {"memory", 0, 2e10, 1}};
  device.launch_seconds = 1e-6;
  device.cores = 2;
  return device;
}

inline plan::Plan planned(const graph::Graph& graph, const std::string& target = "host",
                          const std::string& planner = "greedy") {
  plan::Options options;
  options.planner = planner;
  options.machine = schedule::machine_of(target);
  options.model_name = graph.name;
  const bool is_cpu = options.machine.kind == schedule::Machine::Kind::Cpu;
  return plan::make_plan(graph, graph, is_cpu ? described_cpu() : device::load("a100"), options);
}

inline std::vector<schedule::GroupSchedule> schedules_of(const plan::Plan& plan) {
  std::vector<schedule::GroupSchedule> schedules;
  for (const plan::Group& group : plan.groups)
    schedules.push_back(group.is_extern() ? schedule::GroupSchedule{} : plan::schedule_of(plan, group));
  return schedules;
}

/// Options for a folder; the test program itself is the child that compiles kernels (see main_test.cpp).
inline CompileOptions options_for(const std::string& name, const std::string& folder,
                                  const std::string& target = "host") {
  CompileOptions options;
  options.name = name;
  options.folder = folder;
  options.target = target;
  return options;
}

inline void compile(const plan::Plan& plan, const CompileOptions& options) {
  compile_model(plan, schedules_of(plan), options);
}

inline double largest_difference(const graph::Tensor& a, const graph::Tensor& b) {
  const auto left = a.as_doubles(), right = b.as_doubles();
  if (left.size() != right.size()) return 1e30;
  double most = 0;
  for (size_t i = 0; i < left.size(); ++i) {
    const double difference = left[i] > right[i] ? left[i] - right[i] : right[i] - left[i];
    most = difference <= most ? most : difference;  // a NaN counts as a difference
  }
  return most;
}

}  // namespace cryolite::emit::test
