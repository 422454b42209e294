#include "schedule/gpu.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>

#include "base/subprocess.h"
#include "emit/evaluate.h"
#include "emit/ptx_report.h"
#include "graph/text.h"
#include "lower/lowered_group.h"
#include "schedule/gpu_kernels.h"
#include "schedule/gpu_tiles.h"
#include "tests/schedule/gpu_groups.h"

namespace cryolite::schedule {
namespace {

using graph::Tensor;

std::vector<Tensor> random_inputs(const graph::Graph& group) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> values(-0.5f, 0.5f);
  std::vector<Tensor> inputs;
  for (graph::ValueId id : group.inputs) {
    const auto& type = group.value(id).type;
    std::vector<float> elements(type.elements());
    for (float& element : elements) element = values(random);
    if (type.element == graph::ElementType::Bool) {
      std::string bits(type.elements(), '\0');
      for (char& bit : bits) bit = static_cast<char>(random() % 2);
      inputs.push_back(Tensor::of_bytes(type, bits));
    } else {
      inputs.push_back(Tensor::of_floats(elements, type.dims));
    }
  }
  return inputs;
}

Machine machine_of_kind(Machine::Kind kind) {
  Machine machine;
  machine.kind = kind;
  return machine;
}

GroupSchedule schedule_of(const graph::Graph& group, Machine::Kind kind, const Parameters& parameters = {}) {
  const lower::LoweredGroup lowered = lower::lower(group);
  return gpu::make_schedule({group, lowered, group.nodes.front().name}, machine_of_kind(kind), parameters);
}

/// Runs the group scheduled for a device and unscheduled on the CPU; results must agree.
void expect_agreement(const graph::Graph& group, Machine::Kind kind, const std::string& target,
                      const Parameters& parameters = {}) {
  const GroupSchedule schedule = schedule_of(group, kind, parameters);
  const auto inputs = random_inputs(group);
  const auto expected = emit::run_group(group, inputs);
  const auto got = emit::run_group(group, inputs, &schedule, target);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t output = 0; output < got.size(); ++output)
    for (int64_t i = 0; i < expected[output].type.elements(); ++i) {
      const float want = expected[output].as<float>()[i], value = got[output].as<float>()[i];
      ASSERT_LE(std::abs(value - want), 1e-5f + 1e-4f * std::abs(want))
          << "output " << output << " element " << i << " is " << value << ", not " << want << "\n"
          << to_text(schedule);
    }
}

class GpuGroups : public testing::TestWithParam<test::GroupCase> {};

std::string case_name(const testing::TestParamInfo<test::GroupCase>& info) { return info.param.name; }

TEST_P(GpuGroups, AgreeWithTheCpuOnOpenCl) {
  expect_agreement(graph::parse_text(GetParam().text), Machine::Kind::OpenCl, "host-opencl");
}

TEST_P(GpuGroups, AgreeWithTheCpuOnVulkan) {
  // Halide 21's Vulkan allocator hands out too few bytes on devices that align buffers to more than 32 bytes.
  setenv("HL_VK_ALLOC_CONFIG", "0:16:0:0:256", 1);
  expect_agreement(graph::parse_text(GetParam().text), Machine::Kind::Vulkan,
                   "host-vulkan-vk_int8-vk_int16-vk_int64-vk_float64");
  // Memory that it hands out a second time falls short again, so that each test starts anew.
  Halide::Internal::JITSharedRuntime::release_all();
}

TEST_P(GpuGroups, ReadBackFromTextAreTheSame) {
  const GroupSchedule schedule = schedule_of(graph::parse_text(GetParam().text), Machine::Kind::Cuda);
  const auto parsed = parse_text(to_text(schedule), "gpu.schedule");
  ASSERT_EQ(parsed.size(), 1u);
  EXPECT_EQ(to_text(parsed[0]), to_text(schedule));
}

