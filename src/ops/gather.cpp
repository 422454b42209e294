#include <algorithm>

#include "base/error.h"
#include "ops/access.h"
#include "ops/builder.h"
#include "ops/families.h"
#include "ops/functions.h"

/// Reading at indices that are data. Negative ones count from the end; those outside, which ONNX leaves
/// undefined, read the nearest element.
namespace cryolite::ops {
namespace {

using graph::ElementType;
using graph::Graph;
using graph::Node;
using Halide::Expr;

Expr position_of(const Expr& index, int64_t extent) {
  const Expr position = Halide::cast<int>(index);
  const int count = static_cast<int>(extent);
  return Halide::clamp(Halide::select(position < 0, position + count, position), 0, count - 1);
}

int axis_of(const Builder& build) {
  return graph::normalized_axis(graph::int_attribute(build.node(), "axis", 0), build.rank(0), build.node());
}

/// y[a…, i…, b…] = x[a…, indices[i…], b…]
void gather(Builder& build) {
  const int axis = axis_of(build), index_rank = build.rank(1);
  const int64_t extent = build.extents(0)[axis];
  const bool is_empty = build.graph().output_type(build.node()).elements() == 0;
  build.define(0, [&](const Index& at) {
    if (is_empty) return Halide::Internal::make_zero(build.output_type());
    const Index chosen(at.begin() + axis, at.begin() + axis + index_rank);
    Index from(at.begin(), at.begin() + axis);
    from.push_back(position_of(build.read(1, chosen), extent));
    from.insert(from.end(), at.begin() + axis + index_rank, at.end());
    return build.read(0, from);
  });
}

/// y[i…] = x[i… with indices[i…] at the axis]
void gather_elements(Builder& build) {
  const int axis = axis_of(build);
  const int64_t extent = build.extents(0)[axis];
  const bool is_empty = build.graph().output_type(build.node()).elements() == 0;
  build.define(0, [&](const Index& at) {
    if (is_empty) return Halide::Internal::make_zero(build.output_type());
    return build.read(0, with(at, axis, position_of(build.read(1, at), extent)));
  });
}

/// y[b…, i…, s…] = x[b…, indices[b…, i…, :]…, s…]; the batch axes b are shared.
void gather_nd(Builder& build) {
  const auto extents = build.extents(0), index_extents = build.extents(1);
  const size_t batch = static_cast<size_t>(graph::int_attribute(build.node(), "batch_dims", 0));
  const size_t outer = index_extents.size() - 1;
  const int depth = static_cast<int>(index_extents.back());
  const bool is_empty = build.graph().output_type(build.node()).elements() == 0;
  build.define(0, [&](const Index& at) {
    if (is_empty) return Halide::Internal::make_zero(build.output_type());
    Index from(at.begin(), at.begin() + batch);
    Index tuple(at.begin(), at.begin() + outer);
    tuple.push_back(0);
    for (int d = 0; d < depth; ++d) {
      tuple.back() = d;
      from.push_back(position_of(build.read(1, tuple), extents[batch + d]));
    }
    from.insert(from.end(), at.begin() + outer, at.end());
    return build.read(0, from);
  });
}

void check_gather(const Graph& graph, const Node& node) {
  require_inputs(node, 2);
  require_element(graph, node, 1, {ElementType::Int32, ElementType::Int64});
  if (node.op_type != "GatherND")
    graph::normalized_axis(graph::int_attribute(node, "axis", 0),
                           static_cast<int>(graph.input_type(node, 0).dims.size()), node);
}

/// Any element may be read: the data is a whole that cannot be computed in pieces. Indices are read in place.
AccessMaps gather_access(const Graph&, const Node&) { return {AccessMap::Opaque, AccessMap::Broadcast}; }

constexpr Operator rows[] = {
    {"Gather", Category::Injective, Kernel::Pointwise, gather_access, no_flops, check_gather, gather},
    {"GatherElements", Category::Injective, Kernel::Pointwise, gather_access, no_flops, check_gather,
     gather_elements},
    {"GatherND", Category::Injective, Kernel::Pointwise, gather_access, no_flops, check_gather, gather_nd},
};

}  // namespace

std::span<const Operator> gather_operators() { return rows; }

}  // namespace cryolite::ops
