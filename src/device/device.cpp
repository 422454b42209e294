#include "device/device.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/files.h"

namespace cryolite::device {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double giga = 1e9, tera = 1e12;

/// Figures of the makers' data sheets; shared-memory and L2 rates are the makers' bytes a clock times the boost
/// clock, or the published microbenchmarks named in `source`. Launch: one kernel in a stream, back to back.
std::vector<Device> make_built_in() {
  const auto gpu = [](std::string name, int multiprocessors, double teraflops, double memory_gb, double l2_mb,
                      double l2_gb, int shared_kb, double clock_ghz, int max_threads, int max_blocks,
                      std::string source) {
    Device d;
    d.name = std::move(name);
    d.is_gpu = true;
    d.flops_per_second = teraflops * tera;
    const double shared_rate = multiprocessors * 128.0 * clock_ghz * giga;  // 128 bytes a clock each
    d.memory = {{"shared", int64_t{shared_kb} * 1024, shared_rate, multiprocessors},
                {"l2", static_cast<int64_t>(l2_mb * 1e6), l2_gb * giga, 1},
                {"memory", 0, memory_gb * giga, 1}};
    d.launch_seconds = 2e-6;
    d.cores = multiprocessors;
    d.registers_per_core = 65536;
    d.max_threads_per_core = max_threads;
    d.max_blocks_per_core = max_blocks;
    d.shared_bytes_per_core = shared_kb * 1024;
    d.source = std::move(source);
    return d;
  };
  return {
      gpu("a100", 108, 19.5, 1555, 40, 5120, 164, 1.41, 2048, 32,
          "NVIDIA A100 40GB data sheet; A100 architecture white paper (L2 5120 B/clk)"),
      gpu("h100", 132, 66.9, 3350, 50, 5500, 228, 1.83, 2048, 32,
          "NVIDIA H100 SXM data sheet; H100 architecture white paper; L2 rate: published microbenchmarks"),
      gpu("h200", 132, 66.9, 4800, 50, 5500, 228, 1.83, 2048, 32,
          "NVIDIA H200 SXM data sheet; as H100 but for its memory"),
      gpu("orin", 16, 5.3, 204.8, 4, 1000, 164, 1.3, 1536, 16,
          "NVIDIA Jetson AGX Orin 64GB data sheet (2048 CUDA cores at 1.3 GHz)"),
      gpu("rtx4090", 128, 82.6, 1008, 72, 5000, 100, 2.52, 1536, 24,
          "NVIDIA Ada architecture white paper, GeForce RTX 4090; L2 rate: published microbenchmarks"),
  };
}

fs::path host_file() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const fs::path base = cache && *cache ? fs::path(cache) : fs::path(home ? home : "/tmp") / ".cache";
  return base / "cryolite" / "device-host.json";
}

Device from_file(const fs::path& path) {
  try {
    return from_json(json::parse(read_file(path.string())), path.string());
  } catch (const json::exception& fault) {
    throw Error(fmt::format("is not a device file: {}", fault.what()), {.file = path.string()},
                "see `cryolite device h100 --json -` for the form");
  }
}

Device load_host(bool refresh) {
  const fs::path path = host_file();
  std::error_code ignored;
  if (!refresh && fs::exists(path, ignored)) {
    try {
      Device kept = from_file(path);
      if (kept.processor == processor_of_host()) return kept;
    } catch (const Error&) {
      // A damaged cache entry is measured anew.
    }
  }
  Device host = measure_host();
  fs::create_directories(path.parent_path(), ignored);
  const fs::path aside = path.string() + fmt::format(".{}", static_cast<long>(::getpid()));
  std::ofstream(aside) << to_json(host).dump(2) << "\n";
  fs::rename(aside, path, ignored);
  return host;
}

