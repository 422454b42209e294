#include <algorithm>

#include "schedule/gpu_emit.h"

/// y = relu(pool_max)        thread (x, y, 4 channels): pool_max in 4 registers, one window after another
namespace cryolite::schedule::gpu {
namespace {

constexpr int64_t default_threads = 128;
constexpr int64_t largest_unrolled_window = 9;

/// The update of a reduction that a thread computes for its vector of outputs.
void accumulate(Line& line, const StageInfo& stage, int update, int64_t vector) {
  line.call("update", {int64_t{update}});
  const auto kept = kept_loops(*stage.stage, update);
  const bool is_vector = vector > 1 && !kept.empty() && kept[0] == stage.axes[0].name;
  std::vector<std::string> order = is_vector ? std::vector<std::string>{kept[0]} : std::vector<std::string>{};
  int64_t terms = 1;
  for (const Axis& axis : stage.updates[update]) {
    order.push_back(axis.name);
    terms *= axis.extent;
  }
  if (order.size() > 1) line.call("reorder", as_arguments(order));
  if (is_vector) line.call("vectorize", {kept[0]});
  if (terms > largest_unrolled_window) return;
  for (const Axis& axis : stage.updates[update])
    if (axis.extent > 1) line.call("unroll", {axis.name});
}

}  // namespace

void per_thread(Emission& emission, const Kernel& kernel) {
  const StageInfo& root = emission.stage(kernel.root);
  if (root.axes.empty()) {
    stored_reduction(emission, kernel);
    return;
  }
  const int64_t vector = vector_of(emission, kernel);
  std::vector<std::string> loops = names_of(root.axes);
  Line line(root.name());
  line.call("compute_root");
  if (vector > 1) {
    line.call("split", {loops[0], loops[0] + "_o", loops[0] + "_v", vector}).call("vectorize", {loops[0] + "_v"});
    loops[0] += "_o";
  }
  spread_over_threads(line, loops, root.elements() / vector, emission.parameter("threads", default_threads));
  emission.lines.push_back(line);
  for (int thread : kernel.threads) {
    const StageInfo& stage = emission.stage(thread);
    Line inner(stage.name());
    inner.call("compute_at", {root.name(), "thread"});
    if (vector > 1) inner.call("vectorize", {stage.axes[0].name});
    for (int u = 0; u < static_cast<int>(stage.updates.size()); ++u) accumulate(inner, stage, u, vector);
    emission.lines.push_back(inner);
  }
}

}  // namespace cryolite::schedule::gpu
