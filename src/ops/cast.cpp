#include "ops/families.h"
#include "ops/functions.h"
#include "ops/pointwise.h"

/// Cast: floats to integers lose their fraction and wrap around in the unsigned types, anything but zero
/// becomes true.
namespace cryolite::ops {
namespace {

using graph::ElementType;
using Halide::Expr;

Expr converted(Expr x, ElementType to) {
  const Halide::Type wanted = halide_type(to);
  if (to == ElementType::Bool) return x != constant_like(x, 0);
  if (x.type().is_float() && wanted.is_uint() && wanted.bits() < 64) {
    const Expr mask = Halide::Internal::make_const(Halide::Int(64), (int64_t{1} << wanted.bits()) - 1);
    return Halide::cast(wanted, Halide::cast(Halide::Int(64), x) & mask);
  }
  return Halide::cast(wanted, x);
}

void cast(Builder& build) {
  const ElementType to = build.graph().output_type(build.node()).element;
  build.define(0, [&](const Index& at) { return converted(widened(build.read(0, at)), to); });
}

AccessMaps cast_access(const graph::Graph&, const graph::Node& node) {
  AccessMaps maps(node.inputs.size(), AccessMap::Broadcast);  // CastLike's second input gives its type only
  maps.at(0) = AccessMap::Identity;
  return maps;
}

constexpr Operator rows[] = {
    {"Cast", Category::Injective, Kernel::Pointwise, cast_access, flops_an_output<1>, check_one_input, cast},
    {"CastLike", Category::Injective, Kernel::Pointwise, cast_access, flops_an_output<1>, check_one_input,
     cast},
};

}  // namespace

std::span<const Operator> cast_operators() { return rows; }

}  // namespace cryolite::ops
