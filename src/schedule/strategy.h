#pragma once
#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "lower/lowered_group.h"
#include "schedule/schedule.h"

namespace cryolite::schedule {

/// What a strategy knows of the machine. Sizes in bytes.
struct Machine {
  enum class Kind { Cpu, Cuda, OpenCl, Vulkan };
  Kind kind = Kind::Cpu;
  int vector_bytes = 32;       ///< SIMD register width (CPU)
  int vector_registers = 16;   ///< architectural SIMD registers (CPU)
  int threads = 2;             ///< the number of chunks parallel loops are cut for (CPU)
  int64_t l1_bytes = 32 << 10;
  int64_t l2_bytes = 1 << 20;
  int shared_memory_bytes = 48 << 10;  ///< a block (GPU)
  int multiprocessors = 132;           ///< (GPU)
};
/// The machine that a Halide target string describes, with typical cache sizes; `host` probes this one.
Machine machine_of(const std::string& target);

/// A tunable number of a strategy, with the range that search may try.
using Parameters = std::map<std::string, int64_t>;

/// Group as a strategy sees it: the graph of the group, its Funcs, and the anchor.
struct GroupView {
  const graph::Graph& graph;             ///< the group as a graph of its own
  const lower::LoweredGroup& lowered;
  std::string anchor;                    ///< name of the anchor node
};

/// The name of the strategy for this anchor: direct_conv, depthwise, gemm, gemm_rows, attention, pool, reduce, rows,
/// pointwise, window_chain, conv_transpose (and their gpu forms under the same name).
std::string strategy_of(const graph::Graph& group, const std::string& anchor);

/// The layout in which the strategy wants a constant operand of the anchor (packed weights); row-major where it
/// has no wish. Called by the plan before lowering; pure function of shapes and machine.
graph::Layout weight_layout(const graph::Graph& graph, const graph::Node& anchor, size_t input,
                            const Machine& machine);

/// The default schedule of a group for a machine: always legal, for any shapes.
GroupSchedule make_schedule(const GroupView& group, const Machine& machine, const Parameters& parameters = {});

}  // namespace cryolite::schedule
