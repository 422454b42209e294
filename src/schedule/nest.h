#pragma once
#include <map>
#include <string>
#include <vector>

#include "schedule/schedule.h"

namespace cryolite::schedule {

/// The loops of a Func as its line leaves them, innermost first, with how each was made and is run.
struct Nest {
  std::vector<std::string> loops;
  std::map<std::string, std::string> origins;  ///< "outer of y by 8": equal ones walk the same elements
  std::map<std::string, std::string> kinds;  ///< "parallel", "gpu_blocks", …; absent: serial
};
Nest nest_of(const FuncSchedule& line, const ops::Stage& stage);

/// The innermost of the outer loops that two nests have alike, so that Halide may run both inside of it; empty where
/// there is none. Loops cut by other numbers do not count: Halide 21 then leaves out elements at their ends.
std::string innermost_shared(const Nest& a, const Nest& b);

}  // namespace cryolite::schedule
