#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

/// Small tools for rewrites.
namespace cryolite::simplify {

/// A value name that is not taken: `base`, or base_2, base_3…
std::string free_value_name(const graph::Graph& graph, const std::string& base);
std::string free_node_name(const graph::Graph& graph, const std::string& base);

graph::ValueId add_constant(graph::Graph& graph, const std::string& base_name, graph::Tensor tensor);
graph::ValueId add_integers(graph::Graph& graph, const std::string& base_name,
                            const std::vector<int64_t>& integers);

/// Takes a node out: it reads and writes nothing, and `tidied` drops it.
void clear_node(graph::Node& node);

/// Lets everybody read `to` instead of `from`. A graph output keeps its name: `to` takes it over. False, with
/// nothing changed, where that cannot be: `from` is an output, and `to` an input, a constant or an output
/// itself.
bool replace_value(graph::Graph& graph, const graph::Uses& uses, graph::ValueId from, graph::ValueId to);

/// The node that writes input `i` of a node, where it is of the given type and nothing else reads that value.
graph::Node* sole_producer(graph::Graph& graph, const graph::Uses& uses, const graph::Node& node, size_t i,
                           std::string_view op_type);
/// The node that writes a value, or nullptr.
const graph::Node* producer_of(const graph::Graph& graph, const graph::Uses& uses, graph::ValueId value);

/// The one element of a constant, whatever its shape; nothing where it is not a constant of equal elements.
std::optional<double> uniform_constant(const graph::Graph& graph, graph::ValueId value);

/// A constant of `count` elements spread over axis `axis` of a value of this rank: of shape [count,1,…,1]
/// after ONNX's broadcasting, or of one element, repeated. Nothing where the constant is of another shape.
std::optional<std::vector<double>> along_axis(const graph::Graph& graph, graph::ValueId constant, int rank,
                                              int axis, int64_t count);

/// A float tensor from doubles, rounded to `type`'s element type.
graph::Tensor tensor_of(const graph::TensorType& type, const std::vector<double>& elements);

/// `tensor` with element i multiplied by factors[index of i along `axis`].
graph::Tensor scaled(const graph::Tensor& tensor, int axis, const std::vector<double>& factors);

/// The shape [1,…,count,…,1] that broadcasts along `axis` of a value of this rank, without leading ones.
std::vector<graph::Dim> channel_shape(int rank, int axis, int64_t count);

}  // namespace cryolite::simplify
