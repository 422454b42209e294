#include <cmath>

#include "tests/plan/numbers.h"

/// Contractions whose rows are reduced, and contracted again: one kernel, and the numbers of the formula in float64.
namespace cryolite::plan {
namespace {

/// Row-major matrices, one after the other.
using Numbers = std::vector<double>;

/// y[b][r][c] = sum over k of x[b][r][k] w[b][k][c]
Numbers product(const Numbers& x, const Numbers& w, size_t batches, size_t rows, size_t depth, size_t columns) {
  Numbers y(batches * rows * columns, 0);
  for (size_t b = 0; b < batches; ++b)
    for (size_t r = 0; r < rows; ++r)
      for (size_t c = 0; c < columns; ++c)
        for (size_t k = 0; k < depth; ++k)
          y[(b * rows + r) * columns + c] += x[(b * rows + r) * depth + k] * w[(b * depth + k) * columns + c];
  return y;
}

void softmax_rows(Numbers& x, size_t columns) {
  for (size_t start = 0; start < x.size(); start += columns) {
    double largest = -INFINITY, sum = 0;
    for (size_t c = 0; c < columns; ++c) largest = std::max(largest, x[start + c]);
    for (size_t c = 0; c < columns; ++c) sum += x[start + c] = std::exp(x[start + c] - largest);
    for (size_t c = 0; c < columns; ++c) x[start + c] /= sum;
  }
}

void layer_norm_rows(Numbers& x, size_t columns, double epsilon) {
  for (size_t start = 0; start < x.size(); start += columns) {
    double mean = 0, variance = 0;
    for (size_t c = 0; c < columns; ++c) mean += x[start + c] / static_cast<double>(columns);
    for (size_t c = 0; c < columns; ++c) variance += std::pow(x[start + c] - mean, 2) / static_cast<double>(columns);
    for (size_t c = 0; c < columns; ++c) x[start + c] = (x[start + c] - mean) / std::sqrt(variance + epsilon);
  }
}

std::vector<graph::Tensor> inputs_of(const graph::Graph& graph) {
  std::vector<graph::Tensor> inputs;
  for (graph::ValueId id : graph.inputs) inputs.push_back(random_tensor(graph.value(id).type, 3 + static_cast<unsigned>(id)));
  return inputs;
}

Numbers result_of(const Plan& plan, const std::vector<graph::Tensor>& inputs) { return emit::run_plan(plan, inputs).at(0).as_doubles(); }

void expect_near(const Numbers& actual, const Numbers& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 3e-5) << "element " << i;
}

struct Heads {
  size_t heads, rows, depth, keys, width;
};

/// Attention of `h` heads with a scale of 1/4, `mask` added to the scores.
Numbers attended(const Heads& h, const Numbers& q, const Numbers& keys_by_depth, const Numbers& v, const Numbers& mask) {
  Numbers scores = product(q, keys_by_depth, h.heads, h.rows, h.depth, h.keys);
  for (size_t i = 0; i < scores.size(); ++i) scores[i] = scores[i] / 4 + (mask.empty() ? 0 : mask[i % mask.size()]);
  softmax_rows(scores, h.keys);
  return product(scores, v, h.heads, h.rows, h.keys, h.width);
}

TEST(Attention, OfSeveralHeadsIsOneKernel) {
  const graph::Graph graph = graph::parse_text(R"(graph heads (q: f32[2,4,37,16], k: f32[2,4,16,41], v: f32[2,4,41,24]) -> (y) {
    const quarter: f32[] = {0.25}
    scores: s: f32[2,4,37,41] = MatMul(q, k) {}
    scale: c: f32[2,4,37,41] = Mul(s, quarter) {}
    softmax: p: f32[2,4,37,41] = Softmax(c) {axis=-1}
    values: y: f32[2,4,37,24] = MatMul(p, v) {}
  })");
  const Plan plan = plan_of(graph);
  EXPECT_EQ(kernels(plan), "attention: scores* scale softmax values\n");
  const auto in = inputs_of(graph);
  expect_near(result_of(plan, in), attended({8, 37, 16, 41, 24}, in[0].as_doubles(), in[1].as_doubles(), in[2].as_doubles(), {}));
}

