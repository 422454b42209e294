#pragma once
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "emit/evaluate.h"
#include "emit/evaluate_plan.h"
#include "tests/plan/summary.h"

/// Plans of graphs whose weights are numbers, and what they compute.
namespace cryolite::plan {

inline graph::Tensor random_tensor(const graph::TensorType& type, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.5F);
  std::vector<float> elements(static_cast<size_t>(type.elements()));
  for (float& element : elements) element = normal(random);
  return graph::Tensor::of_floats(elements, type.dims);
}

/// Inputs called w… and b… are constants of the model: numbers out of a fixed seed.
inline graph::Graph with_weights(const std::string& text) {
  graph::Graph graph = graph::parse_text(text);
  unsigned seed = 1;
  std::erase_if(graph.inputs, [&](graph::ValueId id) {
    graph::Value& value = graph.values[id];
    if (value.name[0] != 'w' && value.name[0] != 'b') return false;
    value.constant = random_tensor(value.type, seed++);
    return true;
  });
  return graph;
}

inline Plan plan_of(const graph::Graph& graph) {
  Options options;
  options.model_name = graph.name;
  return make_plan(graph, graph, round_device(), options);
}

inline void expect_same_numbers(const graph::Graph& graph, const Plan& plan) {
  std::vector<graph::Tensor> inputs;
  for (graph::ValueId id : graph.inputs)
    inputs.push_back(random_tensor(graph.value(id).type, 99 + static_cast<unsigned>(id)));
  const auto expected = emit::evaluate(graph, inputs);
  const auto actual = emit::run_plan(plan, inputs);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    const auto a = actual[i].as_doubles(), e = expected[i].as_doubles();
    ASSERT_EQ(a.size(), e.size());
    for (size_t k = 0; k < a.size(); ++k)
      ASSERT_NEAR(a[k], e[k], 1e-4 * (1 + std::abs(e[k]))) << "output " << i << " element " << k;
  }
}

}  // namespace cryolite::plan
