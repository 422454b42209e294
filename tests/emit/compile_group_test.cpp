#include "emit/compile_group.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "emit/canonical.h"
#include "emit/pack.h"
#include "emit/target.h"
#include "graph/elements.h"
#include "tests/emit/support.h"

namespace cryolite::emit {
namespace {

// Two stages of 64 KiB: more than Halide puts on the stack.
const char two_stages[] = R"(graph g (v0: f32[4,64,64]) -> (v2) {
  n0: v1: f32[4,64,64] = Exp(v0)
  n1: v2: f32[4,64,64] = Add(v1, v1)
})";

KernelInfo compiled(const std::string& graph, const std::string& schedule, const std::string& target = "host") {
  const TemporaryFolder folder;
  compile_group({graph, schedule, target, "kernel", folder.file("result")});
  EXPECT_FALSE(read_file(folder.file("result.o")).empty());
  return kernel_info_of(read_file(folder.file("result.json")));
}

TEST(CompileGroup, TellsTheHeapMemoryOfAKernel) {
  const KernelInfo info = compiled(two_stages, "group g\nv1.compute_root()\n");
  ASSERT_EQ(info.scratch.size(), 1u);
  EXPECT_GE(info.scratch[0].bytes, 4 * 64 * 64 * 4);
  EXPECT_LT(info.scratch[0].bytes, 4 * 64 * 64 * 4 + 1024);
  EXPECT_FALSE(info.scratch[0].in_parallel);
  EXPECT_FALSE(info.touches_host);
  EXPECT_TRUE(info.device_kernels.empty());
}

TEST(CompileGroup, TellsWhatEachThreadAsksFor) {
  // A rank-3 value's loops are x, c, n: a plane of 64x64 is computed inside each iteration of n.
  const KernelInfo info = compiled(two_stages, "group g\nv2.parallel(n)\nv1.compute_at(v2, n).store_in(Heap)\n");
  ASSERT_EQ(info.scratch.size(), 1u);
  EXPECT_GE(info.scratch[0].bytes, 64 * 64 * 4);
  EXPECT_LT(info.scratch[0].bytes, 64 * 64 * 4 + 1024);
  EXPECT_TRUE(info.scratch[0].in_parallel);
}

TEST(CompileGroup, AsksForNothingWhereStagesAreInlined) {
  EXPECT_TRUE(compiled(two_stages, "group g\n").scratch.empty());
}

TEST(CompileGroup, TellsTheLaunchesOfADevice) {
  const KernelInfo info = compiled(
      two_stages, "group g\nv2.split(x, x_block, x_thread, 32).gpu_blocks(x_block, c, n).gpu_threads(x_thread)\n",
      "cuda");
  ASSERT_EQ(info.device_kernels.size(), 1u);
  EXPECT_EQ(info.device_kernels[0].blocks, (std::array<int64_t, 3>{2, 64, 4}));
  EXPECT_EQ(info.device_kernels[0].threads, (std::array<int64_t, 3>{32, 1, 1}));
  EXPECT_EQ(info.device_kernels[0].shared_bytes, 0);
  EXPECT_FALSE(info.touches_host);
}

TEST(CompileGroup, SeesThatAKernelOfADeviceTouchesTheHost) {
  const char* blocks = "v2.split(x, x_block, x_thread, 32).gpu_blocks(x_block, c, n).gpu_threads(x_thread)\n";
  EXPECT_FALSE(compiled(two_stages, std::string("group g\n") + blocks, "opencl").touches_host);
  EXPECT_TRUE(compiled(two_stages, "group g\n", "opencl").touches_host);
}

TEST(CompileGroup, RefusesAScheduleThatDoesNotFit) {
  EXPECT_THROW(compiled(two_stages, "group g\nv9.compute_root()\n"), Error);
  EXPECT_THROW(compiled("not a graph", ""), Error);
  EXPECT_THROW(compile_group_job("/no/such/job"), Error);
}

