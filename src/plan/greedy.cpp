#include <algorithm>
#include <map>
#include <set>

#include "ops/operator.h"
#include "plan/passes.h"

/// The seed's rules. Nodes are visited in topological (post-)order, and each pulls into its own kernel the groups
/// that feed it, as long as nothing outside needs what they compute:
///
///     Conv ─► Mul ─► Relu ─┬─► Add ─► Y        Add takes {Conv, Mul, Relu}: one kernel.
///     Z ───────────────────┘
///
///     Conv ─► v ─┬─► Sigmoid ─┐                Mul takes {Sigmoid}, and then {Conv}: all readers of v are inside.
///                └────────────┴► Mul ─► Y
///
/// A group has one anchor at most: the reduction or contraction whose loops it is built around. Two anchors meet
/// only where the second one's windows do not overlap, so that tiling computes nothing twice.
/// Every group ends in one node, the last, whose outputs are all that other kernels see: no merge makes a cycle.
namespace cryolite::plan {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using ops::Kernel;

// Halide inlines by substitution, and its code grows with every input of a kernel: beyond these a kernel takes
// minutes to compile or spills, and saves nothing more.
constexpr size_t largest_group = 48;
constexpr size_t most_inputs = 24;

Kernel kernel_of(const Node& node) {
  const ops::Operator* op = ops::find(node.op_type);
  return op ? op->kernel : Kernel::Extern;
}

/// Element positions of the operator's output that read one position of input i: 1 for windows that only touch.
bool windows_only_touch(const Graph& graph, const Node& node) {
  const int spatial = static_cast<int>(graph.value(node.inputs[0]).type.dims.size()) - 2;
  const auto kernel = graph::ints_attribute(node, "kernel_shape", std::vector<int64_t>(spatial, 1));
  const auto strides = graph::ints_attribute(node, "strides", std::vector<int64_t>(spatial, 1));
  const auto dilations = graph::ints_attribute(node, "dilations", std::vector<int64_t>(spatial, 1));
  for (size_t axis = 0; axis < kernel.size(); ++axis)
    if ((kernel[axis] - 1) * dilations[axis] + 1 > strides[axis]) return false;
  return true;
}

class Merger {
 public:
  Merger(const Graph& graph, const Views& views)
      : graph_(graph), views_(views), uses_(graph::uses_of(graph)), group_of_(graph.nodes.size(), -1) {}

  Partition run() {
    for (NodeId n = 0; n < static_cast<NodeId>(graph_.nodes.size()); ++n) {
      if (views_.is_view_node[n]) continue;
      group_of_[n] = n;
      members_[n] = {n};
      if (kernel_of(graph_.nodes[n]) != Kernel::Extern) pull_producers(n);
    }
    Partition partition;  // keyed by last node: ascending order is a running order
    for (const auto& [last, nodes] : members_)
      partition.groups.push_back({{nodes.begin(), nodes.end()}, anchor_of(nodes)});
    return partition;
  }

 private:
  void pull_producers(NodeId last) {
    for (bool changed = true; changed;) {
      changed = false;
      for (const int producer_group : feeding_groups(last)) {
        if (!may_join(producer_group, last)) continue;
        for (NodeId node : members_[producer_group]) group_of_[node] = last;
        members_[last].insert(members_[producer_group].begin(), members_[producer_group].end());
        members_.erase(producer_group);
        changed = true;
        break;
      }
    }
  }

  /// Groups whose results the group reads, nearest (latest) first.
  std::vector<int> feeding_groups(NodeId last) const {
    std::set<int, std::greater<>> feeding;
    for (NodeId node : members_.at(last))
      for (ValueId id : graph_.nodes[node].inputs) {
        if (id == graph::absent || uses_.producer[id] == graph::absent) continue;
        const int group = group_of_[uses_.producer[id]];
        if (group >= 0 && group != last) feeding.insert(group);
      }
    return {feeding.begin(), feeding.end()};
  }

  bool may_join(int producer_group, NodeId last) const {
    const auto& producers = members_.at(producer_group);
    const auto& consumers = members_.at(last);
    if (kernel_of(graph_.nodes[producer_group]) == Kernel::Extern) return false;
    if (producers.size() + consumers.size() > largest_group) return false;
    if (!only_read_inside(producer_group, last)) return false;
    if (count_inputs(producers, consumers) > most_inputs) return false;
    const NodeId first_anchor = anchor_node(producers), second_anchor = anchor_node(consumers);
    if (second_anchor == graph::absent) return readers_walk_alike(producer_group, last);
    if (first_anchor == graph::absent) return may_be_prologue(producer_group, last, second_anchor);
    return may_tile(producer_group, first_anchor, last, second_anchor);
  }

