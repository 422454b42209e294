#include <algorithm>
#include <cstring>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "onnx/infer.h"
#include "simplify/edit.h"
#include "simplify/move_elements.h"
#include "simplify/simplify.h"

// Constant folding.
//
//   const a, const b            const c
//   c = Op(a, b)          →     y = Op2(x, c)
//   y = Op2(x, c)
//
// Three ways, the cheap ones first: integers that ONNX's data propagation already knows (shape arithmetic);
// values that need no arithmetic (shapes, fills, views); everything else by one evaluation of all constant
// nodes together. A folded graph output stays written by a node: Identity of the constant.

namespace cryolite::simplify {
namespace {

using graph::ElementType;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Tensor;
using graph::ValueId;

/// Results larger than this are folded only where they are not much larger than what they are made of: an
/// Expand or Tile of a constant is cheaper to compute than to read.
constexpr int64_t kLargestGrown = 1 << 20;  // bytes
constexpr int64_t kLargestGrowth = 4;       // times the inputs

bool is_random(const Node& node) {
  return node.op_type.starts_with("Random") || node.op_type == "Bernoulli" || node.op_type == "Multinomial";
}

bool is_view_of_input(const Node& node) {
  static constexpr std::string_view views[] = {"Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze"};
  return std::find(std::begin(views), std::end(views), node.op_type) != std::end(views);
}

/// Folding state that lives through the rounds.
struct Folding {
  Graph& graph;
  const Evaluate& evaluate;
  std::set<std::string> refused{};  ///< names of nodes that the evaluator cannot compute
};

/// Puts a constant in the place of an output of a node.
void settle(Graph& graph, NodeId id, size_t output, Tensor tensor) {
  const ValueId value = graph.nodes[id].outputs[output];
  graph.values[value].type = tensor.type;
  graph.nodes[id].outputs[output] = graph::absent;
  const std::vector<ValueId>& left = graph.nodes[id].outputs;
  const bool is_done =
      std::all_of(left.begin(), left.end(), [](ValueId out) { return out == graph::absent; });
  if (is_done) clear_node(graph.nodes[id]);
  if (std::find(graph.outputs.begin(), graph.outputs.end(), value) == graph.outputs.end()) {
    graph.values[value].constant = std::move(tensor);
    return;
  }
  const std::string name = graph.nodes[id].name;
  const ValueId constant = add_constant(graph, graph.values[value].name + "_constant", std::move(tensor));
  Node identity{name, "Identity", {constant}, {value}, {}};
  if (is_done) {
    graph.nodes[id] = std::move(identity);
  } else {
    identity.name = free_node_name(graph, name);
    graph.add_node(std::move(identity));
  }
}

bool is_settled_output(const Graph& graph, const Node& node) {
  return node.op_type == "Identity" && graph.constant_input(node, 0) &&
         std::find(graph.outputs.begin(), graph.outputs.end(), node.outputs.at(0)) != graph.outputs.end();
}

std::optional<Tensor> known_tensor(const graph::TensorType& type, const std::vector<int64_t>& integers) {
  if (!type.is_fixed() || type.elements() != static_cast<int64_t>(integers.size())) return std::nullopt;
  if (type.element != ElementType::Int64 && type.element != ElementType::Int32) return std::nullopt;
  Tensor tensor = Tensor::of_integers(integers);
  if (type.element == ElementType::Int32) {
    const std::vector<int32_t> narrow(integers.begin(), integers.end());
    tensor =
        Tensor::of_bytes(type, std::string(reinterpret_cast<const char*>(narrow.data()), narrow.size() * 4));
  }
  tensor.type = type;
  return tensor;
}

/// Shape, with its range of axes, of a value whose extents there are numbers.
std::optional<Tensor> shape_of(const Graph& graph, const Node& node) {
  const graph::TensorType& type = graph.input_type(node, 0);
  if (!type.has_rank) return std::nullopt;
  const auto rank = static_cast<int64_t>(type.dims.size());
  const auto clamped = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  std::vector<int64_t> extents;
  const int64_t end = clamped(graph::int_attribute(node, "end", rank));
  for (int64_t axis = clamped(graph::int_attribute(node, "start", 0)); axis < end; ++axis) {
    if (!type.dims[axis].is_fixed()) return std::nullopt;
    extents.push_back(type.dims[axis].extent);
  }
  return Tensor::of_integers(extents);
}

std::optional<Tensor> filled(const Graph& graph, const Node& node) {
  const Tensor* shape = graph.constant_input(node, 0);
  if (shape == nullptr) return std::nullopt;
  Tensor element = Tensor::of_floats({0}, {1});
  if (const auto value = node.attributes.find("value"); value != node.attributes.end())
    element = std::get<Tensor>(value->second);
  graph::TensorType type{element.type.element, {}};
  for (const int64_t extent : shape->as_integers()) type.dims.emplace_back(extent);
  const auto total = static_cast<size_t>(type.bytes());
  std::string bytes(*element.bytes);
  bytes.reserve(total);
  while (bytes.size() < total)
    bytes.append(bytes, 0, std::min(bytes.size(), total - bytes.size()));  // doubles
  bytes.resize(total);
  return Tensor::of_bytes(std::move(type), std::move(bytes));
}

bool grows_too_much(const Graph& graph, const Node& node) {
  int64_t in = 0, out = 0;
  for (const ValueId id : node.inputs)
    if (id != graph::absent && graph.value(id).type.is_fixed()) in += graph.value(id).type.bytes();
  for (const ValueId id : node.outputs)
    if (id != graph::absent && graph.value(id).type.is_fixed()) out += graph.value(id).type.bytes();
  return out > kLargestGrown && out > kLargestGrowth * in;
}

/// What needs no arithmetic on elements.
std::optional<Tensor> direct(const Graph& graph, const Node& node) {
  if (node.op_type == "Shape") return shape_of(graph, node);
  if (node.op_type == "ConstantOfShape") return filled(graph, node);
  if (node.op_type == "Size" && graph.input_type(node, 0).is_fixed()) {
    Tensor size = Tensor::of_integers({graph.input_type(node, 0).elements()});
    size.type.dims.clear();
    return size;
  }
  const Tensor* input = graph.constant_input(node, 0);
  if (input && is_view_of_input(node) && graph.output_type(node).is_fixed())
    return Tensor{graph.output_type(node), input->bytes};
  if (input && !grows_too_much(graph, node)) return moved_elements(graph, node);
  return std::nullopt;
}

bool fold_cheaply(Folding& folding, const onnx::KnownIntegers& known) {
  Graph& graph = folding.graph;
  bool changed = false;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes.size()); ++id) {
    for (size_t i = 0; i < graph.nodes[id].outputs.size(); ++i) {
      const ValueId output = graph.nodes[id].outputs[i];
      if (output == graph::absent || is_settled_output(graph, graph.nodes[id])) continue;
      const auto integers = known.find(graph.value(output).name);
      std::optional<Tensor> tensor;
      if (integers != known.end()) tensor = known_tensor(graph.value(output).type, integers->second);
      if (!tensor && i == 0) tensor = direct(graph, graph.nodes[id]);
      if (!tensor) continue;
      settle(graph, id, i, std::move(*tensor));
      changed = true;
    }
  }
  return changed;
}

