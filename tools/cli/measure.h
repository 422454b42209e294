#pragma once
#include "tools/cli/commands.h"

namespace cryolite::cli {

/// The plan of a model after its kernels of several reductions were timed on this machine beside their parts: those
/// that are slower as one are cut. Prints a line for each that was cut. Throws Error for targets that do not run here.
PlannedModel measured_plan(const ModelOptions& options, int threads);

}  // namespace cryolite::cli
