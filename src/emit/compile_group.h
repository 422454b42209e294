#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"

/// One group becomes one object file, in a process of its own: Halide keeps global state, and a crash of code
/// generation costs one group.
namespace cryolite::emit {

/// What the child process is told.
struct GroupJob {
  std::string graph;     ///< the group's text form
  std::string schedule;  ///< its schedule's text form
  std::string target;    ///< a Halide target string or short name
  std::string symbol;    ///< of the kernel; its argv entry is SYMBOL_argv
  std::string result;    ///< path without extension: .o, .json and, for CUDA, .ptx are written
};
std::string to_json(const GroupJob& job);

/// One launch of a device kernel.
struct DeviceKernel {
  std::string name;
  std::array<int64_t, 3> blocks{}, threads{};  ///< 0 where it is not known at compile time
  int64_t shared_bytes = 0;
};

/// What the driver must know of a compiled kernel.
struct KernelInfo {
  struct Scratch {
    int64_t bytes = 0;
    bool in_parallel = false;  ///< asked for by each thread
    bool operator==(const Scratch&) const = default;
  };
  std::vector<Scratch> scratch;  ///< heap memory asked for during a run
  bool touches_host = false;     ///< on a device target: has a part that runs on the CPU
  std::vector<DeviceKernel> device_kernels;
};
std::string to_json(const KernelInfo& info);
/// Throws Error where the text is no such record.
KernelInfo kernel_info_of(const std::string& json);

/// The outputs that a kernel takes as arguments: those with elements.
std::vector<graph::ValueId> written_outputs(const graph::Graph& group);

/// Lowers, schedules and compiles in this process; the .json comes last, so that its presence means all are there.
/// Throws Error (node).
void compile_group(const GroupJob& job);

/// The child's entry: `cryolite compile-group JOB` reads a file made by to_json(GroupJob).
void compile_group_job(const std::string& job_file);

}  // namespace cryolite::emit
