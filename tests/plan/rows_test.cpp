#include <fmt/ranges.h>

#include <cmath>
#include <functional>

#include "tests/plan/numbers.h"

/// Reductions of the same rows are one kernel, in whatever small operators they are spelled; the numbers are those of
/// the formula in float64.
namespace cryolite::plan {
namespace {

using Row = std::vector<double>;

constexpr int64_t rows = 24, columns = 75;  // 75: vectors and a tail

double mean_of(const Row& row) {
  double sum = 0;
  for (double element : row) sum += element;
  return sum / static_cast<double>(row.size());
}

Row mapped(Row row, const std::function<double(double)>& function) {
  for (double& element : row) element = function(element);
  return row;
}

Row softmax(const Row& row) {
  const double largest = *std::max_element(row.begin(), row.end());
  const Row powers = mapped(row, [&](double x) { return std::exp(x - largest); });
  const double sum = mean_of(powers) * static_cast<double>(row.size());
  return mapped(powers, [&](double p) { return p / sum; });
}

Row layer_norm(const Row& row, double epsilon) {
  const double mean = mean_of(row);
  const double variance = mean_of(mapped(row, [&](double x) { return (x - mean) * (x - mean); }));
  return mapped(row, [&](double x) { return (x - mean) / std::sqrt(variance + epsilon); });
}

/// The kernels of a graph x: f32[24,75] -> y, after a look at its numbers.
std::string kernels_after_check(const std::string& nodes, const std::function<Row(const Row&)>& formula) {
  const std::string ones = fmt::format("{}", fmt::join(std::vector<int>(columns, 1), ","));
  const graph::Graph graph = graph::parse_text(
      "graph rows (x: f32[24,75]) -> (y) { const e: f32[1] = {0.00001} const t: f32[] = {2} const last: i64[1] = {1} const one: f32[75] = {" +
      ones + "}\n" + nodes + "}");
  const Plan plan = plan_of(graph);
  const graph::Tensor input = random_tensor(graph.value(graph.inputs[0]).type, 7);
  const auto x = input.as_doubles(), y = emit::run_plan(plan, {input}).at(0).as_doubles();
  for (int64_t r = 0; r < rows; ++r) {
    const Row expected = formula(Row(x.begin() + r * columns, x.begin() + (r + 1) * columns));
    for (size_t c = 0; c < expected.size(); ++c)
      EXPECT_NEAR(y[static_cast<size_t>(r) * expected.size() + c], expected[c], 2e-5) << "row " << r << " column " << c;
  }
  return kernels(plan);
}

TEST(Rows, SoftmaxInSmallOperators) {
  EXPECT_EQ(kernels_after_check(R"(
    max: m: f32[24,1] = ReduceMax(x, last) {keepdims=1}
    sub: d: f32[24,75] = Sub(x, m) {}
    exp: p: f32[24,75] = Exp(d) {}
    sum: s: f32[24,1] = ReduceSum(p, last) {keepdims=1}
    div: y: f32[24,75] = Div(p, s) {})", softmax), "rows: max sub exp sum* div\n");
}

TEST(Rows, SoftmaxOfAnUnforeseenSpelling) {
  // exp(x - log(sum(exp(x - max))) - max), the maximum found as minus the least of -x
  EXPECT_EQ(kernels_after_check(R"(
    flip: f: f32[24,75] = Neg(x) {}
    min: n: f32[24,1] = ReduceMin(f, last) {keepdims=1}
    add: d: f32[24,75] = Add(x, n) {}
    exp: p: f32[24,75] = Exp(d) {}
    sum: s: f32[24,1] = ReduceSum(p, last) {keepdims=1}
    log: l: f32[24,1] = Log(s) {}
    less: q: f32[24,75] = Sub(d, l) {}
    again: y: f32[24,75] = Exp(q) {})", softmax), "rows: flip min add exp sum* log less again\n");
}

TEST(Rows, LogSumExpIsOneNumberARow) {
  EXPECT_EQ(kernels_after_check(R"(
    max: m: f32[24,1] = ReduceMax(x, last) {keepdims=1}
    sub: d: f32[24,75] = Sub(x, m) {}
    exp: p: f32[24,75] = Exp(d) {}
    sum: s: f32[24,1] = ReduceSum(p, last) {keepdims=1}
    log: l: f32[24,1] = Log(s) {}
    add: y: f32[24,1] = Add(l, m) {})", [](const Row& row) {
    double sum = 0;
    for (double x : row) sum += std::exp(x);
    return Row{std::log(sum)};
  }), "rows: max sub exp sum* log add\n");
}

TEST(Rows, LayerNormInSmallOperators) {
  EXPECT_EQ(kernels_after_check(R"(
    mean: m: f32[24,1] = ReduceMean(x, last) {keepdims=1}
    sub: d: f32[24,75] = Sub(x, m) {}
    square: q: f32[24,75] = Pow(d, t) {}
    variance: v: f32[24,1] = ReduceMean(q, last) {keepdims=1}
    add: a: f32[24,1] = Add(v, e) {}
    root: r: f32[24,1] = Sqrt(a) {}
    div: y: f32[24,75] = Div(d, r) {})", [](const Row& row) { return layer_norm(row, 1e-5); }),
            "rows: mean sub square variance* add root div\n");
}

TEST(Rows, LayerNormByTwoMomentsOfOnePass) {
  EXPECT_EQ(kernels_after_check(R"(
    square: q: f32[24,75] = Mul(x, x) {}
    second: s: f32[24,1] = ReduceMean(q, last) {keepdims=1}
    first: m: f32[24,1] = ReduceMean(x, last) {keepdims=1}
    square_first: n: f32[24,1] = Mul(m, m) {}
    variance: v: f32[24,1] = Sub(s, n) {}
    add: a: f32[24,1] = Add(v, e) {}
    root: r: f32[24,1] = Sqrt(a) {}
    inverse: i: f32[24,1] = Reciprocal(r) {}
    sub: d: f32[24,75] = Sub(x, m) {}
    scale: y: f32[24,75] = Mul(d, i) {})", [](const Row& row) { return layer_norm(row, 1e-5); }),
            "rows: square second first* square_first variance add root inverse sub scale\n");
}

TEST(Rows, DivisionByTheNorm) {
  EXPECT_EQ(kernels_after_check(R"(
    norm: n: f32[24,1] = ReduceL2(x, last) {keepdims=1}
    div: y: f32[24,75] = Div(x, n) {})", [](const Row& row) {
    const double norm = std::sqrt(mean_of(mapped(row, [](double x) { return x * x; })) * static_cast<double>(columns));
    return mapped(row, [&](double x) { return x / norm; });
  }), "rows: norm* div\n");
}

