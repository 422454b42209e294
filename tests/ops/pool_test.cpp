#include <gtest/gtest.h>

#include "tests/ops/numbers.h"

// Expected numbers: onnxruntime 1.32, unless a test says otherwise.
namespace cryolite::ops {
namespace {

using Numbers = std::vector<double>;

/// One pool of x = pattern() + `lift`.
std::vector<Numbers> pooled(const std::string& x, const std::string& y, const std::string& call,
                            float lift = 0) {
  const std::string text = "graph g (x: " + x + ") -> (y) {\n n: y: " + y + " = " + call + "\n}";
  auto inputs = patterns_for(text);
  auto numbers = pattern(product({inputs[0].type.elements()}));
  for (float& number : numbers) number += lift;
  inputs[0] = tensor_of(numbers, inputs[0].type.extents());
  return numbers_of(text, inputs);
}

TEST(MaxPool, RoundedUpWindowTakesNothingOfTheBorder) {
  EXPECT_EQ(pooled("f32[1,1,6,5]", "f32[1,1,3,2]",
                   "MaxPool(x) {kernel_shape=[3,3], strides=[3,3], pads=[1,1,1,1], ceil_mode=1}", -7),
            (std::vector<Numbers>{{-2, -2, -3, -3, -8, -2}}));
}

TEST(AveragePool, RoundedUpWindow) {
  const std::string window = "kernel_shape=[3,3], strides=[3,3], pads=[1,1,1,1], ceil_mode=1";
  expect_close(pooled("f32[1,1,6,5]", "f32[1,1,3,2]", "AveragePool(x) {" + window + "}", -7)[0],
               {-7, -6, -6.833333, -7.666667, -10, -5.333333}, 1e-6);
  expect_close(
      pooled("f32[1,1,6,5]", "f32[1,1,3,2]", "AveragePool(x) {" + window + ", count_include_pad=1}", -7)[0],
      {-3.111111, -4, -4.555555, -7.666667, -3.333333, -2.666667}, 1e-6);
}

TEST(AveragePool, DilatedWindowCountsItsTaps) {
  const std::string window = "kernel_shape=[3,2], strides=[2,3], dilations=[2,3], pads=[1,0,2,1]";
  expect_close(pooled("f32[1,1,7,8]", "f32[1,1,3,2]", "AveragePool(x) {" + window + "}")[0],
               {-0.5, -0.75, -1.5, -1.833333, -0.75, -1}, 1e-6);
  expect_close(
      pooled("f32[1,1,7,8]", "f32[1,1,4,3]",
             "AveragePool(x) {" + window + ", ceil_mode=1, count_include_pad=1}")[0],
      {-0.3333333, -0.5, -0.6666667, -1.5, -1.833333, -2, -0.5, -0.6666667, -0.6666667, -1.75, -2, -2}, 1e-6);
}

TEST(MaxPool, SamePadsTheOddElementAtTheSideOfItsName) {
  EXPECT_EQ(
      pooled("f32[1,1,5,4]", "f32[1,1,5,4]", "MaxPool(x) {kernel_shape=[2,2], auto_pad=\"SAME_UPPER\"}")[0],
      (Numbers{2, 5, 5, 5, 4, 5, 5, 1, 4, 4, 4, 4, 4, 3, 4, 4, 0, 3, 3, -1}));
  EXPECT_EQ(
      pooled("f32[1,1,5,4]", "f32[1,1,5,4]", "MaxPool(x) {kernel_shape=[2,2], auto_pad=\"SAME_LOWER\"}")[0],
      (Numbers{-5, 2, 2, 5, 1, 2, 5, 5, 1, 4, 5, 5, 4, 4, 4, 4, 4, 4, 3, 4}));
}

TEST(MaxPool, IndicesInBothStorageOrders) {
  const auto both = [](const std::string& order) {
    const std::string text =
        "graph g (x: f32[1,2,4,3]) -> (y, i) {\n n: y: f32[1,2,2,2], i: i64[1,2,2,2] = MaxPool(x) "
        "{kernel_shape=[2,2], strides=[2,2], pads=[1,1,0,0], storage_order=" +
        order + "}\n}";
    return numbers_of(text, patterns_for(text));
  };
  const Numbers greatest = {-5, 2, 5, 1, 4, 0, 4, 0};
  EXPECT_EQ(both("0"), (std::vector<Numbers>{greatest, {0, 1, 3, 4, 12, 13, 15, 16}}));
  EXPECT_EQ(both("1"), (std::vector<Numbers>{greatest, {0, 4, 1, 5, 12, 16, 13, 17}}));
}

TEST(MaxPool, OfIntegersPadsWithTheLeast) {
  EXPECT_EQ(numbers_of(R"(graph g () -> (y) {
    const x: i8[1,1,3] = {-100, -120, -128}
    n: y: i8[1,1,3] = MaxPool(x) {kernel_shape=[3], pads=[1,1]}
  })")[0],
            (Numbers{-100, -100, -120}));
}

TEST(LpPool, ThirdPower) {
  expect_close(pooled("f32[1,1,4,4]", "f32[1,1,2,3]",
                      "LpPool(x) {kernel_shape=[2,3], strides=[2,1], p=3, "
                      "pads=[0,1,0,0]}")[0],
               {5.217103, 6.502958, 6.502958, 5.371686, 6.036811, 6.036811});
}

TEST(GlobalPools, AverageMaxAndNorm) {
  expect_close(pooled("f32[2,2,3,2]", "f32[2,2,1,1]", "GlobalAveragePool(x)")[0],
               {-0.1666667, 0.8333333, 0, -0.8333333}, 1e-6);
  EXPECT_EQ(pooled("f32[2,2,3,2] @[0,2,3,1]", "f32[2,2,1,1]", "GlobalMaxPool(x)")[0], (Numbers{5, 5, 4, 3}));
  // By hand: |-5| + |2| + |-2|, and the root of 25 + 4 + 4.
  EXPECT_EQ(pooled("f32[1,1,3]", "f32[1,1,1]", "GlobalLpPool(x) {p=1}")[0], (Numbers{9}));
  expect_close(pooled("f32[1,1,3]", "f32[1,1,1]", "GlobalLpPool(x)")[0], {5.744563}, 1e-6);
}

TEST(Pools, RefuseWhatDoesNotFit) {
  EXPECT_EQ(fault_of("x: f32[1,1,4,4]", "y: f32[1,1,2,2] = MaxPool(x) {kernel_shape=[3,3]}"), "");
  EXPECT_NE(fault_of("x: f32[1,1,4,4]", "y: f32[1,1,3,2] = MaxPool(x) {kernel_shape=[3,3]}"), "");
  EXPECT_NE(fault_of("x: f32[1,1,4,4]", "y: f32[1,1,2,2] = MaxPool(x) {kernel_shape=[3]}"), "");
  EXPECT_NE(fault_of("x: f32[1,1,4,4]", "y: f32[1,1,2,2] = MaxPool(x)"), "");
  EXPECT_NE(fault_of("x: f32[1,1,4,4]", "y: f32[1,1,2,2] = LpPool(x) {kernel_shape=[3,3], p=0}"), "");
  EXPECT_NE(fault_of("x: i32[1,1,4,4]", "y: i32[1,1,2,2] = AveragePool(x) {kernel_shape=[3,3]}"), "");
}

}  // namespace
}  // namespace cryolite::ops