  /// Nothing but the group reads what the producer group's last node computes.
  bool only_read_inside(int producer_group, NodeId last) const {
    for (ValueId id : graph_.nodes[producer_group].outputs) {
      if (id == graph::absent) continue;
      if (uses_.is_output[id] || views_.parent[id] != id) return false;
      for (NodeId consumer : uses_.consumers[id])
        if (views_.is_view_node[consumer] || group_of_[consumer] != last) return false;
    }
    return true;
  }

  size_t count_inputs(const std::set<NodeId>& a, const std::set<NodeId>& b) const {
    std::set<ValueId> inputs;
    for (const std::set<NodeId>* nodes : {&a, &b})
      for (NodeId node : *nodes)
        for (ValueId id : graph_.nodes[node].inputs)
          if (id != graph::absent && !is_compile_time(graph_.value(id))) inputs.insert(id);
    return inputs.size();
  }

  NodeId anchor_node(const std::set<NodeId>& nodes) const {
    NodeId anchor = graph::absent;
    for (NodeId node : nodes)
      if (!is_pointwise(graph_.nodes[node])) anchor = node;
    return anchor;
  }
  NodeId anchor_of(const std::set<NodeId>& nodes) const {
    NodeId anchor = *nodes.rbegin();
    int64_t most = -1;
    for (NodeId node : nodes)
      if (!is_pointwise(graph_.nodes[node]) && cost::flops_of(graph_, node) > most)
        anchor = node, most = cost::flops_of(graph_, node);
    return anchor;
  }

  /// Pointwise consumers: a pointwise producer can be inlined wherever it is read; the loops of an anchor must
  /// be those of the whole group, so each of its readers must walk its result at the same index.
  bool readers_walk_alike(int producer_group, NodeId last) const {
    if (anchor_node(members_.at(producer_group)) == graph::absent) return true;
    const auto& produced = graph_.output_type(graph_.nodes[producer_group]);
    for (NodeId node : members_.at(last)) {
      if (!ops::is_elementwise(graph_, graph_.nodes[node])) return false;
      if (graph_.output_type(graph_.nodes[node]).dims != produced.dims) return false;
    }
    return graph_.nodes[producer_group].outputs.size() == 1;
  }

  /// Pointwise work before an anchor. Readers by window or contraction read an element many times: they do so
  /// through a copy that is computed once a tile (`_padded`, `_a`, `_b`), which only data operands have.
  bool may_be_prologue(int producer_group, NodeId last, NodeId anchor) const {
    const Node& node = graph_.nodes[anchor];
    const ValueId produced = graph_.nodes[producer_group].outputs[0];
    const bool feeds_anchor = std::count(node.inputs.begin(), node.inputs.end(), produced) > 0;
    if (!feeds_anchor) return readers_walk_alike_after(producer_group, last, anchor);
    switch (kernel_of(node)) {
      case Kernel::Pool:
      case Kernel::Reduce:
      case Kernel::Rows:
        return all_elementwise(producer_group) || kernel_of(node) == Kernel::Reduce;
      case Kernel::Convolution:
        return node.inputs[0] == produced && all_elementwise(producer_group);
      default:
        return false;
    }
  }

  /// A pointwise producer read by the epilogue (a scaled residual): its elements are needed once each.
  bool readers_walk_alike_after(int producer_group, NodeId last, NodeId anchor) const {
    (void)anchor;
    return all_elementwise(producer_group) && !members_.at(last).empty();
  }

  bool all_elementwise(int producer_group) const {
    const auto& nodes = members_.at(producer_group);
    return std::all_of(nodes.begin(), nodes.end(),
                       [&](NodeId node) { return ops::is_elementwise(graph_, graph_.nodes[node]); });
  }

  int count_anchors(const std::set<NodeId>& nodes) const {
    return static_cast<int>(
        std::count_if(nodes.begin(), nodes.end(), [&](NodeId n) { return !is_pointwise(graph_.nodes[n]); }));
  }

  /// Two anchors in one kernel: a convolution computed at the tile of a pool whose windows only touch.
  bool may_tile(int producer_group, NodeId first, NodeId last, NodeId second) const {
    if (second != last) return false;  // decided when the pool is visited, before its epilogue
    if (count_anchors(members_.at(producer_group)) != 1 || count_anchors(members_.at(last)) != 1) return false;
    const Node& pool = graph_.nodes[second];
    return kernel_of(pool) == Kernel::Pool && graph::has_attribute(pool, "kernel_shape") &&
           kernel_of(graph_.nodes[first]) == Kernel::Convolution && pool.outputs.size() == 1 &&
           windows_only_touch(graph_, pool);
  }

