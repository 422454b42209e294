#include <algorithm>

#include "ops/families.h"
#include "ops/functions.h"
#include "ops/pointwise.h"

/// Values made of shapes and numbers rather than of data.
namespace cryolite::ops {
namespace {

using graph::Graph;
using graph::Node;
using Halide::Expr;

/// Element `index` of a short list, as a chain of selects.
Expr element_of(const std::vector<int64_t>& list, const Expr& index) {
  const auto number = [](int64_t n) { return Halide::Internal::make_const(Halide::Int(64), n); };
  if (list.empty()) return number(0);
  Expr picked = number(list.back());
  for (size_t i = list.size() - 1; i-- > 0;)
    picked = Halide::select(index == static_cast<int>(i), number(list[i]), picked);
  return picked;
}

void shape(Builder& build) {
  auto extents = build.extents(0);
  const auto rank = static_cast<int64_t>(extents.size());
  const auto bound = [&](const char* name, int64_t fallback) {
    const int64_t axis = graph::int_attribute(build.node(), name, fallback);
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const int64_t start = bound("start", 0), end = std::max(start, bound("end", rank));
  const std::vector<int64_t> kept(extents.begin() + start, extents.begin() + end);
  build.define(0, [&](const Index& at) { return element_of(kept, at[0]); });
}

void size(Builder& build) {
  const int64_t elements = build.graph().input_type(build.node(), 0).elements();
  build.define(0, [&](const Index&) { return Halide::Internal::make_const(Halide::Int(64), elements); });
}

void constant_of_shape(Builder& build) {
  const Halide::Type type = build.output_type();
  Expr fill = Halide::Internal::make_zero(type);
  if (graph::has_attribute(build.node(), "value")) {
    const auto& tensor = std::get<graph::Tensor>(build.node().attributes.at("value"));
    fill = graph::is_float(tensor.type.element)
               ? Halide::Internal::make_const(type, tensor.as_doubles().at(0))
               : Halide::Internal::make_const(type, tensor.as_integers().at(0));
  }
  build.define(0, [&](const Index&) { return fill; });
}

void range(Builder& build) {
  build.define(0, [&](const Index& at) {
    const auto number = [&](size_t input) { return widened(build.read(input, Index(build.rank(input), 0))); };
    const Expr start = number(0);
    return start + Halide::cast(start.type(), at[0]) * number(2);
  });
}

void eye_like(Builder& build) {
  const int above = static_cast<int>(graph::int_attribute(build.node(), "k", 0));
  build.define(0, [&](const Index& at) {
    return Halide::select(at[1] - at[0] == above, Halide::cast<int>(1), Halide::cast<int>(0));
  });
}

/// Keeps what lies on and above (upper), or on and below, diagonal k of the last two axes.
void trilu(Builder& build) {
  const bool upper = graph::int_attribute(build.node(), "upper", 1) != 0;
  build.define(0, [&](const Index& at) {
    const Expr element = build.read(0, at);
    const Expr diagonal = Halide::cast<int64_t>(at[at.size() - 1] - at[at.size() - 2]);
    const Expr k = build.has_input(1) ? build.read(1, Index(build.rank(1), 0)) : Expr(int64_t{0});
    return Halide::select(upper ? diagonal >= k : diagonal <= k, element, constant_like(element, 0));
  });
}

/// values[1] where the index along the new axis is the one wanted, values[0] elsewhere.
void one_hot(Builder& build) {
  const int rank = static_cast<int>(build.output_extents().size());
  const int64_t given = graph::int_attribute(build.node(), "axis", -1);
  const int axis = static_cast<int>(given < 0 ? given + rank : given);
  const Expr depth = Halide::cast<int64_t>(static_cast<int>(build.output_extents()[axis]));
  build.define(0, [&](const Index& at) {
    Index position = at;
    position.erase(position.begin() + axis);
    Expr wanted = Halide::cast<int64_t>(widened(build.read(0, position)));
    wanted = Halide::select(wanted < 0, wanted + depth, wanted);
    return Halide::select(wanted == Halide::cast<int64_t>(at[axis]), build.read(2, {1}), build.read(2, {0}));
  });
}

void check_nothing(const Graph&, const Node&) {}
template <size_t count>
void check_inputs(const Graph&, const Node& node) {
  require_inputs(node, count);
}

constexpr auto from_shape = every_input<AccessMap::Broadcast>;

constexpr Operator rows[] = {
    {"Shape", Category::Broadcast, Kernel::Pointwise, from_shape, no_flops, check_one_input, shape},
    {"Size", Category::Broadcast, Kernel::Pointwise, from_shape, no_flops, check_one_input, size},
    {"ConstantOfShape", Category::Broadcast, Kernel::Pointwise, from_shape, no_flops, check_nothing,
     constant_of_shape},
    {"Range", Category::Broadcast, Kernel::Pointwise, from_shape, flops_an_output<2>, check_inputs<3>, range},
    {"EyeLike", Category::Injective, Kernel::Pointwise, from_shape, no_flops, check_one_input, eye_like},
    {"Trilu", Category::Injective, Kernel::Pointwise,
     first_and_others<AccessMap::Identity, AccessMap::Broadcast>, no_flops, check_one_input, trilu},
    {"OneHot", Category::Broadcast, Kernel::Pointwise, from_shape, flops_an_output<1>, check_inputs<3>,
     one_hot},
};

}  // namespace

std::span<const Operator> shape_operators() { return rows; }

}  // namespace cryolite::ops
