#pragma once
#include <string>
#include <vector>

#include "schedule/cpu_parts.h"

/// What the strategies of convolutions share.
namespace cryolite::schedule::cpu {

struct ConvShape {
  int64_t outputs = 1;    ///< channels
  int64_t per_group = 1;  ///< output channels of a group of the convolution
  int64_t group = 1;
  int64_t row = 1;  ///< extent of the innermost spatial axis of the result
  int64_t weight_bytes = 0;
  int64_t most_pixels = 1;    ///< of a register tile: see most_rows_at
  bool is_depthwise = false;  ///< one input channel a group
};
ConvShape shape_of(const graph::Graph& graph, const graph::Node& conv);

/// Output channels of a register tile: they may not cross a group of the convolution.
int64_t channel_block(const ConvShape& shape, const Machine& machine);
/// The same where the weights are packed already: the tile follows the blocks that they lie in.
int64_t block_of(const graph::Graph& graph, const graph::Node& conv, const Machine& machine);
bool is_packed(const graph::Graph& graph, const graph::Node& conv);
/// Tail of the output's split into blocks. Packed weights and biases are padded to whole blocks, so that the last
/// tile may be computed in full and stored in part; others may not be read past their end.
const char* channel_tail(const graph::Graph& graph, const graph::Node& conv, int64_t channels, int64_t block);

/// Loops around a row of pixels that have more than one step, innermost first: y, z, n.
std::vector<Loop> loops_around_rows(const ops::Stage& output);

/// Whether the input is worth a copy: it has a border, or is computed by the group. Otherwise it is read in place.
bool is_copied(const GroupView& view, const graph::Node& conv, const ops::Stage* padded);
/// The copy of the input with its border, in vectors along its innermost axis; at root where `at` is empty.
void copy_border(GroupSchedule& schedule, const ops::Stage& padded, const std::string& output,
                 const std::string& at, const Machine& machine);

/// A tile of accumulators in registers: `block` channels by the pixels that the tile at `at` of `output` asks for.
void accumulate_tile(GroupSchedule& schedule, const ops::Stage& sum, const std::string& output,
                     const std::string& at, int64_t block, bool unroll_row, int64_t lanes);

}  // namespace cryolite::schedule::cpu
