#include <fmt/format.h>
#include <xxhash.h>

#include <cstring>
#include <map>
#include <unordered_map>

#include "simplify/edit.h"
#include "simplify/rewrites.h"

// Common subexpressions.
//
//   a = Relu(x)                →   a = Relu(x)
//   b = Relu(x)                    y = Add(a, a)
//   y = Add(a, b)
//
// Two nodes are one where operator, inputs and attributes are equal and nothing is random; two constants
// where type and bytes are. Models with constant weights (the light_* ones) shrink much by this, trained ones
// little.

namespace cryolite::simplify {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Tensor;
using graph::ValueId;

/// Text that is equal for equal attributes.
struct AttributeKey {
  std::string operator()(int64_t number) const { return fmt::format("i{}", number); }
  std::string operator()(float number) const { return fmt::format("f{:a}", number); }
  std::string operator()(const std::string& text) const { return fmt::format("s{}:{}", text.size(), text); }
  template <class T>
  std::string operator()(const std::vector<T>& items) const {
    std::string key = fmt::format("[{}", items.size());
    for (const T& item : items) key += (*this)(item);
    return key;
  }
  std::string operator()(const Tensor& tensor) const {
    std::string key = fmt::format("t{}", graph::name_of(tensor.type.element));
    for (const int64_t extent : tensor.type.extents()) key += fmt::format(",{}", extent);
    return key + ":" + *tensor.bytes;
  }
  std::string operator()(const std::shared_ptr<const Graph>& graph) const {
    return fmt::format("g{}", static_cast<const void*>(graph.get()));
  }
};

bool is_random(const Node& node) {
  return node.op_type.starts_with("Random") || node.op_type == "Bernoulli" || node.op_type == "Multinomial";
}

std::string key_of(const Node& node) {
  std::string key = node.op_type;
  for (const ValueId input : node.inputs) key += fmt::format(" {}", input);
  for (const ValueId output : node.outputs) key += output == graph::absent ? " _" : " o";
  for (const auto& [name, attribute] : node.attributes)
    key += fmt::format(" {}={}", name, std::visit(AttributeKey{}, attribute));
  return key;
}

bool same_types(const Graph& graph, const Node& a, const Node& b) {
  for (size_t i = 0; i < a.outputs.size(); ++i)
    if (graph.output_type(a, i) != graph.output_type(b, i)) return false;
  return true;
}

bool merge_nodes(Graph& graph) {
  bool changed = false;
  graph::Uses uses = graph::uses_of(graph);
  std::unordered_map<std::string, NodeId> first;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes.size()); ++id) {
    if (is_random(graph.nodes[id]) || graph.nodes[id].outputs.empty()) continue;
    const auto [entry, is_new] = first.try_emplace(key_of(graph.nodes[id]), id);
    if (is_new || !same_types(graph, graph.nodes[entry->second], graph.nodes[id])) continue;
    for (size_t i = 0; i < graph.nodes[id].outputs.size(); ++i) {
      const ValueId from = graph.nodes[id].outputs[i];
      if (from == graph::absent || uses.use_count(from) == 0) continue;
      if (!replace_value(graph, uses, from, graph.nodes[entry->second].outputs[i])) continue;
      changed = true;
      uses = graph::uses_of(graph);
    }
  }
  return changed;
}

bool merge_constants(Graph& graph) {
  // Hash only where types meet: most weights have a shape of their own.
  std::map<std::string, std::vector<ValueId>> by_type;
  for (ValueId id = 0; id < static_cast<ValueId>(graph.values.size()); ++id) {
    if (!graph.values[id].constant) continue;
    std::string type(graph::name_of(graph.values[id].type.element));
    for (const int64_t extent : graph.values[id].type.extents()) type += fmt::format(",{}", extent);
    by_type[type].push_back(id);
  }
  std::vector<ValueId> kept(graph.values.size());
  for (size_t id = 0; id < kept.size(); ++id) kept[id] = static_cast<ValueId>(id);
  for (const auto& [type, ids] : by_type) {
    if (ids.size() < 2) continue;
    std::unordered_multimap<uint64_t, ValueId> seen;
    for (const ValueId id : ids) {
      const std::string& bytes = *graph.values[id].constant->bytes;
      const uint64_t hash = XXH3_64bits(bytes.data(), bytes.size());
      const auto [begin, end] = seen.equal_range(hash);
      const auto same = std::find_if(begin, end, [&](const auto& entry) {
        return *graph.values[entry.second].constant->bytes == bytes;
      });
      if (same != end)
        kept[id] = same->second;
      else
        seen.emplace(hash, id);
    }
  }
  bool changed = false;
  for (Node& node : graph.nodes)
    for (ValueId& input : node.inputs)
      if (input != graph::absent && kept[input] != input) {
        input = kept[input];
        changed = true;
      }
  return changed;
}

}  // namespace

bool merge_duplicates(Graph& graph) {
  const bool constants = merge_constants(graph);
  const bool nodes = merge_nodes(graph);
  if (nodes) graph = graph::tidied(std::move(graph));
  return constants || nodes;
}

}  // namespace cryolite::simplify
