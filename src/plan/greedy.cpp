#include <algorithm>
#include <set>

#include "plan/choice.h"

/// The seed's rules. Nodes are visited in topological (post-)order, and each pulls into its own kernel the kernels
/// that feed it, as long as nothing outside needs what they compute:
///
///     Conv ─► Mul ─► Relu ─┬─► Add ─► Y        Add takes {Conv, Mul, Relu}: one kernel.
///     Z ───────────────────┘
///
///     Conv ─► v ─┬─► Sigmoid ─┐                Mul takes {Sigmoid}, and then {Conv}: all readers of v are inside.
///                └────────────┴► Mul ─► Y
///
/// Then cheap values with several readers are recomputed in each, where that is predicted to cost less.
namespace cryolite::plan {
namespace {

using graph::NodeId;

/// Stored producers of a kernel, the latest first.
std::set<NodeId, std::greater<>> feeding(const FusionRules& rules, const Stored& stored,
                                         const std::vector<NodeId>& kernel) {
  std::set<NodeId, std::greater<>> producers;
  for (NodeId node : kernel)
    for (NodeId producer : rules.facts()[node].producers)
      if (stored[producer] && !rules.facts()[producer].must_be_stored) producers.insert(producer);
  return producers;
}

bool is_read_inside_only(const FusionRules& rules, const std::vector<NodeId>& kernel, NodeId node) {
  const auto& consumers = rules.facts()[node].consumers;
  return std::all_of(consumers.begin(), consumers.end(),
                     [&](NodeId consumer) { return std::binary_search(kernel.begin(), kernel.end(), consumer); });
}

bool pull_one(const FusionRules& rules, Stored& stored, NodeId result) {
  const std::vector<NodeId> kernel = closure_of(rules, stored, result);
  for (NodeId producer : feeding(rules, stored, kernel)) {
    if (!is_read_inside_only(rules, kernel, producer)) continue;
    stored[producer] = false;
    if (rules.form_of(closure_of(rules, stored, result)).verdict == KernelForm::Verdict::Kernel) return true;
    stored[producer] = true;
  }
  return false;
}

/// Last ones first, so that chains follow their ends.
void recompute_cheap_producers(Pricer& pricer, Stored& stored) {
  const auto& facts = pricer.rules().facts();
  for (NodeId node = static_cast<NodeId>(facts.size()); node-- > 0;) {
    const bool is_candidate = stored[node] && !facts[node].must_be_stored && !facts[node].is_view &&
                              facts[node].kernel == ops::Kernel::Pointwise;
    if (!is_candidate) continue;
    const Alternative alternative = turn(pricer, stored, node);
    if (alternative.turned <= alternative.as_is) stored[node] = false;
  }
}

}  // namespace

Stored greedy(Pricer& pricer) {
  const FusionRules& rules = pricer.rules();
  Stored stored(rules.facts().size(), true);
  for (NodeId node = 0; node < static_cast<NodeId>(stored.size()); ++node) {
    const NodeFacts& facts = rules.facts()[node];
    if (facts.is_view || facts.kernel == ops::Kernel::Extern) continue;
    while (pull_one(rules, stored, node)) {
    }
  }
  recompute_cheap_producers(pricer, stored);
  return stored;
}

}  // namespace cryolite::plan