/// Compiles a group to PTX and asks ptxas whether it needs more registers than a thread has.
void expect_no_spill(const test::GroupCase& wanted) {
  if (emit::find_ptxas().empty()) GTEST_SKIP() << "there is no ptxas on this machine";
  const graph::Graph group = graph::parse_text(wanted.text);
  lower::LoweredGroup lowered = lower::lower(group);
  apply(schedule_of(group, Machine::Kind::Cuda), lowered);
  std::vector<Halide::Func> outputs;
  for (int output : lowered.outputs) outputs.push_back(lowered.stages[output].laid.func);
  const std::vector<Halide::Argument> arguments(lowered.inputs.begin(), lowered.inputs.end());
  const std::string file = testing::TempDir() + "/" + std::to_string(getpid()) + "_" + wanted.name + ".ptx";
  Halide::Pipeline(outputs).compile_to({{Halide::OutputFileType::device_code, file}}, arguments, "kernel",
                                       Halide::Target("x86-64-linux-cuda-cuda_capability_80-no_runtime"));
  for (const char* architecture : {"sm_80", "sm_90"}) {
    emit::PtxOptions options;
    options.architecture = architecture;
    const emit::PtxReport report = emit::report_ptx(file, options);
    EXPECT_FALSE(report.kernels.empty());
    EXPECT_EQ(report.spilled_bytes(), 0) << to_json(report).dump(1);
  }
}

TEST_P(GpuGroups, SpillNothingOnCuda) { expect_no_spill(GetParam()); }

class LargeGpuGroups : public testing::TestWithParam<test::GroupCase> {};