TEST(Attention, WithAMaskAndKeysToBeTurned) {
  const graph::Graph graph = graph::parse_text(R"(graph turned (q: f32[3,40,16], k: f32[3,40,16], v: f32[3,40,16], m: f32[40,40]) -> (y) {
    const quarter: f32[] = {0.25}
    turn: t: f32[3,16,40] = Transpose(k) {perm=[0,2,1]}
    scores: s: f32[3,40,40] = MatMul(q, t) {}
    scale: c: f32[3,40,40] = Mul(s, quarter) {}
    mask: d: f32[3,40,40] = Add(c, m) {}
    softmax: p: f32[3,40,40] = Softmax(d) {axis=-1}
    values: z: f32[3,40,16] = MatMul(p, v) {}
    relu: y: f32[3,40,16] = Relu(z) {}
  })");
  const Plan plan = plan_of(graph);
  EXPECT_EQ(kernels(plan), "attention: scores* scale mask softmax values relu\n");
  const auto in = inputs_of(graph);
  const Numbers k = in[1].as_doubles();
  Numbers turned(k.size());
  for (size_t b = 0; b < 3; ++b)
    for (size_t r = 0; r < 40; ++r)
      for (size_t d = 0; d < 16; ++d) turned[(b * 16 + d) * 40 + r] = k[(b * 40 + r) * 16 + d];
  Numbers expected = attended({3, 40, 16, 40, 16}, in[0].as_doubles(), turned, in[2].as_doubles(), in[3].as_doubles());
  for (double& element : expected) element = std::max(element, 0.0);
  expect_near(result_of(plan, in), expected);
}

TEST(Attention, HeadsThatLieSideBySide) {
  // q, k and v as one projection gives them: rows, then heads; the result is wanted the same way.
  const graph::Graph graph = graph::parse_text(R"(graph beside (q: f32[1,64,12,32], k: f32[1,64,12,32], v: f32[1,64,12,32]) -> (y) {
    const quarter: f32[] = {0.25}
    q_heads: a: f32[1,12,64,32] = Transpose(q) {perm=[0,2,1,3]}
    k_heads: b: f32[1,12,32,64] = Transpose(k) {perm=[0,2,3,1]}
    v_heads: c: f32[1,12,64,32] = Transpose(v) {perm=[0,2,1,3]}
    scores: s: f32[1,12,64,64] = MatMul(a, b) {}
    scale: d: f32[1,12,64,64] = Mul(s, quarter) {}
    softmax: p: f32[1,12,64,64] = Softmax(d) {axis=-1}
    values: z: f32[1,12,64,32] = MatMul(p, c) {}
    back: t: f32[1,64,12,32] = Transpose(z) {perm=[0,2,1,3]}
    relu: y: f32[1,64,12,32] = Relu(t) {}
  })");
  const Plan plan = plan_of(graph);
  EXPECT_EQ(kernels(plan), "attention: scores* scale softmax values\npointwise: relu*\n");
  expect_same_numbers(graph, plan);
}

TEST(Attention, ProjectionWithLayerNormalization) {
  const graph::Graph graph = with_weights(R"(graph norm (x: f32[1,64,48], r: f32[1,64,384], w: f32[48,384], b: f32[384], bs: f32[384], bb: f32[384]) -> (y) {
    project: a: f32[1,64,384] = MatMul(x, w) {}
    add_bias: c: f32[1,64,384] = Add(a, b) {}
    residual: d: f32[1,64,384] = Add(c, r) {}
    norm: y: f32[1,64,384] = LayerNormalization(d, bs, bb) {axis=-1}
  })");
  const Plan plan = plan_of(graph);
  EXPECT_EQ(kernels(plan), "gemm_rows: project* add_bias residual norm\n");
  expect_same_numbers(graph, plan);
}

TEST(Attention, MaskOfTheLeastNumberStaysFinite) {
  // (1 - m) * -3.4e38 overflows where a compiler shares out its terms.
  const graph::Graph graph = graph::parse_text(R"(graph masked (q: f32[1,64,12,32], k: f32[1,64,12,32], v: f32[1,64,12,32], m: i64[1,1,1,64]) -> (y) {
    const one: f32[] = {1}
    const root: f32[] = {5.65}
    const low: f32[] = {-3.4028235e38}
    q_heads: a: f32[1,12,64,32] = Transpose(q) {perm=[0,2,1,3]}
    k_heads: b: f32[1,12,32,64] = Transpose(k) {perm=[0,2,3,1]}
    v_heads: c: f32[1,12,64,32] = Transpose(v) {perm=[0,2,1,3]}
    cast: f: f32[1,1,1,64] = Cast(m) {to=1}
    invert: g: f32[1,1,1,64] = Sub(one, f) {}
    lower: h: f32[1,1,1,64] = Mul(g, low) {}
    scores: s: f32[1,12,64,64] = MatMul(a, b) {}
    scale: d: f32[1,12,64,64] = Div(s, root) {}
    mask: e: f32[1,12,64,64] = Add(d, h) {}
    softmax: p: f32[1,12,64,64] = Softmax(e) {axis=-1}
    values: y: f32[1,12,64,32] = MatMul(p, c) {}
  })");
  const Plan plan = plan_of(graph);
  EXPECT_EQ(kernels(plan), "attention: cast invert lower scores* scale mask softmax values\n");
  auto in = inputs_of(graph);
  in[3] = graph::Tensor::of_integers(std::vector<int64_t>(64, 1));
  in[3].type = graph.value(graph.inputs[3]).type;
  for (double element : result_of(plan, in)) ASSERT_TRUE(std::isfinite(element));
}

