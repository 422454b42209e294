#include "ops/functions.h"

#include <initializer_list>
#include <iterator>

/// Coefficients are our own minimax fits (weighted least squares on 2,000 Chebyshev nodes, weights
/// re-iterated towards equal relative errors); the errors that functions.h states were measured in float32
/// against float64.
namespace cryolite::ops {
namespace {

using Halide::Expr;

Expr polynomial(const Expr& x, std::initializer_list<float> coefficients) {
  auto next = std::rbegin(coefficients);
  Expr sum = *next++;
  for (; next != std::rend(coefficients); ++next) sum = sum * x + *next;
  return sum;
}

bool is_double(const Expr& x) { return x.type() == Halide::Float(64); }

/// The bits of |x| as an integer of the same width: they order as the numbers do, NaN above infinity.
Expr magnitude_bits(const Expr& x) {
  const Halide::Type bits = Halide::UInt(x.type().bits());
  return Halide::reinterpret(bits, x) & (bits.max() >> 1);
}
Expr infinity_bits(Halide::Type type) {
  const int mantissa = type.is_bfloat() ? 7 : type.bits() == 16 ? 10 : type.bits() == 32 ? 23 : 52;
  const int exponent = type.bits() - 1 - mantissa;
  return Halide::Internal::make_const(Halide::UInt(type.bits()), ((uint64_t{1} << exponent) - 1) << mantissa);
}

Expr libm(const char* name, const Expr& x) {
  return Halide::Internal::Call::make(x.type(), name, {x}, Halide::Internal::Call::PureExtern);
}

}  // namespace

Expr constant_like(const Expr& like, double number) {
  return Halide::Internal::make_const(like.type(), number);
}

Expr log_one_plus(const Expr& e) {
  if (is_double(e)) return libm("log1p", e);
  return e * polynomial(e, {1.0f, -0.4999990165233612f, 0.3332996368408203f, -0.24954132735729218f,
                            0.19675931334495544f, -0.15305569767951965f, 0.10603617131710052f,
                            -0.056959159672260284f, 0.019851261749863625f, -0.0032439809292554855f});
}

/// Up to |x| = 1 an odd polynomial; beyond, 1 - exp(-|x| q(|x|)), which is 1 in float32 from |x| = 4.
Expr error_function(const Expr& x) {
  if (is_double(x)) return libm("erf", x);
  const Expr small =
      x * polynomial(x * x, {1.1283791065216064f, -0.37612324953079224f, 0.11280179768800735f,
                             -0.02671131119132042f, 0.004917550832033157f, -0.0005631418898701668f});
  const Expr size = Halide::min(Halide::abs(x), 4.0f);
  const Expr exponent =
      size * polynomial(size, {1.128481149673462f, 0.6358285546302795f, 0.10511922836303711f,
                               -0.02280000038444996f, 0.003187305061146617f, -0.00021067399939056486f});
  const Expr large = 1.0f - Halide::exp(-exponent);
  // A NaN takes the first branch: its magnitude counts as the largest integer.
  return Halide::select(is_not_a_number(x) || Halide::abs(x) < 1.0f, small, x < 0.0f, -large, large);
}

/// One rational function of degree (9, 8) over the whole range: a division costs less than exp and a branch.
Expr hyperbolic_tangent(const Expr& x) {
  if (is_double(x)) return Halide::tanh(x);
  const Expr bounded = Halide::clamp(x, -9.0f, 9.0f);
  const Expr square = bounded * bounded;
  const Expr above = bounded * polynomial(square, {1.0f, 0.13381008803844452f, 0.003495568409562111f,
                                                   2.060875885945279e-05f, 1.3354223504791207e-08f});
  const Expr below = polynomial(square, {1.0f, 0.4671432375907898f, 0.025876907631754875f,
                                         0.0003285602433606982f, 7.776376378387795e-07f});
  return Halide::select(is_not_a_number(x), x, Halide::clamp(above / below, -1.0f, 1.0f));
}

Expr is_not_a_number(const Expr& x) { return magnitude_bits(x) > infinity_bits(x.type()); }
Expr is_infinite(const Expr& x) { return magnitude_bits(x) == infinity_bits(x.type()); }

Expr exponential(const Expr& x) {
  if (is_double(x)) return Halide::exp(x);
  return Halide::select(is_not_a_number(x), x, Halide::exp(Halide::min(x, 89.0f)));
}

Expr logarithm(const Expr& x) {
  return is_double(x) ? Halide::log(x) : Halide::select(is_not_a_number(x), x, Halide::log(x));
}

Expr logistic(const Expr& x) { return 1 / (1 + exponential(-x)); }

Expr softplus(const Expr& x) {
  const Expr y = Halide::max(x, constant_like(x, 0)) + log_one_plus(Halide::exp(-Halide::abs(x)));
  return is_double(x) ? y : Halide::select(is_not_a_number(x), x, y);
}

}  // namespace cryolite::ops
