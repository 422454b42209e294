#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "base/error.h"
#include "schedule/nest.h"
#include "schedule/schedule.h"

/// Directives become Halide calls in one pass over the lines. Loop names are followed through splits, so that a
/// wrong one is found here, with its line, and not inside Halide.
namespace cryolite::schedule {
namespace {

using Halide::TailStrategy;
using Halide::VarOrRVar;

/// Tails that can neither skip elements that are needed nor touch memory outside of a buffer.
const std::map<std::string, TailStrategy> tails{
    {"Auto", TailStrategy::Auto},
    {"GuardWithIf", TailStrategy::GuardWithIf},
    {"Predicate", TailStrategy::Predicate},
    {"PredicateLoads", TailStrategy::PredicateLoads},
    {"PredicateStores", TailStrategy::PredicateStores},
    {"RoundUp", TailStrategy::RoundUp},
    {"ShiftInwards", TailStrategy::ShiftInwards},
    {"ShiftInwardsAndBlend", TailStrategy::ShiftInwardsAndBlend},
    {"RoundUpAndBlend", TailStrategy::RoundUpAndBlend},
};

const std::map<std::string, Halide::MemoryType> memories{
    {"Auto", Halide::MemoryType::Auto},           {"Heap", Halide::MemoryType::Heap},
    {"Stack", Halide::MemoryType::Stack},         {"Register", Halide::MemoryType::Register},
    {"GPUShared", Halide::MemoryType::GPUShared},
};

const std::map<std::string, Halide::Partition> partitions{
    {"Auto", Halide::Partition::Auto},
    {"Never", Halide::Partition::Never},
    {"Always", Halide::Partition::Always},
};

/// The loops of one definition (pure, or an update), by the names that are alive now.
struct Definition {
  std::map<std::string, VarOrRVar> loops;
};

struct ScheduledFunc {
  Halide::Func func;
  bool is_output = false;
  std::vector<Definition> definitions;  ///< pure, then the updates

