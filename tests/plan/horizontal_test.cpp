#include <gtest/gtest.h>

#include "tests/plan/numbers.h"

/// Horizontal fusion: the kernels that siblings become, and that the numbers stay what they were.
namespace cryolite::plan {
namespace {

TEST(Horizontal, QueriesKeysAndValuesAreOneContraction) {
  const graph::Graph graph = with_weights(R"(graph qkv (x: f32[1,16,32], wq: f32[32,32], wk: f32[32,32], wv: f32[32,16],
      bq: f32[32], bv: f32[16]) -> (y) {
    q: q0: f32[1,16,32] = MatMul(x, wq) {}
    q_bias: q1: f32[1,16,32] = Add(q0, bq) {}
    k: k1: f32[1,16,32] = MatMul(x, wk) {}
    v: v0: f32[1,16,16] = MatMul(x, wv) {}
    v_bias: v1: f32[1,16,16] = Add(bv, v0) {}
    keys: kt: f32[1,32,16] = Transpose(k1) {perm=[0,2,1]}
    scores: s: f32[1,16,16] = MatMul(q1, kt) {}
    values: y: f32[1,16,16] = MatMul(s, v1) {}
  })");
  const Plan plan = plan_of(graph);
  EXPECT_EQ(kernels(plan), "gemm: q|k|v* q_bias|v_bias\ngemm: scores*\ngemm: values*\n");
  EXPECT_EQ(verdict(plan, "q", "k"), "fused (horizontal)");
  EXPECT_EQ(verdict(plan, "q", "v"), "fused (horizontal)");
  expect_same_numbers(graph, plan);
}

TEST(Horizontal, BranchesOfAConcatAreTheConcat) {
  const graph::Graph graph = with_weights(R"(graph inception (x: f32[1,16,8,8], wa: f32[8,16,1,1], wb: f32[12,16,1,1],
      wc: f32[4,16,1,1], bc: f32[4]) -> (y) {
    a: a0: f32[1,8,8,8] = Conv(x, wa) {}
    b: b0: f32[1,12,8,8] = Conv(x, wb) {}
    relu: b1: f32[1,12,8,8] = Relu(b0) {}
    c: c0: f32[1,4,8,8] = Conv(x, wc, bc) {}
    join: y: f32[1,24,8,8] = Concat(c0, a0, b1) {axis=1}
  })");
  const Plan plan = plan_of(graph);
  EXPECT_EQ(kernels(plan), "direct_conv: c|a|b* relu join\n");
  expect_same_numbers(graph, plan);
}

TEST(Horizontal, AnInceptionModuleLiesInOneBuffer) {
  const graph::Graph graph = with_weights(R"(graph module (x: f32[1,16,12,12], wa: f32[8,16,1,1], wb: f32[6,16,1,1],
      wc: f32[8,6,3,3], wd: f32[4,16,1,1], we: f32[8,4,5,5], wf: f32[8,24,3,3]) -> (y) {
    a: a0: f32[1,8,12,12] = Conv(x, wa) {}
    a_relu: a1: f32[1,8,12,12] = Relu(a0) {}
    b: b0: f32[1,6,12,12] = Conv(x, wb) {}
    b_relu: b1: f32[1,6,12,12] = Relu(b0) {}
    c: c0: f32[1,8,12,12] = Conv(b1, wc) {pads=[1,1,1,1]}
    d: d0: f32[1,4,12,12] = Conv(x, wd) {}
    d_relu: d1: f32[1,4,12,12] = Relu(d0) {}
    e: e0: f32[1,8,12,12] = Conv(d1, we) {pads=[2,2,2,2]}
    join: j: f32[1,24,12,12] = Concat(a1, c0, e0) {axis=1}
    next: y: f32[1,8,12,12] = Conv(j, wf) {pads=[1,1,1,1]}
  })");
  const Plan plan = plan_of(graph);
  EXPECT_EQ(kernels(plan),
            "direct_conv: b|d|a* a_relu|b_relu|d_relu\ndirect_conv: c*\ndirect_conv: e*\ndirect_conv: next*\n");
  expect_same_numbers(graph, plan);
}

TEST(Horizontal, NothingIsMergedWhereThatCostsAKernel) {
  const graph::Graph graph = with_weights(R"(graph gates (x: f32[4,16], wi: f32[16,8], wg: f32[16,8], bi: f32[8]) -> (y) {
    input: i0: f32[4,8] = MatMul(x, wi) {}
    input_bias: i1: f32[4,8] = Add(i0, bi) {}
    gate: g0: f32[4,8] = MatMul(x, wg) {}
    sigmoid: i2: f32[4,8] = Sigmoid(i1) {}
    tanh: g1: f32[4,8] = Tanh(g0) {}
    product: y: f32[4,8] = Mul(i2, g1) {}
  })");
  const Plan plan = plan_of(graph);
  EXPECT_EQ(kernels(plan), "gemm: gate* tanh\ngemm: input* input_bias sigmoid product\n");
  EXPECT_EQ(verdict(plan, "input", "gate"), "apart (horizontal)");
  EXPECT_NE(why(plan, "input", "gate").find("the whole model is predicted to take"), std::string::npos);
  expect_same_numbers(graph, plan);
}

TEST(Horizontal, ABranchThatIsAModelOutputStaysApart) {
  const graph::Graph graph = with_weights(R"(graph heads (x: f32[4,16], wa: f32[16,8], wb: f32[16,8]) -> (a, y) {
    first: a: f32[4,8] = MatMul(x, wa) {}
    second: b0: f32[4,8] = MatMul(x, wb) {}
    relu: y: f32[4,8] = Relu(b0) {}
  })");
  const Plan plan = plan_of(graph);
  EXPECT_EQ(kernels(plan), "gemm: first*\ngemm: second* relu\n");
  EXPECT_EQ(verdict(plan, "first", "second"), "apart (horizontal)");
  expect_same_numbers(graph, plan);
}

TEST(Horizontal, OtherWindowsOrInputsAreNoSiblings) {
  const Plan plan = plan_of(with_weights(R"(graph strangers (x: f32[1,8,8,8], wa: f32[8,8,1,1], wb: f32[8,8,3,3],
      wc: f32[8,8,1,1]) -> (y) {
    a: a0: f32[1,8,8,8] = Conv(x, wa) {}
    b: b0: f32[1,8,8,8] = Conv(x, wb) {pads=[1,1,1,1]}
    c: c0: f32[1,8,8,8] = Conv(b0, wc) {}
    sum: y: f32[1,8,8,8] = Add(a0, c0) {}
  })"));
  EXPECT_EQ(verdict(plan, "a", "b"), "no such edge");
  EXPECT_EQ(plan.groups.size(), 3U);
}

}  // namespace
}  // namespace cryolite::plan
