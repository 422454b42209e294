#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "ops/access.h"
#include "ops/accumulate.h"
#include "ops/families.h"

/// MatMul and Gemm: out(…, m, n) = sum over r.x = k of a(…, m, k) * b(…, k, n)
///
///     y_a ──────────────────┐   (copies, inlined unless a schedule places them)
///     y_b ──► (y_columns) ──┴► y_sum (0, or C of a Gemm, then ONE update over r.x) ──► y
///
/// y_columns, a copy whose columns lie side by side, is there where those of the operand do not.
namespace cryolite::ops {
namespace {

using graph::Graph;
using graph::Node;
using Halide::Expr;
using Halide::Type;

constexpr size_t left = 0, right = 1, addend = 2;

/// The batch part of an operand's index: aligned at the end with the batch axes of the output.
Index batch_index(const Index& at, size_t output_batch, const std::vector<int64_t>& extents) {
  const size_t own = extents.size() < 2 ? 0 : extents.size() - 2;
  Index index;
  for (size_t axis = 0; axis < own; ++axis)
    index.push_back(extents[axis] == 1 ? Expr(0) : at[output_batch - own + axis]);
  return index;
}

/// The right operand, whose logical axis `columns` a schedule may want side by side.
LaidFunc right_operand(Builder& build, int columns) {
  const LaidFunc b = build.staged(right, "b");
  const graph::Layout& layout = b.layout;
  const int rank = b.rank, innermost = layout.order.empty() ? rank - 1 : layout.order.back();
  if (layout.block_axis >= 0 || innermost == columns || build.extents(right)[columns] == 1) return b;
  graph::Layout turned;
  for (int axis = 0; axis < rank; ++axis)
    if (axis != columns) turned.order.push_back(axis);
  turned.order.push_back(columns);
  LaidFunc copy = build.stage("columns", build.extents(right), turned);
  copy.definition() = b.at(build.index(copy));
  return copy;
}

void matmul(Builder& build) {
  const Type type = accumulator_type(build.output_type());
  const auto a_extents = build.extents(left), b_extents = build.extents(right);
  const int64_t depth = a_extents.back();
  LaidFunc sum = build.stage("sum", build.output_extents(), build.output_layout());
  sum.definition() = Halide::Internal::make_zero(type);
  if (depth > 0) {
    const bool has_rows = a_extents.size() > 1, has_columns = b_extents.size() > 1;
    const LaidFunc a = build.staged(left, "a");
    const LaidFunc b = has_columns ? right_operand(build, static_cast<int>(b_extents.size()) - 1) : build.staged(right, "b");
    const Index at = build.index(sum);
    const size_t batch = at.size() - has_rows - has_columns;
    const Halide::RDom r = build.reduction(sum, {{0, static_cast<int>(depth)}});
    Index from_a = batch_index(at, batch, a_extents), from_b = batch_index(at, batch, b_extents);
    if (has_rows) from_a.push_back(at[batch]);
    from_a.push_back(r.x);
    from_b.push_back(r.x);
    if (has_columns) from_b.push_back(at.back());
    sum.at(at) += Halide::cast(type, a.at(from_a)) * Halide::cast(type, b.at(from_b));
  }
  build.define(0, [&](const Index& i) { return Expr(sum.at(i)); });
}

int64_t matmul_flops(const Graph& graph, const Node& node) {
  return 2 * graph.output_type(node).elements() * graph.input_type(node, left).extents().back();
}

void require_same_types(const Graph& graph, const Node& node) {
  using enum graph::ElementType;
  require_element(graph, node, left, {Float32, Float64, Float16, BFloat16, Int32, Int64, UInt32, UInt64});
  require_element(graph, node, right, {graph.input_type(node, left).element});
}

void refuse_shapes(const Graph& graph, const Node& node) {
  std::string shapes;
  for (size_t i : {left, right}) {
    for (int64_t extent : graph.input_type(node, i).extents()) shapes += fmt::format("{} ", extent);
    if (i == left) shapes += "by ";
  }
  throw Error(fmt::format("{} cannot multiply {}", node.op_type, shapes), {.node = node.name},
              "make the inner extents, and those of the batch axes, agree");
}

void check_matmul(const Graph& graph, const Node& node) {
  require_inputs(node, 2);
  require_same_types(graph, node);
  const auto a = graph.input_type(node, left).extents(), b = graph.input_type(node, right).extents();
  if (a.empty() || b.empty() || a.back() != (b.size() == 1 ? b[0] : b[b.size() - 2]))
    refuse_shapes(graph, node);
  const size_t a_batch = a.size() < 2 ? 0 : a.size() - 2, b_batch = b.size() < 2 ? 0 : b.size() - 2;
  for (size_t i = 0; i < std::min(a_batch, b_batch); ++i) {
    const int64_t x = a[a_batch - 1 - i], y = b[b_batch - 1 - i];
    if (x != y && x != 1 && y != 1) refuse_shapes(graph, node);
  }
  const size_t rank = std::max(a_batch, b_batch) + (a.size() > 1) + (b.size() > 1);
  if (graph.output_type(node).dims.size() != rank)
    throw Error(
        fmt::format("MatMul gives a value of rank {}, not {}", rank, graph.output_type(node).dims.size()),
        {.node = node.name}, "correct the shape of its output");
}

struct GemmShape {
  bool transposes_a, transposes_b;
  float alpha, beta;
  int64_t rows, depth, columns;
};

GemmShape gemm_shape(const Graph& graph, const Node& node) {
  GemmShape shape{graph::int_attribute(node, "transA", 0) != 0,
                  graph::int_attribute(node, "transB", 0) != 0,
                  graph::float_attribute(node, "alpha", 1),
                  graph::float_attribute(node, "beta", 1),
                  0,
                  0,
                  0};
  const auto a = graph.input_type(node, left).extents(), b = graph.input_type(node, right).extents();
  shape.rows = a[shape.transposes_a];
  shape.depth = a[!shape.transposes_a];
  shape.columns = b[!shape.transposes_b];
  return shape;
}

Expr scaled(Expr number, float factor) {
  return factor == 1 ? number : number * constant(number.type(), factor);
}

/// C joins the sum from the start where the product is not scaled: one addition less in the output.
void gemm(Builder& build) {
  const Type type = accumulator_type(build.output_type());
  const GemmShape shape = gemm_shape(build.graph(), build.node());
  const bool adds = build.has_input(addend) && shape.beta != 0;
  const bool starts_with_addend = adds && shape.alpha == 1;
  const auto c = [&](const Index& i) {
    return scaled(Halide::cast(type, build.read_broadcast(addend, i)), shape.beta);
  };
  LaidFunc sum = build.stage("sum", build.output_extents(), build.output_layout());
  const Index at = build.index(sum);
  sum.definition() = starts_with_addend ? c(at) : Halide::Internal::make_zero(type);
  if (shape.depth > 0) {
    const LaidFunc a = build.staged(left, "a"), b = right_operand(build, shape.transposes_b ? 0 : 1);
    const Halide::RDom r = build.reduction(sum, {{0, static_cast<int>(shape.depth)}});
    const Expr k = r.x;
    const Index from_a = shape.transposes_a ? Index{k, at[0]} : Index{at[0], k};
    const Index from_b = shape.transposes_b ? Index{at[1], k} : Index{k, at[1]};
    sum.at(at) += Halide::cast(type, a.at(from_a)) * Halide::cast(type, b.at(from_b));
  }
  build.define(0, [&](const Index& i) {
    const Expr product = scaled(sum.at(i), shape.alpha);
    return adds && !starts_with_addend ? product + c(i) : product;
  });
}

int64_t gemm_flops(const Graph& graph, const Node& node) {
  const GemmShape shape = gemm_shape(graph, node);
  const bool adds = node.inputs.size() > addend && node.inputs[addend] != graph::absent;
  return shape.rows * shape.columns * (2 * shape.depth + adds);
}

void check_gemm(const Graph& graph, const Node& node) {
  require_inputs(node, 2);
  require_same_types(graph, node);
  const auto a = graph.input_type(node, left).extents(), b = graph.input_type(node, right).extents();
  if (a.size() != 2 || b.size() != 2) refuse_shapes(graph, node);
  const GemmShape shape = gemm_shape(graph, node);
  if (shape.depth != b[shape.transposes_b]) refuse_shapes(graph, node);
  const bool is_whole = shape.alpha == std::trunc(shape.alpha) && shape.beta == std::trunc(shape.beta);
  if (!graph::is_float(graph.input_type(node, left).element) && !is_whole)
    throw Error(fmt::format("Gemm of integers has alpha = {} and beta = {}", shape.alpha, shape.beta),
                {.node = node.name}, "use whole numbers, or cast the operands to float");
  if (node.inputs.size() <= addend || node.inputs[addend] == graph::absent) return;
  const auto c = graph.input_type(node, addend).extents();
  const int64_t wanted[] = {shape.rows, shape.columns};
  bool fits = c.size() <= 2;
  for (size_t axis = 0; fits && axis < c.size(); ++axis)
    fits = c[axis] == 1 || c[axis] == wanted[2 - c.size() + axis];
  if (!fits)
    throw Error("Gemm has a C that does not broadcast to its output", {.node = node.name},
                fmt::format("give it extents that broadcast to {} by {}", shape.rows, shape.columns));
}

constexpr Operator rows[] = {
    {"Gemm", Category::Reduction, Kernel::Contraction,
     [](const Graph&, const Node& node) {
       AccessMaps maps = {AccessMap::WholeAxis, AccessMap::WholeAxis, AccessMap::Broadcast};
       maps.resize(node.inputs.size());
       return maps;
     },
     gemm_flops, check_gemm, gemm},
    {"MatMul", Category::Reduction, Kernel::Contraction, every_input<AccessMap::WholeAxis>, matmul_flops,
     check_matmul, matmul},
};

}  // namespace

std::span<const Operator> matmul_operators() { return rows; }

}  // namespace cryolite::ops
