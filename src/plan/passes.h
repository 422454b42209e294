#pragma once
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

/// Values that lie in the memory of others.
struct Views {
  std::vector<graph::ValueId> parent;   ///< by value: whose memory it lies in; itself where in its own
  std::vector<int64_t> offset;          ///< by value: elements from the parent's start
  std::vector<bool> is_view_node;       ///< by node: it needs no kernel
};
/// Decides which Reshape, Transpose, Split, Slice and Concat nodes are only another way to look at memory,
/// and sets the strides of the values concerned. May add Identity nodes that copy operands into a Concat.
/// Every offset of a view is a multiple of `alignment` bytes: devices that bind parts of buffers ask for it.
Views assign_views(graph::Graph& graph, int64_t alignment = 1);

/// Which nodes become one kernel: by node, the groups that compute it (several where it is recomputed).
struct Partition {
  struct Members {
    std::vector<graph::NodeId> nodes;  ///< ascending
    graph::NodeId anchor = 0;
  };
  std::vector<Members> groups;         ///< in running order
};
/// A partition of one kernel a node.
Partition partition_none(const graph::Graph& graph, const Views& views);
/// The seed's rules: any number of injective and broadcast nodes join a reduction or contraction, on both
/// sides; values with several consumers are stored unless all of them are in the group, or recomputing a
/// pointwise producer in each is predicted cheaper; no reduction joins a reduction except by window tiling.
Partition partition_greedy(const graph::Graph& graph, const Views& views, const device::Device& device);

/// Why each edge of the graph is as it is.
std::vector<Decision> explain(const Plan& plan, const Views& views, const Partition& partition,
                              const device::Device& device);

/// Where each value lies: inputs, outputs, weights, and the arena packed by liveness. Sets plan.homes and
/// plan.arena_bytes; plan.groups must be complete.
void assign_memory(Plan& plan, const Views& views);

/// Prices of a pointwise producer with several readers, in predicted seconds.
struct SharedPrice {
  double store, recompute;
};
/// What storing the only output of `producer` costs against recomputing it in each of `readers` groups.
SharedPrice price_shared(const graph::Graph& graph, const std::vector<graph::NodeId>& producer,
                         graph::ValueId value, int readers, const device::Device& device);

/// Whether a node's loops are those of its output with nothing reduced: it can be inlined anywhere.
bool is_pointwise(const graph::Node& node);

}  // namespace cryolite::plan
