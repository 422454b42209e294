#include "ops/operator.h"
#include "schedule/cpu.h"
#include "schedule/cpu_convolution.h"

/// How constant operands lie in memory: in blocks as wide as a register tile, what one step of the inner loop reads side
/// by side, steps one after the other. The last block is padded, so that a tile may be computed in full.
namespace cryolite::schedule::cpu {
namespace {

using graph::Layout;
using graph::Node;

Layout convolution_layout(const graph::Graph& graph, const Node& conv, size_t input, const Machine& machine) {
  const ConvShape shape = shape_of(graph, conv);
  const int rank = static_cast<int>(graph.input_type(conv, input).dims.size());
  const int64_t block = channel_block(shape, machine);
  Layout layout;
  // A bias that is fed at run time has no padding: then neither have the weights.
  const bool free_bias =
      conv.inputs.size() > 2 && conv.inputs[2] != graph::absent && !graph.value(conv.inputs[2]).constant;
  if (free_bias && shape.outputs % block != 0) return layout;
  if (input == 1 && shape.is_depthwise) {
    for (int axis = 2; axis < rank; ++axis) layout.order.push_back(axis);  // ky, kx, (1), channel
    layout.order.push_back(1);
    layout.order.push_back(0);
  } else if (input == 1) {
    layout.order.push_back(0);  // block of outputs, ky, kx, input channel, output inside the block
    for (int axis = 2; axis < rank; ++axis) layout.order.push_back(axis);
    layout.order.push_back(1);
    layout.block_axis = 0;
    layout.block = block;
  } else if (input == 2 && !shape.is_depthwise) {
    layout.order = {0};
    layout.block_axis = 0;
    layout.block = block;
  }
  return layout;
}

int64_t gemm_block(const graph::Graph& graph, const Node& gemm, const Machine& machine) {
  const auto result = graph.output_type(gemm).extents();
  return packed_block(result.back(), result.size() > 1 ? result[result.size() - 2] : 1, machine,
                      most_rows_of(graph, gemm));
}

/// What is added to a product is read up to the end of the last block: it must be a constant that can be padded.
bool addend_can_be_packed(const graph::Graph& graph, const Node& gemm) {
  const bool has_addend = gemm.op_type == "Gemm" && gemm.inputs.size() > 2 && gemm.inputs[2] != graph::absent;
  return !has_addend || graph.value(gemm.inputs[2]).constant.has_value();
}

Layout contraction_layout(const graph::Graph& graph, const Node& gemm, size_t input, const Machine& machine) {
  const auto extents = graph.input_type(gemm, input).extents();
  const int rank = static_cast<int>(extents.size());
  const auto result = graph.output_type(gemm).extents();
  Layout layout;
  if (result.empty()) return layout;
  const int64_t block = gemm_block(graph, gemm, machine);
  if (result.back() % block != 0 && !addend_can_be_packed(graph, gemm)) return layout;
  if (input == 1 && rank == 2) {
    const bool transposed = graph::int_attribute(gemm, "transB", 0) != 0;
    layout.order = transposed ? std::vector<int>{0, 1} : std::vector<int>{1, 0};
    layout.block_axis = transposed ? 0 : 1;
    layout.block = block;
  } else if (gemm.op_type == "Gemm" && input == 2 && !extents.empty() && extents.back() > 1) {
    layout.order = rank == 1 ? std::vector<int>{0} : std::vector<int>{0, 1};
    layout.block_axis = rank - 1;
    layout.block = block;
  }
  return layout;
}

}  // namespace

Layout weight_layout(const graph::Graph& graph, const Node& anchor, size_t input, const Machine& machine) {
  const ops::Operator* op = ops::find(anchor.op_type);
  if (op->kernel == ops::Kernel::Convolution) return convolution_layout(graph, anchor, input, machine);
  if (op->kernel == ops::Kernel::Contraction) return contraction_layout(graph, anchor, input, machine);
  Layout layout;
  if (op->kernel == ops::Kernel::Transposed && input == 1) {
    const int rank = static_cast<int>(graph.input_type(anchor, input).dims.size());
    for (int axis = 2; axis < rank; ++axis) layout.order.push_back(axis);  // ky, kx, input, output channel
    layout.order.push_back(0);
    layout.order.push_back(1);
  }
  return layout;
}

}  // namespace cryolite::schedule::cpu
