#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "ops/access.h"
#include "ops/builder.h"
#include "ops/families.h"
#include "ops/functions.h"

/// Writing at indices that are data, and running sums: a copy or a start, then updates in order.
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

Expr combined(const std::string& reduction, const Expr& old, const Expr& update) {
  if (reduction == "add") return old + update;
  if (reduction == "mul") return old * update;
  if (reduction == "max") return Halide::max(old, update);
  if (reduction == "min") return Halide::min(old, update);
  return update;
}

std::vector<std::pair<Expr, Expr>> ranges_of(const std::vector<int64_t>& extents) {
  std::vector<std::pair<Expr, Expr>> ranges;
  for (int64_t extent : extents) ranges.emplace_back(0, static_cast<int>(extent));
  return ranges;
}

/// A copy of the data, and what is added to it by `scatter(copy, domain)` where there are updates at all.
void scatter_into_copy(Builder& build, const std::vector<int64_t>& domain,
                       const std::function<void(LaidFunc&, const Halide::RDom&)>& scatter) {
  LaidFunc copy = build.stage("scattered", build.output_extents(), build.output_layout());
  copy.definition() = build.read(0, build.index(copy));
  if (build.graph().input_type(build.node(), 1).elements() > 0) {
    const auto ranges = ranges_of(domain);
    scatter(copy,
            build.reduction(copy, ranges.empty() ? std::vector<std::pair<Expr, Expr>>{{0, 1}} : ranges));
  }
  build.define(0, [&](const Index& at) { return copy.at(at); });
}

void update(LaidFunc& copy, const std::string& reduction, const Index& to, const Expr& element) {
  if (reduction == "none") {
    copy.at(to) = element;
    return;
  }
  const Expr old = copy.at(to);
  copy.at(to) = Halide::cast(old.type(), combined(reduction, old, element));
}

/// y = x; y[i… with indices[i…] at the axis] ⊕= updates[i…]
void scatter_elements(Builder& build) {
  const int axis =
      graph::normalized_axis(graph::int_attribute(build.node(), "axis", 0), build.rank(0), build.node());
  const std::string reduction = graph::string_attribute(build.node(), "reduction", "none");
  scatter_into_copy(build, build.extents(1), [&](LaidFunc& copy, const Halide::RDom& r) {
    Index from;
    for (int d = 0; d < build.rank(1); ++d) from.push_back(r[d]);
    const Index to = with(from, axis, position_of(build.read(1, from), build.extents(0)[axis]));
    update(copy, reduction, to, build.read(2, from));
  });
}

/// y = x; y[indices[i…, :]…, s…] ⊕= updates[i…, s…]
void scatter_nd(Builder& build) {
  const std::string reduction = graph::string_attribute(build.node(), "reduction", "none");
  const auto extents = build.extents(0), index_extents = build.extents(1);
  const int outer = static_cast<int>(index_extents.size()) - 1,
            depth = static_cast<int>(index_extents.back());
  scatter_into_copy(build, build.extents(2), [&](LaidFunc& copy, const Halide::RDom& r) {
    Index from;
    for (int d = 0; d < build.rank(2); ++d) from.push_back(r[d]);
    Index tuple(from.begin(), from.begin() + outer), to;
    tuple.push_back(0);
    for (int d = 0; d < depth; ++d) {
      tuple.back() = d;
      to.push_back(position_of(build.read(1, tuple), extents[d]));
    }
    to.insert(to.end(), from.begin() + outer, from.end());
    update(copy, reduction, to, build.read(2, from));
  });
}

void check_scatter(const Graph& graph, const Node& node) {
  require_inputs(node, 3);
  require_element(graph, node, 1, {ElementType::Int32, ElementType::Int64});
  const std::string reduction = graph::string_attribute(node, "reduction", "none");
  for (const char* known : {"none", "add", "mul", "max", "min"})
    if (reduction == known) return;
  throw Error(fmt::format("{}'s reduction is \"{}\"", node.op_type, reduction), {.node = node.name},
              "use none, add, mul, max or min");
}

int cumulated_axis(const Graph& graph, const Node& node) {
  return graph::normalized_axis(require_constant(graph, node, 1, "axis").as_integers().at(0),
                                static_cast<int>(graph.input_type(node, 0).dims.size()), node);
}

/// sum[i] = sum[i - 1] + x[i] along the axis, from either end; exclusive: without x[i] itself.
void cumulative_sum(Builder& build) {
  const int axis = cumulated_axis(build.graph(), build.node());
  const bool exclusive = graph::int_attribute(build.node(), "exclusive", 0) != 0;
  const bool reverse = graph::int_attribute(build.node(), "reverse", 0) != 0;
  const int extent = static_cast<int>(build.extents(0)[axis]);
  const Halide::Type type = build.output_type();
  const bool is_short = type.is_float() && type.bits() == 16;
  const Halide::Type wide = is_short ? Halide::Float(32) : type;
  LaidFunc sum = build.stage("sum", build.output_extents(), build.output_layout());
  const Index at = build.index(sum);
  const auto place = [&](const Expr& step) { return reverse ? extent - 1 - step : step; };
  const auto term = [&](const Expr& step) {
    const Expr position = exclusive ? Halide::max(step - 1, 0) : step;
    return Halide::cast(wide, build.read(0, with(at, axis, place(position))));
  };
  sum.definition() = exclusive ? Halide::Internal::make_zero(wide) : Halide::cast(wide, build.read(0, at));
  if (extent > 1) {
    const Halide::RDom r = build.reduction(sum, {{1, extent - 1}});
    sum.at(with(at, axis, place(r.x))) = sum.at(with(at, axis, place(r.x - 1))) + term(r.x);
  }
  build.define(0, [&](const Index& index) { return sum.at(index); });
}
void check_cumulative_sum(const Graph& graph, const Node& node) {
  require_inputs(node, 2);
  cumulated_axis(graph, node);
}

// Updates at indices that are data, or one after the other: no tile of the output can be computed alone, and
// no loop of an update is free to be vectorised.
AccessMaps scatter_access(const Graph&, const Node&) {
  return {AccessMap::Identity, AccessMap::Opaque, AccessMap::Opaque};
}
AccessMaps sum_access(const Graph&, const Node&) { return {AccessMap::WholeAxis, AccessMap::Broadcast}; }

constexpr Operator rows[] = {
    {"ScatterElements", Category::Opaque, Kernel::Rows, scatter_access, no_flops, check_scatter,
     scatter_elements},
    {"ScatterND", Category::Opaque, Kernel::Rows, scatter_access, no_flops, check_scatter, scatter_nd},
    {"CumSum", Category::Opaque, Kernel::Rows, sum_access, flops_an_output<1>, check_cumulative_sum,
     cumulative_sum},
};

}  // namespace

std::span<const Operator> scatter_operators() { return rows; }

}  // namespace cryolite::ops