  bool has_loop(const std::string& name) const {
    return name == "__outermost" || std::any_of(definitions.begin(), definitions.end(), [&](const Definition& d) {
      return d.loops.count(name) > 0;
    });
  }
};

std::string joined(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

class Applier {
 public:
  Applier(const GroupSchedule& schedule, lower::LoweredGroup& group) : schedule_(schedule) {
    for (size_t i = 0; i < group.stages.size(); ++i) {
      const bool is_output = std::count(group.outputs.begin(), group.outputs.end(), static_cast<int>(i)) > 0;
      add(group.stages[i], is_output);
    }
  }

  void run() {
    // Loop levels may be named before the line that makes them: storage and compute levels go last.
    for (const bool levels : {false, true})
      for (const FuncSchedule& line : schedule_.funcs) run_line(line, levels);
  }

 private:
  void add(const ops::Stage& stage, bool is_output) {
    ScheduledFunc entry{stage.laid.func, is_output, {}};
    Definition pure;
    for (const Halide::Var& var : stage.laid.vars) pure.loops.emplace(var.name(), var);
    entry.definitions.push_back(pure);
    for (const ops::UpdateLoops& update : stage.updates) {
      Definition definition = pure;
      for (const auto& [name, rvar] : update.rvars) definition.loops.emplace(name, rvar);
      entry.definitions.push_back(definition);
    }
    funcs_.emplace(stage.name, std::move(entry));
    stages_.emplace(stage.name, &stage);
  }

  [[noreturn]] void refuse(const std::string& what, const std::string& remedy = "`cryolite plan MODEL --schedule` prints schedules to start from") const {
    const std::string place = line_ && line_->line ? fmt::format("line {}: ", line_->line) : "";
    throw Error(fmt::format("{}group {}: {}", place, schedule_.group, what),
                {.file = schedule_.file}, remedy);
  }

  ScheduledFunc& func_named(const std::string& name) {
    auto found = funcs_.find(name);
    if (found != funcs_.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [known, func] : funcs_) names.push_back(known);
    refuse(fmt::format("there is no Func '{}'", name), "the group has " + joined(names));
  }

  void run_line(const FuncSchedule& line, bool levels) {
    line_ = &line;
    current_ = &func_named(line.func);
    definition_ = 0;
    for (const Directive& call : line.directives) {
      call_ = &call;
      const auto known = actions().find(call.call);
      if (known == actions().end()) {
        std::vector<std::string> names;
        for (const auto& [name, action] : actions()) names.push_back(name);
        refuse(fmt::format("'{}' is not a call that schedules know", call.call), "known are " + joined(names));
      }
      if (count() > known->second.most_arguments)
        refuse(fmt::format("{} wants {} arguments at most", call.call, known->second.most_arguments));
      if (call.call != "update" && known->second.is_level != levels) continue;
      try {
        known->second.run(*this);
      } catch (const Halide::Error& error) {
        refuse(fmt::format("Halide refuses {}.{}: {}", line.func, call.call, error.what()));
      }
    }
  }

  // Arguments of the current call ------------------------------------------------------------------------------

  const Argument& argument(size_t i) const {
    if (i >= call_->arguments.size()) refuse(fmt::format("{} wants more than {} arguments", call_->call, i));
    return call_->arguments[i];
  }
  size_t count() const { return call_->arguments.size(); }
  const std::string& word(size_t i) const {
    const auto* text = std::get_if<std::string>(&argument(i));
    if (!text) refuse(fmt::format("argument {} of {} must be a name", i + 1, call_->call));
    return *text;
  }
  int number(size_t i) const {
    const auto* value = std::get_if<int64_t>(&argument(i));
    if (!value || *value < 0 || *value > (1 << 30))
      refuse(fmt::format("argument {} of {} must be a number from 0 to 2^30", i + 1, call_->call));
    return static_cast<int>(*value);
  }
  int positive(size_t i) const {
    if (number(i) == 0) refuse(fmt::format("argument {} of {} must be above zero", i + 1, call_->call));
    return number(i);
  }
  template <class Enum>
  Enum choice(size_t i, const std::map<std::string, Enum>& choices) const {
    const auto found = choices.find(word(i));
    if (found != choices.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [name, value] : choices) names.push_back(name);
    refuse(fmt::format("'{}' is not known to {}", word(i), call_->call), "known are " + joined(names));
  }
  TailStrategy tail(size_t i) const { return i < count() ? choice(i, tails) : TailStrategy::Auto; }

  Definition& definition() { return current_->definitions.at(definition_); }
  VarOrRVar loop(size_t i) {
    const auto found = definition().loops.find(word(i));
    if (found != definition().loops.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [name, var] : definition().loops) names.push_back(name);
    refuse(fmt::format("{} has no loop '{}' here", line_->func, word(i)), "its loops are " + joined(names));
  }
  void forget(size_t i) { definition().loops.erase(word(i)); }
  /// A new loop of the kind (Var or RVar) of the one that it is made from.
  VarOrRVar make(size_t i, bool is_rvar) {
    const std::string& name = word(i);
    if (definition().loops.count(name)) refuse(fmt::format("{} has a loop '{}' already", line_->func, name));
    const VarOrRVar made = is_rvar ? VarOrRVar(Halide::RVar(name)) : VarOrRVar(Halide::Var(name));
    definition().loops.emplace(name, made);
    return made;
  }
  Halide::Stage stage() {
    if (definition_ == 0) return Halide::Stage(current_->func);
    return current_->func.update(definition_ - 1);
  }
  /// An axis of the Func itself, whatever its loop has become.
  Halide::Var axis(size_t i) {
    std::vector<std::string> names;
    for (const Halide::Var& var : current_->func.args()) {
      if (var.name() == word(i)) return var;
      names.push_back(var.name());
    }
    refuse(fmt::format("{} has no axis '{}'", line_->func, word(i)), "its axes are " + joined(names));
  }

  // Calls -------------------------------------------------------------------------------------------------------

  void split() {
    const VarOrRVar old = loop(0);
    const std::string name = word(0);
    definition().loops.erase(name);
    const VarOrRVar outer = make(1, old.is_rvar), inner = make(2, old.is_rvar);
    stage().split(old, outer, inner, positive(3), tail(4));
  }
  void tile() {
    const VarOrRVar x = loop(0), y = loop(1);
    forget(0), forget(1);
    const VarOrRVar xo = make(2, x.is_rvar), yo = make(3, y.is_rvar), xi = make(4, x.is_rvar), yi = make(5, y.is_rvar);
    stage().tile(x, y, xo, yo, xi, yi, positive(6), positive(7), tail(8));
  }
  void fuse() {
    const VarOrRVar inner = loop(0), outer = loop(1);
    forget(0), forget(1);
    stage().fuse(inner, outer, make(2, inner.is_rvar));
  }
  void reorder() {
    if (count() == 0) refuse("reorder wants the names of loops, innermost first");
    std::vector<VarOrRVar> order;
    for (size_t i = 0; i < count(); ++i) order.push_back(loop(i));
    stage().reorder(order);
  }
  void rename() {
    const VarOrRVar old = loop(0);
    forget(0);
    stage().rename(old, make(1, old.is_rvar));
  }
  /// vectorize(v), vectorize(v, n): with n, the loop is split first, as Halide does it.
  void vectorize() {
    if (count() == 1) stage().vectorize(loop(0));
    else stage().vectorize(loop(0), positive(1), tail(2));
  }
  void unroll() {
    if (count() == 1) stage().unroll(loop(0));
    else stage().unroll(loop(0), positive(1), tail(2));
  }
  void parallel() {
    if (count() == 1) stage().parallel(loop(0));
    else stage().parallel(loop(0), positive(1), tail(2));
  }
  void gpu_blocks() {
    if (count() == 1) stage().gpu_blocks(loop(0));
    else if (count() == 2) stage().gpu_blocks(loop(0), loop(1));
    else stage().gpu_blocks(loop(0), loop(1), loop(2));
  }
  void gpu_threads() {
    if (count() == 1) stage().gpu_threads(loop(0));
    else if (count() == 2) stage().gpu_threads(loop(0), loop(1));
    else stage().gpu_threads(loop(0), loop(1), loop(2));
  }
  void rfactor() {
    std::vector<std::pair<Halide::RVar, Halide::Var>> preserved;
    size_t i = 0;
    std::vector<std::string> pure_names;
    for (; i + 2 < count() + 0 && i + 1 < count(); i += 2) {
      const VarOrRVar reduced = loop(i);
      if (!reduced.is_rvar) refuse(fmt::format("rfactor wants a reduction's loop, '{}' is pure", word(i)));
      preserved.emplace_back(reduced.rvar, Halide::Var(word(i + 1)));
      pure_names.push_back(word(i + 1));
    }
    const std::string& name = word(count() - 1);
    if (funcs_.count(name)) refuse(fmt::format("there is a Func '{}' already", name));
    std::vector<std::string> before;
    ScheduledFunc made{current_->func.update(definition_ - 1).rfactor(preserved), false, {}};
    // The intermediate keeps every loop of the update; those preserved are pure in it, and only they and the
    // pure ones remain in the merging update.
    Definition pure, update = definition();
    for (const Halide::Var& var : made.func.args()) pure.loops.emplace(var.name(), var);
    for (size_t p = 0; p < preserved.size(); ++p) {
      update.loops.erase(word(2 * p));
      update.loops.insert_or_assign(pure_names[p], Halide::Var(pure_names[p]));
    }
    for (auto loop = definition().loops.begin(); loop != definition().loops.end();) {
      const bool stays = !loop->second.is_rvar || loop_is_preserved(loop->first, preserved.size());
      loop = stays ? std::next(loop) : definition().loops.erase(loop);
    }
    made.definitions = {pure, update};
    funcs_.emplace(name, std::move(made));
  }
  bool loop_is_preserved(const std::string& name, size_t pairs) const {
    for (size_t p = 0; p < pairs; ++p)
      if (word(2 * p) == name) return true;
    return false;
  }
  void update() {
    const int index = count() ? number(0) : 0;
    if (index + 1 >= static_cast<int>(current_->definitions.size()))
      refuse(fmt::format("{} has {} updates, not an update {}", line_->func, current_->definitions.size() - 1, index));
    definition_ = index + 1;
  }

  /// The Func that the call names first, which must have the loop that it names second.
  ScheduledFunc& other_with_loop() {
    ScheduledFunc& at = func_named(word(0));
    if (&at == current_) refuse(fmt::format("{} cannot be computed inside of itself", line_->func));
    if (at.has_loop(word(1))) return at;
    std::set<std::string> names;
    for (const Definition& d : at.definitions)
      for (const auto& [name, var] : d.loops) names.insert(name);
    refuse(fmt::format("{} has no loop '{}'", word(0), word(1)),
           fmt::format("its loops are {}", fmt::join(names, ", ")));
  }
  Halide::LoopLevel level() {
    ScheduledFunc& at = other_with_loop();
    for (const Definition& d : at.definitions)
      if (auto found = d.loops.find(word(1)); found != d.loops.end()) return Halide::LoopLevel(at.func, found->second);
    return Halide::LoopLevel(at.func, Halide::Var::outermost());
  }
  void refuse_for_outputs() const {
    if (current_->is_output)
      refuse(fmt::format("{} is written to memory, so it is computed at root", line_->func), "leave the call out");
  }
  void compute_at() { refuse_for_outputs(), current_->func.compute_at(level()); }
  void store_at() { refuse_for_outputs(), current_->func.store_at(level()); }
  /// Both Funcs are computed by the same loops, from the outermost to the one named.
  /// Whether the loops of this line and of the other Func's are made alike from the outermost to `loop`.
  bool has_alike_loops(const std::string& other, const std::string& loop) const {
    const auto nest = [&](const std::string& func) {
      FuncSchedule whole{func, {}, 0};
      for (const FuncSchedule& line : schedule_.funcs)
        if (line.func == func) whole.directives.insert(whole.directives.end(), line.directives.begin(), line.directives.end());
      return nest_of(whole, *stages_.at(func));
    };
    const Nest own = nest(line_->func), others = nest(other);
    const std::string innermost = innermost_shared(own, others);
    const auto depth = [&](const std::string& name) {
      return std::find(own.loops.begin(), own.loops.end(), name) - own.loops.begin();
    };
    return !innermost.empty() && depth(loop) >= depth(innermost) && depth(loop) < static_cast<long>(own.loops.size());
  }
  void compute_with() {
    ScheduledFunc& at = other_with_loop();
    const auto shared = at.definitions[0].loops.find(word(1));
    if (shared == at.definitions[0].loops.end() || definition_ != 0 || !stages_.count(word(0)) || !stages_.count(line_->func))
      refuse("compute_with joins the loops of results, not those of updates");
    if (!has_alike_loops(word(0), word(1)))
      refuse(fmt::format("the loops of {} and {} down to '{}' differ", line_->func, word(0), word(1)),
             "split, fuse and reorder both alike");
    stage().compute_with(Halide::Stage(at.func), shared->second);
  }
  void hoist_storage() { refuse_for_outputs(), current_->func.hoist_storage(level()); }

  static constexpr size_t any = 1000;  // loops and pairs of names: as many as there are
  struct Action {
    size_t most_arguments;
    std::function<void(Applier&)> run;
    bool is_level = false;  ///< names a loop of another Func: runs after all loops are made
  };
  static const std::map<std::string, Action>& actions() {
    static const std::map<std::string, Action> table{
        {"split", {5, &Applier::split}},
        {"tile", {9, &Applier::tile}},
        {"fuse", {3, &Applier::fuse}},
        {"reorder", {any, &Applier::reorder}},
        {"rename", {2, &Applier::rename}},
        {"vectorize", {3, &Applier::vectorize}},
        {"unroll", {3, &Applier::unroll}},
        {"parallel", {3, &Applier::parallel}},
        {"serial", {1, [](Applier& a) { a.stage().serial(a.loop(0)); }}},
        {"partition", {2, [](Applier& a) { a.stage().partition(a.loop(0), a.choice(1, partitions)); }}},
        {"gpu_blocks", {3, &Applier::gpu_blocks}},
        {"gpu_threads", {3, &Applier::gpu_threads}},
        {"gpu_lanes", {1, [](Applier& a) { a.stage().gpu_lanes(a.loop(0)); }}},
        {"gpu_single_thread", {0, [](Applier& a) { a.stage().gpu_single_thread(); }}},
        {"rfactor", {any, &Applier::rfactor}},
        {"atomic", {0, [](Applier& a) { a.stage().atomic(); }}},
        {"update", {1, &Applier::update}},
        {"compute_at", {2, &Applier::compute_at, true}},
        {"compute_with", {2, &Applier::compute_with, true}},
        {"store_at", {2, &Applier::store_at, true}},
        {"hoist_storage", {2, &Applier::hoist_storage, true}},
        {"compute_root", {0, [](Applier& a) { a.current_->func.compute_root(); }}},
        {"compute_inline", {0, [](Applier& a) { a.refuse_for_outputs(), a.current_->func.compute_inline(); }}},
        {"store_in", {1, [](Applier& a) { a.current_->func.store_in(a.choice(0, memories)); }}},
        {"bound_extent", {2, [](Applier& a) { a.current_->func.bound_extent(a.axis(0), a.positive(1)); }, true}},
        {"align_bounds", {2, [](Applier& a) { a.current_->func.align_bounds(a.axis(0), a.positive(1)); }, true}},
        {"fold_storage", {2, [](Applier& a) { a.current_->func.fold_storage(a.axis(0), a.positive(1)); }, true}},
    };
    return table;
  }

  const GroupSchedule& schedule_;
  std::map<std::string, ScheduledFunc> funcs_;
  std::map<std::string, const ops::Stage*> stages_;  ///< of the group's Funcs
  const FuncSchedule* line_ = nullptr;
  const Directive* call_ = nullptr;
  ScheduledFunc* current_ = nullptr;
  size_t definition_ = 0;
};

}  // namespace

void apply(const GroupSchedule& schedule, lower::LoweredGroup& group) { Applier(schedule, group).run(); }

}  // namespace cryolite::schedule
