#include "emit/ptx_report.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace cryolite::emit {
namespace {

// Printed by ptxas 13.0 for two kernels that Halide 21 emitted, one of them too large for 64 registers.
constexpr const char* real_output = R"(
ptxas info    : Overriding maximum register limit 256 for '_kernel_out_s0_y_v11_v15_block_id_z' with  64 of maxrregcount option
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_kernel_out_s0_y_v11_v15_block_id_z' for 'sm_90'
ptxas info    : Function properties for _kernel_out_s0_y_v11_v15_block_id_z
    40 bytes stack frame, 64 bytes spill stores, 68 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 40 bytes cumulative stack size
ptxas info    : Compile time = 30.907 ms
ptxas info    : Compiling entry function '_kernel_pool' for 'sm_90'
ptxas info    : Function properties for _kernel_pool
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 31 registers, used 0 barriers, 2048 bytes smem
ptxas info    : Compile time = 4.1 ms
)";

constexpr const char* small_ptx = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry twice(.param .u64 data)
{
  .reg .f32 %f<3>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [data];
  cvta.to.global.u64 %rd2, %rd1;
  ld.global.f32 %f1, [%rd2];
  add.f32 %f2, %f1, %f1;
  st.global.f32 [%rd2], %f2;
  ret;
}
)";

std::string file_with(const std::string& text, const std::string& name) {
  const auto path = std::filesystem::temp_directory_path() / (std::to_string(getpid()) + name);
  std::ofstream(path) << text;
  return path.string();
}

TEST(PtxReport, ReadsWhatPtxasPrints) {
  const PtxReport report = parse_ptxas(real_output, {});
  ASSERT_EQ(report.kernels.size(), 2u);
  EXPECT_EQ(report.kernels[0].name, "_kernel_out_s0_y_v11_v15_block_id_z");
  EXPECT_EQ(report.kernels[0].registers, 64);
  EXPECT_EQ(report.kernels[0].stack_bytes, 40);
  EXPECT_EQ(report.kernels[0].spill_store_bytes, 64);
  EXPECT_EQ(report.kernels[0].spill_load_bytes, 68);
  EXPECT_EQ(report.kernels[1].name, "_kernel_pool");
  EXPECT_EQ(report.kernels[1].registers, 31);
  EXPECT_EQ(report.kernels[1].shared_bytes, 2048);
  EXPECT_EQ(report.kernels[1].spill_store_bytes, 0);
  EXPECT_EQ(report.spilled_bytes(), 132);
}

TEST(PtxReport, LaunchesGiveThreadsSharedMemoryAndOccupancy) {
  PtxOptions options;
  options.launches["_kernel_out_s0_y_v11_v15_block_id_z"] = {256, 20 << 10};
  const PtxReport report = parse_ptxas(real_output, options);
  EXPECT_EQ(report.kernels[0].threads, 256);
  EXPECT_EQ(report.kernels[0].shared_bytes, 20 << 10);
  // 65536 registers / (64 x 256) = 4 blocks; shared memory would let 10 in, threads 8.
  EXPECT_DOUBLE_EQ(report.kernels[0].occupancy, 0.5);
  EXPECT_EQ(report.kernels[0].limited_by, "registers");
  EXPECT_EQ(report.kernels[1].threads, 0);
  EXPECT_EQ(report.kernels[1].limited_by, "");
}

TEST(PtxReport, OccupancyKnowsEveryLimit) {
  const auto limit = [](int registers, int64_t threads, int64_t shared) {
    KernelResources kernel{.name = "k", .registers = registers, .shared_bytes = shared, .threads = threads};
    add_occupancy(kernel, {});
    return std::pair{kernel.occupancy, kernel.limited_by};
  };
  EXPECT_EQ(limit(32, 1024, 0), (std::pair{1.0, std::string("threads")}));
  EXPECT_EQ(limit(16, 32, 0), (std::pair{0.5, std::string("blocks")}));
  EXPECT_EQ(limit(32, 128, 45 << 10), (std::pair{4 * 128 / 2048.0, std::string("shared memory")}));
  // A block of 33 threads takes two warps.
  EXPECT_EQ(limit(32, 33, 0).first, 1.0);
  // 33 registers a thread are handed out as 40: 65536 / (40 x 32) = 51 warps, 51 blocks of one, of which 32 fit.
  EXPECT_EQ(limit(33, 256, 0), (std::pair{6 * 256 / 2048.0, std::string("registers")}));
}

TEST(PtxReport, JsonTellsWhatIsNotKnown) {
  PtxOptions options;
  options.launches["_kernel_pool"] = {128, 0};
  const nlohmann::json json = to_json(parse_ptxas(real_output, options));
  EXPECT_EQ(json["architecture"], "sm_90");
  EXPECT_EQ(json["kernels"][0]["spill_bytes"], 132);
  EXPECT_TRUE(json["kernels"][0]["occupancy"].is_null());
  EXPECT_EQ(json["kernels"][1]["threads"], 128);
  EXPECT_DOUBLE_EQ(json["kernels"][1]["occupancy"], 1.0);
}

TEST(PtxReport, RunsPtxas) {
  if (find_ptxas().empty()) GTEST_SKIP() << "there is no ptxas on this machine";
  for (const char* architecture : {"sm_80", "sm_90"}) {
    PtxOptions options;
    options.architecture = architecture;
    const PtxReport report = report_ptx(file_with(small_ptx, "twice.ptx"), options);
    ASSERT_EQ(report.kernels.size(), 1u);
    EXPECT_EQ(report.kernels[0].name, "twice");
    EXPECT_GT(report.kernels[0].registers, 0);
    EXPECT_EQ(report.spilled_bytes(), 0);
  }
}

TEST(PtxReport, PassesOnWhatPtxasComplainsOf) {
  if (find_ptxas().empty()) GTEST_SKIP() << "there is no ptxas on this machine";
  try {
    report_ptx(file_with("this is not PTX", "bad.ptx"));
    FAIL() << "ptxas took text that is not PTX";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("fatal"), std::string::npos) << error.what();
    EXPECT_NE(error.where().file.find("bad.ptx"), std::string::npos);
  }
}

TEST(PtxReport, ANamedPtxasThatIsNotThereIsMissing) {
  setenv("CRYOLITE_PTXAS", "/nowhere/ptxas", 1);
  EXPECT_EQ(find_ptxas(), "");
  EXPECT_THROW(report_ptx("x.ptx"), Error);
  unsetenv("CRYOLITE_PTXAS");
}

}  // namespace
}  // namespace cryolite::emit
