#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "ops/operator.h"
#include "tests/ops/evaluate_node.h"

namespace cryolite::ops {
namespace {

using Integers = std::vector<int64_t>;
using Doubles = std::vector<double>;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// The only output of a node over fed float32 vectors.
Doubles run(const std::string& call, const std::vector<std::vector<float>>& fed,
            const std::string& type = "f32") {
  const std::string count = std::to_string(fed[0].size());
  std::string text = "graph g (";
  for (size_t i = 0; i < fed.size(); ++i)
    text += (i ? ", " : "") + std::string(1, static_cast<char>('a' + i)) + ": f32[" + count + "]";
  text += ") -> (y) {\n  n: y: " + type + "[" + count + "] = " + call + "\n}";
  std::vector<graph::Tensor> inputs;
  for (const auto& each : fed)
    inputs.push_back(graph::Tensor::of_floats(each, {static_cast<int64_t>(each.size())}));
  const auto results = emit::evaluate(graph::parse_text(text), inputs);
  return results[0].as_doubles();
}

void expect_near(const Doubles& got, const Doubles& wanted, double relative) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(wanted[i]))
      EXPECT_TRUE(std::isnan(got[i])) << i << ": " << got[i];
    else if (std::isinf(wanted[i]))
      EXPECT_EQ(got[i], wanted[i]) << i;
    else
      EXPECT_NEAR(got[i], wanted[i], relative * std::abs(wanted[i]) + 1e-37) << i;
  }
}

/// One integer operator on A = [8,-8,7,-7], B = [-3,3,-2,2].
Integers on_signed(const std::string& call) {
  return evaluate_text(
             "graph g () -> (y) {\n const a: i32[4] = {8,-8,7,-7}\n const b: i32[4] = {-3,3,-2,2}\n"
             " n: y: i32[4] = " +
             call + "\n}")[0]
      .as_integers();
}

TEST(IntegerDivision, TruncatesTowardsZero) { EXPECT_EQ(on_signed("Div(a, b)"), (Integers{-2, -2, -3, -3})); }
TEST(IntegerDivision, ModHasTheDivisorsSign) { EXPECT_EQ(on_signed("Mod(a, b)"), (Integers{-1, 1, -1, 1})); }
TEST(IntegerDivision, FmodHasTheDividendsSign) {
  EXPECT_EQ(on_signed("Mod(a, b) {fmod=1}"), (Integers{2, -2, 1, -1}));
}

TEST(IntegerDivision, NeverTraps) {
  const auto y = evaluate_text(R"(graph g () -> (q, r) {
    const a: i32[4] = {7, -2147483648, -5, 0}
    const b: i32[4] = {0, 1, -1, 0}
    n: q: i32[4] = Div(a, b)
    m: r: i32[4] = Mod(a, b)
  })");
  EXPECT_EQ(y[0].as_integers(), (Integers{0, -2147483648, 5, 0}));
  EXPECT_EQ(y[1].as_integers(), (Integers{0, 0, 0, 0}));
}

TEST(FloatModulo, KeepsTheSigns) {
  expect_near(run("Mod(a, b) {fmod=1}", {{5.5f, -5.5f, 5.5f, 1e7f}, {2, 2, -2, 3}}), {1.5, -1.5, 1.5, 1}, 0);
}

TEST(Power, OfIntegersIsExact) {
  const auto y = evaluate_text(R"(graph g () -> (y) {
    const a: i64[6] = {3, -3, 2, -1, 1, 0}
    const b: i64[6] = {39, 3, 62, 5, -7, 0}
    n: y: i64[6] = Pow(a, b)
  })");
  EXPECT_EQ(y[0].as_integers(), (Integers{4052555153018976267, -27, 4611686018427387904, -1, 1, 1}));
}

TEST(Power, OfNegativeBases) {
  expect_near(run("Pow(a, b)", {{-2, -2, 2, 4, 0}, {3, 2, -1, 0.5f, 0}}), {-8, 4, 0.5, 2, 1}, 1e-6);
}

