#pragma once
#include <set>
#include <string>
#include <vector>

#include "plan/plan.h"

/// The passes that make_plan runs one after the other; each takes what the one before it gives.
namespace cryolite::plan {

/// Gives every model output a value of its own that a node computes: an output that is a constant, a model
/// input, or named twice is copied by an Identity node.
graph::Graph with_own_outputs(graph::Graph graph);

/// Chooses the order of the axes in memory for every value (layout.order), and packs constant operands of
/// contractions as their strategy wants them.
void assign_layouts(graph::Graph& graph, const schedule::Machine& machine);

using NodeNames = std::set<std::string>;

/// Values that lie in the memory of others.
struct Views {
  std::vector<graph::ValueId> parent;   ///< by value: whose memory it lies in; itself where in its own
  std::vector<int64_t> offset;          ///< by value: elements from the parent's start
  std::vector<bool> is_view_node;       ///< by node: it needs no kernel
};
/// Decides which Reshape, Transpose, Split, Slice and Concat nodes are only another way to look at memory,
/// and sets the strides of the values concerned. May add Identity nodes that copy operands into a Concat.
/// Every offset of a view is a multiple of `alignment` bytes: devices that bind parts of buffers ask for it.
/// Nodes named in `computed` are left to kernels.
Views assign_views(graph::Graph& graph, int64_t alignment = 1, const NodeNames& computed = {});

/// Which nodes become one kernel.
struct Partition {
  struct Members {
    std::vector<graph::NodeId> nodes;  ///< ascending
    graph::NodeId anchor = 0;
    std::vector<double> recompute;     ///< by member: how often each of its elements is computed; empty: once
    std::vector<graph::NodeId> results;  ///< whose outputs are stored; empty: the last one

    bool is_result(graph::NodeId node) const;
  };
  std::vector<Members> groups;         ///< in running order; a node that is recomputed stands in several
};

/// Where each value lies: inputs, outputs, weights, and the arena packed by liveness. Sets plan.homes and
/// plan.arena_bytes; plan.groups must be complete.
void assign_memory(Plan& plan, const Views& views);

}  // namespace cryolite::plan
