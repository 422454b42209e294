#pragma once
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "lower/lowered_group.h"
#include "ops/builder.h"
#include "schedule/strategy.h"

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
  Thread,  ///< inside the threads of its host, at the very elements that they write: registers
  Row,     ///< once a block, for all elements of the rows that the block writes: shared memory
  Tile,    ///< once a block, for all windows that the block's threads read: shared memory
  Staged,  ///< the operand of the kernel's contraction, a chunk at a time: shared memory
  Held,    ///< once a block, for all that the block reads of it: shared memory
};

/// What decides the index at which one axis of a Func is read, best first.
enum class At {
  Own,     ///< the reader's loop of the same name
  Fixed,   ///< a constant, and the axis has extent 1: the same place for all readers
  Single,  ///< anything else that follows from the reader's position: one place for each
  Other,
};
/// One entry for each axis of the Func read, innermost first.
using Pattern = std::vector<At>;

/// How a reader's own position decides what it reads.
enum class Reading {
  Same,    ///< at the reader's position: every index is the reader's loop of that name
  Row,     ///< the same but for axes read at one fixed place: one element serves a row of the reader
  Single,  ///< one element, at a place that follows from the reader's position: clamped, shifted, turned
  Other,   ///< anything else: windows, reductions
};

/// What a stage reads of another that is computed, directly or through inlined ones.
struct Read {
  int producer = 0;
  Pattern pattern;
  Reading reading = Reading::Same;
};

struct StageInfo {
  const ops::Stage* stage = nullptr;
  std::vector<Axis> axes;                  ///< storage axes, innermost first
  std::vector<std::vector<Axis>> updates;  ///< reduction loops of each update, r.x first
  Role role = Role::Inline;
  int kernel = -1;          ///< index of the Root stage whose kernel it is computed in
  int host = -1;            ///< of Role::Thread: the stage in whose threads it is computed (Root, Staged or Held)
  std::vector<Read> reads;  ///< of stages that are not inlined
  bool reduces() const { return !updates.empty(); }
  const std::string& name() const { return stage->name; }
  int64_t elements() const;
  /// Number of terms of the first update; 1 without one.
  int64_t terms() const;
};

struct Kernel {
  int root = 0;
  std::vector<int> threads;   ///< stages of Role::Thread that the root hosts, producers first
  std::vector<int> rows;      ///< stages of Role::Row, producers first
  std::optional<int> tile;    ///< the stage of Role::Tile, read by the only one of Role::Thread
  std::optional<int> staged;  ///< the stage of Role::Staged, where anything is computed to fill it
  std::vector<int> held;      ///< stages of Role::Held, producers first
};

struct Kernels {
  std::vector<StageInfo> stages;  ///< as LoweredGroup::stages
  std::vector<Kernel> kernels;    ///< in running order
};

/// Cuts a group into kernels: the outputs, and every reduction that its readers cannot compute for themselves.
Kernels kernels_of(const graph::Graph& graph, const lower::LoweredGroup& group, const Machine& machine);

/// Elements of the stages held in shared memory that one row of the kernel's contraction needs: whole along the axis
/// summed over, one place along all others. Nothing where they are read in any other way.
std::optional<int64_t> held_elements_of_row(const std::vector<StageInfo>& stages, const Kernel& kernel);
/// The axis of the kernel's staged operand that its contraction sums over, if there is only one and all others are
/// the contraction's own.
std::optional<std::string> depth_axis(const std::vector<StageInfo>& stages, const Kernel& kernel);

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
