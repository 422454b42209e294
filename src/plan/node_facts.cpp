#include <algorithm>
#include <map>

#include "plan/kernel_form.h"

namespace cryolite::plan {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

void add_distinct(std::vector<int>& list, int item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

NodeFacts facts_of_node(const Graph& graph, const graph::Uses& uses, const Views& views, NodeId id) {
  const Node& node = graph.nodes[id];
  const ops::Operator* op = ops::find(node.op_type);
  NodeFacts facts;
  facts.kernel = op ? op->kernel : ops::Kernel::Extern;
  facts.is_view = views.is_view_node[id];
  facts.is_elementwise = ops::is_elementwise(graph, node);
  facts.flops = cost::flops_of(graph, id);
  for (ValueId value : node.inputs) {
    if (value == graph::absent || is_compile_time(graph.value(value))) continue;
    add_distinct(facts.reads, value);
    if (uses.producer[value] != graph::absent) add_distinct(facts.producers, uses.producer[value]);
  }
  for (ValueId value : node.outputs) {
    if (value == graph::absent) continue;
    ++facts.outputs;
    for (NodeId consumer : uses.consumers[value]) add_distinct(facts.consumers, consumer);
    if (uses.is_output[value] || views.parent[value] != value || uses.consumers[value].empty())
      facts.must_be_stored = true;
  }
  if (facts.outputs != 1 || facts.kernel == ops::Kernel::Extern) facts.must_be_stored = true;
  return facts;
}

}  // namespace

std::vector<NodeFacts> facts_of(const Graph& graph, const graph::Uses& uses, const Views& views) {
  std::vector<NodeFacts> all;
  std::map<std::vector<int64_t>, int> shapes;
  for (NodeId n = 0; n < static_cast<NodeId>(graph.nodes.size()); ++n) {
    all.push_back(facts_of_node(graph, uses, views, n));
    for (ValueId value : graph.nodes[n].outputs) {
      if (value == graph::absent) continue;
      all.back().shape =
          shapes.try_emplace(graph.value(value).type.extents(), static_cast<int>(shapes.size())).first->second;
      all.back().elements = graph.value(value).type.elements();
      break;
    }
  }
  for (NodeFacts& facts : all)
    for (NodeId consumer : facts.consumers)
      if (all[consumer].is_view || all[consumer].kernel == ops::Kernel::Extern) facts.must_be_stored = true;
  return all;
}

}  // namespace cryolite::plan
