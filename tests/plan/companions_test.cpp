#include "tests/plan/numbers.h"

/// Siblings whose results are wanted apart: one kernel of several results.
namespace cryolite::plan {
namespace {

Decision decision_by(const Plan& plan, const std::string& a, const std::string& b, const std::string& rule) {
  for (const Decision& decision : plan.decisions)
    if (decision.producer == a && decision.consumer == b && decision.rule == rule) return decision;
  return {};
}

TEST(Companions, ProjectionsThatAreModelOutputs) {
  const graph::Graph graph = with_weights(R"(graph outputs (x: f32[1,37,32], wq: f32[32,48], wk: f32[32,48], wv: f32[32,20],
      bq: f32[48]) -> (q, k, v) {
    query: a: f32[1,37,48] = MatMul(x, wq) {}
    query_bias: q: f32[1,37,48] = Add(a, bq) {}
    key: k: f32[1,37,48] = MatMul(x, wk) {}
    value: v: f32[1,37,20] = MatMul(x, wv) {}
  })");
  const Plan plan = plan_of(graph);
  EXPECT_EQ(kernels(plan), "gemm: query* query_bias key value\n");
  EXPECT_EQ(decision_by(plan, "query", "value", "several results").fused, true);
  EXPECT_EQ(plan.groups[0].outputs.size(), 3U);
  EXPECT_EQ(plan.fused.bytes, 4 * (37 * 32 + 32 * 116 + 48 + 37 * 116));
  expect_same_numbers(graph, plan);
}

TEST(Companions, InputsLargerThanTheCacheAreReadATileOfRowsAtATime) {
  const graph::Graph graph = with_weights(R"(graph large (x: f32[5001,128], wa: f32[128,16], wb: f32[128,33]) -> (a, b) {
    one: a: f32[5001,16] = MatMul(x, wa) {}
    two: b: f32[5001,33] = MatMul(x, wb) {}
  })");
  const Plan plan = plan_of(graph);
  EXPECT_EQ(kernels(plan), "gemm: one* two\n");
  EXPECT_NE(schedule::to_text(schedule_of(plan, plan.groups[0])).find("compute_with"), std::string::npos);
  expect_same_numbers(graph, plan);
}

TEST(Companions, OneOfThreeIsAModelOutputToo) {
  const graph::Graph graph = with_weights(R"(graph cache (x: f32[1,64,32], wq: f32[32,48], wk: f32[32,48], wv: f32[32,20]) -> (v, y) {
    query: q: f32[1,64,48] = MatMul(x, wq) {}
    key: k: f32[1,64,48] = MatMul(x, wk) {}
    value: v: f32[1,64,20] = MatMul(x, wv) {}
    turn: t: f32[1,48,64] = Transpose(k) {perm=[0,2,1]}
    scores: s: f32[1,64,64] = MatMul(q, t) {}
    softmax: p: f32[1,64,64] = Softmax(s) {axis=-1}
    values: y: f32[1,64,20] = MatMul(p, v) {}
  })");
  const Plan plan = plan_of(graph);
  EXPECT_EQ(kernels(plan), "gemm: query* key value\nattention: scores* softmax values\n");
  expect_same_numbers(graph, plan);
}

TEST(Companions, StatisticsOfOneInput) {
  const graph::Graph graph = graph::parse_text(R"(graph statistics (x: f32[300,500]) -> (m, t, n) {
    const last: i64[1] = {1}
    mean: m: f32[300,1] = ReduceMean(x, last) {keepdims=1}
    max: t: f32[300,1] = ReduceMax(x, last) {keepdims=1}
    exp: e: f32[300,500] = Exp(x) {}
    sum: n: f32[300,1] = ReduceSum(e, last) {keepdims=1}
  })");
  const Plan plan = plan_of(graph);
  EXPECT_EQ(kernels(plan), "reduce: mean* max exp sum\n");
  EXPECT_EQ(plan.fused.bytes, 4 * (300 * 500 + 3 * 300));
  expect_same_numbers(graph, plan);
}

TEST(Companions, ReductionsOfOtherRowsStayApart) {
  const Plan plan = plan_text(R"(graph crossed (x: f32[30,50]) -> (m, t) {
    const first: i64[1] = {0}
    const last: i64[1] = {1}
    columns: m: f32[1,50] = ReduceMean(x, first) {keepdims=1}
    rows: t: f32[30,1] = ReduceMax(x, last) {keepdims=1}
  })");
  EXPECT_EQ(kernels(plan), "reduce: columns*\nreduce: rows*\n");
}

TEST(Companions, AProjectionOfAnothersResultStaysApart) {
  const Plan plan = plan_text(R"(graph chain (x: f32[64,32], w: f32[32,32]) -> (a, b) {
    one: a: f32[64,32] = MatMul(x, w) {}
    two: b: f32[64,32] = MatMul(a, w) {}
  })");
  EXPECT_EQ(kernels(plan), "gemm: one*\ngemm: two*\n");
}

}  // namespace
}  // namespace cryolite::plan