TEST(MinMax, NaNsGoThrough) {
  const float n = static_cast<float>(nan);
  expect_near(run("Max(a, b)", {{1, n, 2, n}, {2, 1, n, n}}), {2, nan, nan, nan}, 0);
  expect_near(run("Min(a, b)", {{1, n, 2, n}, {2, 1, n, n}}), {1, nan, nan, nan}, 0);
}

TEST(NotNumbers, AreFound) {
  const float n = static_cast<float>(nan), i = static_cast<float>(infinity);
  EXPECT_EQ(run("IsNaN(a)", {{1, n, i, -i}}, "bool"), (Doubles{0, 1, 0, 0}));
  EXPECT_EQ(run("IsInf(a)", {{1, n, i, -i}}, "bool"), (Doubles{0, 0, 1, 1}));
  EXPECT_EQ(run("IsInf(a) {detect_negative=0}", {{1, n, i, -i}}, "bool"), (Doubles{0, 0, 1, 0}));
}

TEST(NotNumbers, SurviveArithmetic) {
  const float n = static_cast<float>(nan), i = static_cast<float>(infinity);
  expect_near(run("Add(a, b)", {{n, i, i, 1}, {1, 1, -i, n}}), {nan, infinity, nan, nan}, 0);
  expect_near(run("Exp(a)", {{-i, i, 0, -200}}), {0, infinity, 1, 0}, 0);
}

TEST(NotNumbers, StayNaNThroughFunctions) {
  const float n = static_cast<float>(nan);
  for (const char* call : {"Exp(a)", "Log(a)", "Sigmoid(a)", "Tanh(a)", "Erf(a)", "Sqrt(a)", "Neg(a)",
                           "Gelu(a)", "Softplus(a)", "Mish(a)", "Elu(a)", "Sin(a)", "Round(a)", "Sign(a)"})
    EXPECT_TRUE(std::isnan(run(call, {std::vector<float>(16, n)})[5])) << call;
}

/// NaNs made inside of a kernel, every node inlined into the last.
TEST(NotNumbers, AreFoundWhereTheyAreMade) {
  const graph::Graph group = graph::parse_text(R"(graph g (a: f32[8], b: f32[8]) -> (y) {
    s: s: f32[8] = Sub(a, b)
    m: m: f32[8] = Max(s, a)
    n: y: bool[8] = IsNaN(m)
  })");
  const float i = static_cast<float>(infinity);
  const auto feed = [](std::vector<float> x) { return graph::Tensor::of_floats(x, {8}); };
  const schedule::GroupSchedule inlined;
  const auto y =
      emit::run_group(group, {feed({i, -i, 1, i, i, 2, i, 0}), feed({i, -i, 1, 1, i, i, -i, 0})}, &inlined);
  EXPECT_EQ(y[0].as_integers(), (Integers{1, 1, 0, 0, 1, 0, 0, 0}));
}

/// Worst relative error of a float32 function against the same in double, over a range.
template <class Reference>
double worst_error(const std::string& call, double from, double to, Reference reference) {
  std::vector<float> x;
  for (int i = 0; i < 20000; ++i) x.push_back(static_cast<float>(from + (to - from) * i / 19999));
  const auto y = run(call, {x});
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = reference(static_cast<double>(x[i]));
    if (exact != 0) worst = std::max(worst, std::abs(y[i] - exact) / std::abs(exact));
  }
  return worst;
}

constexpr double ulp = 1.1920929e-07;  // of float32, at 1

TEST(Functions, ErfIsWithinThreeUlp) {
  EXPECT_LT(worst_error("Erf(a)", -6, 6, [](double x) { return std::erf(x); }), 3 * ulp);
}
TEST(Functions, TanhIsWithinSixUlp) {
  EXPECT_LT(worst_error("Tanh(a)", -12, 12, [](double x) { return std::tanh(x); }), 6 * ulp);
  EXPECT_LT(worst_error("Tanh(a)", -1e-3, 1e-3, [](double x) { return std::tanh(x); }), 6 * ulp);
}
TEST(Functions, SigmoidKeepsItsSmallValues) {
  EXPECT_LT(worst_error("Sigmoid(a)", -80, 20, [](double x) { return 1 / (1 + std::exp(-x)); }), 1e-5);
}
TEST(Functions, SoftplusKeepsItsSmallValues) {
  EXPECT_LT(worst_error("Softplus(a)", -80, 80, [](double x) { return std::log1p(std::exp(x)); }), 1e-5);
}
TEST(Functions, MishIsAccurate) {
  const auto mish = [](double x) { return x * std::tanh(std::log1p(std::exp(x))); };
  EXPECT_LT(worst_error("Mish(a)", -20, 80, mish), 1e-5);
}
TEST(Functions, LargeArgumentsSaturate) {
  const float i = static_cast<float>(infinity);
  expect_near(run("Tanh(a)", {{1e30f, -1e30f, i, -i}}), {1, -1, 1, -1}, 0);
  expect_near(run("Erf(a)", {{1e30f, -1e30f, i, -i}}), {1, -1, 1, -1}, 0);
  expect_near(run("Sigmoid(a)", {{1e30f, -1e30f, i, -i}}), {1, 0, 1, 0}, 0);
}

