#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lower/lowered_group.h"

/// Schedules as data, with a text form that a Halide user reads at sight:
///
///     group conv1.pool
///     pool1.tile(x, y, xo, yo, xi, yi, 8, 8).vectorize(c, 8).parallel(yo)
///     conv1_sum.compute_at(pool1, xo).vectorize(c, 8).update(0).reorder(c, x, r.x, r.y).unroll(x)
///
/// `#` starts a comment. `.update(n)` turns the calls after it to update n of the Func.
namespace cryolite::schedule {

using Argument = std::variant<std::string, int64_t>;

/// One Halide scheduling call.
struct Directive {
  std::string call;  ///< "split", "compute_at", "update", …
  std::vector<Argument> arguments;
  bool operator==(const Directive&) const = default;
};

/// The calls on one Func: one line of the text form.
struct FuncSchedule {
  std::string func;
  std::vector<Directive> directives;
  int line = 0;  ///< of the file it was read from; 0: made by a strategy
};

struct GroupSchedule {
  std::string group;
  std::vector<FuncSchedule> funcs;
  std::string file;
};

std::string to_text(const GroupSchedule& schedule);
/// Throws Error (file:line, what) where the text is not a schedule.
std::vector<GroupSchedule> parse_text(std::string_view text, const std::string& file);

/// Makes the calls. Throws Error with file:line where a Func, loop or call is not known, an argument is of
/// the wrong kind, or Halide refuses the nesting. A schedule cannot change results: calls that could
/// (bound, align_storage below the extent, unsafe tails) are not among those known.
void apply(const GroupSchedule& schedule, lower::LoweredGroup& group);

/// The same schedule with Funcs renamed (whole names; loop levels that name a Func too).
GroupSchedule renamed(GroupSchedule schedule, const std::vector<std::pair<std::string, std::string>>& names);

/// Builds a FuncSchedule call by call, as strategies write them:
///   line("conv1_sum").call("compute_at", {"pool1", "xo"}).call("vectorize", {"c", 8})
class Line {
 public:
  explicit Line(std::string func) { schedule_.func = std::move(func); }
  Line& call(std::string name, std::vector<Argument> arguments = {}) {
    schedule_.directives.push_back({std::move(name), std::move(arguments)});
    return *this;
  }
  operator FuncSchedule() const { return schedule_; }

 private:
  FuncSchedule schedule_;
};

}  // namespace cryolite::schedule
