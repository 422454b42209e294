#include <gtest/gtest.h>

#include "tests/ops/windows_reference.h"

namespace cryolite::ops {
namespace {

TEST(Conv, BorderDilationAndStride) {
  expect_windows({.batch = 2,
                  .inputs = 3,
                  .outputs = 4,
                  .groups = 1,
                  .in = {1, 8, 9},
                  .out = {1, 7, 4},
                  .kernel = {1, 3, 3},
                  .strides = {1, 1, 2},
                  .dilations = {1, 2, 1},
                  .low = {0, 1, 0},
                  .rank = 2,
                  .attributes = ", pads=[1,0,2,1], dilations=[2,1], strides=[1,2]"},
                 "Conv");
}

TEST(Conv, SameUpperAndLowerDifferWhereTheBorderIsOdd) {
  // 7 rows, kernel 3, stride 2: one row of border on each side. 6 columns, kernel 2: one column, on one side.
  WindowCase c{.batch = 1,
               .inputs = 2,
               .outputs = 3,
               .groups = 1,
               .in = {1, 7, 6},
               .out = {1, 4, 6},
               .kernel = {1, 3, 2},
               .strides = {1, 2, 1},
               .low = {0, 1, 0},
               .rank = 2,
               .attributes = ", strides=[2,1], auto_pad=\"SAME_UPPER\""};
  expect_windows(c, "Conv");
  c.low = {0, 1, 1};
  c.attributes = ", strides=[2,1], auto_pad=\"SAME_LOWER\"";
  expect_windows(c, "Conv");
  c.low = {0, 0, 0};
  c.out = {1, 3, 5};
  c.attributes = ", strides=[2,1], auto_pad=\"VALID\"";
  expect_windows(c, "Conv");
}

TEST(Conv, OneAndThreeAxes) {
  expect_windows({.batch = 2,
                  .inputs = 4,
                  .outputs = 6,
                  .groups = 2,
                  .in = {1, 1, 9},
                  .out = {1, 1, 9},
                  .kernel = {1, 1, 3},
                  .low = {0, 0, 2},
                  .rank = 1,
                  .attributes = ", pads=[2,0]"},
                 "Conv");
  expect_windows({.batch = 1,
                  .inputs = 2,
                  .outputs = 3,
                  .groups = 1,
                  .in = {5, 6, 7},
                  .out = {3, 7, 4},
                  .kernel = {2, 3, 2},
                  .strides = {2, 1, 2},
                  .low = {1, 1, 0},
                  .rank = 3,
                  .attributes = ", pads=[1,1,0,0,2,1], strides=[2,1,2]"},
                 "Conv");
}

TEST(Conv, DepthwiseWithTwoOutputsAChannel) {
  expect_windows({.batch = 1,
                  .inputs = 6,
                  .outputs = 12,
                  .groups = 6,
                  .in = {1, 5, 5},
                  .out = {1, 5, 5},
                  .kernel = {1, 3, 3},
                  .low = {0, 1, 1},
                  .rank = 2,
                  .attributes = ", pads=[1,1,1,1]"},
                 "Conv");
}

TEST(Conv, ReadsPackedWeightsAndChannelsLast) {
  WindowCase c{.batch = 1,
               .inputs = 8,
               .outputs = 12,
               .groups = 2,
               .in = {1, 8, 9},
               .out = {1, 8, 9},
               .kernel = {1, 3, 3},
               .low = {0, 1, 1},
               .rank = 2,
               .attributes = ", pads=[1,1,1,1]",
               .layout_x = " @[0,2,3,1]",
               .layout_w = " @[0,2,3,1|0:8]",
               .layout_y = " @[0,2,3,1]"};
  expect_windows(c, "Conv");
  c.groups = 1;
  expect_windows(c, "Conv");
  c.inputs = c.outputs = c.groups = 12;
  expect_windows(c, "Conv");
}

TEST(Conv, OfNoChannelsIsTheBias) {
  const auto got =
      emit::evaluate(graph::parse_text(R"(graph g (x: f32[1,0,3], w: f32[2,0,2], b: f32[2]) -> (y) {
    n: y: f32[1,2,2] = Conv(x, w, b)
  })"),
                     {tensor_of({}, {1, 0, 3}), tensor_of({}, {2, 0, 2}), tensor_of({3, 4}, {2})});
  EXPECT_EQ(got.at(0).as_doubles(), (std::vector<double>{3, 3, 4, 4}));
}

TEST(Conv, HasOneUpdateOverChannelThenTaps) {
  const graph::Graph group = graph::parse_text(R"(graph g (x: f32[1,4,5,6], w: f32[8,2,3,2]) -> (y) {
    conv: y: f32[1,8,5,5] = Conv(x, w) {group=2, pads=[1,0,1,0]}
  })");
  const Operator& row = require(group, group.nodes[0]);
  EXPECT_EQ(row.category, Category::Reduction);
  EXPECT_EQ(row.kernel, Kernel::Convolution);
  EXPECT_EQ(row.access(group, group.nodes[0]),
            (std::vector<AccessMap>{AccessMap::Window, AccessMap::WholeAxis}));
  EXPECT_EQ(row.flops(group, group.nodes[0]), 2 * (8 * 5 * 5) * (2 * 3 * 2));
}

TEST(Conv, RefusesWhatDoesNotFit) {
  const std::string x = "x: f32[1,4,5,5], w: f32[8,2,3,3]";
  EXPECT_EQ(fault_of(x, "y: f32[1,8,3,3] = Conv(x, w) {group=2}"), "");
  EXPECT_NE(fault_of(x, "y: f32[1,8,3,3] = Conv(x, w)"), "");
  EXPECT_NE(fault_of(x, "y: f32[1,8,3,3] = Conv(x, w) {group=3}"), "");
  EXPECT_NE(fault_of(x, "y: f32[1,8,4,3] = Conv(x, w) {group=2}"), "");
  EXPECT_NE(fault_of(x, "y: f32[1,8,3,3] = Conv(x, w) {group=2, strides=[0,1]}"), "");
  EXPECT_NE(fault_of(x, "y: f32[1,8,3,3] = Conv(x, w) {group=2, pads=[1,1]}"), "");
  EXPECT_NE(fault_of(x, "y: f32[1,8,3,3] = Conv(x, w) {group=2, auto_pad=\"SOME\"}"), "");
  EXPECT_NE(fault_of("x: i32[1,4,5,5], w: i32[8,4,3,3]", "y: i32[1,8,3,3] = Conv(x, w)"), "");
  EXPECT_NE(fault_of("x: f32[4,5], w: f32[8,4]", "y: f32[4,8] = Conv(x, w)"), "");
}

}  // namespace
}  // namespace cryolite::ops
