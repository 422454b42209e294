#include <gtest/gtest.h>

#include "tests/ops/numbers.h"

// Expected numbers: onnxruntime 1.32, unless a test says otherwise.
namespace cryolite::ops {
namespace {

using Numbers = std::vector<double>;

/// A graph of one node with its inputs filled with pattern().
std::vector<Numbers> normalized(const std::string& inputs, const std::string& node) {
  const std::string text = "graph g (" + inputs + ") -> (y) {\n n: " + node + "\n}";
  return numbers_of(text, patterns_for(text));
}

TEST(LayerNormalization, GivesMeanAndInverseDeviation) {
  const std::string text = R"(graph g (x: f32[2,3,4], s: f32[3,4], b: f32[3,4]) -> (y, m, i) {
    n: y: f32[2,3,4], m: f32[2,1,1], i: f32[2,1,1] = LayerNormalization(x, s, b) {axis=1}
  })";
  auto inputs = patterns_for(text);
  auto x = pattern(24);
  for (float& number : x) number += 100;
  inputs[0] = tensor_of(x, {2, 3, 4});
  const auto got = numbers_of(text, inputs);
  expect_close(got[0],
               {3.340576,  3.04257,   -0.5403982, 12.298,    1.208513,  -0.5403982, 12.298,    1.208513,
                0.1277171, 8.587312,  1.208513,   0.1277171, -11.90001, 2.260376,   0.2392497, 11.90001,
                1.130188,  0.2392497, 10.33774,   0.8177348, 0.3588746, 8.270191,   0.8177348, 1.296234},
               2e-5);
  expect_close(got[1], {100.3333, 99.58334}, 1e-6);
  expect_close(got[2], {0.3127715, 0.3124532}, 1e-6);
}

TEST(LayerNormalization, OverTheLastAxisWithoutBias) {
  expect_close(
      normalized("x: f32[2,3,2], s: f32[2]", "y: f32[2,3,2] = LayerNormalization(x, s) {epsilon=0.125}")[0],
      {4.974684, 1.989873, 4.974684, 1.989873, -4.866642, -1.946657, -4.923659, -1.969464, 4.974684, 1.989873,
       -4.923659, -1.969464});
}

TEST(RMSNormalization, OverTheLastAxis) {
  expect_close(normalized("x: f32[2,3,2], s: f32[2]", "y: f32[2,3,2] = RMSNormalization(x, s)")[0],
               {6.565319, 1.050451, 2.626128, 2.626128, -3.162271, -2.529817, -6.93375, 0.5547, 4.242639,
                2.262741, -2.236066, -2.683279});
}

TEST(InstanceNormalization, AChannel) {
  expect_close(normalized("x: f32[2,2,3], s: f32[2], b: f32[2]",
                          "y: f32[2,2,3] = InstanceNormalization(x, s, b) {epsilon=0.01}")[0],
               {0.8088508, -11.38974, -4.419115, 4.555894, 1.767646, -0.3235403, -11.12086, -5, 1.120856,
                4.32354, 2.232354, -0.5558944});
}

TEST(GroupNormalization, ScalesAChannelOrAGroup) {
  expect_close(normalized("x: f32[1,4,3], s: f32[4], b: f32[4]",
                          "y: f32[1,4,3] = GroupNormalization(x, s, b) {num_groups=2}")[0],
               {2.467876, -8.347669, -2.167357, 5.193161, 2.721036, 0.8669429, -4.70765, -2.108306, 0.4910383,
                10.14454, 5.270765, -1.227596});
  // One scale and bias a group (before opset 21), by hand: the normalized x of above, -5 and 2 for s and b.
  const auto by_group = normalized("x: f32[1,4,3], s: f32[2], b: f32[2]",
                                   "y: f32[1,4,3] = GroupNormalization(x, s, b) {num_groups=2}")[0];
  const auto plain = normalized("x: f32[1,4,3], s: f32[4], b: f32[4]",
                                "y: f32[1,4,3] = GroupNormalization(x, s, b) {num_groups=2}")[0];
  const auto parameters = pattern(4);
  for (int i = 0; i < 12; ++i) {
    const double bare = (plain[i] - parameters[i / 3]) / parameters[i / 3];
    EXPECT_NEAR(by_group[i], bare * parameters[i / 6] + parameters[i / 6], 2e-5) << "element " << i;
  }
}

