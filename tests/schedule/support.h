#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "emit/evaluate.h"
#include "emit/evaluate_plan.h"
#include "graph/text.h"
#include "plan/plan.h"
#include "schedule/schedule.h"
#include "tests/emit/support.h"

namespace cryolite::schedule::test {

inline Machine machine_with(int vector_bytes, int vector_registers, int threads) {
  Machine machine;
  machine.vector_bytes = vector_bytes;
  machine.vector_registers = vector_registers;
  machine.threads = threads;
  return machine;
}

/// Machines that cut loops in every way: AVX-512, AVX2 and NEON widths; one thread, an even and an odd number.
inline std::vector<Machine> machines() {
  return {machine_with(64, 32, 2), machine_with(32, 16, 1), machine_with(16, 32, 3)};
}

inline plan::Plan planned_for(const graph::Graph& graph, const Machine& machine,
                              const std::string& planner = "greedy") {
  plan::Options options;
  options.planner = planner;
  options.machine = machine;
  options.model_name = graph.name;
  return plan::make_plan(graph, graph, emit::test::described_cpu(), options);
}

inline std::string schedules_text(const plan::Plan& plan) {
  std::string text;
  for (const plan::Group& group : plan.groups)
    if (!group.is_extern()) text += to_text(plan::schedule_of(plan, group));
  return text;
}

/// Runs the graph node by node with no schedule, then planned and scheduled for every machine: all agree.
/// Inputs called w… are weights, constants of the graph.
inline void expect_schedules_keep_results(const std::string& text, double tolerance = 2e-5) {
  const graph::Graph graph = emit::test::graph_with_weights(text);
  const auto inputs = emit::test::random_inputs(graph);
  const auto expected = emit::evaluate(graph, inputs);
  for (const Machine& machine : machines()) {
    for (const char* planner : {"greedy", "none"}) {
      // Each run compiles the whole graph again: nodes alone are tried on one of the machines.
      if (planner == std::string("none") && machine.vector_bytes != 32) continue;
      const plan::Plan plan = planned_for(graph, machine, planner);
      SCOPED_TRACE(text + schedules_text(plan));
      try {
        const auto got = emit::run_plan(plan, inputs);
        ASSERT_EQ(got.size(), expected.size());
        for (size_t i = 0; i < got.size(); ++i)
          EXPECT_LE(emit::test::largest_difference(got[i], expected[i]), tolerance);
      } catch (const std::exception& fault) {
        ADD_FAILURE() << fault.what();
      }
    }
  }
}

}  // namespace cryolite::schedule::test
