#include <algorithm>
#include <numeric>

#include "schedule/gpu_emit.h"

/// Shared memory that is filled by computing, not by copying:
///
///     block
///       scores            held: the block's rows, whole; a thread computes 4 rows of one column at a time
///         scores_sum      in the thread's registers
///       y_max, y_sum      held: one element a row, the threads of the block share its terms
///       for each chunk:
///         pointwise_a     staged: the chunk under the tile
///           depthwise_sum in the registers of the thread that fills the element
namespace cryolite::schedule::gpu {
namespace {

constexpr int64_t most_rows_of_thread = 4;
constexpr int64_t most_vector = 4;
constexpr int64_t largest_unrolled_window = 9;
constexpr int64_t unrolled_terms = 4;  // of a sum along one loop: loads in flight together
constexpr int64_t least_shared_terms = 8;

/// Loops over all threads of the block, one element after another.
void over_threads(Line& line, const std::vector<std::string>& loops, int64_t threads) {
  const std::string all = fuse_all(line, loops, "element");
  line.call("split", {all, "step", "thread", threads, "GuardWithIf"}).call("gpu_threads", {"thread"});
}

/// One of the loops of a stage, of which a thread computes several elements side by side.
struct Registers {
  std::string axis;
  int64_t size = 1;
  bool vectorizes = false;
};

void keep(Line& line, const std::string& loop, bool vectorizes) {
  line.call(vectorizes ? "vectorize" : "unroll", {loop});
}

/// A reduction in the registers of the threads that fill `host`.
void hosted(Emission& emission, const StageInfo& stage, const StageInfo& host, const Registers& registers) {
  const bool has_axis = std::any_of(stage.axes.begin(), stage.axes.end(),
                                    [&](const Axis& axis) { return axis.name == registers.axis; });
  const bool blocks = registers.size > 1 && has_axis;
  Line line(stage.name());
  line.call("compute_at", {host.name(), "thread"});
  if (blocks) keep(line, registers.axis, registers.vectorizes);
  for (int u = 0; u < static_cast<int>(stage.updates.size()); ++u) {
    line.call("update", {int64_t{u}});
    const auto kept = kept_loops(*stage.stage, u);
    const bool keeps = blocks && std::find(kept.begin(), kept.end(), registers.axis) != kept.end();
    std::vector<std::string> order = keeps ? std::vector<std::string>{registers.axis} : std::vector<std::string>{};
    int64_t terms = 1;
    for (const Axis& axis : stage.updates[u]) {
      order.push_back(axis.name);
      terms *= axis.extent;
    }
    if (order.size() > 1) line.call("reorder", as_arguments(order));
    if (keeps) keep(line, registers.axis, registers.vectorizes);
    if (terms <= largest_unrolled_window) {
      for (const Axis& axis : stage.updates[u])
        if (axis.extent > 1) line.call("unroll", {axis.name});
    } else if (!stage.updates[u].empty() && stage.updates[u][0].extent % unrolled_terms == 0) {
      line.call("unroll", {stage.updates[u][0].name, unrolled_terms});
    }
  }
  emission.lines.push_back(line);
}

/// Fills a stage by all threads, each computing what the stage hosts for its own elements.
void fill(Emission& emission, int index, const std::string& func, const std::string& loop, const Registers& registers,
          int64_t threads) {
  const StageInfo& stage = emission.stage(index);
  Line line(stage.name());
  line.call("compute_at", {func, loop});
  std::vector<std::string> loops = names_of(stage.axes);
  if (registers.size > 1)
    for (std::string& name : loops)
      if (name == registers.axis) {
        line.call("split", {name, name + "_o", name + "_v", registers.size});
        keep(line, name + "_v", registers.vectorizes);
        name += "_o";
      }
  if (registers.size > 1) {
    std::vector<std::string> order{registers.axis + "_v"};
    order.insert(order.end(), loops.begin(), loops.end());
    line.call("reorder", as_arguments(order));
  }
  over_threads(line, loops, threads);
  emission.lines.push_back(line);
  for (const StageInfo& other : emission.kernels.stages)
    if (other.role == Role::Thread && other.host == index) hosted(emission, other, stage, registers);
}

/// One element a row: its terms are shared by so many threads that all rows together keep the block busy.
void reduce_rows(Emission& emission, const StageInfo& stage, const std::string& root, const std::string& block,
                 const std::string& row, int64_t rows, int64_t threads) {
  const bool has_row = std::any_of(stage.axes.begin(), stage.axes.end(),
                                   [&](const Axis& axis) { return axis.name == row && axis.extent > 1; });
  const int64_t sharing = largest_divisor(threads, threads / std::max<int64_t>(1, has_row ? rows : 1));
  Line whole(stage.name());
  whole.call("compute_at", {root, block});
  if (has_row) whole.call("gpu_threads", {row});
  if (!is_associative(*stage.stage) || stage.terms() < least_shared_terms || sharing < 2) {
    for (int u = 0; u < static_cast<int>(stage.updates.size()); ++u)
      if (has_row) whole.call("update", {int64_t{u}}).call("gpu_threads", {row});
    emission.lines.push_back(whole);
    return;
  }
  const std::string partial = stage.name() + "_partial";
  whole.call("update", {int64_t{0}});
  const std::string terms = fuse_all(whole, names_of(stage.updates[0]), "rall");
  whole.call("split", {terms, "rstep", "rshare", sharing, "GuardWithIf"}).call("rfactor", {"rshare", "u", partial});
  if (has_row) whole.call("gpu_threads", {row});
  emission.lines.push_back(whole);
  Line part(partial);
  part.call("compute_at", {root, block});
  for (const bool is_update : {false, true}) {
    if (is_update) part.call("update", {int64_t{0}});
    std::vector<std::string> order{"u"};
    if (is_update) order.insert(order.begin(), "rstep");
    if (has_row) order.push_back(row);
    if (order.size() > 1) part.call("reorder", as_arguments(order));
    if (has_row) part.call("fuse", {"u", row, "thread"});
    part.call("gpu_threads", {has_row ? "thread" : "u"});
  }
  emission.lines.push_back(part);
}

}  // namespace

void fill_operand(Emission& emission, const Kernel& kernel, int operand, const std::string& sum, int64_t chunk,
                  int64_t threads, bool vectorizes) {
  Registers registers;
  if (kernel.staged == operand && vectorizes) {
    const StageInfo& stage = emission.stage(operand);
    const bool is_convolution = emission.graph_node_of(operand).op_type == "Conv";
    const auto depth = is_convolution ? std::optional(stage.stage->axes.at(1)) : depth_axis(emission.kernels.stages, kernel);
    if (depth == stage.axes[0].name) registers = {*depth, std::gcd(chunk, most_vector), true};
  }
  fill(emission, operand, sum, "rxo", registers, threads);
}

void hold(Emission& emission, const Kernel& kernel, const std::string& block, const std::string& row, int64_t rows,
          int64_t threads) {
  const std::string& root = emission.stage(kernel.root).name();
  for (int index : kernel.held) {
    const StageInfo& stage = emission.stage(index);
    if (stage.reduces()) {
      reduce_rows(emission, stage, root, block, row, rows, threads);
    } else {
      const bool has_row = std::any_of(stage.axes.begin(), stage.axes.end(), [&](const Axis& axis) { return axis.name == row; });
      Registers registers;
      if (has_row) registers = {row, largest_divisor(rows, most_rows_of_thread), false};
      fill(emission, index, root, block, registers, threads);
    }
  }
}

}  // namespace cryolite::schedule::gpu
