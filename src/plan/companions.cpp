#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "plan/kernel_form.h"

/// Siblings whose results are wanted apart (model outputs, statistics of one input) cannot lie in one buffer; they can
/// still share a kernel, its loops over rows, and what it reads:
///
///     x ──► mean ──► m            for rows: mean of the row, maximum of the row       one kernel, two results
///     └──► max ──► t
namespace cryolite::plan {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using ops::Kernel;

constexpr size_t most_results = 4, most_nodes = 48;
// Fewer rows than two register tiles leave threads idle that share columns where contractions are apart.
constexpr int64_t least_rows = 28;

struct Kin {
  Kernel kernel = Kernel::Extern;
  std::vector<graph::Dim> rows;      ///< extents of the loops that would be shared
  std::set<ValueId> reads, streams;  ///< all that it reads; of that, what it walks row by row
};

std::set<ValueId> reads_of(const FusionRules& rules, const Partition::Members& members) {
  std::set<ValueId> made, reads;
  for (NodeId n : members.nodes) made.insert(rules.graph().nodes[n].outputs.begin(), rules.graph().nodes[n].outputs.end());
  for (NodeId n : members.nodes)
    for (ValueId id : rules.facts()[n].reads)
      if (!made.count(id)) reads.insert(id);
  return reads;
}

int64_t rows_of(const std::vector<graph::Dim>& rows) {
  int64_t count = 1;
  for (const graph::Dim& dim : rows) count *= dim.extent;
  return count;
}

/// What decides whether kernels can share loops; nothing for kernels that never do.
std::optional<Kin> kin_of(const FusionRules& rules, const Partition::Members& members) {
  const Graph& graph = rules.graph();
  const Node& anchor = graph.nodes[members.anchor];
  Kin kin{rules.facts()[members.anchor].kernel, {}, reads_of(rules, members), {}};
  const auto& result = graph.output_type(graph.nodes[members.nodes.back()]).dims;
  int anchors = 0;
  for (NodeId n : members.nodes) anchors += rules.facts()[n].kernel != Kernel::Pointwise;
  if (anchors != 1 || rules.facts()[members.nodes.back()].outputs != 1) return std::nullopt;
  if (kin.kernel == Kernel::Contraction) {
    if (result.size() < 2 || graph.input_type(anchor, 0).dims.size() < 2) return std::nullopt;
    kin.rows.assign(result.begin(), result.end() - 1);
    if (rows_of(kin.rows) < least_rows) return std::nullopt;
    kin.streams = {anchor.inputs[0]};
  } else if (kin.kernel == Kernel::Reduce) {
    kin.rows = result;
    const auto& whole = graph.input_type(anchor, 0).dims;
    for (ValueId id : kin.reads)
      if (graph.value(id).type.dims == whole) kin.streams.insert(id);
  } else {
    return std::nullopt;
  }
  return kin;
}

bool share_loops(const Kin& a, const Kin& b) {
  return a.kernel == b.kernel && a.rows == b.rows && std::any_of(a.streams.begin(), a.streams.end(), [&](ValueId id) {
           return b.streams.count(id) > 0;
         });
}

class Joiner {
 public:
  Joiner(const FusionRules& rules, const device::Device& device, Partition& partition, std::vector<Decision>& decisions)
      : rules_(rules), device_(device), groups_(partition.groups), decisions_(decisions) {}

  void run() {
    for (size_t i = 0; i < groups_.size(); ++i) {
      const auto kin = kin_of(rules_, groups_[i]);
      if (!kin) continue;
      for (size_t j = i + 1; j < groups_.size();) {
        const auto other = kin_of(rules_, groups_[j]);
        const bool joins = other && share_loops(*kin, *other) && is_ready_before(*other, i) && try_join(i, j);
        if (!joins) ++j;
      }
    }
  }

 private:
  /// Whether all that the kernel reads is there before group i runs.
  bool is_ready_before(const Kin& kin, size_t i) const {
    for (size_t g = i; g < groups_.size(); ++g)
      for (NodeId n : groups_[g].nodes)
        for (ValueId id : rules_.graph().nodes[n].outputs)
          if (kin.reads.count(id)) return false;
    return true;
  }

  cost::Cost cost_of(const Partition::Members& members) const {
    const auto reads = reads_of(rules_, members);
    std::vector<ValueId> outputs;
    for (NodeId n : members.nodes)
      if (members.is_result(n)) outputs.push_back(rules_.graph().nodes[n].outputs[0]);
    return cost::of_kernel(rules_.graph(), members.nodes, {reads.begin(), reads.end()}, outputs, device_, members.recompute);
  }

  static Partition::Members joined(const Partition::Members& a, const Partition::Members& b) {
    Partition::Members both{{}, a.anchor, {}, a.results.empty() ? std::vector<NodeId>{a.nodes.back()} : a.results};
    both.results.push_back(b.nodes.back());
    std::map<NodeId, double> recompute;
    for (const auto* part : {&a, &b})
      for (size_t i = 0; i < part->nodes.size(); ++i) recompute[part->nodes[i]] = part->recompute.empty() ? 1 : part->recompute[i];
    for (const auto& [node, times] : recompute) both.nodes.push_back(node), both.recompute.push_back(times);
    return both;
  }

  bool try_join(size_t i, size_t j) {
    Partition::Members both = joined(groups_[i], groups_[j]);
    if (both.results.size() > most_results || both.nodes.size() > most_nodes) return false;
    if (both.nodes.size() != groups_[i].nodes.size() + groups_[j].nodes.size()) return false;  // a node of both
    const double together = cost_of(both).seconds, apart = cost_of(groups_[i]).seconds + cost_of(groups_[j]).seconds;
    const bool pays = together < apart;
    decisions_.push_back({rules_.graph().nodes[groups_[i].anchor].name, rules_.graph().nodes[groups_[j].anchor].name, pays,
                          "several results",
                          fmt::format("one kernel of {} results is predicted to cost {:.3g} us, apart {:.3g} us",
                                      both.results.size(), together * 1e6, apart * 1e6)});
    if (!pays) return false;
    groups_[i] = std::move(both);
    groups_.erase(groups_.begin() + static_cast<long>(j));
    return true;
  }

  const FusionRules& rules_;
  const device::Device& device_;
  std::vector<Partition::Members>& groups_;
  std::vector<Decision>& decisions_;
};

}  // namespace

void join_companions(const FusionRules& rules, const device::Device& device, Partition& partition,
                     std::vector<Decision>& decisions) {
  Joiner(rules, device, partition, decisions).run();
}

}  // namespace cryolite::plan
