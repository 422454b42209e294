#include <gtest/gtest.h>

#include "tests/ops/windows_reference.h"

namespace cryolite::ops {
namespace {

/// 5 rows and 4 columns, kernel 3, stride 2: 11 by 9 elements in full.
WindowCase doubled(const Three& out, const Three& low, const std::string& attributes) {
  return {.batch = 1,
          .inputs = 2,
          .outputs = 3,
          .groups = 1,
          .in = {1, 5, 4},
          .out = out,
          .kernel = {1, 3, 3},
          .strides = {1, 2, 2},
          .low = low,
          .rank = 2,
          .attributes = ", strides=[2,2]" + attributes};
}

TEST(ConvTranspose, AutoPad) {
  expect_windows(doubled({1, 11, 9}, {0, 0, 0}, ", auto_pad=\"VALID\""), "ConvTranspose");
  // One element too many on each axis: cut off at the end with SAME_UPPER, at the beginning with SAME_LOWER.
  expect_windows(doubled({1, 10, 8}, {0, 0, 0}, ", auto_pad=\"SAME_UPPER\""), "ConvTranspose");
  expect_windows(doubled({1, 10, 8}, {0, 1, 1}, ", auto_pad=\"SAME_LOWER\""), "ConvTranspose");
}

TEST(ConvTranspose, OutputShapeCutsTheOddElementAtTheBeginning) {
  expect_windows(doubled({1, 10, 9}, {0, 1, 0}, ", output_shape=[10,9]"), "ConvTranspose");
}

TEST(ConvTranspose, OutputShapeBeyondWhatIsReachedEndsWithTheBias) {
  expect_windows(doubled({1, 13, 9}, {0, 0, 0}, ", output_shape=[13,9], output_padding=[2,0]"),
                 "ConvTranspose");
}

TEST(ConvTranspose, GroupsPadsAndDilation) {
  expect_windows({.batch = 2,
                  .inputs = 4,
                  .outputs = 6,
                  .groups = 2,
                  .in = {1, 5, 4},
                  .out = {1, 10, 11},
                  .kernel = {1, 3, 2},
                  .strides = {1, 2, 3},
                  .dilations = {1, 1, 2},
                  .low = {0, 1, 0},
                  .rank = 2,
                  .attributes = ", strides=[2,3], pads=[1,0,0,1], dilations=[1,2]"},
                 "ConvTranspose");
}

/// Strides and dilations that share a factor leave outputs that no tap reaches; those that share none step
/// through the taps in another order.
TEST(ConvTranspose, StridesAgainstDilations) {
  struct Axis {
    int64_t kernel, stride, dilation, low;
  };
  for (const Axis axis : {Axis{3, 4, 2, 0}, Axis{5, 2, 2, 2}, Axis{5, 6, 4, 2}, Axis{5, 5, 3, 1},
                          Axis{4, 3, 5, 3}, Axis{1, 3, 1, 0}, Axis{2, 1, 3, 1}}) {
    const int64_t out = 4 * axis.stride + (axis.kernel - 1) * axis.dilation + 1 - axis.low;
    expect_windows({.batch = 1,
                    .inputs = 3,
                    .outputs = 2,
                    .groups = 1,
                    .in = {1, 1, 5},
                    .out = {1, 1, out},
                    .kernel = {1, 1, axis.kernel},
                    .strides = {1, 1, axis.stride},
                    .dilations = {1, 1, axis.dilation},
                    .low = {0, 0, axis.low},
                    .rank = 1,
                    .attributes = fmt::format(", strides=[{}], dilations=[{}], pads=[{},0]", axis.stride,
                                              axis.dilation, axis.low)},
                   "ConvTranspose");
  }
}

TEST(ConvTranspose, ThreeAxesAndDepthwise) {
  expect_windows({.batch = 1,
                  .inputs = 2,
                  .outputs = 2,
                  .groups = 2,
                  .in = {3, 4, 3},
                  .out = {6, 4, 5},
                  .kernel = {2, 3, 2},
                  .strides = {2, 1, 2},
                  .low = {0, 1, 0},
                  .rank = 3,
                  .attributes = ", strides=[2,1,2], pads=[0,1,0,0,1,1]"},
                 "ConvTranspose");
}

TEST(ConvTranspose, ChannelsLast) {
  WindowCase c = doubled({1, 10, 8}, {0, 0, 0}, ", auto_pad=\"SAME_UPPER\"");
  c.layout_x = c.layout_y = " @[0,2,3,1]";
  expect_windows(c, "ConvTranspose");
}

}  // namespace
}  // namespace cryolite::ops