  const Graph& graph_;
  const Views& views_;
  graph::Uses uses_;
  std::vector<int> group_of_;               ///< by node: the last node of its group, -1: view or not yet visited
  std::map<int, std::set<NodeId>> members_;  ///< by last node
};

/// Reads of the group through the value, and whether each of them may inline it.
bool reader_may_inline(const Graph& graph, const Partition::Members& reader, ValueId value) {
  for (NodeId n : reader.nodes) {
    const Node& node = graph.nodes[n];
    if (!std::count(node.inputs.begin(), node.inputs.end(), value)) continue;
    if (ops::is_elementwise(graph, node)) continue;
    const Kernel kernel = kernel_of(node);
    const bool is_staged = kernel == Kernel::Convolution && node.inputs[0] == value;
    if (!is_staged && kernel != Kernel::Reduce && kernel != Kernel::Rows && kernel != Kernel::Pool) return false;
  }
  return true;
}

/// Copies cheap pointwise producers into each of their readers, last ones first so that chains follow.
void recompute_cheap_producers(const Graph& graph, const Views& views, const device::Device& device,
                               Partition& partition) {
  const graph::Uses uses = graph::uses_of(graph);
  for (size_t g = partition.groups.size(); g-- > 0;) {
    const Partition::Members producer = partition.groups[g];
    const Node& last = graph.nodes[producer.nodes.back()];
    const bool elementwise =
        std::all_of(producer.nodes.begin(), producer.nodes.end(),
                    [&](NodeId n) { return ops::is_elementwise(graph, graph.nodes[n]); });
    const ValueId value = last.outputs[0];
    if (!elementwise || last.outputs.size() != 1 || uses.is_output[value] || views.parent[value] != value) continue;
    if (std::any_of(uses.consumers[value].begin(), uses.consumers[value].end(),
                    [&](NodeId c) { return views.is_view_node[c]; }))
      continue;
    std::vector<size_t> readers;
    bool legal = true;
    for (size_t r = g + 1; r < partition.groups.size(); ++r) {
      const auto& nodes = partition.groups[r].nodes;
      const bool reads = std::any_of(nodes.begin(), nodes.end(), [&](NodeId n) {
        return std::count(graph.nodes[n].inputs.begin(), graph.nodes[n].inputs.end(), value) > 0;
      });
      if (!reads) continue;
      readers.push_back(r);
      legal = legal && reader_may_inline(graph, partition.groups[r], value) &&
              nodes.size() + producer.nodes.size() <= largest_group &&
              kernel_of(graph.nodes[nodes.back()]) != Kernel::Extern;
    }
    if (!legal || readers.empty()) continue;
    const SharedPrice price =
        price_shared(graph, producer.nodes, value, static_cast<int>(readers.size()), device);
    if (price.recompute > price.store) continue;
    for (size_t r : readers) {
      std::set<NodeId> merged(partition.groups[r].nodes.begin(), partition.groups[r].nodes.end());
      merged.insert(producer.nodes.begin(), producer.nodes.end());
      partition.groups[r].nodes.assign(merged.begin(), merged.end());
    }
    partition.groups.erase(partition.groups.begin() + static_cast<long>(g));
  }
}

}  // namespace

bool is_pointwise(const Node& node) { return kernel_of(node) == Kernel::Pointwise; }

SharedPrice price_shared(const Graph& graph, const std::vector<NodeId>& producer, ValueId value, int readers,
                         const device::Device& device) {
  std::set<ValueId> made, read;
  int64_t flops = 0, read_bytes = 0;
  for (NodeId node : producer) {
    flops += cost::flops_of(graph, node);
    for (ValueId id : graph.nodes[node].outputs) made.insert(id);
  }
  for (NodeId node : producer)
    for (ValueId id : graph.nodes[node].inputs)
      if (id != graph::absent && !made.count(id) && !is_compile_time(graph.value(id))) read.insert(id);
  for (ValueId id : read) read_bytes += cost::bytes_of(graph, id);
  const double rate = device.memory_bytes_per_second();
  const double once = std::max(flops / device.flops_per_second, read_bytes / rate);
  const double stored_bytes = static_cast<double>(cost::bytes_of(graph, value));
  return {device.launch_seconds + std::max(once, (read_bytes + stored_bytes) / rate) + readers * stored_bytes / rate,
          readers * once};
}

Partition partition_none(const Graph& graph, const Views& views) {
  Partition partition;
  for (NodeId n = 0; n < static_cast<NodeId>(graph.nodes.size()); ++n)
    if (!views.is_view_node[n]) partition.groups.push_back({{n}, n});
  return partition;
}

Partition partition_greedy(const Graph& graph, const Views& views, const device::Device& device) {
  Partition partition = Merger(graph, views).run();
  recompute_cheap_producers(graph, views, device, partition);
  return partition;
}

}  // namespace cryolite::plan
