#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/tensor_type.h"

namespace cryolite::graph {

using ValueId = int;  ///< index into Graph::values; `absent` where an optional input is left out
using NodeId = int;   ///< index into Graph::nodes
inline constexpr int absent = -1;

struct Graph;
using Attribute = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
                               std::vector<std::string>, Tensor, std::shared_ptr<const Graph>>;

struct Value {
  std::string name;
  TensorType type;
  Layout layout;
  std::optional<Tensor> constant;  ///< row-major whatever `layout` says
};

struct Node {
  std::string name;     ///< unique in the graph: ONNX's, or optype_N where that is empty
  std::string op_type;  ///< of the ONNX domain, or a name of our own (see ops/table)
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;  ///< `absent` where an optional output is left out
  std::map<std::string, Attribute> attributes;
};

/// A value type: nodes in a topological order, every value written by at most one node.
struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs;   ///< fed at run time, in ONNX's order; constants are not among them
  std::vector<ValueId> outputs;

  ValueId add_value(Value value);
  NodeId add_node(Node node);
  const Value& value(ValueId id) const { return values.at(id); }
  /// The type of input or output i of a node; an Undefined one where it is absent.
  const TensorType& input_type(const Node& node, size_t i) const;
  const TensorType& output_type(const Node& node, size_t i = 0) const;
  /// The constant behind input i, or nullptr where it is absent or not constant.
  const Tensor* constant_input(const Node& node, size_t i) const;
};

/// Who writes and who reads each value. Made anew after each change of the graph.
struct Uses {
  std::vector<NodeId> producer;                ///< by value; `absent`: graph input or constant
  std::vector<std::vector<NodeId>> consumers;  ///< by value; a node that reads it twice stands once
  std::vector<bool> is_output;                 ///< by value
  /// Consumers plus one where it is a model output.
  int use_count(ValueId id) const { return static_cast<int>(consumers[id].size()) + is_output[id]; }
};
Uses uses_of(const Graph& graph);

/// Attribute readers; `fallback` is ONNX's default for a left-out attribute.
int64_t int_attribute(const Node& node, const std::string& name, int64_t fallback);
float float_attribute(const Node& node, const std::string& name, float fallback);
std::string string_attribute(const Node& node, const std::string& name, std::string_view fallback);
std::vector<int64_t> ints_attribute(const Node& node, const std::string& name,
                                    std::vector<int64_t> fallback = {});
bool has_attribute(const Node& node, const std::string& name);
/// An axis counted from the end where negative, as ONNX has it. Throws Error where out of range.
int normalized_axis(int64_t axis, int rank, const Node& node);

/// Sorts nodes topologically (stable), drops nodes and values that no output needs, renumbers.
/// Throws Error naming a node where the graph has a cycle.
Graph tidied(Graph graph);

}  // namespace cryolite::graph
