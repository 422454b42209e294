#include <gtest/gtest.h>

#include "tests/simplify/rewrites.h"

// Rewrites that multiply weights at compile time, and idioms. The numbers are small enough to check by head.
namespace cryolite::simplify {
namespace {

TEST(FoldScale, BatchNormalizationIntoConvolution) {
  // scale = gamma / sqrt(var + epsilon) = {1/2, 4/4}; shift = beta - mean * scale = {10 - 1, 20 - 3}.
  EXPECT_EQ(simplified(R"(
graph g (x: f32[1,1,2,2]) -> (y) {
  const w: f32[2,1,1,1] = {4, 5}
  const b: f32[2] = {100, 200}
  const gamma: f32[2] = {1, 4}
  const beta: f32[2] = {10, 20}
  const mean: f32[2] = {2, 3}
  const var: f32[2] = {3, 15}
  conv: c: f32[1,2,2,2] = Conv(x, w, b)
  norm: n: f32[1,2,2,2] = BatchNormalization(c, gamma, beta, mean, var) {epsilon=1.0}
  relu: y: f32[1,2,2,2] = Relu(n)
}
)"),
            R"(
graph g (x: f32[1,1,2,2]) -> (y) {
  const w_scaled: f32[2,1,1,1] = {2, 5}
  const conv.bias_2: f32[2] = {59, 217}
  conv: n: f32[1,2,2,2] = Conv(x, w_scaled, conv.bias_2)
  relu: y: f32[1,2,2,2] = Relu(n)
}
)");
}

TEST(FoldScale, AConvolutionThatIsReadTwiceKeepsItsWeights) {
  EXPECT_EQ(simplified(R"(
graph g (x: f32[1,1,2,2]) -> (y, c) {
  const w: f32[2,1,1,1] = {4, 5}
  const gamma: f32[2] = {1, 4}
  const beta: f32[2] = {10, 20}
  const mean: f32[2] = {2, 3}
  const var: f32[2] = {3, 15}
  conv: c: f32[1,2,2,2] = Conv(x, w)
  norm: y: f32[1,2,2,2] = BatchNormalization(c, gamma, beta, mean, var) {epsilon=1.0}
}
)"),
            R"(
graph g (x: f32[1,1,2,2]) -> (y, c) {
  const w: f32[2,1,1,1] = {4, 5}
  const norm.scale: f32[2,1,1] = {0.5, 1}
  const norm.shift: f32[2,1,1] = {9, 17}
  conv: c: f32[1,2,2,2] = Conv(x, w)
  norm.scale: norm.scaled: f32[1,2,2,2] = Mul(c, norm.scale)
  norm: y: f32[1,2,2,2] = Add(norm.scaled, norm.shift)
}
)");
}

TEST(FoldScale, AllFourOperatorsIntoConvTransposeAndGemm) {
  // ((w x - {1,2}) * 3 + 5) for both columns of w, and 7 - (w x) / 2.
  EXPECT_EQ(simplified(R"(
graph g (x: f32[1,1,2,2], v: f32[1,2]) -> (y, z) {
  const w: f32[1,2,1,1] = {1, 2}
  const t: f32[1,2,1,1] = {1, 2}
  const three: f32[] = {3}
  const five: f32[1] = {5}
  const m: f32[2,2] = {2, 4, 6, 8}
  const two: f32[] = {2}
  const seven: f32[2] = {7, 7}
  up: a: f32[1,2,2,2] = ConvTranspose(x, w)
  sub: b: f32[1,2,2,2] = Sub(a, t)
  mul: c: f32[1,2,2,2] = Mul(three, b)
  add: y: f32[1,2,2,2] = Add(c, five)
  gemm: p: f32[1,2] = Gemm(v, m)
  half: q: f32[1,2] = Div(p, two)
  from: z: f32[1,2] = Sub(seven, q)
}
)"),
            R"(
graph g (x: f32[1,1,2,2], v: f32[1,2]) -> (y, z) {
  const w_scaled: f32[1,2,1,1] = {3, 6}
  const up.bias_3: f32[2] = {2, -1}
  const m_scaled_scaled: f32[2,2] = {-1, -2, -3, -4}
  const gemm.bias_2: f32[2] = {7, 7}
  up: y: f32[1,2,2,2] = ConvTranspose(x, w_scaled, up.bias_3)
  gemm: z: f32[1,2] = Gemm(v, m_scaled_scaled, gemm.bias_2)
}
)");
}

TEST(FoldScale, NotWhereTheFactorWidensOrVariesOverSpace) {
  expect_unchanged(R"(
graph g (x: f32[1,1,2,2], v: f32[1,2]) -> (a, b, c) {
  const w: f32[2,1,1,1] = {4, 5}
  const space: f32[1,1,2,2] = {1, 2, 3, 4}
  const batch: f32[2,1,1,1] = {1, 2}
  const m: f32[2,1] = {2, 4}
  const wide: f32[1,4] = {1, 2, 3, 4}
  conv1: p: f32[1,2,2,2] = Conv(x, w)
  mul1: a: f32[1,2,2,2] = Mul(p, space)
  conv2: q: f32[1,2,2,2] = Conv(x, w) {pads=[0,0,0,0]}
  mul2: b: f32[2,2,2,2] = Mul(q, batch)
  gemm: r: f32[1,1] = Gemm(v, m)
  add: c: f32[1,4] = Add(r, wide)
}
)");
}

TEST(MergeAffine, AChainBecomesOneFactorAndOneTerm) {
  // (((x * {2,3}) + 1) * 10) + {5,6} = x * {20,30} + {15,16}
  EXPECT_EQ(simplified(R"(
graph g (x: f32[1,2,2]) -> (y) {
  const a: f32[1,2,1] = {2, 3}
  const b: f32[] = {1}
  const c: f32[] = {10}
  const d: f32[2,1] = {5, 6}
  mul1: p: f32[1,2,2] = Mul(x, a)
  add1: q: f32[1,2,2] = Add(p, b)
  mul2: r: f32[1,2,2] = Mul(q, c)
  add2: y: f32[1,2,2] = Add(r, d)
}
)"),
            R"(
graph g (x: f32[1,2,2]) -> (y) {
  const add1.merged: f32[2,1] = {20, 30}
  const add2.merged: f32[2,1] = {15, 16}
  add1: q: f32[1,2,2] = Mul(x, add1.merged)
  add2: y: f32[1,2,2] = Add(q, add2.merged)
}
)");
}

TEST(FindGemm, MatMulWithABias) {
  EXPECT_EQ(simplified(R"(
graph g (x: f32[3,4], w: f32[4,2], b: f32[2]) -> (y) {
  product: p: f32[3,2] = MatMul(x, w)
  add: y: f32[3,2] = Add(b, p)
}
)"),
            R"(
graph g (x: f32[3,4], w: f32[4,2], b: f32[2]) -> (y) {
  add: y: f32[3,2] = Gemm(x, w, b)
}
)");
}

TEST(FindGemm, NotWhereTheBiasWidens) {
  expect_unchanged(R"(
graph g (x: f32[3,3], b: f32[1,4]) -> (y) {
  const w: f32[3,1] = {1, 2, 3}
  product: p: f32[3,1] = MatMul(x, w)
  add: y: f32[3,4] = Add(p, b)
}
)");
}

TEST(NormalizeGemm, ConstantsTakeTransposeAndFactors) {
  EXPECT_EQ(simplified(R"(
graph g (x: f32[1,3]) -> (y) {
  const w: f32[2,3] = {1, 2, 3, 4, 5, 6}
  const b: f32[2] = {1, 2}
  gemm: y: f32[1,2] = Gemm(x, w, b) {alpha=2.0, beta=10.0, transB=1}
}
)"),
            R"(
graph g (x: f32[1,3]) -> (y) {
  const w_transposed_scaled: f32[3,2] = {2, 8, 4, 10, 6, 12}
  const b_scaled: f32[2] = {10, 20}
  gemm: y: f32[1,2] = Gemm(x, w_transposed_scaled, b_scaled)
}
)");
}

TEST(FindSoftmax, WithItsMaximum) {
  EXPECT_EQ(simplified(R"(
graph g (x: f32[2,5]) -> (y) {
  const axis: i64[1] = {-1}
  max: m: f32[2,1] = ReduceMax(x, axis)
  sub: d: f32[2,5] = Sub(x, m)
  exp: e: f32[2,5] = Exp(d)
  sum: s: f32[2,1] = ReduceSum(e, axis)
  div: y: f32[2,5] = Div(e, s)
}
)"),
            R"(
graph g (x: f32[2,5]) -> (y) {
  div: y: f32[2,5] = Softmax(x) {axis=1}
}
)");
}

TEST(FindSoftmax, NotWithoutMaximumNorWhereTheExponentialIsRead) {
  expect_unchanged(R"(
graph g (x: f32[2,5]) -> (e, y) {
  const axis: i64[1] = {-1}
  exp: e: f32[2,5] = Exp(x)
  sum: s: f32[2,1] = ReduceSum(e, axis)
  div: y: f32[2,5] = Div(e, s)
}
)");
}

/// Layer normalisation over the last axis of x, written in small operators.
std::string spelled_out(const std::string& gamma, const std::string& beta) {
  return R"(
graph g (x: f32[2,3,4], gamma: )" +
         gamma + ", beta: " + beta + R"() -> (y) {
  const axis: i64[1] = {-1}
  const two: f32[] = {2}
  const epsilon: f32[] = {0.5}
  mean: m: f32[2,3,1] = ReduceMean(x, axis)
  sub: d: f32[2,3,4] = Sub(x, m)
  pow: p: f32[2,3,4] = Pow(d, two)
  var: v: f32[2,3,1] = ReduceMean(p, axis)
  plus: e: f32[2,3,1] = Add(v, epsilon)
  root: s: f32[2,3,1] = Sqrt(e)
  div: n: f32[2,3,4] = Div(d, s)
  mul: t: f32[2,3,4] = Mul(n, gamma)
  add: y: f32[2,3,4] = Add(t, beta)
}
)";
}

TEST(FindLayerNormalization, WithScaleAndBiasOfTheNormalisedShape) {
  EXPECT_EQ(simplified(spelled_out("f32[4]", "f32[4]")), R"(
graph g (x: f32[2,3,4], gamma: f32[4], beta: f32[4]) -> (y) {
  add: y: f32[2,3,4] = LayerNormalization(x, gamma, beta) {axis=2, epsilon=0.5}
}
)");
}

TEST(FindLayerNormalization, NotWithAnotherShape) {
  expect_unchanged(spelled_out("f32[3,1]", "f32[3,4]"));
  expect_unchanged(spelled_out("f32[4]", "f32[3,4]"));
  expect_unchanged(spelled_out("f32[1]", "f32[4]"));
}

}  // namespace
}  // namespace cryolite::simplify
