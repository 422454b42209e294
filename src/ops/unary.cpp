#include "ops/families.h"
#include "ops/pointwise.h"

namespace cryolite::ops {
namespace {

using Halide::Expr;

Expr absolute(Expr x) {
  if (x.type().is_uint()) return x;
  return Halide::cast(x.type(), Halide::abs(x));
}

constexpr Operator rows[] = {
    {"Abs", Category::Injective, Kernel::Pointwise, pointwise_access, flops_an_output<1>, check_one_input,
     unary<absolute>},
};

}  // namespace

std::span<const Operator> unary_operators() { return rows; }

}  // namespace cryolite::ops
