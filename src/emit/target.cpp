#include "emit/target.h"

#include <fmt/format.h>

#include "base/error.h"

namespace cryolite::emit {
namespace {

using Halide::Target;

/// Kernels read and write through pointers that only the runtime makes, so feature bits of optional vector
/// units beyond the host's are never set here.
Target named(const std::string& name) {
  Target host = Halide::get_host_target();
  if (name == "host") return host;
  if (name == "cuda") return host.with_feature(Target::CUDA).with_feature(Target::CUDACapability80);
  if (name == "opencl") return host.with_feature(Target::OpenCL);
  if (name == "vulkan")
    return host.with_feature(Target::Vulkan).with_feature(Target::VulkanInt8).with_feature(Target::VulkanInt16)
        .with_feature(Target::VulkanInt64);
  if (!Target::validate_target_string(name))
    throw Error(fmt::format("'{}' is no target", name), {},
                "use host, cuda, opencl, vulkan, or a Halide target such as x86-64-linux-avx2-fma");
  return Target(name);
}

}  // namespace

std::string target_string(const std::string& name) {
  const Target target = named(name);
  if (target.os != Target::Linux)
    throw Error(fmt::format("target '{}' is not Linux", name), {}, "archives are made for Linux only");
  const Target host = Halide::get_host_target();
  if (target.arch != host.arch || target.bits != host.bits)
    throw Error(fmt::format("target '{}' is another processor than this machine's", name), {},
                "the archive's C parts are compiled by this machine's compiler: compile on a machine of that kind");
  return target.to_string();
}

Target kernel_target(const std::string& target) {
  Target kernel = Target(target_string(target))
                      .with_feature(Target::NoRuntime)
                      .with_feature(Target::UserContext)
                      .with_feature(Target::NoBoundsQuery);
  if (!kernel.has_gpu_feature()) kernel.set_feature(Target::NoAsserts);
  return kernel;
}

Target runtime_target(const std::string& target) {
  return Target(target_string(target)).without_feature(Target::NoRuntime).with_feature(Target::UserContext);
}

std::string device_api(const std::string& target) {
  const Target parsed(target_string(target));
  if (parsed.has_feature(Target::CUDA)) return "cuda";
  if (parsed.has_feature(Target::OpenCL)) return "opencl";
  return parsed.has_feature(Target::Vulkan) ? "vulkan" : "";
}

}  // namespace cryolite::emit
