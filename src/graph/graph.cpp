#include "graph/graph.h"

#include <fmt/format.h>

#include <functional>
#include <queue>

#include "base/error.h"

namespace cryolite::graph {
namespace {

const TensorType& type_or_undefined(const Graph& graph, const std::vector<ValueId>& ids, size_t i) {
  static const TensorType undefined;
  if (i >= ids.size() || ids[i] == absent) return undefined;
  return graph.value(ids[i]).type;
}

template <class T>
const T* attribute(const Node& node, const std::string& name, std::string_view kind) {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return nullptr;
  if (const T* held = std::get_if<T>(&found->second)) return held;
  throw Error(fmt::format("attribute '{}' of {} is not {}", name, node.op_type, kind), {.node = node.name},
              "export the model again with the attribute as ONNX defines it");
}

/// The nodes in a stable topological order; those on a cycle, or behind one, are missing.
std::vector<NodeId> topological_order(const Graph& graph, const std::vector<bool>& needed, const Uses& uses) {
  std::vector<int> waiting(graph.nodes.size(), 0);
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes.size()); ++id) {
    if (!needed[id]) continue;
    for (ValueId input : graph.nodes[id].inputs)
      if (input != absent && uses.producer[input] != absent) ++waiting[id];
    if (waiting[id] == 0) ready.push(id);
  }
  std::vector<NodeId> order;
  while (!ready.empty()) {
    const NodeId id = ready.top();
    ready.pop();
    order.push_back(id);
    for (ValueId output : graph.nodes[id].outputs) {
      if (output == absent) continue;
      for (NodeId consumer : uses.consumers[output]) {
        if (!needed[consumer]) continue;
        for (ValueId input : graph.nodes[consumer].inputs)
          if (input == output && --waiting[consumer] == 0) ready.push(consumer);
      }
    }
  }
  return order;
}

std::vector<bool> needed_nodes(const Graph& graph, const Uses& uses) {
  std::vector<bool> needed(graph.nodes.size(), false);
  std::vector<ValueId> open = graph.outputs;
  while (!open.empty()) {
    const ValueId value = open.back();
    open.pop_back();
    if (value == absent || uses.producer[value] == absent || needed[uses.producer[value]]) continue;
    needed[uses.producer[value]] = true;
    const Node& node = graph.nodes[uses.producer[value]];
    open.insert(open.end(), node.inputs.begin(), node.inputs.end());
  }
  return needed;
}

[[noreturn]] void throw_cycle(const Graph& graph, const std::vector<bool>& needed,
                              const std::vector<NodeId>& order) {
  std::vector<bool> sorted(graph.nodes.size(), false);
  for (NodeId id : order) sorted[id] = true;
  const Uses uses = uses_of(graph);
  // Walk producers that could not be sorted; a node met twice lies on the cycle.
  NodeId id = 0;
  while (!needed[id] || sorted[id]) ++id;
  std::vector<bool> met(graph.nodes.size(), false);
  while (!met[id]) {
    met[id] = true;
    for (ValueId input : graph.nodes[id].inputs) {
      const NodeId producer = input == absent ? absent : uses.producer[input];
      if (producer == absent || sorted[producer]) continue;
      id = producer;
      break;
    }
  }
  throw Error("the node needs its own output: the graph has a cycle", {.node = graph.nodes[id].name},
              "export the model again");
}

/// Copies values into a new graph on first use.
struct Renumbering {
  Graph& from;
  Graph& to;
  std::vector<ValueId> ids;

  Renumbering(Graph& from, Graph& to) : from(from), to(to), ids(from.values.size(), absent) {}
  ValueId operator()(ValueId old) {
    if (old == absent) return absent;
    if (ids[old] == absent) ids[old] = to.add_value(std::move(from.values[old]));
    return ids[old];
  }
  void operator()(std::vector<ValueId>& old) {
    for (ValueId& id : old) id = (*this)(id);
  }
};

}  // namespace