/// Sizes that others divide by are above zero, and none is negative. Registers, threads and blocks count on GPUs only.
void check_sizes(const Device& d, const std::string& file) {
  const auto require = [&](const char* field, double number, double least) {
    if (!(number >= least))
      throw Error(fmt::format("has {} = {}", field, number), {.file = file},
                  fmt::format("give a number from {}", least));
  };
  require("cores", d.cores, 1);
  require("vector_bytes", d.vector_bytes, 1);
  require("launch_seconds", d.launch_seconds, 0);
  const int least = d.is_gpu ? 1 : 0;
  require("registers_per_core", d.registers_per_core, least);
  require("max_threads_per_core", d.max_threads_per_core, least);
  require("max_blocks_per_core", d.max_blocks_per_core, least);
  require("shared_bytes_per_core", d.shared_bytes_per_core, least);
  for (const MemoryLevel& level : d.memory) {
    require("bytes", static_cast<double>(level.bytes), 0);
    require("instances", level.instances, 1);
    if (!(level.bytes_per_second > 0))
      throw Error(fmt::format("memory level '{}' has bytes_per_second = {}", level.name, level.bytes_per_second),
                  {.file = file}, "give a rate above zero");
  }
}

}  // namespace

std::vector<std::string> built_in_names() {
  std::vector<std::string> names{"host"};
  for (const Device& d : make_built_in()) names.push_back(d.name);
  return names;
}

Device load(const std::string& name_or_path, bool refresh) {
  if (name_or_path == "host") return load_host(refresh);
  for (Device& d : make_built_in())
    if (d.name == name_or_path) return d;
  if (name_or_path.find('/') == std::string::npos && name_or_path.find('.') == std::string::npos)
    throw Error(fmt::format("no device is named '{}'", name_or_path), {},
                fmt::format("there are {}, or give the path of a device file",
                            fmt::join(built_in_names(), ", ")));
  return from_file(name_or_path);
}

json to_json(const Device& d) {
  json levels = json::array();
  for (const MemoryLevel& level : d.memory)
    levels.push_back({{"name", level.name},
                      {"bytes", level.bytes},
                      {"bytes_per_second", level.bytes_per_second},
                      {"instances", level.instances}});
  return {{"name", d.name},
          {"gpu", d.is_gpu},
          {"flops_per_second", d.flops_per_second},
          {"memory", levels},
          {"launch_seconds", d.launch_seconds},
          {"cores", d.cores},
          {"vector_bytes", d.vector_bytes},
          {"registers_per_core", d.registers_per_core},
          {"max_threads_per_core", d.max_threads_per_core},
          {"max_blocks_per_core", d.max_blocks_per_core},
          {"shared_bytes_per_core", d.shared_bytes_per_core},
          {"source", d.source},
          {"processor", d.processor}};
}

Device from_json(const json& j, const std::string& file) {
  Device d;
  d.name = j.at("name").get<std::string>();
  d.is_gpu = j.value("gpu", false);
  d.flops_per_second = j.at("flops_per_second").get<double>();
  for (const json& level : j.at("memory"))
    d.memory.push_back({level.at("name").get<std::string>(), level.value("bytes", int64_t{0}),
                        level.at("bytes_per_second").get<double>(), level.value("instances", 1)});
  d.launch_seconds = j.value("launch_seconds", 0.0);
  d.cores = j.value("cores", 1);
  d.vector_bytes = j.value("vector_bytes", 32);
  d.registers_per_core = j.value("registers_per_core", 0);
  d.max_threads_per_core = j.value("max_threads_per_core", 0);
  d.max_blocks_per_core = j.value("max_blocks_per_core", 0);
  d.shared_bytes_per_core = j.value("shared_bytes_per_core", 0);
  d.source = j.value("source", "");
  d.processor = j.value("processor", "");
  if (d.memory.empty() || d.flops_per_second <= 0 || d.memory.back().bytes_per_second <= 0)
    throw Error("has no memory level, or a rate that is not above zero", {.file = file},
                "give flops_per_second and at least one memory level with bytes_per_second");
  check_sizes(d, file);
  return d;
}

}  // namespace cryolite::device
