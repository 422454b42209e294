#include <gtest/gtest.h>

#include "tests/plan/summary.h"

/// One small graph a rule of the fusion text, and the kernels that the rule makes of it.
namespace cryolite::plan {
namespace {

TEST(Rules, InjectiveChainIsOneKernel) {
  const Plan plan = plan_text(R"(graph chain (x: f32[64,256]) -> (y) {
    exp: a: f32[64,256] = Exp(x) {}
    neg: b: f32[64,256] = Neg(a) {}
    relu: y: f32[64,256] = Relu(b) {}
  })");
  EXPECT_EQ(kernels(plan), "pointwise: exp neg relu*\n");
  EXPECT_EQ(verdict(plan, "exp", "neg"), "fused (injective chain)");
  EXPECT_EQ(plan.unfused.kernels, 3);
  EXPECT_EQ(plan.unfused.bytes, 6 * 4 * 64 * 256);
  EXPECT_EQ(plan.fused.bytes, 2 * 4 * 64 * 256);
}

TEST(Rules, EpilogueJoinsTheContraction) {
  const Plan plan = plan_text(R"(graph vertical (x: f32[1,16,28,28], w: f32[32,16,3,3], s: f32[1,32,1,1]) -> (y) {
    conv: a: f32[1,32,28,28] = Conv(x, w) {pads=[1,1,1,1]}
    scale: b: f32[1,32,28,28] = Mul(a, s) {}
    relu: y: f32[1,32,28,28] = Relu(b) {}
  })");
  EXPECT_EQ(kernels(plan), "direct_conv: conv* scale relu\n");
  EXPECT_EQ(verdict(plan, "conv", "scale"), "fused (epilogue)");
  EXPECT_EQ(plan.fused.bytes, 4 * (16 * 28 * 28 + 32 * 16 * 9 + 32 + 32 * 28 * 28));
}

TEST(Rules, InjectiveProducersJoinAReduction) {
  const Plan plan = plan_text(R"(graph prologue (x: f32[64,256]) -> (y) {
    exp: a: f32[64,256] = Exp(x) {}
    neg: b: f32[64,256] = Neg(a) {}
    axes: y: f32[64,1] = ReduceSum(b) {keepdims=1}
  })");
  EXPECT_EQ(kernels(plan), "reduce: exp neg axes*\n");
  EXPECT_EQ(verdict(plan, "neg", "axes"), "fused (prologue)");
}

TEST(Rules, ReductionDoesNotJoinAReduction) {
  const Plan plan = plan_text(R"(graph two (x: f32[1,8,8,8], w: f32[8,8,3,3], v: f32[8,8,3,3]) -> (y) {
    conv1: a: f32[1,8,8,8] = Conv(x, w) {pads=[1,1,1,1]}
    conv2: y: f32[1,8,8,8] = Conv(a, v) {pads=[1,1,1,1]}
  })");
  EXPECT_EQ(kernels(plan), "direct_conv: conv1*\ndirect_conv: conv2*\n");
  EXPECT_EQ(verdict(plan, "conv1", "conv2"), "apart (reduction into reduction)");
}

TEST(Rules, PoolWhoseWindowsOnlyTouchIsTiledWithTheConvolution) {
  const Plan plan = plan_text(R"(graph chain (x: f32[1,8,16,16], w: f32[8,8,3,3]) -> (y) {
    conv: a: f32[1,8,16,16] = Conv(x, w) {pads=[1,1,1,1]}
    relu: b: f32[1,8,16,16] = Relu(a) {}
    pool: y: f32[1,8,8,8] = MaxPool(b) {kernel_shape=[2,2], strides=[2,2]}
  })");
  EXPECT_EQ(kernels(plan), "window_chain: conv* relu pool\n");
  EXPECT_EQ(verdict(plan, "relu", "pool"), "fused (prologue)");
  EXPECT_EQ(plan.groups[0].placements[0].place, Place::ComputeAt);
}

TEST(Rules, PoolWhoseWindowsOverlapStaysApart) {
  const Plan plan = plan_text(R"(graph apart (x: f32[1,8,16,16], w: f32[8,8,3,3]) -> (y) {
    conv: a: f32[1,8,16,16] = Conv(x, w) {pads=[1,1,1,1]}
    pool: y: f32[1,8,8,8] = MaxPool(a) {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]}
  })");
  EXPECT_EQ(kernels(plan), "direct_conv: conv*\npool: pool*\n");
}

