#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ops/operator.h"
#include "plan/passes.h"

/// Every edge of the graph gets the rule that decided it, with the numbers that the rule looked at.
namespace cryolite::plan {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using ops::Kernel;

struct Explainer {
  const Plan& plan;
  const Views& views;
  const device::Device& device;
  graph::Uses uses;
  std::map<NodeId, std::vector<int>> groups_of;  ///< by node

  Kernel kernel_of(NodeId node) const {
    const ops::Operator* op = ops::find(plan.graph.nodes[node].op_type);
    return op ? op->kernel : Kernel::Extern;
  }
  bool share_kernel(NodeId producer, NodeId consumer) const {
    if (views.is_view_node[producer] || views.is_view_node[consumer]) return false;
    const auto& of_producer = groups_of.at(producer);
    const auto& of_consumer = groups_of.at(consumer);
    return std::all_of(of_consumer.begin(), of_consumer.end(), [&](int g) {
      return std::count(of_producer.begin(), of_producer.end(), g) > 0;
    });
  }
  /// The whole kernel that ends in the producer, as far as it would have to be run again.
  std::vector<NodeId> kernel_nodes(NodeId producer) const {
    return plan.groups[groups_of.at(producer).front()].nodes;
  }
};

std::string prices(const Explainer& e, NodeId producer, ValueId value) {
  std::vector<NodeId> nodes;
  for (NodeId n : e.kernel_nodes(producer))
    if (n <= producer) nodes.push_back(n);
  const int readers = static_cast<int>(e.uses.consumers[value].size());
  const SharedPrice price = price_shared(e.plan.graph, nodes, value, readers, e.device);
  return fmt::format("{} readers: storing is predicted to cost {:.3g} us, recomputing in each {:.3g} us", readers,
                     price.store * 1e6, price.recompute * 1e6);
}

Decision decide(const Explainer& e, ValueId value, NodeId producer, NodeId consumer) {
  const Node& from = e.plan.graph.nodes[producer];
  const Node& to = e.plan.graph.nodes[consumer];
  Decision decision{from.name, to.name, e.share_kernel(producer, consumer), "", ""};
  const bool several = e.uses.use_count(value) > 1;
  const std::string saved = fmt::format("saves {} bytes written and read", 2 * e.plan.graph.value(value).type.bytes());
  if (e.views.is_view_node[producer] || e.views.is_view_node[consumer]) {
    decision.rule = "view";
    decision.why = e.views.is_view_node[consumer] ? fmt::format("{} only looks at memory another way", to.op_type)
                                                  : fmt::format("{} is read in place", from.op_type);
    if (several && !e.views.is_view_node[producer]) decision.why += "; " + prices(e, producer, value);
    return decision;
  }
  if (decision.fused) {
    const bool recomputed = e.groups_of.at(producer).size() > 1;
    decision.rule = recomputed                                        ? "recompute"
                    : !is_pointwise(from) && !is_pointwise(to)        ? "window tile"
                    : !is_pointwise(from)                             ? "epilogue"
                    : !is_pointwise(to)                               ? "prologue"
                                                                      : "injective chain";
    decision.why = several ? prices(e, producer, value) + "; " + saved : saved;
    return decision;
  }
  if (e.kernel_of(producer) == Kernel::Extern || e.kernel_of(consumer) == Kernel::Extern) {
    decision.rule = "opaque barrier";
    decision.why = fmt::format("{} cannot be analysed",
                               e.kernel_of(producer) == Kernel::Extern ? from.op_type : to.op_type);
  } else if (e.uses.is_output[value]) {
    decision.rule = "model output";
    decision.why = "the caller reads it too, so it is stored";
    if (several) decision.why += "; " + prices(e, producer, value);
  } else if (several) {
    decision.rule = "several consumers";
    decision.why = prices(e, producer, value);
  } else if (!is_pointwise(to)) {
    decision.rule = is_pointwise(from) ? "operand read repeatedly" : "reduction into reduction";
    decision.why = fmt::format("{} reads each element more than once, and no tiling of both is known", to.op_type);
  } else {
    decision.rule = "other loops";
    decision.why = fmt::format("the kernel of {} walks other indices than that of {}, or is full", to.name, from.name);
  }
  return decision;
}

}  // namespace

std::vector<Decision> explain(const Plan& plan, const Views& views, const Partition& partition,
                              const device::Device& device) {
  Explainer explainer{plan, views, device, graph::uses_of(plan.graph), {}};
  for (size_t g = 0; g < partition.groups.size(); ++g)
    for (NodeId node : partition.groups[g].nodes) explainer.groups_of[node].push_back(static_cast<int>(g));
  std::vector<Decision> decisions;
  for (ValueId id = 0; id < static_cast<ValueId>(plan.graph.values.size()); ++id) {
    const NodeId producer = explainer.uses.producer[id];
    if (producer == graph::absent) continue;
    for (NodeId consumer : explainer.uses.consumers[id])
      decisions.push_back(decide(explainer, id, producer, consumer));
  }
  return decisions;
}

}  // namespace cryolite::plan
