#include "cost/cost.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "graph/elements.h"
#include "ops/operator.h"

namespace cryolite::cost {
namespace {

/// Shares of the peak that the kernels of a strategy reach where they are bound by arithmetic, by kind of loop.
struct Rates {
  double convolution, depthwise, transposed, contraction, pool, reduce, rows, pointwise;
};
constexpr Rates cpu_rates{0.85, 0.25, 0.5, 0.6, 0.2, 0.2, 0.15, 0.2};
constexpr Rates gpu_rates{0.5, 0.2, 0.3, 0.5, 0.2, 0.2, 0.2, 0.3};

double rate_of(const graph::Graph& graph, const graph::Node& node, const device::Device& device) {
  const Rates& rates = device.is_gpu ? gpu_rates : cpu_rates;
  const ops::Operator* op = ops::find(node.op_type);
  switch (op ? op->kernel : ops::Kernel::Extern) {
    case ops::Kernel::Convolution: {
      const auto weights = graph.input_type(node, 1).extents();
      return weights.size() > 1 && weights[1] == 1 ? rates.depthwise : rates.convolution;
    }
    case ops::Kernel::Transposed: return rates.transposed;
    case ops::Kernel::Contraction: return rates.contraction;
    case ops::Kernel::Pool: return rates.pool;
    case ops::Kernel::Reduce: return rates.reduce;
    case ops::Kernel::Rows: return rates.rows;
    case ops::Kernel::Pointwise: return rates.pointwise;
    case ops::Kernel::Extern: break;
  }
  return 0.01;  // the runtime's functions are scalar code
}

/// A call of a kernel that wakes nobody, seconds: the arguments and the checks of a few buffers.
constexpr double call_seconds = 2e-7;

}  // namespace

int64_t bytes_of(const graph::Graph& graph, graph::ValueId value) { return graph.value(value).type.bytes(); }

int64_t bytes_read_of(const graph::Graph& graph, const std::vector<graph::NodeId>& readers, graph::ValueId value) {
  const int64_t whole = bytes_of(graph, value);
  int64_t gathered = 0;
  for (graph::NodeId reader : readers) {
    const graph::Node& node = graph.nodes.at(reader);
    if (std::find(node.inputs.begin(), node.inputs.end(), value) == node.inputs.end()) continue;
    const bool is_gathered = node.op_type.starts_with("Gather") && node.inputs[0] == value && node.inputs[1] != value;
    if (!is_gathered) return whole;
    gathered += graph.output_type(node).elements() * size_of(graph.value(value).type.element);
  }
  return gathered > 0 ? std::min(gathered, whole) : whole;
}

int64_t flops_of(const graph::Graph& graph, graph::NodeId node) {
  const graph::Node& n = graph.nodes.at(node);
  const ops::Operator* op = ops::find(n.op_type);
  return op && op->flops ? op->flops(graph, n) : 0;
}

double compute_seconds(const graph::Graph& graph, const graph::Node& node, double flops, const device::Device& device) {
  return flops / (device.flops_per_second * rate_of(graph, node, device));
}

double kept_data_seconds(const graph::Graph& graph, const graph::Node& node, const device::Device& device) {
  const ops::Operator* op = ops::find(node.op_type);
  if (device.is_gpu || !op || op->kernel != ops::Kernel::Convolution || device.memory.empty()) return 0;
  const size_t near = std::min<size_t>(1, device.memory.size() - 1);
  return 2 * static_cast<double>(bytes_of(graph, node.inputs[0])) / device.memory[near].bytes_per_second;
}

double transfer_seconds(int64_t bytes, const device::Device& device) {
  const auto& levels = device.memory;
  if (levels.empty()) return 0;
  size_t level = std::min<size_t>(1, levels.size() - 1);
  while (level + 1 < levels.size() && 2 * bytes > levels[level].bytes * levels[level].instances) ++level;
  return static_cast<double>(bytes) / levels[level].bytes_per_second;
}

double kernel_seconds(double compute, double transfer, const device::Device& device) {
  const double all_busy = std::max(compute, transfer) + device.launch_seconds;
  if (device.is_gpu) return all_busy;
  return std::min(all_busy, std::max(compute, transfer) * device.cores + call_seconds);
}

Cost of_kernel(const graph::Graph& graph, const std::vector<graph::NodeId>& nodes,
               const std::vector<graph::ValueId>& inputs, const std::vector<graph::ValueId>& outputs,
               const device::Device& device, const std::vector<double>& recompute) {
  Cost cost;
  double compute = 0, transfer = 0;
  std::set<graph::ValueId> made;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const graph::Node& node = graph.nodes[nodes[i]];
    if (made.count(node.inputs.empty() ? graph::absent : node.inputs[0])) compute += kept_data_seconds(graph, node, device);
    made.insert(node.outputs.begin(), node.outputs.end());
    const double flops = static_cast<double>(flops_of(graph, nodes[i])) * (recompute.empty() ? 1 : recompute[i]);
    cost.flops += std::llround(flops);
    compute += compute_seconds(graph, node, flops, device);
  }
  for (graph::ValueId id : inputs) {
    const int64_t bytes = bytes_read_of(graph, nodes, id);
    cost.bytes_read += bytes;
    transfer += transfer_seconds(bytes, device);
  }
  for (graph::ValueId id : outputs) {
    cost.bytes_written += bytes_of(graph, id);
    transfer += transfer_seconds(bytes_of(graph, id), device);
  }
  cost.seconds = kernel_seconds(compute, transfer, device);
  cost.bound_by = device.launch_seconds > std::max(compute, transfer) ? "launch"
                  : compute > transfer                                 ? "compute"
                                                                       : "memory";
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
