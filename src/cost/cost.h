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
  double seconds = 0;       ///< predicted: the largest of the resources' times, plus the launch
  std::string bound_by;     ///< "compute", "memory", "launch"

  int64_t bytes() const { return bytes_read + bytes_written; }
  double intensity() const { return bytes() ? static_cast<double>(flops) / bytes() : 0; }
};

/// Bytes of a value in memory; a block layout counts without its padding.
int64_t bytes_of(const graph::Graph& graph, graph::ValueId value);
/// Flops of one node.
int64_t flops_of(const graph::Graph& graph, graph::NodeId node);

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
