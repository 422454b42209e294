#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "schedule/schedule.h"

namespace cryolite::emit {

struct CompileOptions {
  std::string name;               ///< of files and symbols; an identifier of C
  std::string folder;             ///< made where it is not there
  std::string target = "host";    ///< see emit/target.h
  bool embeds_weights = true;     ///< false: NAME.weights, mapped at run time
  int jobs = 2;                   ///< child processes at once
  std::string compiler;           ///< a program with the subcommand compile-group; empty: this one
  std::string cache;              ///< folder of compiled kernels; empty: the user's
  std::chrono::seconds timeout{300};  ///< for one kernel
  std::string plan_json;          ///< written as NAME.plan.json; empty: no such file
  /// Called as work is done: kernels compiled so far, of how many, and what is being done.
  std::function<void(int done, int total, const std::string& what)> progress;
};

/// One compiled group, for reports.
struct CompiledGroup {
  int id = 0;
  std::string symbol;  ///< the kernel's; empty: an extern stage, or a group that writes nothing
  std::string record;  ///< path of its JSON record in the cache (emit/compile_group.h)
  std::string ptx;     ///< path of its PTX in the cache; empty: not for CUDA
};

/// Compiles a plan into FOLDER: libNAME.a, NAME.h, NAME.schedule, NAME.weights where not embedded, NAME.plan.json
/// where given, NAME.ptx for CUDA. `schedules`: one a group, in the order of plan.groups (those of extern stages are
/// not read). Every file appears whole or not at all.
/// Throws Error: the folder or the tools are not usable, or a kernel cannot be compiled (naming its nodes).
std::vector<CompiledGroup> compile_model(const plan::Plan& plan,
                                         const std::vector<schedule::GroupSchedule>& schedules,
                                         const CompileOptions& options);

}  // namespace cryolite::emit
