#include <gtest/gtest.h>

#include "tests/plan/summary.h"

/// Reductions that meet in one kernel on GPUs, where blocks fill shared memory by computing.
namespace cryolite::plan {
namespace {

Plan plan_for(schedule::Machine::Kind kind, const std::string& text, int shared_memory_bytes = 48 << 10) {
  const graph::Graph graph = graph::parse_text(text);
  Options options;
  options.machine.kind = kind;
  options.machine.shared_memory_bytes = shared_memory_bytes;
  device::Device device = round_device();
  device.is_gpu = kind != schedule::Machine::Kind::Cpu;
  device.flops_per_second = 1e13;
  return make_plan(graph, graph, device, options);
}

std::string depthwise_then(const std::string& second) {
  return R"(graph chain (x: f32[1,32,28,28], w: f32[32,1,3,3], v: f32[64,32,1,1], u: f32[64,32,3,3]) -> (y) {
    depthwise: a: f32[1,32,28,28] = Conv(x, w) {pads=[1,1,1,1], group=32}
    relu: b: f32[1,32,28,28] = Relu(a) {}
    )" + second + "\n}";
}

const char* const pointwise = "pointwise: y: f32[1,64,28,28] = Conv(b, v) {}";

TEST(GpuRules, DepthwiseConvolutionFillsThePointwiseOne) {
  for (const auto kind : {schedule::Machine::Kind::Cuda, schedule::Machine::Kind::OpenCl, schedule::Machine::Kind::Vulkan}) {
    const Plan plan = plan_for(kind, depthwise_then(pointwise));
    EXPECT_EQ(kernels(plan), "direct_conv: depthwise relu pointwise*\n");
    EXPECT_EQ(plan.groups[0].placements[0].place, Place::ComputeAt);
    EXPECT_GE(plan.groups[0].placements[0].recompute, 1);  // once a block of channels
    EXPECT_EQ(plan.fused.bytes, 4 * (32 * 28 * 28 + 32 * 9 + 64 * 32 + 64 * 28 * 28));
  }
  EXPECT_EQ(kernels(plan_for(schedule::Machine::Kind::Cpu, depthwise_then(pointwise))),
            "depthwise: depthwise* relu\ndirect_conv: pointwise*\n");
}

TEST(GpuRules, WindowsThatOverlapWouldFillTooMuch) {
  const Plan plan =
      plan_for(schedule::Machine::Kind::Cuda, depthwise_then("second: y: f32[1,64,26,26] = Conv(b, u) {}"));
  EXPECT_EQ(kernels(plan), "depthwise: depthwise* relu\ndirect_conv: second*\n");
}

TEST(GpuRules, ChannelsOfADenseConvolutionAreTooManyForOneThread) {
  const Plan plan = plan_for(schedule::Machine::Kind::Cuda, R"(graph dense (x: f32[1,32,28,28], w: f32[32,32,3,3], v: f32[64,32,1,1]) -> (y) {
    dense: a: f32[1,32,28,28] = Conv(x, w) {pads=[1,1,1,1]}
    pointwise: y: f32[1,64,28,28] = Conv(a, v) {}
  })");
  EXPECT_EQ(kernels(plan), "direct_conv: dense*\ndirect_conv: pointwise*\n");
}

std::string attention_of(int keys, const std::string& outputs = "y") {
  return fmt::format(R"(graph heads (q: f32[4,128,32], k: f32[4,32,{0}], v: f32[4,{0},32]) -> ({1}) {{
    const quarter: f32[] = {{0.25}}
    scores: s: f32[4,128,{0}] = MatMul(q, k) {{}}
    scale: c: f32[4,128,{0}] = Mul(s, quarter) {{}}
    softmax: p: f32[4,128,{0}] = Softmax(c) {{axis=-1}}
    values: y: f32[4,128,32] = MatMul(p, v) {{}}
  }})", keys, outputs);
}

TEST(GpuRules, ScoresAreHeldFromTheFirstContractionToTheSecond) {
  const Plan plan = plan_for(schedule::Machine::Kind::Cuda, attention_of(128));
  EXPECT_EQ(kernels(plan), "attention: scores* scale softmax values\n");
  EXPECT_EQ(plan.groups[0].placements[0].place, Place::ComputeAt);
  EXPECT_EQ(plan.fused.bytes, 4 * 4 * 4 * 128 * 32);
}

TEST(GpuRules, ScoresThatDoNotFitSharedMemoryAreStored) {
  EXPECT_EQ(kernels(plan_for(schedule::Machine::Kind::Cuda, attention_of(4096))),
            "gemm: scores* scale\nrows: softmax*\ngemm: values*\n");
  EXPECT_EQ(kernels(plan_for(schedule::Machine::Kind::Cuda, attention_of(512), 16 << 10)),
            "gemm: scores* scale\nrows: softmax*\ngemm: values*\n");
}

TEST(GpuRules, RowsOfAContractionThatAreStoredAreNotHeld) {
  EXPECT_EQ(kernels(plan_for(schedule::Machine::Kind::Cuda, attention_of(128, "p, y"))),
            "gemm: scores* scale\nrows: softmax*\ngemm: values*\n");
}

}  // namespace
}  // namespace cryolite::plan
