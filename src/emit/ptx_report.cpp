#include "emit/ptx_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <sstream>

#include "base/error.h"
#include "base/subprocess.h"

/// ptxas -v prints, for each kernel:
///
///   ptxas info    : Compiling entry function '_kernel_y' for 'sm_90'
///   ptxas info    : Function properties for _kernel_y
///       8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
///   ptxas info    : Used 64 registers, used 1 barriers, 8 bytes cumulative stack size, 128 bytes smem
namespace cryolite::emit {
namespace {

constexpr int warp = 32;
#ifndef CRYOLITE_PTXAS_INSTALLED
#define CRYOLITE_PTXAS_INSTALLED ""
#endif
/// Where ptxas is looked for after CRYOLITE_PTXAS and PATH: the CUDA Toolkit's folder, and what tools/setup installed.
constexpr const char* usual_places[] = {"/usr/local/cuda/bin/ptxas", CRYOLITE_PTXAS_INSTALLED};

bool is_program(const std::string& path) { return access(path.c_str(), X_OK) == 0; }

std::string on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const std::string candidate = folder + "/" + program; is_program(candidate)) return candidate;
  return "";
}

int64_t number_before(const std::string& line, const std::string& unit) {
  std::smatch match;
  if (!std::regex_search(line, match, std::regex("(\\d+) " + unit))) return 0;
  return std::stoll(match[1].str());
}

std::optional<std::string> started_kernel(const std::string& line) {
  std::smatch match;
  if (!std::regex_search(line, match, std::regex("Compiling entry function '([^']+)'"))) return std::nullopt;
  return match[1].str();
}

void read_line(const std::string& line, KernelResources& kernel) {
  if (line.find("spill stores") != std::string::npos) {
    kernel.stack_bytes = number_before(line, "bytes stack frame");
    kernel.spill_store_bytes = number_before(line, "bytes spill stores");
    kernel.spill_load_bytes = number_before(line, "bytes spill loads");
  } else if (line.find("Used ") != std::string::npos) {
    kernel.registers = static_cast<int>(number_before(line, "registers"));
    kernel.shared_bytes = number_before(line, "bytes smem");
  }
}

int64_t rounded_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

/// The first line of ptxas' output that says what is wrong.
std::string complaint(const std::string& output) {
  std::istringstream lines(output);
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    if (first.empty()) first = line;
    if (line.find("error") != std::string::npos || line.find("fatal") != std::string::npos) return line;
  }
  return first;
}

}  // namespace

int64_t PtxReport::spilled_bytes() const {
  int64_t total = 0;
  for (const KernelResources& kernel : kernels) total += kernel.spill_store_bytes + kernel.spill_load_bytes;
  return total;
}

std::string find_ptxas() {
  if (const char* named = std::getenv("CRYOLITE_PTXAS"); named && *named) return is_program(named) ? named : "";
  if (const std::string found = on_path("ptxas"); !found.empty()) return found;
  for (const char* place : usual_places)
    if (is_program(place)) return place;
  return "";
}

void add_occupancy(KernelResources& kernel, const MultiprocessorLimits& limits) {
  kernel.occupancy = 0;
  kernel.limited_by.clear();
  if (kernel.threads <= 0) return;
  const int64_t warps = rounded_up(kernel.threads, warp) / warp;
  const int64_t registers_of_warp =
      rounded_up(static_cast<int64_t>(std::max(kernel.registers, 1)) * warp, limits.registers_of_warp_step);
  const std::pair<int64_t, const char*> blocks[] = {
      {limits.threads / (warps * warp), "threads"},
      {limits.registers / registers_of_warp / warps, "registers"},
      {limits.shared_bytes / (kernel.shared_bytes + limits.reserved_shared_bytes), "shared memory"},
      {limits.blocks, "blocks"},
  };
  const auto fewest =
      std::min_element(std::begin(blocks), std::end(blocks), [](auto& a, auto& b) { return a.first < b.first; });
  kernel.occupancy = static_cast<double>(fewest->first * warps * warp) / limits.threads;
  kernel.limited_by = fewest->second;
}

PtxReport parse_ptxas(std::string_view output, const PtxOptions& options) {
  PtxReport report{options.architecture, {}};
  std::istringstream lines{std::string(output)};
  for (std::string line; std::getline(lines, line);) {
    if (const auto name = started_kernel(line)) {
      report.kernels.push_back({.name = *name});
    } else if (!report.kernels.empty()) {
      read_line(line, report.kernels.back());
    }
  }
  for (KernelResources& kernel : report.kernels) {
    if (const auto launch = options.launches.find(kernel.name); launch != options.launches.end()) {
      kernel.threads = launch->second.threads;
      kernel.shared_bytes += launch->second.dynamic_shared_bytes;
    }
    add_occupancy(kernel, options.limits);
  }
  return report;
}

PtxReport report_ptx(const std::string& ptx_file, const PtxOptions& options) {
  const std::string ptxas = find_ptxas();
  if (ptxas.empty())
    throw Error("there is no ptxas to measure CUDA kernels with", {.file = ptx_file},
                "install the CUDA compiler, or name its ptxas in CRYOLITE_PTXAS");
  std::vector<std::string> words{ptxas, "-v", "-arch=" + options.architecture, ptx_file, "-o", "/dev/null"};
  if (options.most_registers > 0) words.push_back(fmt::format("-maxrregcount={}", options.most_registers));
  const Finished finished = run({words});
  if (!finished.is_well())
    throw Error(fmt::format("ptxas {} on emitted PTX for {}: {}", finished.describe(), options.architecture,
                            complaint(finished.output)),
                {.file = ptx_file});
  return parse_ptxas(finished.output, options);
}

nlohmann::json to_json(const PtxReport& report) {
  nlohmann::json kernels = nlohmann::json::array();
  for (const KernelResources& kernel : report.kernels) {
    nlohmann::json row{{"name", kernel.name},
                       {"registers", kernel.registers},
                       {"spill_bytes", kernel.spill_store_bytes + kernel.spill_load_bytes},
                       {"spill_store_bytes", kernel.spill_store_bytes},
                       {"spill_load_bytes", kernel.spill_load_bytes},
                       {"stack_bytes", kernel.stack_bytes},
                       {"shared_bytes", kernel.shared_bytes},
                       {"threads", nullptr},
                       {"occupancy", nullptr},
                       {"limited_by", nullptr}};
    if (kernel.threads > 0) {
      row["threads"] = kernel.threads;
      row["occupancy"] = kernel.occupancy;
      row["limited_by"] = kernel.limited_by;
    }
    kernels.push_back(std::move(row));
  }
  return {{"architecture", report.architecture}, {"kernels", kernels}};
}

}  // namespace cryolite::emit