/// The nodes that depend on constants only, in order.
std::vector<NodeId> constant_nodes(const Folding& folding) {
  const Graph& graph = folding.graph;
  std::vector<bool> is_constant(graph.values.size());
  for (size_t id = 0; id < graph.values.size(); ++id) is_constant[id] = graph.values[id].constant.has_value();
  std::vector<NodeId> found;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes.size()); ++id) {
    const Node& node = graph.nodes[id];
    const auto is_ready = [&](ValueId input) { return input == graph::absent || is_constant[input]; };
    const auto is_fixed = [&](ValueId out) {
      return out == graph::absent || graph.value(out).type.is_fixed();
    };
    if (node.inputs.empty() || is_random(node) || folding.refused.contains(node.name) ||
        is_settled_output(graph, node) || !std::all_of(node.inputs.begin(), node.inputs.end(), is_ready) ||
        !std::all_of(node.outputs.begin(), node.outputs.end(), is_fixed) || grows_too_much(graph, node))
      continue;
    found.push_back(id);
    for (const ValueId out : node.outputs)
      if (out != graph::absent) is_constant[out] = true;
  }
  return found;
}

/// The nodes as a graph of their own, whose outputs are what others read; `homes` tells which they are.
struct Batch {
  Graph graph;
  std::vector<std::pair<NodeId, size_t>> homes;
};

