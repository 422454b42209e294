#pragma once
#include <optional>
#include <string>
#include <vector>

#include "schedule/gpu_kernels.h"
#include "schedule/gpu_tiles.h"
#include "schedule/strategy.h"

/// The parts that GPU schedules are put together from. Loops are listed innermost first throughout.
namespace cryolite::schedule::gpu {

/// What the makers of kernels look at, and the lines they add to.
struct Emission {
  const GroupView& view;
  const Machine& machine;
  const Parameters& parameters;
  const Kernels& kernels;
  std::vector<FuncSchedule> lines;

  const StageInfo& stage(int index) const { return kernels.stages.at(index); }
  /// The graph node that a stage belongs to, and the other stages of it.
  const lower::LoweredGroup::Node& node_of(int stage) const;
  const graph::Node& graph_node_of(int stage) const;
  /// A stage of the same node whose name ends in `suffix` and that is neither stored nor computed elsewhere.
  std::optional<int> sibling(int stage, const std::string& suffix) const;
  int64_t parameter(const char* name, int64_t fallback) const;
};

std::vector<Argument> as_arguments(const std::vector<std::string>& names);
std::vector<std::string> names_of(const std::vector<Axis>& axes);
/// Fuses loops into one named `fused`; returns its name (the only loop's own where there is one).
std::string fuse_all(Line& line, const std::vector<std::string>& loops, const std::string& fused);
/// Fuses all loops, gives each thread one position: blocks of `threads` threads.
void spread_over_threads(Line& line, const std::vector<std::string>& loops, int64_t positions, int64_t threads);
/// Elements of 4 bytes or fewer in vectors of 4 or 2 along the innermost axis, where they divide it and no
/// tensor of the group is a view, whose start may not be aligned.
int64_t vector_of(const Emission& emission, const Kernel& kernel);
/// Whether all tensors that the group reads and writes are dense.
bool is_dense(const GroupView& view);

void pointwise(Emission& emission, const Kernel& kernel);
/// Each thread computes its outputs' reductions alone, in registers.
void per_thread(Emission& emission, const Kernel& kernel);
/// Convolutions and matrix products: blocks of register tiles, inputs staged in shared memory.
void contraction(Emission& emission, const Kernel& kernel);
/// The operand of a contraction, a chunk at a time, by all threads: copied, or computed with all that it hosts.
void fill_operand(Emission& emission, const Kernel& kernel, int operand, const std::string& sum, int64_t chunk,
                  int64_t threads, bool vectorizes);
/// What is held in shared memory for the `rows` rows of a block.
void hold(Emission& emission, const Kernel& kernel, const std::string& block, const std::string& row, int64_t rows,
          int64_t threads);
/// A convolution and the pool that reads it: the convolution's tile in shared memory, windows read from there.
void window_chain(Emission& emission, const Kernel& kernel);
/// Reductions with few outputs: the threads of a block share the terms, and add up in shared memory.
void shared_reduction(Emission& emission, const Kernel& kernel);
/// Softmax and norms: one block a row.
void rows(Emission& emission, const Kernel& kernel);
/// A stored Func with updates: each definition is a kernel, a thread an element.
void stored_reduction(Emission& emission, const Kernel& kernel);

/// Whether the kernel is one convolution (of one group) or matrix product at its readers' positions.
bool is_contraction_kernel(const Emission& emission, const Kernel& kernel);
/// Whether a block should share the terms of the kernel's reduction.
bool wants_shared_reduction(const Emission& emission, const Kernel& kernel);

}  // namespace cryolite::schedule::gpu
