#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "device/device.h"
#include "graph/graph.h"

namespace cryolite::cost {

/// What a kernel does. A pure function of the group and, for time, of the device.
struct Cost {
  int64_t flops = 0;        ///< with recomputation
  int64_t bytes_read = 0;   ///< every input once
  int64_t bytes_written = 0;
  double seconds = 0;       ///< predicted: see kernel_seconds
  std::string bound_by;     ///< "compute", "memory", "launch"

  int64_t bytes() const { return bytes_read + bytes_written; }
  double intensity() const { return bytes() ? static_cast<double>(flops) / bytes() : 0; }
};

/// Bytes of a value in memory; a block layout counts without its padding.
int64_t bytes_of(const graph::Graph& graph, graph::ValueId value);
/// Bytes that one kernel of the nodes `readers` reads of a value: all, or of a table that is only gathered from, as many
/// elements as are asked for.
int64_t bytes_read_of(const graph::Graph& graph, const std::vector<graph::NodeId>& readers, graph::ValueId value);
/// Flops of one node.
int64_t flops_of(const graph::Graph& graph, graph::NodeId node);

/// Seconds that `flops` of a node take where nothing else holds them up: at the share of the device's peak that
/// loops of its kind reach (measured; see rates in cost.cpp).
double compute_seconds(const graph::Graph& graph, const graph::Node& node, double flops, const device::Device& device);
/// Seconds that a convolution whose data is computed in its own kernel takes to keep them: CPU kernels write such data
/// to a near cache and read it back, as each element is used many times. 0 for other nodes.
double kept_data_seconds(const graph::Graph& graph, const graph::Node& node, const device::Device& device);
/// Seconds to move a value of so many bytes between kernels: at the rate of the nearest memory that holds it twice
/// over, as it shares that memory with what is computed from it. Level 0 belongs to the inside of kernels.
double transfer_seconds(int64_t bytes, const device::Device& device);
/// A kernel that computes and transfers at the same time, all cores or multiprocessors busy: the larger of the two
/// and a launch; or, on a CPU, all of it on one core, where waking the others would take longer.
double kernel_seconds(double compute, double transfer, const device::Device& device);

/// Cost of nodes run as one kernel that reads `inputs` and writes `outputs` once. `recompute[i]` multiplies
/// the flops of nodes[i] (halo or several consumers); empty: 1.
Cost of_kernel(const graph::Graph& graph, const std::vector<graph::NodeId>& nodes,
               const std::vector<graph::ValueId>& inputs, const std::vector<graph::ValueId>& outputs,
               const device::Device& device, const std::vector<double>& recompute = {});

/// One kernel a node, reading its inputs and writing its outputs once.
Cost of_node(const graph::Graph& graph, graph::NodeId node, const device::Device& device);

struct Total {
  int kernels = 0;
  int64_t flops = 0, bytes = 0;
  double seconds = 0;
  double intensity() const { return bytes ? static_cast<double>(flops) / bytes : 0; }
  void add(const Cost& cost);
};

}  // namespace cryolite::cost