TEST(Rules, OnlyOneConvolutionIsTiledWithThePool) {
  const Plan plan = plan_text(R"(graph two (x: f32[1,8,16,16], w: f32[8,8,1,1], v: f32[8,8,3,3]) -> (y) {
    first: a: f32[1,8,16,16] = Conv(x, w) {}
    second: b: f32[1,8,16,16] = Conv(a, v) {pads=[1,1,1,1]}
    pool: y: f32[1,8,8,8] = MaxPool(b) {kernel_shape=[2,2], strides=[2,2]}
  })");
  EXPECT_EQ(kernels(plan), "direct_conv: first*\nwindow_chain: second* pool\n");
}

TEST(Rules, NormalisationOverChannelsIsNoPoolOverPixels) {
  const Plan plan = plan_text(R"(graph lrn (x: f32[1,8,16,16], w: f32[8,8,3,3]) -> (y) {
    conv: a: f32[1,8,16,16] = Conv(x, w) {pads=[1,1,1,1]}
    lrn: y: f32[1,8,16,16] = LRN(a) {size=5}
  })");
  EXPECT_EQ(kernels(plan), "direct_conv: conv*\npool: lrn*\n");
}

TEST(Rules, SkipConnectionStoresTheSharedConvolution) {
  const Plan plan = plan_text(R"(graph skip (x: f32[1,8,16,16], w: f32[8,8,3,3], v: f32[8,8,3,3]) -> (y) {
    conv: a: f32[1,8,16,16] = Conv(x, w) {pads=[1,1,1,1]}
    branch: b: f32[1,8,16,16] = Conv(a, v) {pads=[1,1,1,1]}
    add: y: f32[1,8,16,16] = Add(a, b) {}
  })");
  EXPECT_EQ(kernels(plan), "direct_conv: conv*\ndirect_conv: branch* add\n");
  EXPECT_EQ(verdict(plan, "conv", "branch"), "apart (several consumers)");
  EXPECT_NE(why(plan, "conv", "branch").find("storing"), std::string::npos);
  EXPECT_NE(why(plan, "conv", "branch").find("recomputing"), std::string::npos);
}

TEST(Rules, GreedyFollowsTheRulesWithoutPrices) {
  const Plan plan = plan_text(R"(graph dear (x: f32[1,8,64,64]) -> (y) {
    erf: a: f32[1,8,64,64] = Erf(x) {}
    pool: y: f32[1,8,64,64] = MaxPool(a) {kernel_shape=[9,9], pads=[4,4,4,4]}
  })", "greedy");
  EXPECT_EQ(kernels(plan), "pool: erf pool*\n");
}

TEST(Rules, CheapSharedProducerIsRecomputedInEachReader) {
  const Plan plan = plan_text(R"(graph cheap (x: f32[64,256]) -> (y, z) {
    const two: f32[1] = {2}
    scale: a: f32[64,256] = Mul(x, two) {}
    exp: y: f32[64,256] = Exp(a) {}
    total: z: f32[64,1] = ReduceSum(a) {keepdims=1}
  })");
  EXPECT_EQ(kernels(plan), "pointwise: scale exp*\nreduce: scale total*\n");
  EXPECT_EQ(verdict(plan, "scale", "exp"), "fused (recompute)");
}

TEST(Rules, ValueReadTwiceInsideOfTheKernelIsNoObstacle) {
  const Plan plan = plan_text(R"(graph swish (x: f32[1,8,16,16], w: f32[8,8,3,3]) -> (y) {
    conv: a: f32[1,8,16,16] = Conv(x, w) {pads=[1,1,1,1]}
    sigmoid: b: f32[1,8,16,16] = Sigmoid(a) {}
    mul: y: f32[1,8,16,16] = Mul(a, b) {}
  })");
  EXPECT_EQ(kernels(plan), "direct_conv: conv* sigmoid mul\n");
}

