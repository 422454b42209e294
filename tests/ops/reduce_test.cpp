#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/ops/numbers.h"

namespace cryolite::ops {
namespace {

using Numbers = std::vector<double>;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// x = {1, -2, 3; -4, 5, 6} of `type`, reduced over `axes` (text of the list).
Numbers reduced_over(const std::string& op, const std::string& axes, int count, const std::string& y,
                     const std::string& attributes = "", const std::string& type = "f32") {
  return numbers_of(fmt::format(
      "graph g () -> (y) {{\n const x: {}[2,3] = {{1, -2, 3, -4, 5, 6}}\n const a: i64[{}] = {{{}}}\n"
      " n: y: {} = {}(x, a) {{{}}}\n}}",
      type, count, axes, y, op, attributes))[0];
}

TEST(Reduce, EveryKindOverRows) {
  EXPECT_EQ(reduced_over("ReduceSum", "1", 1, "f32[2,1]"), (Numbers{2, 7}));
  EXPECT_EQ(reduced_over("ReduceSum", "-2", 1, "f32[3]", "keepdims=0"), (Numbers{-3, 3, 9}));
  EXPECT_EQ(reduced_over("ReduceMax", "-1", 1, "f32[2,1]"), (Numbers{3, 6}));
  EXPECT_EQ(reduced_over("ReduceMin", "-1", 1, "f32[2]", "keepdims=0"), (Numbers{-2, -4}));
  EXPECT_EQ(reduced_over("ReduceProd", "0,1", 2, "f32[]", "keepdims=0"), (Numbers{720}));
  EXPECT_EQ(reduced_over("ReduceL1", "1", 1, "f32[2,1]"), (Numbers{6, 15}));
  EXPECT_EQ(reduced_over("ReduceSumSquare", "1", 1, "f32[2,1]"), (Numbers{14, 77}));
  expect_close(reduced_over("ReduceMean", "1", 1, "f32[2,1]"), {2.0 / 3, 7.0 / 3}, 1e-6);
  expect_close(reduced_over("ReduceL2", "1", 1, "f32[2,1]"), {std::sqrt(14.0), std::sqrt(77.0)}, 1e-6);
  expect_close(reduced_over("ReduceLogSum", "1", 1, "f32[2,1]"), {std::log(2.0), std::log(7.0)}, 1e-6);
  expect_close(reduced_over("ReduceLogSumExp", "1", 1, "f32[2,1]"),
               {std::log(std::exp(1.0) + std::exp(-2.0) + std::exp(3.0)),
                std::log(std::exp(-4.0) + std::exp(5.0) + std::exp(6.0))},
               1e-6);
}

TEST(Reduce, NoAxesMeansAllOrNone) {
  const std::string noop = "noop_with_empty_axes=1";
  EXPECT_EQ(reduced_over("ReduceMean", "", 0, "f32[2,3]", noop), (Numbers{1, -2, 3, -4, 5, 6}));
  EXPECT_EQ(reduced_over("ReduceSumSquare", "", 0, "f32[2,3]", noop), (Numbers{1, 4, 9, 16, 25, 36}));
  EXPECT_EQ(reduced_over("ReduceL1", "", 0, "f32[2,3]", noop), (Numbers{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(reduced_over("ReduceMean", "", 0, "f32[1,1]", "noop_with_empty_axes=0"), (Numbers{1.5}));
  EXPECT_EQ(numbers_of("graph g () -> (y) {\n const x: f32[2] = {3, 4}\n n: y: f32[1] = ReduceSum(x)\n}")[0],
            Numbers{7});
}

TEST(Reduce, IntegerMeansAreCutTowardZero) {
  EXPECT_EQ(reduced_over("ReduceMean", "0", 1, "i32[1,3]", "", "i32"), (Numbers{-1, 1, 4}));
  EXPECT_EQ(reduced_over("ReduceL2", "1", 1, "i64[2,1]", "", "i64"), (Numbers{3, 8}));
}

TEST(Reduce, OfNothingIsTheIdentity) {
  const auto of_nothing = [](const std::string& op) {
    return numbers_of(
        "graph g (x: f32[1,0]) -> (y) {\n const a: i64[1] = {1}\n n: y: f32[1,1] = " + op + "(x, a)\n}",
        {tensor_of({}, {1, 0})})[0];
  };
  EXPECT_EQ(of_nothing("ReduceSum"), Numbers{0});
  EXPECT_EQ(of_nothing("ReduceProd"), Numbers{1});
  EXPECT_EQ(of_nothing("ReduceMax"), Numbers{-infinity});
  EXPECT_EQ(of_nothing("ReduceMin"), Numbers{infinity});
  EXPECT_EQ(of_nothing("ReduceLogSum"), Numbers{-infinity});
  EXPECT_EQ(of_nothing("ReduceLogSumExp"), Numbers{-infinity});
  expect_close(of_nothing("ReduceMean"), {not_a_number});
}

TEST(Reduce, LogSumExpOfHugeAndInfiniteNumbers) {
  const auto of = [](float a, float b) {
    return numbers_of("graph g (x: f32[2]) -> (y) {\n n: y: f32[1] = ReduceLogSumExp(x)\n}",
                      {tensor_of({a, b}, {2})})[0];
  };
  const float inf = std::numeric_limits<float>::infinity();
  expect_close(of(1e10f, 1e10f), {1e10}, 1e-7);
  expect_close(of(-1e10f, -1e10f), {-1e10}, 1e-7);
  EXPECT_EQ(of(inf, 1), Numbers{infinity});
  EXPECT_EQ(of(-inf, -inf), Numbers{-infinity});
  expect_close(of(-inf, 1), {1});
  expect_close(of(std::numeric_limits<float>::quiet_NaN(), 1), {not_a_number});
}

TEST(ArgMax, TiesAndAxes) {
  const auto place = [](const std::string& op, const std::string& attributes, const std::string& y) {
    return numbers_of("graph g () -> (y) {\n const x: f32[2,4] = {1, 3, 3, 1, -2, -2, -5, -5}\n n: y: " + y +
                      " = " + op + "(x) {" + attributes + "}\n}")[0];
  };
  EXPECT_EQ(place("ArgMax", "axis=1", "i64[2,1]"), (Numbers{1, 0}));
  EXPECT_EQ(place("ArgMax", "axis=-1, select_last_index=1, keepdims=0", "i64[2]"), (Numbers{2, 1}));
  EXPECT_EQ(place("ArgMin", "axis=1, keepdims=0", "i64[2]"), (Numbers{0, 2}));
  EXPECT_EQ(place("ArgMin", "axis=1, select_last_index=1", "i64[2,1]"), (Numbers{3, 3}));
  EXPECT_EQ(place("ArgMin", "keepdims=0", "i64[4]"), (Numbers{1, 1, 1, 1}));
}

TEST(Reduce, WalksTheInnermostAxisFirst) {
  const std::string text = R"(graph g (x: f32[2,3,2,2] @[0,2,3,1]) -> (y) {
    const a: i64[2] = {1, 3}
    n: y: f32[2,2] = ReduceMax(x, a) {keepdims=0}
  })";
  const auto x = pattern(24);
  Numbers wanted(4, -infinity);
  for (int i = 0; i < 24; ++i)
    wanted[i / 12 * 2 + i / 2 % 2] = std::max<double>(wanted[i / 12 * 2 + i / 2 % 2], x[i]);
  EXPECT_EQ(numbers_of(text, patterns_for(text))[0], wanted);
}

TEST(Reduce, RefusesWhatDoesNotFit) {
  EXPECT_NE(fault_of("x: f32[2,3], a: i64[1]", "y: f32[2,1] = ReduceSum(x, a)"), "");
  EXPECT_NE(fault_of("x: f32[2,3]", "y: f32[2] = ReduceSum(x)"), "");
  EXPECT_NE(fault_of("x: f32[2,3]", "y: i64[1,3] = ArgMax(x) {axis=2}"), "");
  EXPECT_NE(fault_of("x: bool[2,3]", "y: bool[1,1] = ReduceSum(x)"), "");
}

}  // namespace
}  // namespace cryolite::ops