TEST(BatchNormalization, ForInference) {
  const std::string text = R"(graph g (x: f32[1,2,3], s: f32[2], b: f32[2], m: f32[2], v: f32[2]) -> (y) {
    n: y: f32[1,2,3] = BatchNormalization(x, s, b, m, v) {epsilon=0.5}
  })";
  auto inputs = patterns_for(text);
  inputs[4] = tensor_of({5, 2}, {2});
  expect_close(numbers_of(text, inputs)[0], {-5, -19.92405, -11.39602, 5.794733, 0.7350889, -3.059644}, 1e-6);
}

TEST(LRN, OverAWindowOfChannels) {
  const Numbers wanted = {-1.183029,  0.4732117, -0.4647362, 1.10325,    0.2323681,
                          -0.4647361, 1.06785,   0.2784376,  -0.6511279, 1.227086};
  const std::string attributes = " = LRN(x) {size=3, alpha=0.5, beta=0.75, bias=2.0}";
  expect_close(normalized("x: f32[1,5,2,1]", "y: f32[1,5,2,1]" + attributes)[0], wanted);
  expect_close(normalized("x: f32[1,5,2,1] @[0,2,3,1]", "y: f32[1,5,2,1] @[0,2,3,1]" + attributes)[0],
               wanted);
  // An even window reaches one channel further up: channel 0 of {3, 4} with size 2 sums both squares. By
  // hand.
  EXPECT_EQ(numbers_of("graph g (x: f32[1,2]) -> (y) {\n n: y: f32[1,2] = LRN(x) {size=2, alpha=2.0, "
                       "beta=1.0, bias=0.0}\n}",
                       {tensor_of({3, 4}, {1, 2})})[0],
            (Numbers{3.f / 25.f, 4.f / 16.f}));
}

TEST(MeanVarianceNormalization, OverItsDefaultAxes) {
  expect_close(normalized("x: f32[2,2,1,2]", "y: f32[2,2,1,2] = MeanVarianceNormalization(x)")[0],
               {-1.460593, 1.095445, -1.441921, 0.9330078, 0.7302967, -0.3651484, 0.9330078, -0.4240945});
}

TEST(LpNormalization, BothNormsAndARowOfZeros) {
  expect_close(normalized("x: f32[2,3]", "y: f32[2,3] = LpNormalization(x) {p=1, axis=0}")[0],
               {-0.5, 0.6666667, -0.5, 0.5, 0.3333333, -0.5});
  expect_close(normalized("x: f32[2,3]", "y: f32[2,3] = LpNormalization(x)")[0],
               {-0.8703883, 0.3481553, -0.3481553, 0.9128709, 0.1825742, -0.3651484});
  EXPECT_EQ(numbers_of("graph g (x: f32[2]) -> (y) {\n n: y: f32[2] = LpNormalization(x)\n}",
                       {tensor_of({0, 0}, {2})})[0],
            (Numbers{0, 0}));
}

TEST(Norms, RefuseWhatDoesNotFit) {
  const std::string x = "x: f32[1,4,3], s: f32[4], b: f32[4], m: f32[4], v: f32[4]";
  EXPECT_EQ(fault_of(x, "y: f32[1,4,3] = BatchNormalization(x, s, b, m, v)"), "");
  EXPECT_NE(fault_of(x, "y: f32[1,4,3] = BatchNormalization(x, s, b, m, v) {training_mode=1}"), "");
  EXPECT_NE(fault_of(x, "y: f32[1,4,3] = BatchNormalization(x, s, b)"), "");
  EXPECT_NE(fault_of(x, "y: f32[1,4,3] = GroupNormalization(x, s, b) {num_groups=3}"), "");
  EXPECT_NE(fault_of(x, "y: f32[1,4,3] = LayerNormalization(x, s)"), "");
  EXPECT_NE(fault_of(x, "y: f32[1,4,3] = LRN(x)"), "");
  EXPECT_NE(fault_of(x, "y: f32[1,4,3] = LpNormalization(x) {p=3}"), "");
}

}  // namespace
}  // namespace cryolite::ops
