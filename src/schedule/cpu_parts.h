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

/// Elementary steps of the whole group: flops, and elements of its results.
int64_t cost_of_steps(const GroupView& view);

/// Fuses `outer` loops (innermost first, all alive in `line`), cuts them in one chunk a thread and runs the chunks
/// in parallel. Does nothing where `work` is small. Returns the name of the chunk loop, empty where serial.
std::string parallel_chunks(Line& line, const std::vector<Loop>& outer, int64_t work, const Machine& machine);

/// Values read several times inside of the group whose inlined form would be large: they are computed once per
/// innermost tile `at` (loop of Func `output`), in vectors of `lanes` along `axis`.
void keep_shared_values(GroupSchedule& schedule, const GroupView& view, const std::string& output,
                        const std::string& at, const std::string& axis, int64_t lanes);

/// Every strategy of this folder.
void direct_conv(GroupSchedule& schedule, const GroupView& view, const Machine& machine);
void depthwise(GroupSchedule& schedule, const GroupView& view, const Machine& machine);
void conv_transpose(GroupSchedule& schedule, const GroupView& view, const Machine& machine);
void window_chain(GroupSchedule& schedule, const GroupView& view, const Machine& machine);
void gemm(GroupSchedule& schedule, const GroupView& view, const Machine& machine);
void pool(GroupSchedule& schedule, const GroupView& view, const Machine& machine);
void reduce(GroupSchedule& schedule, const GroupView& view, const Machine& machine);
void rows(GroupSchedule& schedule, const GroupView& view, const Machine& machine);
void pointwise(GroupSchedule& schedule, const GroupView& view, const Machine& machine);

/// Register tile of a contraction: `columns` along the vectors, `rows` across them.
struct RegisterTile {
  int64_t columns = 1, rows = 1;
};
/// The tile for a result of `columns` x `rows`, with accumulators that fit the register file.
RegisterTile register_tile(int64_t columns, int64_t rows, const Machine& machine);
/// How many columns the packed weights of a contraction hold in a block; the tile's width follows it.
int64_t packed_block(int64_t columns, int64_t rows, const Machine& machine);

}  // namespace cryolite::schedule::cpu