TEST(Rules, OpaqueOperatorIsABarrierWithFusionOnBothSides) {
  const Plan plan = plan_text(R"(graph barrier (x: f32[4,64]) -> (y, i) {
    const k: i64[1] = {5}
    exp: a: f32[4,64] = Exp(x) {}
    neg: b: f32[4,64] = Neg(a) {}
    topk: c: f32[4,5], i: i64[4,5] = TopK(b, k) {}
    abs: d: f32[4,5] = Abs(c) {}
    sqrt: y: f32[4,5] = Sqrt(d) {}
  })");
  EXPECT_EQ(kernels(plan), "pointwise: exp neg*\nextern: topk*\npointwise: abs sqrt*\n");
  EXPECT_EQ(verdict(plan, "neg", "topk"), "apart (opaque barrier)");
  EXPECT_EQ(plan.groups[1].placements[0].place, Place::Extern);
}

TEST(Rules, ConcatIsWrittenInPlace) {
  const Plan plan = plan_text(R"(graph concat (x: f32[1,8,16,16], w: f32[16,8,1,1], v: f32[24,8,3,3]) -> (y) {
    left: a: f32[1,16,16,16] = Conv(x, w) {}
    right: b: f32[1,24,16,16] = Conv(x, v) {pads=[1,1,1,1]}
    join: c: f32[1,40,16,16] = Concat(a, b) {axis=1}
    relu: y: f32[1,40,16,16] = Relu(c) {}
  })");
  EXPECT_EQ(kernels(plan), "direct_conv: left*\ndirect_conv: right*\npointwise: relu*\n");
  EXPECT_EQ(verdict(plan, "left", "join"), "apart (view)");
}

TEST(Rules, TransposeBetweenPointwiseNodesIsComputedInTheirKernel) {
  const Plan plan = plan_text(R"(graph turned (x: f32[64,256]) -> (y) {
    exp: a: f32[64,256] = Exp(x) {}
    turn: b: f32[256,64] = Transpose(a) {perm=[1,0]}
    relu: y: f32[256,64] = Relu(b) {}
  })");
  EXPECT_EQ(kernels(plan), "pointwise: exp turn relu*\n");
  EXPECT_EQ(plan.fused.bytes, 2 * 4 * 64 * 256);
}

TEST(Rules, ModelOutputInTheMiddleIsStored) {
  const Plan plan = plan_text(R"(graph middle (x: f32[64,256]) -> (a, y) {
    exp: a: f32[64,256] = Exp(x) {}
    neg: y: f32[64,256] = Neg(a) {}
  })");
  EXPECT_EQ(kernels(plan), "pointwise: exp*\npointwise: neg*\n");
  EXPECT_EQ(verdict(plan, "exp", "neg"), "apart (model output)");
}

TEST(Rules, ApartIsSaidWithBothPrices) {
  // Recomputing the exponentials for each of 81 windows costs more than storing them.
  const Plan plan = plan_text(R"(graph dear (x: f32[1,8,64,64]) -> (y) {
    erf: a: f32[1,8,64,64] = Erf(x) {}
    pool: y: f32[1,8,64,64] = MaxPool(a) {kernel_shape=[9,9], pads=[4,4,4,4]}
  })");
  EXPECT_EQ(kernels(plan), "pointwise: erf*\npool: pool*\n");
  EXPECT_EQ(verdict(plan, "erf", "pool"), "apart (price)");
  EXPECT_NE(why(plan, "erf", "pool").find("apart is predicted to cost"), std::string::npos);
  EXPECT_NE(why(plan, "erf", "pool").find("as one kernel"), std::string::npos);
}

TEST(Rules, OfATableOnlyTheRowsGatheredAreRead) {
  const Plan plan = plan_text(R"(graph table (i: i64[4], t: f32[1000,16]) -> (y) {
    gather: y: f32[4,16] = Gather(t, i) {axis=0}
  })");
  EXPECT_EQ(plan.fused.bytes, 4 * 8 + 4 * 16 * 4 + 4 * 16 * 4);
}

TEST(Rules, PlannerNoneGivesOneKernelANode) {
  const Plan plan = plan_text(R"(graph none (x: f32[64,256]) -> (y) {
    exp: a: f32[64,256] = Exp(x) {}
    neg: y: f32[64,256] = Neg(a) {}
  })", "none");
  EXPECT_EQ(kernels(plan), "pointwise: exp*\npointwise: neg*\n");
}

}  // namespace
}  // namespace cryolite::plan