ValueId Graph::add_value(Value value) {
  values.push_back(std::move(value));
  return static_cast<ValueId>(values.size()) - 1;
}

NodeId Graph::add_node(Node node) {
  nodes.push_back(std::move(node));
  return static_cast<NodeId>(nodes.size()) - 1;
}

const TensorType& Graph::input_type(const Node& node, size_t i) const {
  return type_or_undefined(*this, node.inputs, i);
}

const TensorType& Graph::output_type(const Node& node, size_t i) const {
  return type_or_undefined(*this, node.outputs, i);
}

const Tensor* Graph::constant_input(const Node& node, size_t i) const {
  if (i >= node.inputs.size() || node.inputs[i] == absent) return nullptr;
  const std::optional<Tensor>& constant = value(node.inputs[i]).constant;
  return constant ? &*constant : nullptr;
}

Uses uses_of(const Graph& graph) {
  Uses uses;
  uses.producer.assign(graph.values.size(), absent);
  uses.consumers.resize(graph.values.size());
  uses.is_output.assign(graph.values.size(), false);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes.size()); ++id) {
    for (ValueId output : graph.nodes[id].outputs)
      if (output != absent) uses.producer[output] = id;
    for (ValueId input : graph.nodes[id].inputs) {
      if (input == absent) continue;
      std::vector<NodeId>& readers = uses.consumers[input];
      if (readers.empty() || readers.back() != id) readers.push_back(id);
    }
  }
  for (ValueId output : graph.outputs) uses.is_output[output] = true;
  return uses;
}

int64_t int_attribute(const Node& node, const std::string& name, int64_t fallback) {
  const auto* held = attribute<int64_t>(node, name, "an integer");
  return held ? *held : fallback;
}

float float_attribute(const Node& node, const std::string& name, float fallback) {
  const auto* held = attribute<float>(node, name, "a float");
  return held ? *held : fallback;
}

std::string string_attribute(const Node& node, const std::string& name, std::string_view fallback) {
  const auto* held = attribute<std::string>(node, name, "a string");
  return held ? *held : std::string(fallback);
}

std::vector<int64_t> ints_attribute(const Node& node, const std::string& name,
                                    std::vector<int64_t> fallback) {
  const auto* held = attribute<std::vector<int64_t>>(node, name, "a list of integers");
  return held ? *held : fallback;
}

bool has_attribute(const Node& node, const std::string& name) { return node.attributes.contains(name); }

int normalized_axis(int64_t axis, int rank, const Node& node) {
  if (axis < -rank || axis >= rank)
    throw Error(fmt::format("axis {} is outside a tensor of {} axes", axis, rank), {.node = node.name},
                "correct the axis in the model");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Graph tidied(Graph graph) {
  const Uses uses = uses_of(graph);
  const std::vector<bool> needed = needed_nodes(graph, uses);
  const std::vector<NodeId> order = topological_order(graph, needed, uses);
  if (static_cast<size_t>(std::count(needed.begin(), needed.end(), true)) != order.size())
    throw_cycle(graph, needed, order);

  Graph out;
  out.name = std::move(graph.name);
  Renumbering renumber(graph, out);
  out.inputs = std::move(graph.inputs);
  renumber(out.inputs);
  // Constants before everything that is computed: those that a needed node or an output reads.
  const auto take_constants = [&](const std::vector<ValueId>& ids) {
    for (ValueId id : ids)
      if (id != absent && graph.values[id].constant) renumber(id);
  };
  for (NodeId id : order) take_constants(graph.nodes[id].inputs);
  take_constants(graph.outputs);
  for (NodeId id : order) {
    Node node = std::move(graph.nodes[id]);
    renumber(node.inputs);
    renumber(node.outputs);
    out.add_node(std::move(node));
  }
  out.outputs = std::move(graph.outputs);
  renumber(out.outputs);
  return out;
}

}  // namespace cryolite::graph
