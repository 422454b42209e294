#include <algorithm>
#include <set>

#include "schedule/gpu_emit.h"

/// A reduction whose threads share the terms (u: one partial result a thread):
///
///     block of outputs: 32 columns x 8 u     partial(c, u): every 8th term, in registers, then shared memory
///                                            sum(c): the 8 partials added up by the thread of column c
namespace cryolite::schedule::gpu {
namespace {

constexpr int64_t warp = 32;
constexpr int64_t most_threads = 256;
constexpr int64_t few_terms = 64;

int64_t power_of_two_up_to(int64_t n) {
  int64_t power = 1;
  while (power * 2 <= n) power *= 2;
  return power;
}

/// Threads that share the terms of one output, `columns` outputs a block.
int64_t sharing_threads(int64_t terms, int64_t columns) {
  return std::clamp<int64_t>(power_of_two_up_to(terms / 4), 1, most_threads / columns);
}

/// Splits the update over `threads` partial results, each the work of a thread. Adds both Funcs' lines.
/// `columns` are loops of the stage that are threads too.
void share_terms(Emission& emission, const StageInfo& stage, const std::string& root, const std::string& level,
                 const std::vector<std::string>& columns, int64_t threads) {
  const std::string partial = stage.name() + "_partial";
  std::vector<std::string> outer_threads = columns;
  Line whole(stage.name());
  whole.call("compute_at", {root, level});
  if (!columns.empty()) whole.call("gpu_threads", as_arguments(columns));
  whole.call("update", {int64_t{0}});
  const std::string terms = fuse_all(whole, names_of(stage.updates[0]), "rall");
  whole.call("split", {terms, "rstep", "rshare", threads, "GuardWithIf"});
  whole.call("rfactor", {"rshare", "u", partial});
  if (!columns.empty()) whole.call("gpu_threads", as_arguments(columns));
  emission.lines.push_back(whole);
  outer_threads.push_back("u");
  std::vector<std::string> order{"rstep"};
  order.insert(order.end(), outer_threads.begin(), outer_threads.end());
  Line part(partial);
  part.call("compute_at", {root, level}).call("reorder", as_arguments(outer_threads));
  part.call("gpu_threads", as_arguments(outer_threads));
  part.call("update", {int64_t{0}}).call("reorder", as_arguments(order));
  part.call("gpu_threads", as_arguments(outer_threads));
  emission.lines.push_back(part);
}

/// A stage of a row computed by one thread, term after term.
void alone(Emission& emission, const StageInfo& stage, const std::string& root, const std::string& level) {
  emission.lines.push_back(Line(stage.name()).call("compute_at", {root, level}));
}

/// Axes of the root along which the row stages do not change, innermost first: a row.
std::vector<Axis> row_axes(const Emission& emission, const Kernel& kernel) {
  std::set<std::string> kept;
  for (int row : kernel.rows)
    for (const Axis& axis : emission.stage(row).axes)
      if (axis.extent > 1) kept.insert(axis.name);
  std::vector<Axis> axes;
  for (const Axis& axis : emission.stage(kernel.root).axes)
    if (!kept.count(axis.name)) axes.push_back(axis);
  return axes;
}

}  // namespace

bool wants_shared_reduction(const Emission& emission, const Kernel& kernel) {
  if (kernel.threads.size() != 1) return false;
  const StageInfo& stage = emission.stage(kernel.threads[0]);
  const StageInfo& root = emission.stage(kernel.root);
  if (root.axes.empty() || stage.axes.empty() || !is_associative(*stage.stage)) return false;
  const int64_t terms = stage.terms();
  const int64_t busy = static_cast<int64_t>(emission.machine.multiprocessors) * most_threads;
  if (stage.axes[0].name != root.axes[0].name || terms < few_terms) return false;
  if (is_contraction_kernel(emission, kernel)) return root.elements() <= 2 * root.axes[0].extent;
  return reduces_innermost(*stage.stage) || root.elements() * 4 < busy;
}

void shared_reduction(Emission& emission, const Kernel& kernel) {
  const StageInfo& root = emission.stage(kernel.root);
  const StageInfo& stage = emission.stage(kernel.threads[0]);
  const bool is_matrix = is_contraction_kernel(emission, kernel);
  const bool terms_are_neighbours = reduces_innermost(*stage.stage) && !is_matrix;
  const int64_t columns = terms_are_neighbours ? 1 : std::min(warp, root.axes[0].extent);
  const int64_t threads = sharing_threads(stage.terms(), columns);
  const std::string column = root.axes[0].name;
  Line line(root.name());
  line.call("compute_root").call("split", {column, column + "_b", column + "_t", columns, "ShiftInwards"});
  std::vector<std::string> blocks = names_of(root.axes);
  blocks[0] = column + "_b";
  const std::string block = fuse_all(line, blocks, "block");
  line.call("gpu_blocks", {block}).call("gpu_threads", {column + "_t"});
  emission.lines.push_back(line);
  share_terms(emission, stage, root.name(), block, {column}, threads);
}

void rows(Emission& emission, const Kernel& kernel) {
  const StageInfo& root = emission.stage(kernel.root);
  const std::vector<Axis> row = row_axes(emission, kernel);
  std::vector<std::string> blocks;
  int64_t length = 1;
  for (const Axis& axis : row) length *= axis.extent;
  for (const Axis& axis : root.axes)
    if (std::none_of(row.begin(), row.end(), [&](const Axis& r) { return r.name == axis.name; }))
      blocks.push_back(axis.name);
  const int64_t threads =
      std::min(length, std::max(warp, std::min(most_threads, power_of_two_up_to(std::max<int64_t>(1, length / 2)))));
  Line line(root.name());
  line.call("compute_root");
  std::vector<std::string> order{"step", "thread"};
  if (row.empty()) {
    spread_over_threads(line, names_of(root.axes), root.elements(), 1);
    emission.lines.push_back(line);
    for (int stage : kernel.rows) alone(emission, emission.stage(stage), root.name(), "block");
    return;
  }
  std::string along = fuse_all(line, names_of(row), "along");
  if (blocks.empty()) {
    line.call("split", {along, "block", "inside", length});
    along = "inside";
  }
  line.call("split", {along, "step", "thread", threads, "GuardWithIf"});
  order.insert(order.end(), blocks.begin(), blocks.end());
  if (blocks.empty()) order.push_back("block");
  line.call("reorder", as_arguments(order));
  const std::string block = blocks.empty() ? "block" : fuse_all(line, blocks, "block");
  line.call("gpu_blocks", {block}).call("gpu_threads", {"thread"});
  emission.lines.push_back(line);
  for (int index : kernel.rows) {
    const StageInfo& stage = emission.stage(index);
    if (is_associative(*stage.stage) && stage.terms() > 8) {
      share_terms(emission, stage, root.name(), block, {}, sharing_threads(stage.terms(), 1));
    } else {
      alone(emission, stage, root.name(), block);
    }
  }
}

}  // namespace cryolite::schedule::gpu
