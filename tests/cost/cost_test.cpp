#include "cost/cost.h"

#include <gtest/gtest.h>

#include "graph/text.h"
#include "tests/emit/support.h"

namespace cryolite::cost {
namespace {

/// 100 GFLOP/s on 2 cores; 1 MB of cache at 50 GB/s, memory at 10 GB/s; waking a kernel takes 1 us.
device::Device small_cpu() {
  device::Device device;
  device.name = "small";
  device.flops_per_second = 100e9;
  device.cores = 2;
  device.launch_seconds = 1e-6;
  device.memory = {{"l1", 32 << 10, 200e9, 2}, {"l2", 512 << 10, 50e9, 2}, {"memory", 0, 10e9, 1}};
  return device;
}

const char* const convolution = R"(graph g (x: f32[1,64,56,56], w: f32[64,64,3,3], b: f32[64]) -> (y) {
  conv: c: f32[1,64,56,56] = Conv(x, w, b) {pads=[1,1,1,1]}
  relu: y: f32[1,64,56,56] = Relu(c)
})";

TEST(Cost, CountsFlopsAndBytesByHand) {
  const graph::Graph graph = graph::parse_text(convolution);
  const int64_t pixels = 56 * 56, image = 4 * 64 * pixels;
  EXPECT_EQ(flops_of(graph, 0), 64 * pixels * (2 * 64 * 9 + 1));
  const Cost apart = of_node(graph, 0, small_cpu());
  EXPECT_EQ(apart.bytes_read, image + 4 * 64 * 64 * 9 + 4 * 64);
  EXPECT_EQ(apart.bytes_written, image);
  EXPECT_EQ(of_node(graph, 1, small_cpu()).bytes(), 2 * image);
}

TEST(Cost, AFusedKernelSavesTheValueBetween) {
  const graph::Graph graph = graph::parse_text(convolution);
  const graph::ValueId w = graph.nodes[0].inputs[1], b = graph.nodes[0].inputs[2];
  const Cost fused = of_kernel(graph, {0, 1}, {graph.inputs[0], w, b}, graph.outputs, small_cpu());
  const Cost conv = of_node(graph, 0, small_cpu()), relu = of_node(graph, 1, small_cpu());
  EXPECT_EQ(conv.bytes() + relu.bytes() - fused.bytes(), 2 * 4 * 64 * 56 * 56);
  EXPECT_EQ(fused.flops, conv.flops + relu.flops);
  EXPECT_LT(fused.seconds, conv.seconds + relu.seconds);
}

TEST(Cost, RecomputingCostsArithmetic) {
  const graph::Graph graph = graph::parse_text(convolution);
  const Cost once = of_kernel(graph, {0, 1}, {graph.inputs[0]}, graph.outputs, small_cpu(), {1, 1});
  const Cost twice = of_kernel(graph, {0, 1}, {graph.inputs[0]}, graph.outputs, small_cpu(), {2, 1});
  EXPECT_EQ(twice.flops - once.flops, flops_of(graph, 0));
  EXPECT_GT(twice.seconds, once.seconds);
}

TEST(Cost, ValuesTravelThroughTheNearestMemoryThatHoldsThemTwice) {
  EXPECT_DOUBLE_EQ(transfer_seconds(100 << 10, small_cpu()), (100 << 10) / 50e9);
  EXPECT_DOUBLE_EQ(transfer_seconds(600 << 10, small_cpu()), (600 << 10) / 10e9);
}

TEST(Cost, SmallKernelsWakeNobody) {
  const device::Device device = small_cpu();
  EXPECT_LT(kernel_seconds(1e-8, 1e-9, device), device.launch_seconds);
  EXPECT_DOUBLE_EQ(kernel_seconds(1e-3, 1e-4, device), 1e-3 + device.launch_seconds);
  EXPECT_DOUBLE_EQ(kernel_seconds(1e-4, 1e-3, device), 1e-3 + device.launch_seconds);
}

/// Where a relu may go behind one convolution or in front of the next, it is cheaper behind: in front, the data of
/// the next are written and read once more, if only near.
TEST(Cost, DataComputedInAConvolutionsKernelAreKept) {
  const graph::Graph graph = graph::parse_text(R"(graph g (x: f32[1,8,9,9], w: f32[8,8,1,1]) -> (y) {
  relu: r: f32[1,8,9,9] = Relu(x)
  conv: y: f32[1,8,9,9] = Conv(r, w)
})");
  const device::Device device = small_cpu();
  EXPECT_DOUBLE_EQ(kept_data_seconds(graph, graph.nodes[1], device), 2.0 * 4 * 8 * 81 / 50e9);
  EXPECT_EQ(kept_data_seconds(graph, graph.nodes[0], device), 0);
  device::Device gpu = device;
  gpu.is_gpu = true;
  EXPECT_EQ(kept_data_seconds(graph, graph.nodes[1], gpu), 0);
}

/// A table that is only gathered from is not read as a whole.
TEST(Cost, GatheringReadsWhatItTakes) {
  const graph::Graph graph = graph::parse_text(R"(graph g (t: f32[1000,16], i: i64[3]) -> (y) {
  take: y: f32[3,16] = Gather(t, i)
})");
  EXPECT_EQ(bytes_read_of(graph, {0}, graph.inputs[0]), 4 * 3 * 16);
  EXPECT_EQ(bytes_read_of(graph, {0}, graph.inputs[1]), 8 * 3);
}

}  // namespace
}  // namespace cryolite::cost
