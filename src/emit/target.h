#pragma once
#include <Halide.h>

#include <string>

namespace cryolite::emit {

/// The full target string of a short name (host, cuda, opencl, vulkan) or of a Halide target string:
///   host    this machine's instruction set           cuda    host + CUDA, PTX for compute capability 8.0
///   opencl  host + OpenCL                            vulkan  host + Vulkan
/// Throws Error with what is known where it is neither.
std::string target_string(const std::string& name);

/// What kernels of an archive are compiled for: no runtime inside, the context handed through, shapes trusted.
/// Device errors are reported by assertions, so these stay on for device targets.
Halide::Target kernel_target(const std::string& target);

/// What the archive's copy of Halide's runtime is compiled for.
Halide::Target runtime_target(const std::string& target);

/// "cuda", "opencl", "vulkan", or "" for CPU targets.
std::string device_api(const std::string& target);

}  // namespace cryolite::emit
