#include "base/error.h"
#include "ops/access.h"
#include "ops/families.h"

/// Operators that the runtime runs between kernels (src/runtime/extern_ops.h).
namespace cryolite::ops {
namespace {

using graph::Graph;
using graph::Node;

int axis_of(const Graph& graph, const Node& node) {
  return graph::normalized_axis(graph::int_attribute(node, "axis", -1),
                                static_cast<int>(graph.input_type(node, 0).dims.size()), node);
}

std::vector<int64_t> top_k_parameters(const Graph& graph, const Node& node) {
  return {axis_of(graph, node), graph::int_attribute(node, "largest", 1),
          graph::int_attribute(node, "sorted", 1)};
}

void check_top_k(const Graph& graph, const Node& node) {
  require_inputs(node, 2);
  const int64_t k = require_constant(graph, node, 1, "numbers of elements").as_integers().at(0);
  const int64_t extent = graph.input_type(node, 0).extents().at(axis_of(graph, node));
  if (k < 0 || k > extent)
    throw Error("TopK wants more elements than its axis has", {.node = node.name}, "repair the model");
}

/// A heap of k: about two comparisons a level.
int64_t top_k_flops(const Graph& graph, const Node& node) {
  int64_t k = graph.output_type(node).extents().at(axis_of(graph, node)), levels = 1;
  while (k >>= 1) ++levels;
  return 2 * levels * graph.input_type(node, 0).elements();
}

constexpr Operator rows[] = {
    {"TopK", Category::Opaque, Kernel::Extern, every_input<AccessMap::Opaque>, top_k_flops, check_top_k,
     nullptr, "cryolite_extern_topk", top_k_parameters},
};

}  // namespace

std::span<const Operator> extern_operators() { return rows; }

}  // namespace cryolite::ops