Batch batch_of(const Graph& graph, const std::vector<NodeId>& nodes) {
  Batch batch;
  batch.graph.name = graph.name;
  const graph::Uses uses = graph::uses_of(graph);
  const std::set<NodeId> inside(nodes.begin(), nodes.end());
  std::unordered_map<ValueId, ValueId> ids;
  const auto copied = [&](ValueId id) {
    if (id == graph::absent) return id;
    const auto [entry, is_new] = ids.try_emplace(id, 0);
    if (is_new) entry->second = batch.graph.add_value(graph.value(id));
    return entry->second;
  };
  for (const NodeId id : nodes) {
    Node node = graph.nodes[id];
    for (ValueId& input : node.inputs) input = copied(input);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId original = node.outputs[i];
      node.outputs[i] = copied(original);
      if (original == graph::absent) continue;
      const auto& readers = uses.consumers[original];
      const bool is_read_outside =
          std::any_of(readers.begin(), readers.end(), [&](NodeId r) { return !inside.contains(r); });
      if (!is_read_outside && !uses.is_output[original]) continue;
      batch.graph.outputs.push_back(node.outputs[i]);
      batch.homes.emplace_back(id, i);
    }
    batch.graph.add_node(std::move(node));
  }
  return batch;
}

/// True where the evaluator could compute the nodes.
bool fold_batch(Folding& folding, const std::vector<NodeId>& nodes) {
  Batch batch = batch_of(folding.graph, nodes);
  std::vector<Tensor> results;
  try {
    results = folding.evaluate(batch.graph);
  } catch (const Error&) {
    return false;
  }
  for (size_t i = 0; i < results.size(); ++i)
    settle(folding.graph, batch.homes[i].first, batch.homes[i].second, std::move(results[i]));
  return true;
}

bool fold_by_evaluation(Folding& folding) {
  std::vector<NodeId> nodes = constant_nodes(folding);
  if (nodes.empty()) return false;
  if (fold_batch(folding, nodes)) return true;
  // One of them cannot be computed: take them one at a time, and remember which.
  bool changed = false;
  for (const NodeId id : nodes) {
    const Node& node = folding.graph.nodes[id];
    const bool is_ready = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return input == graph::absent || folding.graph.value(input).constant;
    });
    if (!is_ready) continue;
    const std::string name = node.name;
    if (fold_batch(folding, {id}))
      changed = true;
    else
      folding.refused.insert(name);
  }
  return changed;
}

bool all_fixed(const Graph& graph) {
  return std::all_of(graph.values.begin(), graph.values.end(),
                     [](const graph::Value& value) { return value.type.is_fixed(); });
}

}  // namespace

Graph fold_constants(Graph graph, const Evaluate& evaluate) {
  Folding folding{graph, evaluate};
  bool is_first = true;
  for (bool changed = true; changed;) {
    changed = false;
    onnx::KnownIntegers known;
    if (is_first || !all_fixed(graph)) known = onnx::infer_types(graph);
    is_first = false;
    while (fold_cheaply(folding, known)) changed = true;
    changed = fold_by_evaluation(folding) || changed;
    graph = graph::tidied(std::move(graph));
  }
  return graph;
}

}  // namespace cryolite::simplify
