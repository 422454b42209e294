#include "plan/choice.h"

#include <algorithm>
#include <limits>
#include <set>

namespace cryolite::plan {

using graph::NodeId;

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// Stored nodes whose kernels hold `node`: those that its result reaches without being stored.
std::set<NodeId> kernels_with(const FusionRules& rules, const Stored& stored, NodeId node) {
  std::set<NodeId> results, seen;
  std::vector<NodeId> open{node};
  while (!open.empty()) {
    const NodeId at = open.back();
    open.pop_back();
    if (!seen.insert(at).second) continue;
    if (stored[at]) {
      if (!rules.facts()[at].is_view) results.insert(at);
      continue;
    }
    for (NodeId consumer : rules.facts()[at].consumers) open.push_back(consumer);
  }
  return results;
}

}  // namespace

std::vector<NodeId> closure_of(const FusionRules& rules, const Stored& stored, NodeId node) {
  std::vector<NodeId> nodes{node};
  for (size_t i = 0; i < nodes.size(); ++i)
    for (NodeId producer : rules.facts()[nodes[i]].producers)
      if (!stored[producer] && std::find(nodes.begin(), nodes.end(), producer) == nodes.end()) nodes.push_back(producer);
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

Pricer::Pricer(const FusionRules& rules, const device::Device& device) : rules_(rules), device_(device) {
  const graph::Graph& graph = rules.graph();
  for (NodeId n = 0; n < static_cast<NodeId>(graph.nodes.size()); ++n) {
    compute_.push_back(
        cost::compute_seconds(graph, graph.nodes[n], static_cast<double>(rules.facts()[n].flops), device));
    kept_.push_back(cost::kept_data_seconds(graph, graph.nodes[n], device));
  }
  for (graph::ValueId id = 0; id < static_cast<graph::ValueId>(graph.values.size()); ++id)
    transfer_.push_back(cost::transfer_seconds(cost::bytes_of(graph, id), device));
}

Pricer::Price Pricer::computed(const std::vector<NodeId>& nodes) const {
  const KernelForm form = rules_.form_of(nodes);
  if (form.verdict != KernelForm::Verdict::Kernel) return {form.verdict, never};
  double compute = 0, transfer = 0;
  std::vector<graph::ValueId> made, read;
  for (size_t i = 0; i < nodes.size(); ++i) {
    compute += compute_[nodes[i]] * (form.recompute.empty() ? 1 : form.recompute[i]);
    for (graph::ValueId id : rules_.graph().nodes[nodes[i]].outputs)
      if (id != graph::absent) made.push_back(id);
  }
  for (NodeId node : nodes) {
    const auto& inputs = rules_.graph().nodes[node].inputs;
    if (kept_[node] > 0 && std::find(made.begin(), made.end(), inputs[0]) != made.end()) compute += kept_[node];
  }
  for (NodeId node : nodes)
    for (graph::ValueId id : rules_.facts()[node].reads)
      if (std::find(made.begin(), made.end(), id) == made.end() && std::find(read.begin(), read.end(), id) == read.end()) {
        read.push_back(id);
        transfer += transfer_[id];
      }
  for (graph::ValueId id : rules_.graph().nodes[nodes.back()].outputs)
    if (id != graph::absent) transfer += transfer_[id];
  return {form.verdict, cost::kernel_seconds(compute, transfer, device_)};
}

const Pricer::Price& Pricer::price_of(const std::vector<NodeId>& nodes) {
  const auto found = known_.find(nodes);
  if (found != known_.end()) return found->second;
  return known_.emplace(nodes, computed(nodes)).first->second;
}

double Pricer::seconds_of(const Stored& stored) {
  double total = 0;
  for (NodeId n = 0; n < static_cast<NodeId>(stored.size()); ++n)
    if (stored[n] && !rules_.facts()[n].is_view) total += price_of(closure_of(rules_, stored, n)).seconds;
  return total;
}

Partition partition_of(const FusionRules& rules, const Stored& stored) {
  Partition partition;
  for (NodeId n = 0; n < static_cast<NodeId>(stored.size()); ++n) {
    if (!stored[n] || rules.facts()[n].is_view) continue;
    Partition::Members members{closure_of(rules, stored, n), graph::absent, {}};
    KernelForm form = rules.form_of(members.nodes);
    members.anchor = form.anchor;
    members.recompute = std::move(form.recompute);
    partition.groups.push_back(std::move(members));
  }
  return partition;
}

Stored stored_of(const FusionRules& rules, const Partition& partition) {
  Stored stored(rules.facts().size(), false);
  for (const Partition::Members& members : partition.groups) stored[members.nodes.back()] = true;
  for (size_t n = 0; n < stored.size(); ++n)
    if (rules.facts()[n].is_view) stored[n] = true;
  return stored;
}

Alternative turn(Pricer& pricer, const Stored& stored, NodeId node) {
  const FusionRules& rules = pricer.rules();
  Stored turned = stored;
  turned[node] = !stored[node];
  std::set<NodeId> concerned;
  for (NodeId consumer : rules.facts()[node].consumers)
    for (NodeId result : kernels_with(rules, stored, consumer)) concerned.insert(result);
  Alternative alternative;
  for (NodeId result : concerned) {
    alternative.as_is += pricer.price_of(closure_of(rules, stored, result)).seconds;
    const auto kernel = closure_of(rules, turned, result);
    alternative.turned += pricer.price_of(kernel).seconds;
    const KernelForm form = rules.form_of(kernel);
    if (form.verdict != KernelForm::Verdict::Kernel) alternative.why = form.why;
  }
  (stored[node] ? alternative.as_is : alternative.turned) += pricer.price_of(closure_of(rules, stored, node)).seconds;
  return alternative;
}

}  // namespace cryolite::plan
