#include <algorithm>

#include "plan/sibling_family.h"

namespace cryolite::plan::siblings {

using graph::absent;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

bool same(const graph::Attribute& a, const graph::Attribute& b) {
  return std::visit(
      [&](const auto& left) {
        using T = std::decay_t<decltype(left)>;
        if constexpr (std::is_same_v<T, graph::Tensor> || std::is_same_v<T, std::shared_ptr<const Graph>>)
          return false;
        else
          return std::holds_alternative<T>(b) && std::get<T>(b) == left;
      },
      a);
}

}  // namespace

bool equal(const std::map<std::string, graph::Attribute>& a, const std::map<std::string, graph::Attribute>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) {
           return x.first == y.first && same(x.second, y.second);
         });
}

namespace {

/// One number an output, or one for all of them.
bool is_along_outputs(const graph::TensorType& bias_type, int64_t outputs) {
  const auto extents = bias_type.extents();
  const int64_t elements = bias_type.elements();
  return elements == 1 || (elements == outputs && extents.back() == outputs);
}

bool is_float32(const Graph& graph, ValueId id) { return graph.value(id).type.element == graph::ElementType::Float32; }

/// The axis of the weights that counts outputs; nothing where the node cannot be joined with others.
std::optional<int> joined_axis(const Graph& graph, const Node& node) {
  if (node.op_type != "MatMul" && node.op_type != "Gemm" && node.op_type != "Conv") return std::nullopt;
  const ValueId w = node.inputs[weights];
  if (!graph.value(w).constant || graph.value(node.inputs[data]).constant || !is_float32(graph, w)) return std::nullopt;
  const size_t rank = graph.value(w).type.dims.size();
  const bool has_bias = node.inputs.size() > bias && node.inputs[bias] != absent;
  if (has_bias && !graph.value(node.inputs[bias]).constant) return std::nullopt;
  if (has_bias && !is_along_outputs(graph.input_type(node, bias), graph.output_type(node).extents().at(1)))
    return std::nullopt;
  if (node.op_type == "MatMul")
    return rank == 2 && graph.input_type(node, data).dims.size() >= 2 ? std::optional(1) : std::nullopt;
  if (node.op_type == "Gemm") {
    if (graph::int_attribute(node, "transA", 0) != 0 || graph::float_attribute(node, "beta", 1) != 1) return std::nullopt;
    return graph::int_attribute(node, "transB", 0) != 0 ? 0 : 1;
  }
  return graph::int_attribute(node, "group", 1) == 1 ? std::optional(0) : std::nullopt;
}

bool may_join(const Graph& graph, const Node& a, const Node& b) {
  if (a.op_type != b.op_type || a.inputs[data] != b.inputs[data] || !equal(a.attributes, b.attributes)) return false;
  const auto x = graph.input_type(a, weights).extents(), y = graph.input_type(b, weights).extents();
  const auto axis = joined_axis(graph, a);
  for (size_t i = 0; i < x.size(); ++i)
    if (static_cast<int>(i) != axis && x[i] != y[i]) return false;
  return x.size() == y.size();
}

}  // namespace

std::vector<Family> families_of(const Graph& graph) {
  std::vector<Family> families;
  std::map<ValueId, std::vector<size_t>> by_data;
  for (NodeId n = 0; n < static_cast<NodeId>(graph.nodes.size()); ++n) {
    const Node& node = graph.nodes[n];
    const auto weight_axis = joined_axis(graph, node);
    if (!weight_axis) continue;
    const Branch branch{n, graph.input_type(node, weights).extents()[*weight_axis], {}, node.outputs[0]};
    auto& candidates = by_data[node.inputs[data]];
    const auto fitting = std::find_if(candidates.begin(), candidates.end(), [&](size_t f) {
      return may_join(graph, graph.nodes[families[f].branches[0].node], node);
    });
    if (fitting != candidates.end()) {
      families[*fitting].branches.push_back(branch);
      continue;
    }
    candidates.push_back(families.size());
    const int rank = static_cast<int>(graph.output_type(node).dims.size());
    families.push_back({{branch}, node.op_type == "Conv" ? 1 : rank - 1, *weight_axis, {}});
  }
  std::erase_if(families, [](const Family& family) { return family.branches.size() < 2; });
  return families;
}

}  // namespace cryolite::plan::siblings
