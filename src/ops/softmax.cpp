#include <fmt/format.h>

#include "base/error.h"
#include "ops/access.h"
#include "ops/accumulate.h"
#include "ops/families.h"
#include "ops/functions.h"

/// Softmax, LogSoftmax and Hardmax over one axis (ONNX since opset 13):
///
///     x ──► y_max ──► y_exp = exp(x - y_max) ──► y_sum ──► y = y_exp / y_sum          Softmax
///                                                     └──► y = x - y_max - log(y_sum)  LogSoftmax
///
/// The greatest logit is taken off first, so that logits of any size neither overflow nor divide by zero.
/// y_max and y_sum have extent 1 on the axis, so that a schedule can compute them once a row.
namespace cryolite::ops {
namespace {

using graph::Graph;
using graph::Node;
using Halide::Expr;
using Halide::Type;

int axis_of(const Graph& graph, const Node& node) {
  const int rank = static_cast<int>(graph.input_type(node, 0).dims.size());
  return graph::normalized_axis(graph::int_attribute(node, "axis", -1), rank, node);
}

void softmax(Builder& build) {
  const std::vector<int> axes = {axis_of(build.graph(), build.node())};
  const bool is_log = build.node().op_type == "LogSoftmax";
  const Type type = accumulator_type(build.output_type());
  const auto logit = [&](const Index& i) { return read_wide(build, 0, i); };
  const LaidFunc most = max_stage(build, "max", axes, type, logit);
  const LaidFunc exps = build.stage("exp", build.extents(0), build.output_layout());
  const auto less_most = [&](const Index& i) { return logit(i) - most.at(reduced(i, axes)); };
  exps.definition() = exponential(less_most(build.index(exps)));
  const LaidFunc sum = sum_stage(build, "sum", axes, type, [&](const Index& i) { return Expr(exps.at(i)); });
  build.define(0, [&](const Index& i) {
    const Expr total = sum.at(reduced(i, axes));
    // Strict: were the logarithm added to the greatest first, logits of 1e10 would swallow it.
    return is_log ? Halide::strict_float(less_most(i) - logarithm(total)) : exps.at(i) / total;
  });
}

/// 1 at the first greatest element of a row, 0 elsewhere.
void hardmax(Builder& build) {
  const int axis = axis_of(build.graph(), build.node());
  const auto extents = build.extents(0);
  const Type type = accumulator_type(build.type(0));
  LaidFunc best =
      build.stage("best", reduced_extents(extents, {axis}), reduced_layout(build.output_layout(), {axis}));
  const Index at = build.index(best);
  best.definition() = Halide::Tuple(type.min(), Expr(0));
  if (!is_empty(extents)) {
    const Halide::RDom r = build.reduction(best, {{0, static_cast<int>(extents[axis])}});
    const Expr element = read_wide(build, 0, with(at, axis, r.x));
    const Expr so_far = best.at(at)[0], place = best.at(at)[1];
    best.at(at) = Halide::Tuple(Halide::select(element > so_far, element, so_far),
                                Halide::select(element > so_far, Expr(r.x), place));
  }
  build.define(0, [&](const Index& i) {
    return Halide::select(i[axis] == best.at(with(i, axis, 0))[1], constant(type, 1), constant(type, 0));
  });
}

void check(const Graph& graph, const Node& node) {
  require_float(graph, node, 0);
  axis_of(graph, node);
  if (graph.input_type(node, 0).dims != graph.output_type(node).dims)
    throw Error(fmt::format("{} gives a value of another shape than its input", node.op_type),
                {.node = node.name}, "correct the shape of its output");
}

constexpr auto access = every_input<AccessMap::WholeAxis>;

constexpr Operator rows[] = {
    {"Hardmax", Category::Reduction, Kernel::Rows, access, flops_an_input<2>, check, hardmax},
    {"LogSoftmax", Category::Reduction, Kernel::Rows, access, flops_an_input<6>, check, softmax},
    {"Softmax", Category::Reduction, Kernel::Rows, access, flops_an_input<5>, check, softmax},
};

}  // namespace

std::span<const Operator> softmax_operators() { return rows; }

}  // namespace cryolite::ops
