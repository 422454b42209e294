#pragma once
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "lower/lowered_group.h"
#include "ops/builder.h"

/// How a group falls into GPU kernels, and where in them its reductions are computed.
namespace cryolite::schedule::gpu {

/// A loop of a Func: its name and how often it runs at most.
struct Axis {
  std::string name;
  int64_t extent = 1;
};

/// Where a Func is computed.
enum class Role {
  Inline,  ///< substituted into its readers
  Root,    ///< a kernel of its own: the group's outputs, and what cannot be computed inside another kernel
  Thread,  ///< inside the threads of its kernel, at the very elements that they write: registers
  Row,     ///< once a block, for all elements of the rows that the block writes: shared memory
  Tile,    ///< once a block, for all windows that the block's threads read: shared memory
};

/// How a reader's own position decides what it reads.
enum class Reading {
  Same,   ///< at the reader's position: every index is the reader's loop of that name
  Row,    ///< the same but for axes read at one fixed place: one element serves a row of the reader
  Other,  ///< anything else: windows, reductions, turned axes
};

struct StageInfo {
  const ops::Stage* stage = nullptr;
  std::vector<Axis> axes;                  ///< storage axes, innermost first
  std::vector<std::vector<Axis>> updates;  ///< reduction loops of each update, r.x first
  Role role = Role::Inline;
  int kernel = -1;                                ///< index of the Root stage whose kernel it is computed in
  std::vector<std::pair<int, Reading>> reads;     ///< non-inline stages read, directly or through inline ones
  bool reduces() const { return !updates.empty(); }
  const std::string& name() const { return stage->name; }
  int64_t elements() const;
  /// Number of terms of the first update; 1 without one.
  int64_t terms() const;
};

struct Kernel {
  int root = 0;
  std::vector<int> threads;  ///< stages of Role::Thread, producers first
  std::vector<int> rows;     ///< stages of Role::Row, producers first
  std::optional<int> tile;   ///< the stage of Role::Tile, read by the only one of Role::Thread
};

struct Kernels {
  std::vector<StageInfo> stages;  ///< as LoweredGroup::stages
  std::vector<Kernel> kernels;    ///< in running order
};

/// Cuts a group into kernels: the outputs, and every reduction that its readers cannot compute for themselves.
Kernels kernels_of(const graph::Graph& graph, const lower::LoweredGroup& group);

/// Steps of the windows of a pool that has no border and whose windows touch without overlapping, innermost axis
/// (x) first; empty for all other nodes.
std::vector<int64_t> touching_windows(const graph::Graph& graph, const graph::Node& pool);
/// Whether a node is a matrix product, or a convolution whose groups have enough channels to share their inputs.
bool is_contraction(const graph::Graph& graph, const graph::Node& node);

/// Whether the first update of a stage can be split into partial results: f = f (+, *, min, max) x.
bool is_associative(const ops::Stage& stage);
/// The loops of the Func that update `update` of a stage keeps, innermost first: the indices on its left side
/// that are plain loops.
std::vector<std::string> kept_loops(const ops::Stage& stage, int update);
/// Whether the first update reads anything whose innermost index moves with the reduction's loops.
bool reduces_innermost(const ops::Stage& stage);

}  // namespace cryolite::schedule::gpu
