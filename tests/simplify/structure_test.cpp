#include <gtest/gtest.h>

#include "tests/simplify/rewrites.h"

// Rewrites that move no number: identities, views, transposes, duplicates, pads.
namespace cryolite::simplify {
namespace {

TEST(RemoveIdentity, DropsNodesThatChangeNothing) {
  EXPECT_EQ(simplified(R"(
graph g (x: f32[2,3]) -> (y) {
  const ratio: f32[] = {0.5}
  const pads: i64[4] = {0, 0, 0, 0}
  const one: f32[] = {1}
  const shape: i64[2] = {2, 3}
  id: a: f32[2,3] = Identity(x)
  drop: b: f32[2,3] = Dropout(a, ratio)
  cast: c: f32[2,3] = Cast(b) {to=1}
  pad: d: f32[2,3] = Pad(c, pads)
  perm: e: f32[2,3] = Transpose(d) {perm=[0,1]}
  cat: f: f32[2,3] = Concat(e) {axis=0}
  mul: h: f32[2,3] = Mul(f, one)
  view: i: f32[2,3] = Reshape(h, shape)
  relu: y: f32[2,3] = Relu(i)
}
)"),
            R"(
graph g (x: f32[2,3]) -> (y) {
  relu: y: f32[2,3] = Relu(x)
}
)");
}

TEST(RemoveIdentity, OutputsKeepTheirNames) {
  EXPECT_EQ(simplified(R"(
graph g (x: f32[2]) -> (y) {
  relu: a: f32[2] = Relu(x)
  id: y: f32[2] = Identity(a)
}
)"),
            R"(
graph g (x: f32[2]) -> (y) {
  relu: y: f32[2] = Relu(x)
}
)");
}

TEST(RemoveIdentity, AnOutputThatIsAnInputKeepsItsWriter) {
  expect_unchanged(R"(
graph g (x: f32[2]) -> (y) {
  id: y: f32[2] = Identity(x)
}
)");
}

TEST(RemoveIdentity, TwoOutputsOfOneValueKeepTheirWriter) {
  expect_unchanged(R"(
graph g (x: f32[2]) -> (a, y) {
  relu: a: f32[2] = Relu(x)
  id: y: f32[2] = Identity(a)
}
)");
}

TEST(RemoveIdentity, KeepsReversingSlicesAndWideningFactors) {
  expect_unchanged(R"(
graph g (x: f32[3], z: f32[]) -> (y, w) {
  const starts: i64[1] = {-1}
  const ends: i64[1] = {-100}
  const axes: i64[1] = {0}
  const ones: f32[2] = {1, 1}
  reverse: y: f32[3] = Slice(x, starts, ends, axes, starts)
  widen: w: f32[2] = Mul(z, ones)
}
)");
}

TEST(DropUnusedOutputs, KeepsSplitWhole) {
  EXPECT_EQ(simplified(R"(
graph g (x: f32[1,1,4,4]) -> (y, a) {
  pool: y: f32[1,1,2,2], indices: i64[1,1,2,2] = MaxPool(x) {kernel_shape=[2,2], strides=[2,2]}
  split: a: f32[1,1,2,4], b: f32[1,1,2,4] = Split(x) {axis=2, num_outputs=2}
}
)"),
            R"(
graph g (x: f32[1,1,4,4]) -> (y, a) {
  pool: y: f32[1,1,2,2] = MaxPool(x) {kernel_shape=[2,2], strides=[2,2]}
  split: a: f32[1,1,2,4], b: f32[1,1,2,4] = Split(x) {axis=2, num_outputs=2}
}
)");
}

TEST(MergeViews, TheLastShapeCounts) {
  EXPECT_EQ(simplified(R"(
graph g (x: f32[2,3,4]) -> (y) {
  const axes: i64[1] = {1}
  const shape: i64[2] = {6, 4}
  flat: a: f32[2,12] = Flatten(x) {axis=1}
  up: b: f32[2,1,12] = Unsqueeze(a, axes)
  down: y: f32[6,4] = Reshape(b, shape)
}
)"),
            R"(
graph g (x: f32[2,3,4]) -> (y) {
  const down.shape: i64[2] = {6, 4}
  down: y: f32[6,4] = Reshape(x, down.shape) {allowzero=1}
}
)");
}

TEST(MergeViews, ARoundTripVanishes) {
  EXPECT_EQ(simplified(R"(
graph g (x: f32[2,3,4]) -> (y) {
  const shape: i64[3] = {2, 3, 4}
  flat: a: f32[2,12] = Flatten(x) {axis=1}
  back: b: f32[2,3,4] = Reshape(a, shape)
  relu: y: f32[2,3,4] = Relu(b)
}
)"),
            R"(
graph g (x: f32[2,3,4]) -> (y) {
  relu: y: f32[2,3,4] = Relu(x)
}
)");
}

TEST(MergeTransposes, TwoBecomeOne) {
  EXPECT_EQ(simplified(R"(
graph g (x: f32[2,3,4,5]) -> (y, z) {
  first: a: f32[2,4,5,3] = Transpose(x) {perm=[0,2,3,1]}
  second: y: f32[4,2,5,3] = Transpose(a) {perm=[1,0,2,3]}
  back: b: f32[2,3,4,5] = Transpose(a) {perm=[0,3,1,2]}
  relu: z: f32[2,3,4,5] = Relu(b)
}
)"),
            R"(
graph g (x: f32[2,3,4,5]) -> (y, z) {
  second: y: f32[4,2,5,3] = Transpose(x) {perm=[2,0,3,1]}
  relu: z: f32[2,3,4,5] = Relu(x)
}
)");
}

TEST(MergeTransposes, AxesOfExtentOneMoveNothing) {
  EXPECT_EQ(simplified(R"(
graph g (x: f32[2,1,4]) -> (y) {
  perm: y: f32[1,2,4] = Transpose(x) {perm=[1,0,2]}
}
)"),
            R"(
graph g (x: f32[2,1,4]) -> (y) {
  const perm.shape: i64[3] = {1, 2, 4}
  perm: y: f32[1,2,4] = Reshape(x, perm.shape) {allowzero=1}
}
)");
}

TEST(MergeDuplicates, NodesAndConstants) {
  EXPECT_EQ(simplified(R"(
graph g (x: f32[2]) -> (y) {
  const one: f32[2] = {1, 2}
  const two: f32[2] = {1, 2}
  a1: a: f32[2] = Sub(x, one)
  b1: b: f32[2] = Sub(x, two)
  c1: c: f32[2] = Elu(a) {alpha=0.5}
  d1: d: f32[2] = Elu(b) {alpha=0.25}
  add: y: f32[2] = Add(c, d)
}
)"),
            R"(
graph g (x: f32[2]) -> (y) {
  const one: f32[2] = {1, 2}
  a1: a: f32[2] = Sub(x, one)
  c1: c: f32[2] = Elu(a) {alpha=0.5}
  d1: d: f32[2] = Elu(a) {alpha=0.25}
  add: y: f32[2] = Add(c, d)
}
)");
}

TEST(MergeDuplicates, RandomNodesAndTwoOutputsStay) {
  expect_unchanged(R"(
graph g (x: f32[2]) -> (a, b, y) {
  r1: a: f32[2] = Relu(x)
  r2: b: f32[2] = Relu(x)
  n1: c: f32[2] = RandomNormalLike(x) {dtype=1}
  n2: d: f32[2] = RandomNormalLike(x) {dtype=1}
  sub: y: f32[2] = Sub(c, d)
}
)");
}

TEST(FoldPad, IntoConvolution) {
  EXPECT_EQ(simplified(R"(
graph g (x: f32[1,1,4,4]) -> (y) {
  const pads: i64[8] = {0, 0, 1, 0, 0, 0, 2, 1}
  const w: f32[1,1,1,1] = {2}
  pad: p: f32[1,1,7,5] = Pad(x, pads)
  conv: y: f32[1,1,9,5] = Conv(p, w) {pads=[1,0,1,0]}
}
)"),
            R"(
graph g (x: f32[1,1,4,4]) -> (y) {
  const w: f32[1,1,1,1] = {2}
  conv: y: f32[1,1,9,5] = Conv(x, w) {pads=[2,0,3,1]}
}
)");
}

TEST(FoldPad, IntoPools) {
  EXPECT_EQ(simplified(R"(
graph g (x: f32[1,1,4,4]) -> (y, z) {
  const pads: i64[4] = {1, 1, 1, 1}
  const lowest: f32[] = {-inf}
  const zero: f32[] = {0}
  const axes: i64[2] = {2, 3}
  pad1: p: f32[1,1,6,6] = Pad(x, pads, zero, axes)
  average: y: f32[1,1,4,4] = AveragePool(p) {kernel_shape=[3,3]}
  pad2: q: f32[1,1,6,6] = Pad(x, pads, lowest, axes)
  max: z: f32[1,1,4,4] = MaxPool(q) {kernel_shape=[3,3]}
}
)"),
            R"(
graph g (x: f32[1,1,4,4]) -> (y, z) {
  average: y: f32[1,1,4,4] = AveragePool(x) {count_include_pad=1, kernel_shape=[3,3], pads=[1,1,1,1]}
  max: z: f32[1,1,4,4] = MaxPool(x) {kernel_shape=[3,3], pads=[1,1,1,1]}
}
)");
}

TEST(FoldPad, NotAnotherFillIntoConvolution) {
  expect_unchanged(R"(
graph g (x: f32[1,1,4,4]) -> (y) {
  const pads: i64[8] = {0, 0, 1, 1, 0, 0, 1, 1}
  const five: f32[] = {5}
  const w: f32[1,1,1,1] = {2}
  pad: p: f32[1,1,6,6] = Pad(x, pads, five)
  conv: y: f32[1,1,6,6] = Conv(p, w)
}
)");
}

TEST(FoldPad, NotAPadOfChannelsNorOneThatCrops) {
  expect_unchanged(R"(
graph g (x: f32[1,1,4,4]) -> (y, z) {
  const channel: i64[8] = {0, 1, 0, 0, 0, 0, 0, 0}
  const w2: f32[1,2,1,1] = {2, 3}
  const crop: i64[8] = {0, 0, -1, 0, 0, 0, 0, 0}
  const w: f32[1,1,1,1] = {2}
  pad1: p: f32[1,2,4,4] = Pad(x, channel)
  conv1: y: f32[1,1,4,4] = Conv(p, w2)
  pad2: q: f32[1,1,3,4] = Pad(x, crop)
  conv2: z: f32[1,1,3,4] = Conv(q, w)
}
)");
}

TEST(FoldPad, NotWhereAPoolDoesNotCountItsPadding) {
  expect_unchanged(R"(
graph g (x: f32[1,1,4,4]) -> (y) {
  const pads: i64[8] = {0, 0, 1, 1, 0, 0, 1, 1}
  pad: p: f32[1,1,6,6] = Pad(x, pads)
  average: y: f32[1,1,6,6] = AveragePool(p) {kernel_shape=[3,3], pads=[1,1,1,1]}
}
)");
}

TEST(FoldPad, NotZerosIntoAMaximum) {
  expect_unchanged(R"(
graph g (x: f32[1,1,4,4]) -> (y) {
  const pads: i64[8] = {0, 0, 1, 1, 0, 0, 1, 1}
  pad: p: f32[1,1,6,6] = Pad(x, pads)
  max: y: f32[1,1,4,4] = MaxPool(p) {kernel_shape=[3,3]}
}
)");
}

TEST(FoldPad, NotIntoPoolsWhoseWindowsWouldSeePaddingOnlyOrRoundUp) {
  expect_unchanged(R"(
graph g (x: f32[1,1,4,4]) -> (y, z) {
  const wide: i64[8] = {0, 0, 3, 3, 0, 0, 3, 3}
  const pads: i64[8] = {0, 0, 1, 1, 0, 0, 1, 1}
  pad1: p: f32[1,1,10,10] = Pad(x, wide)
  small: y: f32[1,1,8,8] = AveragePool(p) {kernel_shape=[3,3]}
  pad2: q: f32[1,1,6,6] = Pad(x, pads)
  ceil: z: f32[1,1,3,3] = AveragePool(q) {ceil_mode=1, kernel_shape=[3,3], strides=[2,2]}
}
)");
}

TEST(FoldPad, NotWhereThePaddedValueIsReadElsewhere) {
  expect_unchanged(R"(
graph g (x: f32[1,1,4,4]) -> (y, p) {
  const pads: i64[8] = {0, 0, 1, 1, 0, 0, 1, 1}
  const w: f32[1,1,1,1] = {2}
  pad: p: f32[1,1,6,6] = Pad(x, pads)
  conv: y: f32[1,1,6,6] = Conv(p, w)
}
)");
}

}  // namespace
}  // namespace cryolite::simplify