TEST(Attention, CausalAndSpelledInSmallOperators) {
  const graph::Graph graph = graph::parse_text(R"(graph causal (q: f32[2,33,8], k: f32[2,8,33], v: f32[2,33,20], m: bool[33,33]) -> (y) {
    const quarter: f32[] = {0.25}
    const low: f32[] = {-100000}
    const last: i64[1] = {2}
    scores: s: f32[2,33,33] = MatMul(q, k) {}
    scale: c: f32[2,33,33] = Mul(s, quarter) {}
    mask: d: f32[2,33,33] = Where(m, c, low) {}
    max: a: f32[2,33,1] = ReduceMax(d, last) {keepdims=1}
    sub: b: f32[2,33,33] = Sub(d, a) {}
    exp: e: f32[2,33,33] = Exp(b) {}
    sum: t: f32[2,33,1] = ReduceSum(e, last) {keepdims=1}
    div: p: f32[2,33,33] = Div(e, t) {}
    values: y: f32[2,33,20] = MatMul(p, v) {}
  })");
  const Plan plan = plan_of(graph);
  EXPECT_EQ(kernels(plan), "attention: scores* scale mask max sub exp sum div values\n");
  auto in = inputs_of(graph);
  std::string allowed(33 * 33, '\0');
  Numbers mask(33 * 33, 0);
  for (size_t r = 0; r < 33; ++r)
    for (size_t c = 0; c < 33; ++c) {
      allowed[r * 33 + c] = c <= r;
      mask[r * 33 + c] = c <= r ? 0 : -100000;
    }
  in[3] = graph::Tensor::of_bytes(graph.value(graph.inputs[3]).type, allowed);
  expect_near(result_of(plan, in), attended({2, 33, 8, 33, 20}, in[0].as_doubles(), in[1].as_doubles(), in[2].as_doubles(), mask));
}

TEST(Attention, ProjectionResidualAndNormAreOneKernel) {
  const graph::Graph graph = with_weights(R"(graph projection (x: f32[1,50,24], r: f32[1,50,72], w: f32[24,72], bias: f32[72]) -> (y) {
    const last: i64[1] = {2}
    const e: f32[] = {0.00001}
    const two: f32[] = {2}
    project: a: f32[1,50,72] = MatMul(x, w) {}
    add_bias: b: f32[1,50,72] = Add(a, bias) {}
    residual: c: f32[1,50,72] = Add(b, r) {}
    mean: m: f32[1,50,1] = ReduceMean(c, last) {keepdims=1}
    sub: d: f32[1,50,72] = Sub(c, m) {}
    square: q: f32[1,50,72] = Pow(d, two) {}
    variance: v: f32[1,50,1] = ReduceMean(q, last) {keepdims=1}
    more: f: f32[1,50,1] = Add(v, e) {}
    root: g: f32[1,50,1] = Sqrt(f) {}
    div: y: f32[1,50,72] = Div(d, g) {}
  })");
  const Plan plan = plan_of(graph);
  EXPECT_EQ(kernels(plan), "gemm_rows: project* add_bias residual mean sub square variance more root div\n");
  const auto in = inputs_of(graph);
  const auto constant = [&](const char* name) {
    for (const graph::Value& value : graph.values)
      if (value.name == name) return value.constant->as_doubles();
    return Numbers{};
  };
  const Numbers residual = in[1].as_doubles(), bias = constant("bias");
  Numbers expected = product(in[0].as_doubles(), constant("w"), 1, 50, 24, 72);
  for (size_t i = 0; i < expected.size(); ++i) expected[i] += bias[i % 72] + residual[i];
  layer_norm_rows(expected, 72, 1e-5);
  expect_near(result_of(plan, in), expected);
}

TEST(Attention, ScoresThatAreAModelOutputAreStored) {
  const Plan plan = plan_text(R"(graph seen (q: f32[2,40,16], k: f32[2,16,40], v: f32[2,40,16]) -> (p, y) {
    scores: s: f32[2,40,40] = MatMul(q, k) {}
    softmax: p: f32[2,40,40] = Softmax(s) {axis=-1}
    values: y: f32[2,40,16] = MatMul(p, v) {}
  })");
  EXPECT_EQ(kernels(plan), "gemm_rows: scores* softmax\ngemm: values*\n");
}

TEST(Attention, ColumnsThatAreNormalisedInsteadOfRowsStayApart) {
  const Plan plan = plan_text(R"(graph columns (q: f32[2,40,16], k: f32[2,16,40], v: f32[2,40,16]) -> (y) {
    scores: s: f32[2,40,40] = MatMul(q, k) {}
    softmax: p: f32[2,40,40] = Softmax(s) {axis=1}
    values: y: f32[2,40,16] = MatMul(p, v) {}
  })");
  EXPECT_EQ(kernels(plan), "gemm: scores*\nrows: softmax*\ngemm: values*\n");
}

}  // namespace
}  // namespace cryolite::plan