TEST_P(LargeGpuGroups, SpillNothingOnCuda) { expect_no_spill(GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, LargeGpuGroups, testing::ValuesIn(test::large_cases()), case_name);

INSTANTIATE_TEST_SUITE_P(All, GpuGroups, testing::ValuesIn(test::all_cases()), case_name);

// A kernel of several chunks is left out: Halide ends its loop with barrier(0), which orders the threads but, to
// oclgrind, not their memory, although every value read has been used before the barrier.
TEST(GpuRaces, ThereAreNoneInAnyStrategy) {
  const Finished known = run({{"oclgrind", "--version"}});
  if (!known.is_well()) GTEST_SKIP() << "there is no oclgrind on this machine";
  const std::string tiny =
      "All/GpuGroups.AgreeWithTheCpuOnOpenCl/conv_primes:All/GpuGroups.AgreeWithTheCpuOnOpenCl/conv_valid:"
      "All/GpuGroups.AgreeWithTheCpuOnOpenCl/conv_depthwise:All/GpuGroups.AgreeWithTheCpuOnOpenCl/matmul_batch:"
      "All/GpuGroups.AgreeWithTheCpuOnOpenCl/matmul_row:All/GpuGroups.AgreeWithTheCpuOnOpenCl/reduce_rows:"
      "All/GpuGroups.AgreeWithTheCpuOnOpenCl/reduce_columns:All/GpuGroups.AgreeWithTheCpuOnOpenCl/global_pool:"
      "All/GpuGroups.AgreeWithTheCpuOnOpenCl/softmax_rows:All/GpuGroups.AgreeWithTheCpuOnOpenCl/softmax_channels:"
      "All/GpuGroups.AgreeWithTheCpuOnOpenCl/max_pool:All/GpuGroups.AgreeWithTheCpuOnOpenCl/layer_norm:"
      "All/GpuGroups.AgreeWithTheCpuOnOpenCl/conv_pool:All/GpuGroups.AgreeWithTheCpuOnOpenCl/matmul_softmax:"
      "All/GpuGroups.AgreeWithTheCpuOnOpenCl/transposed_conv:All/GpuGroups.AgreeWithTheCpuOnOpenCl/matrix";
  char self[4096] = {};
  ASSERT_GT(readlink("/proc/self/exe", self, sizeof self - 1), 0);
  const Finished finished = run({{"oclgrind", "--data-races", self, "--gtest_filter=" + tiny}});
  EXPECT_TRUE(finished.is_well()) << finished.describe() << "\n" << finished.output.substr(0, 4000);
  EXPECT_NE(finished.output.find("16 tests"), std::string::npos) << finished.output.substr(0, 4000);
  for (const char* fault : {"data race", "Invalid read", "Invalid write", "divergence"})
    EXPECT_EQ(finished.output.find(fault), std::string::npos)
        << finished.output.substr(finished.output.find(fault) - 40, 1200);
}

std::string role_of(const gpu::Kernels& kernels, const std::string& stage) {
  for (const auto& info : kernels.stages) {
    if (info.name() != stage) continue;
    const std::string names[] = {"inline", "root", "thread", "row", "tile", "staged", "held"};
    return names[static_cast<int>(info.role)];
  }
  return "absent";
}

TEST(GpuKernels, ReductionsGoWhereTheirReadersCanReachThem) {
  const auto cut = [](const std::string& wanted) {
    for (const auto& group : test::all_cases())
      if (group.name == wanted) {
        const graph::Graph graph = graph::parse_text(group.text);
        static std::vector<lower::LoweredGroup> kept;
        kept.push_back(lower::lower(graph));
        return gpu::kernels_of(graph, kept.back(), machine_of_kind(Machine::Kind::Cuda));
      }
    throw std::runtime_error("no case " + wanted);
  };
  const auto conv = cut("conv_3x3");
  EXPECT_EQ(conv.kernels.size(), 1u);
  EXPECT_EQ(role_of(conv, "c_sum"), "thread");
  EXPECT_EQ(role_of(conv, "c"), "inline");
  const auto softmax = cut("softmax_rows");
  EXPECT_EQ(softmax.kernels.size(), 1u);
  EXPECT_EQ(role_of(softmax, "y_max"), "row");
  EXPECT_EQ(role_of(softmax, "y_sum"), "row");
  const auto both = cut("matmul_softmax");
  EXPECT_EQ(both.kernels.size(), 2u);
  EXPECT_EQ(role_of(both, "c"), "root");
  EXPECT_EQ(role_of(both, "c_sum"), "thread");
  const auto overlapping = cut("conv_overlapping_pool");
  EXPECT_EQ(role_of(overlapping, "c"), "root");
  EXPECT_EQ(role_of(overlapping, "y_max"), "thread");
}

int kernels_of_case(const std::string& wanted, int shared_memory_bytes = 48 << 10) {
  for (const auto& group : test::all_cases())
    if (group.name == wanted) {
      const graph::Graph graph = graph::parse_text(group.text);
      Machine machine = machine_of_kind(Machine::Kind::Cuda);
      machine.shared_memory_bytes = shared_memory_bytes;
      return static_cast<int>(gpu::kernels_of(graph, lower::lower(graph), machine).kernels.size());
    }
  throw std::runtime_error("no case " + wanted);
}

TEST(GpuKernels, OperandsThatAreReductionsAreComputedInsideTheContraction) {
  for (const char* name : {"depthwise_pointwise", "depthwise_pointwise_strides", "depthwise_pointwise_row_major", "conv_conv"})
    EXPECT_EQ(kernels_of_case(name), 1) << name;
}

TEST(GpuKernels, RowsOfScoresAreHeldInSharedMemoryWhereTheyFit) {
  for (const char* name : {"attention", "attention_of_matrices", "attention_small_operators", "attention_heads_inside", "attention_of_chunks"}) {
    EXPECT_EQ(kernels_of_case(name), 1) << name;
    EXPECT_GT(kernels_of_case(name, 8 << 10), 1) << name;
  }
  EXPECT_EQ(kernels_of_case("softmax_matmul"), 1);
  EXPECT_EQ(kernels_of_case("layer_norm_matmul"), 1);
}

TEST(GpuTiles, FitForEveryShape) {
  const Machine machine = machine_of_kind(Machine::Kind::Cuda);
  for (int64_t columns : {1, 2, 3, 7, 64, 255, 1000})
    for (int64_t rows : {1, 5, 13, 56, 224})
      for (int64_t depth : {1, 3, 61, 64, 2048})
        for (int64_t window : {1, 3, 11}) {
          const gpu::Contraction c{.columns = columns, .rows = rows, .lines = rows, .depth = depth,
                                   .taps = window * window, .row_span = window, .line_span = window,
                                   .stages_rows = true};
          const gpu::Tile tile = gpu::choose_tile(c, machine, {});
          EXPECT_LE(tile.columns(), columns);
          EXPECT_LE(tile.rows(), rows);
          EXPECT_LE(tile.lines(), rows);
          EXPECT_EQ(depth % tile.chunk, 0);
          EXPECT_EQ(tile.chunk % tile.unroll, 0);
          EXPECT_LE(gpu::shared_bytes(c, tile), machine.shared_memory_bytes);
          EXPECT_LE(tile.threads(), 256);
        }
}

TEST(GpuTiles, ParametersFixThemWithinWhatFits) {
  const graph::Graph group = graph::parse_text(test::conv_text("conv", {.ci = 32, .y = 16, .x = 16, .co = 32}));
  const Parameters parameters{{"column_registers", 4}, {"row_registers", 2},  {"line_registers", 1},
                              {"column_threads", 8},   {"row_threads", 4},    {"line_threads", 4},
                              {"chunk", 8},            {"unroll", 2}};
  expect_agreement(group, Machine::Kind::OpenCl, "host-opencl", parameters);
  const std::string text = to_text(schedule_of(group, Machine::Kind::OpenCl, parameters));
  EXPECT_NE(text.find("split(c, c_b, c_i, 32, ShiftInwards)"), std::string::npos) << text;
  EXPECT_NE(text.find("split(x, x_b, x_i, 8, ShiftInwards)"), std::string::npos) << text;
  EXPECT_NE(text.find("split(r.x, rxo, rxi, 8)"), std::string::npos) << text;
  expect_agreement(group, Machine::Kind::OpenCl, "host-opencl", {{"column_registers", 1000}, {"chunk", 7}});
}

TEST(GpuSchedule, IsReadAtSight) {
  const graph::Graph group = graph::parse_text(test::conv_text(
      "conv", {.ci = 32, .y = 16, .x = 16, .co = 32}));
  const GroupSchedule schedule =
      schedule_of(group, Machine::Kind::Cuda,
                  {{"column_registers", 4}, {"row_registers", 2}, {"line_registers", 1}, {"column_threads", 8},
                   {"row_threads", 4}, {"line_threads", 4}, {"chunk", 16}, {"unroll", 1}});
  EXPECT_EQ(to_text(schedule),
            R"(group conv
y.compute_root().split(c, c_b, c_i, 32, ShiftInwards).split(c_i, c_t, c_v, 4).split(x, x_b, x_i, 8, ShiftInwards).split(x_i, x_t, x_v, 2).split(y, y_b, y_i, 4, ShiftInwards).split(y_i, y_t, y_v, 1).reorder(c_v, x_v, y_v, c_t, x_t, y_t, c_b, x_b, y_b, n).vectorize(c_v).unroll(x_v).unroll(y_v).fuse(c_t, x_t, thread1).fuse(thread1, y_t, thread).gpu_threads(thread).fuse(y_b, n, block).gpu_blocks(c_b, x_b, block)
c_sum.compute_at(y, c_b).split(c, c_t, c_v, 4).split(x, x_t, x_v, 2).split(y, y_t, y_v, 1).reorder(c_v, x_v, y_v, c_t, x_t, y_t).vectorize(c_v).unroll(x_v).unroll(y_v).fuse(c_t, x_t, thread1).fuse(thread1, y_t, thread).gpu_threads(thread).update(0).split(r.x, rxo, rxi, 16).rfactor(rxo, u, c_sum_partial).split(c, c_t, c_v, 4).split(x, x_t, x_v, 2).split(y, y_t, y_v, 1).reorder(c_v, x_v, y_v, c_t, x_t, y_t, rxo).vectorize(c_v).unroll(x_v).unroll(y_v).fuse(c_t, x_t, thread1).fuse(thread1, y_t, thread).gpu_threads(thread)
c_sum_partial.compute_at(c_sum, thread).vectorize(c).unroll(x).unroll(y).update(0).reorder(c, x, y, rxi, r.y, r.z).vectorize(c).unroll(x).unroll(y)
c_padded.compute_at(c_sum, rxo).fuse(c, x, element1).fuse(element1, y, element2).fuse(element2, n, element).split(element, step, thread, 128, GuardWithIf).gpu_threads(thread)
)");
}

}  // namespace
}  // namespace cryolite::schedule
