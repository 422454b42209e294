#include "simplify/edit.h"

#include <fmt/format.h>

#include <cassert>
#include <cstring>
#include <unordered_set>

#include "graph/half.h"

namespace cryolite::simplify {
namespace {

using graph::ElementType;
using graph::Graph;
using graph::Node;
using graph::Tensor;
using graph::ValueId;

template <class Items>
std::string free_name(const Items& items, const std::string& base) {
  std::unordered_set<std::string_view> taken;
  for (const auto& item : items) taken.insert(item.name);
  std::string name = base;
  for (int copy = 2; taken.contains(name); ++copy) name = fmt::format("{}_{}", base, copy);
  return name;
}

template <class T>
std::string packed(const std::vector<double>& elements, T (*convert)(double)) {
  std::string bytes(elements.size() * sizeof(T), '\0');
  for (size_t i = 0; i < elements.size(); ++i) {
    const T element = convert(elements[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
  }
  return bytes;
}

}  // namespace

std::string free_value_name(const Graph& graph, const std::string& base) {
  return free_name(graph.values, base);
}

std::string free_node_name(const Graph& graph, const std::string& base) {
  return free_name(graph.nodes, base);
}

ValueId add_constant(Graph& graph, const std::string& base_name, Tensor tensor) {
  graph::TensorType type = tensor.type;
  return graph.add_value({free_value_name(graph, base_name), std::move(type), {}, std::move(tensor)});
}

ValueId add_integers(Graph& graph, const std::string& base_name, const std::vector<int64_t>& integers) {
  return add_constant(graph, base_name, Tensor::of_integers(integers));
}

void clear_node(Node& node) {
  node.inputs.clear();
  node.outputs.clear();
}

bool replace_value(Graph& graph, const graph::Uses& uses, ValueId from, ValueId to) {
  if (uses.is_output[from]) {
    const bool is_input = std::find(graph.inputs.begin(), graph.inputs.end(), to) != graph.inputs.end();
    if (is_input || graph.value(to).constant || uses.is_output[to]) return false;
    std::swap(graph.values[from].name, graph.values[to].name);
  }
  for (Node& node : graph.nodes)
    for (ValueId& input : node.inputs)
      if (input == from) input = to;
  for (ValueId& output : graph.outputs)
    if (output == from) output = to;
  return true;
}

Node* sole_producer(Graph& graph, const graph::Uses& uses, const Node& node, size_t i,
                    std::string_view op_type) {
  if (i >= node.inputs.size() || node.inputs[i] == graph::absent) return nullptr;
  const ValueId value = node.inputs[i];
  if (uses.producer[value] == graph::absent || uses.use_count(value) != 1) return nullptr;
  Node& producer = graph.nodes[uses.producer[value]];
  return producer.op_type == op_type ? &producer : nullptr;
}

const Node* producer_of(const Graph& graph, const graph::Uses& uses, ValueId value) {
  if (value == graph::absent || uses.producer[value] == graph::absent) return nullptr;
  return &graph.nodes[uses.producer[value]];
}

std::optional<double> uniform_constant(const Graph& graph, ValueId value) {
  if (value == graph::absent || !graph.value(value).constant) return std::nullopt;
  const Tensor& tensor = *graph.value(value).constant;
  // Scalars stored large are rare; looking at every element of every weight would be slow.
  if (tensor.type.elements() == 0 || tensor.type.elements() > 65536) return std::nullopt;
  const std::vector<double> elements = tensor.as_doubles();
  for (const double element : elements)
    if (element != elements[0]) return std::nullopt;
  return elements[0];
}

std::optional<std::vector<double>> along_axis(const Graph& graph, ValueId constant, int rank, int axis,
                                              int64_t count) {
  if (constant == graph::absent || !graph.value(constant).constant) return std::nullopt;
  const Tensor& tensor = *graph.value(constant).constant;
  const int own_rank = static_cast<int>(tensor.type.dims.size());
  if (own_rank > rank) return std::nullopt;
  for (int i = 0; i < own_rank; ++i) {
    const int64_t extent = tensor.type.dims[i].extent;
    const bool is_axis = i + rank - own_rank == axis;
    if (extent != 1 && !(is_axis && extent == count)) return std::nullopt;
  }
  std::vector<double> elements = tensor.as_doubles();
  if (elements.size() == 1) elements.resize(count, elements[0]);
  return elements;
}

Tensor tensor_of(const graph::TensorType& type, const std::vector<double>& elements) {
  assert(type.elements() == static_cast<int64_t>(elements.size()));
  switch (type.element) {
    case ElementType::Float64:
      return Tensor::of_bytes(type, packed<double>(elements, [](double x) { return x; }));
    case ElementType::Float16:
      return Tensor::of_bytes(type, packed<uint16_t>(elements, [](double x) {
                                return graph::float_to_half(static_cast<float>(x));
                              }));
    case ElementType::BFloat16:
      return Tensor::of_bytes(type, packed<uint16_t>(elements, [](double x) {
                                return graph::float_to_bfloat16(static_cast<float>(x));
                              }));
    default:
      assert(type.element == ElementType::Float32);
      return Tensor::of_bytes(type, packed<float>(elements, [](double x) { return static_cast<float>(x); }));
  }
}

Tensor scaled(const Tensor& tensor, int axis, const std::vector<double>& factors) {
  int64_t inner = 1;
  const std::vector<int64_t> extents = tensor.type.extents();
  for (size_t i = axis + 1; i < extents.size(); ++i) inner *= extents[i];
  const auto factor = [&](int64_t i) { return factors[i / inner % factors.size()]; };
  if (tensor.type.element != ElementType::Float32) {
    std::vector<double> elements = tensor.as_doubles();
    for (size_t i = 0; i < elements.size(); ++i) elements[i] *= factor(static_cast<int64_t>(i));
    return tensor_of(tensor.type, elements);
  }
  std::string bytes(*tensor.bytes);  // float32 in place: weights may be hundreds of megabytes
  auto* elements = reinterpret_cast<float*>(bytes.data());
  const int64_t count = tensor.type.elements();
  for (int64_t i = 0; i < count; ++i) elements[i] = static_cast<float>(elements[i] * factor(i));
  return Tensor::of_bytes(tensor.type, std::move(bytes));
}

std::vector<graph::Dim> channel_shape(int rank, int axis, int64_t count) {
  std::vector<graph::Dim> dims(rank - axis, graph::Dim(1));
  dims[0] = count;
  return dims;
}

}  // namespace cryolite::simplify