TEST(KernelInfo, ReadsWhatItWrites) {
  KernelInfo info;
  info.scratch = {{128, true}, {64, false}};
  info.touches_host = true;
  info.device_kernels = {{"k", {1, 2, 3}, {4, 5, 6}, 7}};
  const KernelInfo read = kernel_info_of(to_json(info));
  EXPECT_EQ(read.scratch, info.scratch);
  EXPECT_TRUE(read.touches_host);
  EXPECT_EQ(read.device_kernels[0].threads, info.device_kernels[0].threads);
  EXPECT_THROW(kernel_info_of("{}"), Error);
  EXPECT_THROW(kernel_info_of("…"), Error);
}

TEST(Canonical, GivesEqualGroupsEqualText) {
  const auto text = [](const std::string& graph, const std::string& schedule) {
    const CanonicalGroup same = canonical(graph::parse_text(graph), schedule::parse_text(schedule, "s").front());
    return graph::to_text(same.graph) + schedule::to_text(same.schedule);
  };
  // A node may be called as a loop is: only the Func is renamed.
  EXPECT_EQ(text(R"(graph a (x: f32[4,8]) -> (c) {
                   e: t: f32[4,8] = Exp(x)
                   m: c: f32[4,8] = Neg(t)
                 })",
                 "group m\nc.vectorize(c, 4)\nt.compute_at(c, n)\n"),
            text(R"(graph b (in: f32[4,8]) -> (out) {
                   "node 1": first: f32[4,8] = Exp(in)
                   "node 2": out: f32[4,8] = Neg(first)
                 })",
                 "group out\nout.vectorize(c, 4)\nfirst.compute_at(out, n)\n"));
}

TEST(Pack, FillsBlocksWithZeros) {
  graph::Value value{"w", {graph::ElementType::Int16, {3, 2}}, {}, {}};
  value.layout.order = {0, 1};
  value.layout.block_axis = 0;
  value.layout.block = 2;
  const std::vector<int16_t> elements = {1, 2, 3, 4, 5, 6};
  value.constant = graph::Tensor::of_bytes(
      value.type, std::string(reinterpret_cast<const char*>(elements.data()), 2 * elements.size()));
  const std::string bytes = packed(value);
  const auto* stored = reinterpret_cast<const int16_t*>(bytes.data());
  // (blocks of rows, columns, row inside a block)
  EXPECT_EQ(std::vector<int16_t>(stored, stored + bytes.size() / 2),
            (std::vector<int16_t>{1, 3, 2, 4, 5, 0, 6, 0}));
}

TEST(Pack, StoresEqualConstantsOnce) {
  graph::Graph graph = graph::parse_text(R"(graph g (x: f32[2]) -> (y) {
    const a: f32[2] = {1, 2}
    const b: f32[2] = {1, 2}
    const c: f32[2] @[0]/(2) = {1, 2}
    sum: y: f32[2] = Sum(x, a, b, c)
  })");
  const TemporaryFolder folder;
  const WeightBlock block = write_weights(graph, {1, 2, 3}, folder.file("weights"));
  EXPECT_EQ(block.offsets.at(1), block.offsets.at(2));
  EXPECT_NE(block.offsets.at(1), block.offsets.at(3));
  EXPECT_EQ(block.offsets.at(3) % 64, 0);
  const std::string file = read_file(folder.file("weights"));
  EXPECT_EQ(static_cast<int64_t>(file.size()), weights_header_bytes + block.bytes);
  const auto* strided = reinterpret_cast<const float*>(file.data() + weights_header_bytes + block.offsets.at(3));
  EXPECT_EQ(strided[0], 1);
  EXPECT_EQ(strided[1], 0);
  EXPECT_EQ(strided[2], 2);
}

TEST(Target, KnowsShortNamesAndRefusesOthers) {
  EXPECT_EQ(device_api("host"), "");
  EXPECT_EQ(device_api("cuda"), "cuda");
  EXPECT_EQ(device_api("x86-64-linux-avx2-fma-opencl"), "opencl");
  EXPECT_NE(target_string("cuda").find("cuda_capability_80"), std::string::npos);
  EXPECT_THROW(target_string("z80"), Error);
  EXPECT_THROW(target_string("x86-64-windows"), Error);
}

}  // namespace
}  // namespace cryolite::emit
