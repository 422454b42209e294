#pragma once
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace cryolite::device {

/// One level of the memory hierarchy, nearest first. The last level is main memory (bytes = 0: unbounded).
struct MemoryLevel {
  std::string name;          ///< "l1", "l2", "l3", "memory"; on GPUs "shared", "l2", "memory"
  int64_t bytes = 0;         ///< of one instance
  double bytes_per_second = 0;  ///< read, all instances together
  int instances = 1;
};

/// A described machine.
struct Device {
  std::string name;
  bool is_gpu = false;
  double flops_per_second = 0;        ///< float32 multiply-adds counted as 2
  std::vector<MemoryLevel> memory;    ///< nearest first
  double launch_seconds = 0;          ///< cost of starting one kernel
  int cores = 1;                      ///< CPU cores, or streaming multiprocessors
  int vector_bytes = 32;              ///< CPU
  int registers_per_core = 0;         ///< 32-bit registers of a multiprocessor (GPU)
  int max_threads_per_core = 0;       ///< resident threads of a multiprocessor (GPU)
  int max_blocks_per_core = 0;        ///< resident blocks of a multiprocessor (GPU)
  int shared_bytes_per_core = 0;      ///< shared memory of a multiprocessor (GPU)
  std::string source;                 ///< where the figures come from
  std::string processor;              ///< of a measured machine: see processor_of_host

  double memory_bytes_per_second() const { return memory.empty() ? 0 : memory.back().bytes_per_second; }
};

/// A device by name (h100, h200, a100, rtx4090, orin, host) or by the path of a JSON file.
/// "host" is measured: the figures are kept in the user's cache folder (`refresh` measures anew, as does another
/// processor).
/// Throws Error where the name is not known or the file is wrong.
Device load(const std::string& name_or_path, bool refresh = false);
/// Names of the built-in devices.
std::vector<std::string> built_in_names();
/// Measures this machine: FMA peak, read bandwidth per level, thread-pool launch. Takes about two seconds.
Device measure_host();

/// What tells this machine's processor from another one: vendor, family, model, stepping, caches, cores. Figures that
/// were measured on another processor do not count here, even where the user's cache folder came along.
std::string processor_of_host();

nlohmann::json to_json(const Device& device);
Device from_json(const nlohmann::json& json, const std::string& file);

}  // namespace cryolite::device
