#pragma once
#include <optional>
#include <string>
#include <vector>

#include "schedule/strategy.h"

/// What the CPU strategies share: looking at stages, cutting outer loops for threads.
namespace cryolite::schedule::cpu {

/// A loop of a Func: the name and extent of a storage axis.
struct Loop {
  std::string name;
  int64_t extent = 1;
};
/// Loops of a stage, innermost first.
std::vector<Loop> loops_of(const ops::Stage& stage);
/// The extent of the axis called `name`; 1 where the stage has none.
int64_t extent_of(const ops::Stage& stage, const std::string& name);

/// Elements of a vector register for the stage's type.
int64_t lanes_of(const ops::Stage& stage, const Machine& machine);

const ops::Stage& output_of(const GroupView& view, size_t i = 0);
const graph::Node& anchor_of(const GroupView& view);
/// The Func of a node's inner stage ("sum" of conv1 is conv1_sum), or nullptr.
const ops::Stage* inner_stage(const GroupView& view, const std::string& node, const std::string& stage);
/// All inner stages (not values) of a node, in order of definition.
std::vector<const ops::Stage*> inner_stages(const GroupView& view, const std::string& node);

/// Below this many elementary steps a loop is not worth a second thread: waking one costs about as much.
inline constexpr int64_t least_parallel_work = 60'000;

/// A number of a strategy that may be tuned: each strategy file lists its own at the top.
struct Tunable {
  const char* name;
  int64_t least, most;
};
/// The tuned number where there is one, cut to its range; else `rule`, the strategy's own choice.
int64_t tuned(const Parameters& parameters, const Tunable& tunable, int64_t rule);

/// What the anchor gives is read at the same index all the way to the group's only output, which has its extents; so
/// a tile of the output needs just that tile of the anchor. All other nodes are pointwise, but for `feeding`.
bool only_epilogue_follows(const GroupView& view, const std::string& node, const std::string& feeding = "");

/// Vectors along `axis`: registers of `lanes`, unrolled, where `extent` is a multiple of it; else one odd vector.
void vectorize_block(Line& line, const std::string& axis, int64_t extent, int64_t lanes);
/// Turns `line` to update 0 with `inner` loops innermost and the loops of the reduction around them.
void begin_update(Line& line, const ops::Stage& stage, std::vector<Argument> inner);

/// Elementary steps of the whole group: flops, and elements of its results.
int64_t cost_of_steps(const GroupView& view);

/// Loops after parallel_chunks.
struct Chunks {
  std::string thread;     ///< the parallel loop; empty where all is serial
  std::string innermost;  ///< what the innermost of the loops has become; itself where it was left alone
};
/// Fuses `outer` loops (innermost first, all alive in `line`) as far as threads need, cuts the result in one chunk a
/// thread and runs the chunks in parallel. Does nothing where `work` is small.
Chunks parallel_chunks(Line& line, const std::vector<Loop>& outer, int64_t work, const Machine& machine);

/// Values read several times inside of the group whose inlined form would be large: they are computed once per
/// innermost tile `at` (loop of Func `output`), in vectors of `lanes` along `axis`.
void keep_shared_values(GroupSchedule& schedule, const GroupView& view, const std::string& output,
                        const std::string& at, const std::string& axis, int64_t lanes);

/// Pointwise values that are dear to compute and that several of the group's reductions or its result need in full:
/// of the extents of what `reduction` reduces, in order of definition.
std::vector<const ops::Stage*> dear_values_of_rows(const GroupView& view, const graph::Node& reduction);

/// A strategy adds its lines and returns true, or returns false where the group is not of the form that it is for.
using Strategy = bool(GroupSchedule& schedule, const GroupView& view, const Machine& machine,
                      const Parameters& parameters);
Strategy attention, direct_conv, depthwise, conv_transpose, window_chain, gemm, pool, reduce, rows, pointwise;
/// For any group: every accumulator in a buffer of its own, one loop nest after the other.
void separate(GroupSchedule& schedule, const GroupView& view, const Machine& machine);

/// One output along vectors and threads; `keep_shared`: see keep_shared_values.
void pointwise_output(GroupSchedule& schedule, const GroupView& view, const ops::Stage& output,
                      const Machine& machine, bool keep_shared);

/// Puts an accumulator where its results are needed, at loop `at` of Func `output`: along the vectors of its innermost
/// axis where that one is kept; in vectors of partial results, joined at the end, where it is reduced and long.
void accumulate_at(GroupSchedule& schedule, const ops::Stage& stage, const std::string& output,
                   const std::string& at, const Machine& machine);

constexpr int64_t most_tile_rows = 14;
/// Rows of a register tile of `columns`: accumulators that fit the register file beside the weights and one broadcast,
/// balanced so that the last of the tiles of `rows` is not mostly empty; at most `most`.
int64_t tile_rows(int64_t columns, int64_t rows, const Machine& machine, int64_t most = most_tile_rows);
/// How many columns the packed weights of a contraction hold in a block; the tile's width follows it.
int64_t packed_block(int64_t columns, int64_t rows, const Machine& machine, int64_t most = most_tile_rows);
/// The most rows of a register tile whose inputs lie `stride` bytes apart.
int64_t most_rows_at(int64_t stride);
/// The same for a product: its rows are those of its first operand.
int64_t most_rows_of(const graph::Graph& graph, const graph::Node& product);

}  // namespace cryolite::schedule::cpu