TEST(Round, HalvesGoToEven) {
  expect_near(run("Round(a)", {{0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 0.4f}}), {0, 2, 2, 0, -2, 0}, 0);
}

TEST(Clip, HighWinsOverLow) {
  const auto y = evaluate_text(R"(graph g () -> (y) {
    const x: f32[3] = {-1, 0, 9}
    const low: f32[] = {5}
    const high: f32[] = {2}
    n: y: f32[3] = Clip(x, low, high)
  })");
  EXPECT_EQ(y[0].as_doubles(), (Doubles{2, 2, 2}));
}

TEST(Cast, FloatsLoseTheirFractionAndWrap) {
  const auto y = evaluate_text(R"(graph g () -> (y, u, b) {
    const x: f32[5] = {-1.9, 1.9, 0, -0.5, 300}
    n: y: i32[5] = Cast(x) {to=6}
    m: u: u8[5] = Cast(x) {to=2}
    o: b: bool[5] = Cast(x) {to=9}
  })");
  EXPECT_EQ(y[0].as_integers(), (Integers{-1, 1, 0, 0, 300}));
  EXPECT_EQ(y[1].as_integers(), (Integers{255, 1, 0, 0, 44}));
  EXPECT_EQ(y[2].as_integers(), (Integers{1, 1, 0, 1, 1}));
}

TEST(HalfPrecision, IsComputedInFloat32) {
  const auto y = evaluate_text(R"(graph g () -> (y, z) {
    const x: f16[3] = {60000, 0.1, -3}
    const w: bf16[2] = {1, 3}
    const v: bf16[2] = {3, -7}
    n: y: f16[3] = Sigmoid(x)
    m: z: bf16[2] = Div(w, v)
  })");
  expect_near(y[0].as_doubles(), {1, 0.524979, 0.0474259}, 1e-3);
  expect_near(y[1].as_doubles(), {0.333984375, -0.427734375}, 0);
}

TEST(Broadcasting, AlignsAxesAtTheEnd) {
  const auto y = evaluate_text(R"(graph g () -> (y) {
    const a: f32[2,1,2] = {1, 2, 3, 4}
    const b: f32[3,1] = {10, 20, 30}
    n: y: f32[2,3,2] = Add(a, b)
  })");
  EXPECT_EQ(y[0].as_doubles(), (Doubles{11, 12, 21, 22, 31, 32, 13, 14, 23, 24, 33, 34}));
}

TEST(Refusals, NameTheNodeAndARemedy) {
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      const graph::Graph graph = graph::parse_text(text);
      require(graph, graph.nodes.at(0));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(refusal("graph g (x: f32[2]) -> (y) {\n odd1: y: f32[2] = Odd(x)\n}").find("odd1"),
            std::string::npos);
  EXPECT_NE(refusal("graph g (x: i32[2]) -> (y) {\n s1: y: i32[2] = Sqrt(x)\n}").find("s1"),
            std::string::npos);
  const std::string slice =
      refusal("graph g (x: f32[4], s: i64[1], e: i64[1]) -> (y) {\n s1: y: f32[2] = Slice(x, s, e)\n}");
  EXPECT_NE(slice.find("starts"), std::string::npos);
  EXPECT_NE(slice.find("--dim"), std::string::npos);
}

}  // namespace
}  // namespace cryolite::ops
