#include <algorithm>

#include "simplify/edit.h"
#include "simplify/rewrites.h"

// Matrix products with a bias.
//
//   p = MatMul(a, b)     →   y = Gemm(a, b, c)
//   y = Add(p, c)
//
// Both of rank 2, and c broadcasts to p: where p would be widened to c instead, Gemm is another function
// (onnxruntime issue 3764). Then, where b is constant, transB, alpha and beta go into the constants, so that
// b always lies as (k, n).

namespace cryolite::simplify {
namespace {

using graph::Graph;
using graph::Node;
using graph::Tensor;
using graph::ValueId;

constexpr int64_t kLargestTransposed = 16 << 20;  // bytes

/// Rows and columns exchanged, tile by tile so that both sides stay in cache. Element: any type of the right
/// size.
template <class Element>
void transpose(const Element* from, Element* to, int64_t rows, int64_t columns) {
  constexpr int64_t tile = 32;
  for (int64_t r0 = 0; r0 < rows; r0 += tile)
    for (int64_t c0 = 0; c0 < columns; c0 += tile)
      for (int64_t c = c0; c < std::min(columns, c0 + tile); ++c)
        for (int64_t r = r0; r < std::min(rows, r0 + tile); ++r) to[c * rows + r] = from[r * columns + c];
}

Tensor transposed(const Tensor& matrix) {
  const int64_t rows = matrix.type.dims[0].extent, columns = matrix.type.dims[1].extent;
  std::string bytes(matrix.bytes->size(), '\0');
  const auto run = [&]<class Element>(Element) {
    transpose(matrix.as<Element>(), reinterpret_cast<Element*>(bytes.data()), rows, columns);
  };
  switch (graph::size_of(matrix.type.element)) {
    case 1:
      run(uint8_t{});
      break;
    case 2:
      run(uint16_t{});
      break;
    case 4:
      run(uint32_t{});
      break;
    default:
      run(uint64_t{});
      break;
  }
  return Tensor::of_bytes({matrix.type.element, {columns, rows}}, std::move(bytes));
}

/// Multiplies a constant input of the Gemm by an attribute, which becomes 1.
bool take_factor(Graph& graph, graph::NodeId id, const char* attribute, size_t input) {
  const float factor = graph::float_attribute(graph.nodes[id], attribute, 1);
  const Tensor* constant = graph.constant_input(graph.nodes[id], input);
  if (factor == 1 || !constant || !graph::is_float(constant->type.element)) return false;
  const std::string name = graph.value(graph.nodes[id].inputs[input]).name + "_scaled";
  const ValueId product = add_constant(graph, name, scaled(*constant, 0, {factor}));
  graph.nodes[id].inputs[input] = product;
  graph.nodes[id].attributes.erase(attribute);
  return true;
}

}  // namespace

bool find_gemm(Graph& graph, const graph::Uses& uses, graph::NodeId id) {
  Node& add = graph.nodes[id];
  if (add.op_type != "Add") return false;
  for (size_t i = 0; i < 2; ++i) {
    const Node* product = sole_producer(graph, uses, add, i, "MatMul");
    if (!product) continue;
    const graph::TensorType& type = graph.input_type(add, i);
    if (!type.is_fixed() || type != graph.output_type(add) || !graph::is_float(type.element)) continue;
    if (graph.input_type(*product, 0).dims.size() != 2 || graph.input_type(*product, 1).dims.size() != 2)
      continue;
    const ValueId bias = add.inputs[1 - i];
    add = {add.name, "Gemm", {product->inputs[0], product->inputs[1], bias}, add.outputs, {}};
    return true;
  }
  return false;
}

bool normalize_gemm(Graph& graph, const graph::Uses&, graph::NodeId id) {
  if (graph.nodes[id].op_type != "Gemm" || !graph.constant_input(graph.nodes[id], 1)) return false;
  bool changed = false;
  const bool is_small = graph.input_type(graph.nodes[id], 1).bytes() <= kLargestTransposed;
  if (is_small && graph::int_attribute(graph.nodes[id], "transB", 0) != 0) {
    const std::string name = graph.value(graph.nodes[id].inputs[1]).name + "_transposed";
    const ValueId weight = add_constant(graph, name, transposed(*graph.constant_input(graph.nodes[id], 1)));
    graph.nodes[id].inputs[1] = weight;
    graph.nodes[id].attributes.erase("transB");
    changed = true;
  }
  changed = take_factor(graph, id, "alpha", 1) || changed;
  return take_factor(graph, id, "beta", 2) || changed;
}

}  // namespace cryolite::simplify
