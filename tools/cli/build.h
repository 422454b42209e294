#pragma once
#include <string>
#include <vector>

#include "emit/compile_model.h"
#include "tools/cli/commands.h"

namespace cryolite::cli {

struct BuildOptions {
  std::string folder, name, target = "host", weights = "embed", schedule, html;
  int jobs = 2;
};

/// Compiles a planned model; for CUDA also writes NAME.resources.json and fills the plan's resources in.
std::vector<emit::CompiledGroup> build_model(const PlannedModel& model, const BuildOptions& options);

}  // namespace cryolite::cli