TEST(Rows, SoftmaxOfALayerNorm) {
  EXPECT_EQ(kernels_after_check(R"(
    norm: d: f32[24,75] = LayerNormalization(x, one) {axis=-1, epsilon=0.00001}
    double: b: f32[24,75] = Add(d, d) {}
    softmax: y: f32[24,75] = Softmax(b) {axis=-1})", [](const Row& row) {
    return softmax(mapped(layer_norm(row, 1e-5), [](double x) { return 2 * x; }));
  }), "rows: norm double softmax*\n");
}

TEST(Rows, ReductionsOfOtherRowsStayApart) {
  const Plan plan = plan_text(R"(graph crossed (x: f32[24,75]) -> (y) {
    const last: i64[1] = {1}
    const first: i64[1] = {0}
    over_columns: m: f32[24,1] = ReduceMax(x, last) {keepdims=1}
    sub: d: f32[24,75] = Sub(x, m) {}
    over_rows: s: f32[1,75] = ReduceSum(d, first) {keepdims=1}
    div: y: f32[24,75] = Div(d, s) {}
  })");
  EXPECT_EQ(kernels(plan), "reduce: over_columns*\nreduce: sub over_rows*\npointwise: sub div*\n");
}

TEST(Rows, ASingleLongRowIsLeftToAllThreads) {
  const Plan plan = plan_text(R"(graph whole (x: f32[1,1000000]) -> (y) {
    const last: i64[1] = {1}
    max: m: f32[1,1] = ReduceMax(x, last) {keepdims=1}
    sub: y: f32[1,1000000] = Sub(x, m) {}
  })");
  EXPECT_EQ(kernels(plan), "reduce: max*\npointwise: sub*\n");
}

}  // namespace
}  // namespace cryolite::plan
