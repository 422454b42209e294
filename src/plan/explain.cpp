#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "plan/choice.h"

/// Every edge of the graph gets the rule that decided it, with the numbers that the rule looked at: the kernels that
/// it concerns as they are, and as they would be had the producer's result been stored (or not).
namespace cryolite::plan {
namespace {

using graph::Node;
using graph::NodeId;
using graph::ValueId;
using ops::Kernel;

struct Explainer {
  const Plan& plan;
  const graph::Uses& uses;
  Pricer& pricer;
  const Stored& stored;
  std::map<NodeId, std::vector<int>> groups_of;  ///< by node
  std::map<NodeId, Alternative> alternatives;    ///< by producer

  const NodeFacts& facts(NodeId node) const { return pricer.rules().facts()[node]; }
  bool share_kernel(NodeId producer, NodeId consumer) const {
    if (facts(producer).is_view || facts(consumer).is_view) return false;
    const auto& of_producer = groups_of.at(producer);
    const auto& of_consumer = groups_of.at(consumer);
    return std::all_of(of_consumer.begin(), of_consumer.end(), [&](int g) {
      return std::count(of_producer.begin(), of_producer.end(), g) > 0;
    });
  }
  const Alternative& alternative(NodeId producer) {
    const auto found = alternatives.find(producer);
    if (found != alternatives.end()) return found->second;
    return alternatives.emplace(producer, turn(pricer, stored, producer)).first->second;
  }
};

/// Both prices of a value with several readers, in predicted seconds. Where no schedule recomputes it inside of its
/// readers, running its kernel once a reader is what recomputing would cost at least.
std::string prices(Explainer& e, NodeId producer, ValueId value) {
  const int readers = static_cast<int>(e.uses.consumers[value].size());
  const Alternative& a = e.alternative(producer);
  double storing = e.stored[producer] ? a.as_is : a.turned;
  double recomputing = e.stored[producer] ? a.turned : a.as_is;
  std::string note;
  if (std::isinf(recomputing)) {
    const double once = e.pricer.price_of(closure_of(e.pricer.rules(), e.stored, producer)).seconds;
    recomputing = storing + (readers - 1) * once;
    note = fmt::format(" at least, as {}", a.why);
  }
  if (std::isinf(storing)) note += fmt::format("; storing makes no kernel: {}", a.why), storing = recomputing;
  return fmt::format("{} readers: storing is predicted to cost {:.3g} us, recomputing in each {:.3g} us{}", readers,
                     storing * 1e6, recomputing * 1e6, note);
}

std::string fused_rule(const Explainer& e, NodeId producer, NodeId consumer) {
  const bool from_anchor = e.facts(producer).kernel != Kernel::Pointwise;
  const bool to_anchor = e.facts(consumer).kernel != Kernel::Pointwise;
  if (e.groups_of.at(producer).size() > 1) return "recompute";
  if (from_anchor && to_anchor) return "window tile";
  if (from_anchor) return "epilogue";
  return to_anchor ? "prologue" : "injective chain";
}

void explain_apart(Explainer& e, ValueId value, NodeId producer, NodeId consumer, Decision& decision) {
  const bool several = e.uses.use_count(value) > 1;
  if (e.facts(producer).kernel == Kernel::Extern || e.facts(consumer).kernel == Kernel::Extern) {
    const NodeId opaque = e.facts(producer).kernel == Kernel::Extern ? producer : consumer;
    decision.rule = "opaque barrier";
    decision.why = fmt::format("{} cannot be analysed", e.plan.graph.nodes[opaque].op_type);
  } else if (e.uses.is_output[value]) {
    decision.rule = "model output";
    decision.why = "the caller reads it too, so it is stored";
    if (several) decision.why += "; " + prices(e, producer, value);
  } else if (several) {
    decision.rule = "several consumers";
    decision.why = prices(e, producer, value);
  } else if (const Alternative& a = e.alternative(producer); std::isinf(a.turned)) {
    const bool two = e.facts(producer).kernel != Kernel::Pointwise && e.facts(consumer).kernel != Kernel::Pointwise;
    decision.rule = two ? "reduction into reduction" : "other loops";
    decision.why = a.why;
  } else {
    decision.rule = "price";
    decision.why = fmt::format("apart is predicted to cost {:.3g} us, as one kernel {:.3g} us", a.as_is * 1e6,
                               a.turned * 1e6);
  }
}

Decision decide(Explainer& e, ValueId value, NodeId producer, NodeId consumer) {
  const Node& from = e.plan.graph.nodes[producer];
  const Node& to = e.plan.graph.nodes[consumer];
  Decision decision{from.name, to.name, e.share_kernel(producer, consumer), "", ""};
  const bool several = e.uses.use_count(value) > 1;
  if (e.facts(producer).is_view || e.facts(consumer).is_view) {
    decision.rule = "view";
    decision.why = e.facts(consumer).is_view ? fmt::format("{} only looks at memory another way", to.op_type)
                                             : fmt::format("{} is read in place", from.op_type);
    if (several && !e.facts(producer).is_view) decision.why += "; " + prices(e, producer, value);
  } else if (decision.fused) {
    decision.rule = fused_rule(e, producer, consumer);
    decision.why = fmt::format("saves {} bytes written and read", 2 * e.plan.graph.value(value).type.bytes());
    if (several) decision.why = prices(e, producer, value) + "; " + decision.why;
  } else {
    explain_apart(e, value, producer, consumer, decision);
  }
  if (!e.facts(producer).is_view && e.facts(producer).kernel != Kernel::Extern) {
    decision.as_is_seconds = e.alternative(producer).as_is;
    decision.otherwise_seconds = e.alternative(producer).turned;
  }
  return decision;
}

}  // namespace

std::vector<Decision> explain(const Plan& plan, const graph::Uses& uses, Pricer& pricer, const Stored& stored) {
  Explainer explainer{plan, uses, pricer, stored, {}, {}};
  for (const Group& group : plan.groups)
    for (NodeId node : group.nodes) explainer.groups_of[node].push_back(group.id);
  std::vector<Decision> decisions;
  for (ValueId id = 0; id < static_cast<ValueId>(plan.graph.values.size()); ++id) {
    const NodeId producer = uses.producer[id];
    if (producer == graph::absent) continue;
    for (NodeId consumer : uses.consumers[id]) decisions.push_back(decide(explainer, id, producer, consumer));
  }
  return decisions;
}

}  // namespace cryolite::plan
