#pragma once
#include <Halide.h>

#include "emit/compile_group.h"

namespace cryolite::emit {

/// Reads from lowered code what the driver must provide: heap memory, host copies, device launches.
KernelInfo inspect(const Halide::Module& module, const std::string& symbol);

}  // namespace cryolite::emit
