#include "cost/cost.h"

#include <algorithm>

#include "ops/operator.h"

namespace cryolite::cost {
namespace {

void set_time(Cost& cost, const device::Device& device) {
  const double compute = cost.flops / device.flops_per_second;
  const double memory = cost.bytes() / device.memory_bytes_per_second();
  cost.seconds = std::max(compute, memory) + device.launch_seconds;
  cost.bound_by = device.launch_seconds > std::max(compute, memory) ? "launch"
                  : compute > memory                                 ? "compute"
                                                                     : "memory";
}

}  // namespace

int64_t bytes_of(const graph::Graph& graph, graph::ValueId value) { return graph.value(value).type.bytes(); }

int64_t flops_of(const graph::Graph& graph, graph::NodeId node) {
  const graph::Node& n = graph.nodes.at(node);
  const ops::Operator* op = ops::find(n.op_type);
  return op && op->flops ? op->flops(graph, n) : 0;
}

Cost of_kernel(const graph::Graph& graph, const std::vector<graph::NodeId>& nodes,
               const std::vector<graph::ValueId>& inputs, const std::vector<graph::ValueId>& outputs,
               const device::Device& device, const std::vector<double>& recompute) {
  Cost cost;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const double times = recompute.empty() ? 1 : recompute[i];
    cost.flops += static_cast<int64_t>(times * flops_of(graph, nodes[i]));
  }
  for (graph::ValueId id : inputs) cost.bytes_read += bytes_of(graph, id);
  for (graph::ValueId id : outputs) cost.bytes_written += bytes_of(graph, id);
  set_time(cost, device);
  return cost;
}

Cost of_node(const graph::Graph& graph, graph::NodeId node, const device::Device& device) {
  const graph::Node& n = graph.nodes.at(node);
  std::vector<graph::ValueId> inputs, outputs;
  for (graph::ValueId id : n.inputs)
    if (id != graph::absent && std::find(inputs.begin(), inputs.end(), id) == inputs.end()) inputs.push_back(id);
  for (graph::ValueId id : n.outputs)
    if (id != graph::absent) outputs.push_back(id);
  return of_kernel(graph, {node}, inputs, outputs, device);
}

void Total::add(const Cost& cost) {
  ++kernels;
  flops += cost.flops;
  bytes += cost.bytes();
  seconds += cost.seconds;
}

}  // namespace cryolite::cost
