#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>

#include "ops/operator.h"
#include "plan/passes.h"

/// Layouts go by islands: values tied together by nodes that read them at the same position share one order of
/// axes, so that no kernel has to turn its input around.
///
///     x ──► Conv ──► Relu ──► Add ──► Flatten ──► Gemm
///     │      └───── channels last ────┘  │
///     row-major (model input)            row-major
///
/// An island with a convolution or pool in it keeps channels innermost; all else is row-major. Model inputs and
/// outputs are the caller's, row-major; the kernel that touches them turns the data while it works on it.
namespace cryolite::plan {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;

class Islands {
 public:
  explicit Islands(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }
  int root(int value) {
    while (parent_[value] != value) value = parent_[value] = parent_[parent_[value]];
    return value;
  }
  void tie(int a, int b) { parent_[root(a)] = root(b); }

 private:
  std::vector<int> parent_;
};

/// Operators besides the elementwise ones that read input 0 and write output 0 with the same axes.
bool keeps_axes(const Node& node) {
  static const std::set<std::string_view> names{
      "Concat", "Split", "Slice", "Pad", "Resize", "Upsample", "BatchNormalization", "InstanceNormalization",
      "GroupNormalization", "LRN", "Softmax", "LogSoftmax", "Tile", "Expand", "DepthToSpace", "SpaceToDepth"};
  return names.count(node.op_type) > 0;
}

bool wants_channels_last(const Node& node) {
  const ops::Operator* op = ops::find(node.op_type);
  if (!op) return false;
  return op->kernel == ops::Kernel::Convolution || op->kernel == ops::Kernel::Transposed ||
         op->kernel == ops::Kernel::Pool || node.op_type.starts_with("Global");
}

int rank_of(const Graph& graph, ValueId id) { return static_cast<int>(graph.value(id).type.dims.size()); }

std::set<ValueId> border_of(const Graph& graph) {
  std::set<ValueId> border(graph.inputs.begin(), graph.inputs.end());
  border.insert(graph.outputs.begin(), graph.outputs.end());
  return border;
}

std::vector<ValueId> tied_values(const Graph& graph, const Node& node) {
  const bool all_operands = ops::is_elementwise(graph, node) || node.op_type == "Concat";
  const bool one_operand = keeps_axes(node) || wants_channels_last(node);
  if (!all_operands && !one_operand) return {};
  std::vector<ValueId> tied;
  const int rank = rank_of(graph, node.outputs[0]);
  for (ValueId id : node.outputs)
    if (id != graph::absent && rank_of(graph, id) == rank) tied.push_back(id);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    if (id == graph::absent || rank_of(graph, id) != rank) continue;
    if (all_operands || i == 0) tied.push_back(id);
  }
  return tied;
}

/// A value read only by nodes that relabel its elements in row-major order (a Flatten before a classifier) is
/// written row-major by its producer, unless its extents make both orders the same.
void prefer_row_major_before_reshapes(Graph& graph) {
  const graph::Uses uses = graph::uses_of(graph);
  for (size_t id = 0; id < graph.values.size(); ++id) {
    graph::Value& value = graph.values[id];
    if (value.layout.is_row_major() || uses.consumers[id].empty()) continue;
    const int rank = static_cast<int>(value.type.dims.size());
    const bool only_merged = std::all_of(
        uses.consumers[id].begin(), uses.consumers[id].end(), [&](graph::NodeId consumer) {
          const Node& node = graph.nodes[consumer];
          return ops::is_view(node) && rank_of(graph, node.outputs[0]) < rank;
        });
    if (only_merged) value.layout = {};
  }
}

/// A value read by one Transpose alone is written in the order that makes the Transpose's output row-major.
void prefer_transposed(Graph& graph, const std::set<ValueId>& border) {
  const graph::Uses uses = graph::uses_of(graph);
  for (const Node& node : graph.nodes) {
    if (node.op_type != "Transpose") continue;
    const ValueId from = node.inputs[0], to = node.outputs[0];
    const bool is_free = uses.producer[from] != graph::absent && !border.count(from) && uses.use_count(from) == 1;
    if (!is_free || !graph.value(from).layout.order.empty() || !graph.value(to).layout.order.empty()) continue;
    const Node& producer = graph.nodes[uses.producer[from]];
    if (ops::is_view(producer) || producer.op_type == "Transpose") continue;
    const int rank = rank_of(graph, from);
    std::vector<int64_t> reversed(rank);
    for (int axis = 0; axis < rank; ++axis) reversed[axis] = rank - 1 - axis;
    std::vector<int> order;
    for (int64_t axis : graph::ints_attribute(node, "perm", reversed)) order.push_back(static_cast<int>(axis));
    graph.values[from].layout.order = order;
  }
}

void pack_weights(Graph& graph, const schedule::Machine& machine) {
  const graph::Uses uses = graph::uses_of(graph);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const ops::Operator* op = ops::find(graph.nodes[n].op_type);
    if (!op || (op->kernel != ops::Kernel::Convolution && op->kernel != ops::Kernel::Transposed &&
                op->kernel != ops::Kernel::Contraction))
      continue;
    for (size_t i = 0; i < graph.nodes[n].inputs.size(); ++i) {
      const ValueId id = graph.nodes[n].inputs[i];
      if (id == graph::absent || !graph.value(id).constant || is_compile_time(graph.value(id))) continue;
      graph::Layout layout = schedule::weight_layout(graph, graph.nodes[n], i, machine);
      if (layout == graph.value(id).layout) continue;
      if (uses.use_count(id) == 1) {
        graph.values[id].layout = layout;
      } else {
        graph::Value copy = graph.value(id);  // shares the bytes; only the packed form differs
        copy.name += "_packed_" + std::to_string(n);
        copy.layout = layout;
        graph.nodes[n].inputs[i] = graph.add_value(std::move(copy));
      }
    }
  }
}

}  // namespace

void assign_layouts(Graph& graph, const schedule::Machine& machine) {
  const std::set<ValueId> border = border_of(graph);
  Islands islands(graph.values.size());
  std::vector<ValueId> wishing;
  for (const Node& node : graph.nodes) {
    std::vector<ValueId> tied = tied_values(graph, node);
    std::erase_if(tied, [&](ValueId id) { return border.count(id) || rank_of(graph, id) < 3; });
    for (size_t i = 1; i < tied.size(); ++i) islands.tie(tied[0], tied[i]);
    if (!tied.empty() && wants_channels_last(node)) wishing.push_back(tied[0]);
  }
  std::set<int> channels_last_islands;
  for (ValueId id : wishing) channels_last_islands.insert(islands.root(id));
  for (size_t id = 0; id < graph.values.size(); ++id) {
    graph::Value& value = graph.values[id];
    const int rank = static_cast<int>(value.type.dims.size());
    if (rank < 3 || border.count(static_cast<ValueId>(id)) || is_compile_time(value)) continue;
    if (channels_last_islands.count(islands.root(static_cast<int>(id))))
      value.layout = graph::channels_last(rank);
  }
  prefer_row_major_before_reshapes(graph);
  prefer_transposed(graph, border);
  pack_weights(graph, machine);
}

}  // namespace cryolite::plan
