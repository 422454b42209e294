#include "schedule/strategy.h"

#include <algorithm>

#include "ops/operator.h"
#include "schedule/companions.h"
#include "schedule/cpu.h"
#include "schedule/gpu.h"

namespace cryolite::schedule {
namespace {

using graph::Graph;
using graph::Node;
using ops::Kernel;

const Node& node_named(const Graph& group, const std::string& name) {
  return *std::find_if(group.nodes.begin(), group.nodes.end(), [&](const Node& node) { return node.name == name; });
}

bool has_node(const Graph& group, const std::string& name) {
  return std::any_of(group.nodes.begin(), group.nodes.end(), [&](const Node& node) { return node.name == name; });
}

int64_t count_of(const Graph& group, Kernel kernel) {
  return std::count_if(group.nodes.begin(), group.nodes.end(), [&](const Node& node) {
    const ops::Operator* op = ops::find(node.op_type);
    return op && op->kernel == kernel;
  });
}

bool has_kernel(const Graph& group, Kernel kernel) { return count_of(group, kernel) > 0; }

/// Whether rows are walked more than once: by several reductions, or again for the result.
bool walks_rows_again(const Graph& group, const Node& anchor) {
  const int64_t reductions = count_of(group, Kernel::Reduce) + count_of(group, Kernel::Rows);
  return reductions > 1 || group.value(group.outputs[0]).type.dims != group.output_type(anchor).dims;
}

bool is_depthwise(const Graph& group, const Node& conv) {
  const auto weights = group.input_type(conv, 1).extents();
  return graph::int_attribute(conv, "group", 1) > 1 && weights[1] == 1;
}

Machine host_machine() {
  const Halide::Target host = Halide::get_host_target();
  Machine machine;
  if (host.has_feature(Halide::Target::AVX512_Skylake)) {
    machine.vector_bytes = 64;
    machine.vector_registers = 32;
  }
  return machine;
}

}  // namespace

Machine machine_of(const std::string& target) {
  Machine machine;
  if (target == "host" || target.starts_with("host")) machine = host_machine();
  const auto has = [&](const char* word) { return target.find(word) != std::string::npos; };
  if (has("avx512")) {
    machine.vector_bytes = 64;
    machine.vector_registers = 32;
  } else if (has("arm-64")) {
    machine.vector_bytes = 16;
    machine.vector_registers = 32;
  }
  if (has("cuda")) machine.kind = Machine::Kind::Cuda;
  if (has("opencl")) machine.kind = Machine::Kind::OpenCl;
  if (has("vulkan")) machine.kind = Machine::Kind::Vulkan;
  return machine;
}

std::string strategy_of(const Graph& group, const std::string& anchor_name) {
  for (const Graph& companion : companion_graphs(group))
    if (has_node(companion, anchor_name)) return strategy_of(companion, anchor_name);
  const Node& anchor = node_named(group, anchor_name);
  const ops::Operator* op = ops::find(anchor.op_type);
  if (!op) return "pointwise";
  switch (op->kernel) {
    case Kernel::Convolution:
      if (has_kernel(group, Kernel::Pool)) return "window_chain";
      return is_depthwise(group, anchor) ? "depthwise" : "direct_conv";
    case Kernel::Transposed: return "conv_transpose";
    case Kernel::Contraction:
      if (!has_kernel(group, Kernel::Reduce) && !has_kernel(group, Kernel::Rows)) return "gemm";
      return count_of(group, Kernel::Contraction) > 1 ? "attention" : "gemm_rows";
    case Kernel::Pool: return "pool";
    case Kernel::Reduce: return walks_rows_again(group, anchor) ? "rows" : "reduce";
    case Kernel::Rows: return "rows";
    case Kernel::Extern: return "extern";
    case Kernel::Pointwise: break;
  }
  return "pointwise";
}

graph::Layout weight_layout(const Graph& graph, const Node& anchor, size_t input, const Machine& machine) {
  if (machine.kind == Machine::Kind::Cpu) return cpu::weight_layout(graph, anchor, input, machine);
  return gpu::weight_layout(graph, anchor, input, machine);
}

GroupSchedule make_schedule(const GroupView& view, const Machine& machine, const Parameters& parameters) {
  if (const auto graphs = companion_graphs(view.graph); !graphs.empty()) {
    Parameters own = parameters;
    // What all of them read stays in the cache between one result and the next, or is read a tile of rows at a time.
    const Node& anchor = node_named(view.graph, view.anchor);
    own.emplace("rows_outside", view.graph.input_type(anchor, 0).bytes() > machine.l2_bytes / 2);
    return schedule_together(view, graphs, [&](const GroupView& one) { return make_schedule(one, machine, own); });
  }
  if (machine.kind == Machine::Kind::Cpu) return cpu::make_schedule(view, machine, parameters);
  return gpu::make_schedule(view, machine, parameters);
}

}  // namespace cryolite::schedule
