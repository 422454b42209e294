#include <algorithm>

#include "plan/kernel_form.h"
#include "schedule/gpu.h"

/// Pairs of reductions that a schedule can nest: a tile of the first is computed where a tile of the second needs it.
namespace cryolite::plan {
namespace {

using graph::Graph;
using graph::Node;
using ops::Kernel;

Kernel kernel_of(const Node& node) {
  const ops::Operator* op = ops::find(node.op_type);
  return op ? op->kernel : Kernel::Extern;
}

/// Windows over pixels that do not overlap: no element of the first is needed by two tiles.
bool windows_only_touch(const Graph& graph, const Node& node) {
  if (!graph::has_attribute(node, "kernel_shape") || node.outputs.size() != 1) return false;
  const int spatial = static_cast<int>(graph.value(node.inputs[0]).type.dims.size()) - 2;
  const auto kernel = graph::ints_attribute(node, "kernel_shape", std::vector<int64_t>(spatial, 1));
  const auto strides = graph::ints_attribute(node, "strides", std::vector<int64_t>(spatial, 1));
  const auto dilations = graph::ints_attribute(node, "dilations", std::vector<int64_t>(spatial, 1));
  for (size_t axis = 0; axis < kernel.size(); ++axis)
    if ((kernel[axis] - 1) * dilations[axis] + 1 > strides[axis]) return false;
  return true;
}

}  // namespace

double chain_recompute(const Graph& graph, const Node& first, const Node& second,
                       const schedule::Machine& machine) {
  if (kernel_of(first) != Kernel::Convolution) return -1;
  if (kernel_of(second) == Kernel::Pool && windows_only_touch(graph, second)) return 1;
  return machine.kind == schedule::Machine::Kind::Cpu ? -1 : schedule::gpu::chain_recompute(graph, first, second, machine);
}

double attention_recompute(const Graph& graph, const Node& scores, const Node* values, const schedule::Machine& machine) {
  if (machine.kind == schedule::Machine::Kind::Cpu || !values) return 1;
  return schedule::gpu::attention_recompute(graph, scores, *values, machine);
}

const char* why_no_rows_alone(const schedule::Machine& machine) {
  if (machine.kind == schedule::Machine::Kind::Cpu) return nullptr;
  return "no schedule holds whole rows of a contraction on this device unless they are contracted again";
}

const char* why_no_attention(const Graph& graph, const Node& contraction, const schedule::Machine& machine) {
  // Three buffers (scores, exponentials, weights) of a tile of at most 14 rows lie in half of the nearest large cache;
  // fewer rows in all than two tiles would leave threads idle that share columns otherwise.
  constexpr int64_t buffers = 3, tile_rows = 14, least_rows = 2 * tile_rows;
  if (machine.kind != schedule::Machine::Kind::Cpu)
    return schedule::gpu::why_no_attention(graph, contraction, machine);
  const auto extents = graph.output_type(contraction).extents();
  if (extents.size() < 2 || graph.input_type(contraction, 0).dims.size() < 2) return "it has no rows";
  const int64_t columns = extents.back(), rows = columns > 0 ? graph.output_type(contraction).elements() / columns : 0;
  if (buffers * tile_rows * columns * 4 > machine.l2_bytes / 2) return "a tile of whole rows does not fit the cache";
  if (rows < least_rows) return "its rows are too few to be shared among threads";
  return nullptr;
}

}  // namespace cryolite::plan
