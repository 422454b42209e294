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

/// Reductions over the last axes, row-major, that leave ones in their place: rows can be told apart by the other axes.
int row_axis_of(const Graph& graph, const Node& node, ops::Kernel kernel) {
  if (kernel != ops::Kernel::Reduce && kernel != ops::Kernel::Rows) return -1;
  const graph::Value& from = graph.value(node.inputs[0]);
  const graph::Value& to = graph.value(node.outputs[0]);
  const int rank = static_cast<int>(from.type.dims.size());
  if (static_cast<int>(to.type.dims.size()) != rank || !from.layout.order.empty() || !to.layout.order.empty()) return -1;
  if (kernel == ops::Kernel::Rows) {
    if (node.op_type != "Softmax" && node.op_type != "LogSoftmax" && node.op_type != "LayerNormalization") return -1;
    const int axis = graph::normalized_axis(graph::int_attribute(node, "axis", -1), rank, node);
    return node.op_type == "LayerNormalization" || axis == rank - 1 ? axis : -1;
  }
  int first = rank;
  for (int axis = 0; axis < rank; ++axis) {
    const bool is_reduced = to.type.dims[axis].extent == 1 && from.type.dims[axis].extent != 1;
    if (is_reduced && first == rank) first = axis;
    if (!is_reduced && first < rank && from.type.dims[axis].extent != 1) return -1;
  }
  return first < rank ? first : -1;
}

NodeFacts facts_of_node(const Graph& graph, const graph::Uses& uses, const Views& views, NodeId id) {
  const Node& node = graph.nodes[id];
  const ops::Operator* op = ops::find(node.op_type);
  NodeFacts facts;
  facts.kernel = op ? op->kernel : ops::Kernel::Extern;
  facts.is_view = views.is_view_node[id];
  facts.is_elementwise = ops::is_elementwise(graph, node);
  facts.row_axis = row_axis_of(graph, node, facts.kernel);
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
