#pragma once
#include <string>
#include <vector>

#include "emit/compile_model.h"
#include "report/report.h"

namespace cryolite::cli {

/// Runs ptxas over the PTX of a compiled model and writes FOLDER/NAME.resources.json: registers, spilled bytes, shared
/// memory and occupancy of every kernel; NAME.plan.json is written anew with them. Returns them by group.
/// Throws Error where ptxas refuses a kernel; where there is no ptxas the file says so.
report::GroupResources write_resources(const plan::Plan& plan, const std::vector<emit::CompiledGroup>& groups,
                                       const std::string& folder, const std::string& name);

}  // namespace cryolite::cli
