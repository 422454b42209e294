#include "simplify/move_elements.h"

#include <algorithm>
#include <cstring>
#include <numeric>

// Folding of operators that compute nothing: their results are copies of bytes, which needs no code to be
// generated (a JIT run costs some 50 ms, and shape arithmetic is made of dozens of such nodes).

namespace cryolite::simplify {
namespace {

using graph::Graph;
using graph::Node;
using graph::Tensor;
using Extents = std::vector<int64_t>;

/// Element strides of a dense row-major tensor.
Extents dense_strides(const Extents& extents) { return graph::storage_strides({}, extents); }

/// out[i0, i1, …] = in[offset + i0 * strides[0] + i1 * strides[1] + …]; strides in elements, 0 repeats.
Tensor strided_copy(const Tensor& in, const graph::TensorType& out_type, int64_t offset,
                    const Extents& strides) {
  const int64_t size = graph::size_of(out_type.element);
  const Extents extents = out_type.extents();
  const int rank = static_cast<int>(extents.size());
  const int64_t count = out_type.elements();
  std::string bytes(count * size, '\0');
  Extents index(rank, 0);
  for (int64_t i = 0, from = offset; i < count; ++i) {
    std::memcpy(bytes.data() + i * size, in.bytes->data() + from * size, size);
    for (int axis = rank - 1; axis >= 0; --axis) {
      from += strides[axis];
      if (++index[axis] < extents[axis]) break;
      from -= strides[axis] * extents[axis];
      index[axis] = 0;
    }
  }
  return Tensor::of_bytes(out_type, std::move(bytes));
}

std::optional<Tensor> transposed(const Graph& graph, const Node& node) {
  const Extents from = dense_strides(graph.input_type(node, 0).extents());
  Extents order = graph::ints_attribute(node, "perm");
  if (order.empty()) {
    order.resize(from.size());
    std::iota(order.rbegin(), order.rend(), 0);
  }
  Extents strides;
  for (const int64_t axis : order) strides.push_back(from.at(axis));
  return strided_copy(*graph.constant_input(node, 0), graph.output_type(node), 0, strides);
}

std::optional<Tensor> expanded(const Graph& graph, const Node& node) {
  const Extents in = graph.input_type(node, 0).extents(), out = graph.output_type(node).extents();
  const Extents from = dense_strides(in);
  Extents strides(out.size(), 0);
  for (size_t i = 0; i < in.size(); ++i)
    if (in[i] != 1) strides[i + out.size() - in.size()] = from[i];
  return strided_copy(*graph.constant_input(node, 0), graph.output_type(node), 0, strides);
}

/// The output's type tells how many elements each axis keeps; only where to begin is left.
std::optional<Tensor> sliced(const Graph& graph, const Node& node) {
  const Extents in = graph.input_type(node, 0).extents();
  const Extents starts = graph.constant_input(node, 1)->as_integers();
  Extents axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (const Tensor* given = graph.constant_input(node, 3)) axes = given->as_integers();
  if (const Tensor* given = graph.constant_input(node, 4)) steps = given->as_integers();
  Extents strides = dense_strides(in);
  int64_t offset = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int axis = graph::normalized_axis(axes.at(i), static_cast<int>(in.size()), node);
    const int64_t start = starts[i] < 0 ? starts[i] + in[axis] : starts[i];
    offset += std::clamp<int64_t>(start, 0, std::max<int64_t>(0, steps.at(i) < 0 ? in[axis] - 1 : in[axis])) *
              strides[axis];
    strides[axis] *= steps[i];
  }
  return strided_copy(*graph.constant_input(node, 0), graph.output_type(node), offset, strides);
}

/// Bytes of everything inside one index of `axis`, the axis itself included.
int64_t bytes_from(const graph::TensorType& type, int axis) {
  int64_t bytes = graph::size_of(type.element);
  for (size_t i = axis; i < type.dims.size(); ++i) bytes *= type.dims[i].extent;
  return bytes;
}

std::optional<Tensor> concatenated(const Graph& graph, const Node& node) {
  const graph::TensorType& type = graph.output_type(node);
  const int axis =
      graph::normalized_axis(graph::int_attribute(node, "axis", 0), static_cast<int>(type.dims.size()), node);
  int64_t outer = 1;
  for (int i = 0; i < axis; ++i) outer *= type.dims[i].extent;
  std::string bytes;
  bytes.reserve(type.bytes());
  for (int64_t o = 0; o < outer; ++o)
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int64_t run = bytes_from(graph.input_type(node, i), axis);
      bytes.append(*graph.constant_input(node, i)->bytes, o * run, run);
    }
  return Tensor::of_bytes(type, std::move(bytes));
}

std::optional<Tensor> gathered(const Graph& graph, const Node& node) {
  const graph::TensorType& data = graph.input_type(node, 0);
  const int axis =
      graph::normalized_axis(graph::int_attribute(node, "axis", 0), static_cast<int>(data.dims.size()), node);
  const int64_t extent = data.dims[axis].extent;
  const int64_t run = bytes_from(data, axis + 1), outer_run = run * extent;
  const Extents indices = graph.constant_input(node, 1)->as_integers();
  std::string bytes;
  bytes.reserve(graph.output_type(node).bytes());
  const auto total = static_cast<int64_t>(graph.constant_input(node, 0)->bytes->size());
  for (int64_t o = 0; o < total; o += std::max<int64_t>(outer_run, 1))
    for (const int64_t index : indices) {
      const int64_t at = index < 0 ? index + extent : index;
      if (at < 0 || at >= extent) return std::nullopt;  // left for the operator to refuse
      bytes.append(*graph.constant_input(node, 0)->bytes, o + at * run, run);
    }
  return Tensor::of_bytes(graph.output_type(node), std::move(bytes));
}

}  // namespace

std::optional<Tensor> moved_elements(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || node.outputs.empty() || !graph.output_type(node).is_fixed()) return std::nullopt;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (node.inputs[i] != graph::absent && !graph.constant_input(node, i)) return std::nullopt;
  std::optional<Tensor> moved;
  if (node.op_type == "Transpose") moved = transposed(graph, node);
  if (node.op_type == "Expand") moved = expanded(graph, node);
  if (node.op_type == "Slice") moved = sliced(graph, node);
  if (node.op_type == "Concat") moved = concatenated(graph, node);
  if (node.op_type == "Gather") moved = gathered(graph, node);
  const bool fits = moved && static_cast<int64_t>(moved->bytes->size()) == graph.output_type(node).bytes();
  return fits ? moved : std::nullopt;
}

}  // namespace cryolite::simplify
