#include "device/device.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/files.h"

namespace cryolite::device {
namespace {

namespace fs = std::filesystem;

/// A cache folder of the test's own, and the file of the host's figures in it.
class CacheFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("device-" + std::to_string(::getpid()));
    fs::create_directories(folder_ / "cryolite");
    ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("XDG_CACHE_HOME");
    fs::remove_all(folder_);
  }
  fs::path file() const { return folder_ / "cryolite" / "device-host.json"; }
  void keep(const std::string& text) const { std::ofstream(file()) << text; }
  fs::path folder_;
};

Device described() {
  Device device;
  device.name = "host";
  device.flops_per_second = 123e9;
  device.memory = {{"l1", 32 << 10, 300e9, 2}, {"memory", 0, 20e9, 1}};
  device.cores = 2;
  device.processor = processor_of_host();
  return device;
}

TEST(Device, SurvivesItsFile) {
  for (const std::string& name : {"h100", "h200", "a100", "rtx4090", "orin"}) {
    const Device device = load(name);
    const Device again = from_json(to_json(device), "test");
    EXPECT_EQ(to_json(again), to_json(device)) << name;
    EXPECT_TRUE(device.is_gpu);
    EXPECT_FALSE(device.source.empty()) << name;
  }
}

TEST(Device, FasterMemoryIsNearer) {
  for (const std::string& name : built_in_names()) {
    if (name == "host") continue;
    const Device device = load(name);
    for (size_t level = 1; level < device.memory.size(); ++level)
      EXPECT_GT(device.memory[level - 1].bytes_per_second, device.memory[level].bytes_per_second) << name;
  }
}

TEST(Device, RefusesWhatCannotBe) {
  const auto message = [](nlohmann::json change) {
    nlohmann::json json = to_json(described());
    json.update(change);
    try {
      from_json(json, "some.json");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message(nlohmann::json::object()), "accepted");
  EXPECT_NE(message({{"cores", 0}}).find("cores"), std::string::npos);
  EXPECT_NE(message({{"flops_per_second", 0}}).find("some.json"), std::string::npos);
  EXPECT_NE(message({{"memory", nlohmann::json::array()}}).find("memory"), std::string::npos);
  EXPECT_NE(message({{"launch_seconds", -1}}).find("launch_seconds"), std::string::npos);
}

TEST_F(CacheFolder, KeptFiguresCount) {
  keep(to_json(described()).dump());
  EXPECT_EQ(load("host").flops_per_second, 123e9);
}

TEST_F(CacheFolder, FiguresOfAnotherProcessorDoNot) {
  Device other = described();
  other.processor = "AuthenticAMD family 1 model 1 stepping 1, 2 cores";
  keep(to_json(other).dump());
  const Device host = load("host");
  EXPECT_NE(host.flops_per_second, 123e9);
  EXPECT_EQ(host.processor, processor_of_host());
  EXPECT_EQ(from_json(nlohmann::json::parse(read_file(file().string())), "").processor, host.processor);
}

TEST_F(CacheFolder, ADamagedFileIsMeasuredAnew) {
  keep("{\"name\": \"host\", ");
  const Device host = load("host");
  EXPECT_GT(host.flops_per_second, 1e9);
  ASSERT_GE(host.memory.size(), 2u);
  EXPECT_GT(host.memory.front().bytes_per_second, host.memory.back().bytes_per_second);
  EXPECT_EQ(host.memory.back().bytes, 0);
}

}  // namespace
}  // namespace cryolite::device
