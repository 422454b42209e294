#include "plan/measured.h"

#include <gtest/gtest.h>

#include "tests/plan/summary.h"

/// What measured times do to a plan.
namespace cryolite::plan {
namespace {

const std::string attention = R"(graph heads (q: f32[4,40,16], k: f32[4,16,40], v: f32[4,40,16]) -> (y) {
  scores: s: f32[4,40,40] = MatMul(q, k) {}
  relu: r: f32[4,40,40] = Relu(s) {}
  softmax: p: f32[4,40,40] = Softmax(r) {axis=-1}
  values: y: f32[4,40,16] = MatMul(p, v) {}
})";

Plan plan_storing(const std::set<std::string>& stored) {
  const graph::Graph graph = graph::parse_text(attention);
  Options options;
  options.model_name = graph.name;
  options.stored = stored;
  return make_plan(graph, graph, round_device(), options);
}

std::vector<Timed> timed(const Plan& plan, const std::vector<double>& seconds) {
  std::vector<Timed> times;
  for (size_t g = 0; g < plan.groups.size(); ++g) times.push_back({&plan.groups[g], seconds.at(g)});
  return times;
}

TEST(Measured, WhatLiesBetweenReductionsCutsAKernelIntoThem) {
  const Plan fused = plan_storing({});
  ASSERT_EQ(kernels(fused), "attention: scores* relu softmax values\n");
  const auto stored = between_reductions(fused);
  EXPECT_EQ(stored, (std::set<std::string>{"relu", "softmax"}));
  EXPECT_EQ(kernels(plan_storing(stored)), "gemm: scores* relu\nrows: softmax*\ngemm: values*\n");
}

TEST(Measured, SlowerAsOneIsCutWithBothTimes) {
  const Plan fused = plan_storing({}), apart = plan_storing({"relu", "softmax"});
  const auto cuts = slower_as_one(fused, timed(fused, {4e-3}), apart, timed(apart, {1e-3, 1e-3, 1e-3}));
  ASSERT_EQ(cuts.size(), 1U);
  EXPECT_EQ(cuts[0].stored, (std::set<std::string>{"relu", "softmax"}));
  EXPECT_NE(decision_of(cuts[0]).why.find("4000 us"), std::string::npos);
  EXPECT_NE(decision_of(cuts[0]).why.find("3000 us"), std::string::npos);
}

TEST(Measured, NoiseCutsNothing) {
  const Plan fused = plan_storing({}), apart = plan_storing({"relu", "softmax"});
  EXPECT_TRUE(slower_as_one(fused, timed(fused, {3.05e-3}), apart, timed(apart, {1e-3, 1e-3, 1e-3})).empty());
}

}  // namespace
}  // namespace cryolite::plan
