#include <gtest/gtest.h>

#include <limits>

#include "tests/ops/numbers.h"

namespace cryolite::ops {
namespace {

using Numbers = std::vector<double>;

Numbers rows_of(const std::string& op, const std::vector<float>& x, const std::string& shape, int axis) {
  const std::string text = "graph g (x: f32" + shape + ") -> (y) {\n n: y: f32" + shape + " = " + op +
                           "(x) {axis=" + std::to_string(axis) + "}\n}";
  const graph::Graph graph = graph::parse_text(text);
  return numbers_of(text, {tensor_of(x, graph.value(graph.inputs[0]).type.extents())})[0];
}

TEST(Softmax, OverAMiddleAxis) {  // expected: onnxruntime 1.32
  const Numbers wanted = {0.002355633, 0.04738472, 0.04731416,   0.9517475, 0.9503303,  0.0008678813,
                          0.9816903,   0.04738472, 0.0003293204, 0.9517475, 0.01798029, 0.0008678813};
  for (int axis : {1, -2}) expect_close(rows_of("Softmax", pattern(12), "[2,3,2]", axis), wanted);
  expect_close(rows_of("LogSoftmax", pattern(12), "[2,3,2]", 1),
               {-6.050946, -3.049456, -3.050946, -0.04945554, -0.05094571, -7.049456, -0.01847933, -3.049456,
                -8.018479, -0.04945554, -4.018479, -7.049456});
}

TEST(Softmax, OfHugeLogits) {
  const std::vector<float> x = {1e10f, 1e10f, 0, -1e10f, -1e10f, -1e10f, -1e10f, -1e10f};
  expect_close(rows_of("Softmax", x, "[2,4]", -1), {0.5, 0.5, 0, 0, 0.25, 0.25, 0.25, 0.25});
  const double two = std::log(2.0), four = std::log(4.0);
  expect_close(rows_of("LogSoftmax", x, "[2,4]", -1), {-two, -two, -1e10, -2e10, -four, -four, -four, -four},
               1e-6);
}

TEST(Softmax, MaskedByInfinity) {
  const float inf = std::numeric_limits<float>::infinity();
  expect_close(rows_of("Softmax", {0, -inf, 0, -inf}, "[4]", 0), {0.5, 0, 0.5, 0});
}

TEST(Softmax, KeepsWhatIsNotANumberInItsRow) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    for (int axis : {0, 1}) {
      std::vector<float> x(81, 1.f);
      x[4 * 9 + 4] = nan;
      const Numbers y = rows_of(op, x, "[9,9]", axis);
      for (int i = 0; i < 81; ++i)
        EXPECT_EQ(std::isnan(y[i]), (axis == 1 ? i / 9 : i % 9) == 4)
            << op << " axis " << axis << " element " << i;
    }
  }
}

TEST(Hardmax, TakesTheFirstOfTies) {
  EXPECT_EQ(rows_of("Hardmax", {1, 3, 3, 2, 2, 2}, "[2,3]", 1), (Numbers{0, 1, 0, 1, 0, 0}));
  EXPECT_EQ(rows_of("Hardmax", {1, 3, 3, 2, 2, 2}, "[2,3]", 0), (Numbers{0, 1, 1, 1, 0, 0}));
}

TEST(Softmax, OfNothing) { EXPECT_EQ(rows_of("Softmax", {}, "[2,0]", 1), Numbers{}); }

TEST(Softmax, RefusesWhatDoesNotFit) {
  EXPECT_NE(fault_of("x: f32[2,3]", "y: f32[2,3] = Softmax(x) {axis=2}"), "");
  EXPECT_NE(fault_of("x: f32[2,3]", "y: f32[3,2] = Softmax(x)"), "");
  EXPECT_NE(fault_of("x: i32[2,3]", "y: i32[2,3] = Softmax(x)"), "");
}

}  // namespace
}  // namespace cryolite::ops
