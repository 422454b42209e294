#include "ops/families.h"
#include "ops/functions.h"
#include "ops/pointwise.h"

/// Functions of one element without parameters.
namespace cryolite::ops {
namespace {

using Halide::Expr;

Expr absolute(Expr x) { return x.type().is_uint() ? x : Halide::cast(x.type(), Halide::abs(x)); }
Expr negative(Expr x) { return -x; }
Expr exp_of(Expr x) { return exponential(x); }
Expr log_of(Expr x) { return logarithm(x); }
Expr square_root(Expr x) { return Halide::sqrt(x); }
Expr reciprocal(Expr x) { return constant_like(x, 1) / x; }
Expr erf(Expr x) { return error_function(x); }
Expr ceiling(Expr x) { return Halide::ceil(x); }
Expr floor_of(Expr x) { return Halide::floor(x); }
Expr round_half_even(Expr x) { return Halide::round(x); }
Expr sine(Expr x) { return Halide::sin(x); }
Expr cosine(Expr x) { return Halide::cos(x); }
Expr tangent(Expr x) { return Halide::tan(x); }
Expr arc_sine(Expr x) { return Halide::asin(x); }
Expr arc_cosine(Expr x) { return Halide::acos(x); }
Expr arc_tangent(Expr x) { return Halide::atan(x); }
Expr hyperbolic_sine(Expr x) { return Halide::sinh(x); }
Expr hyperbolic_cosine(Expr x) { return Halide::cosh(x); }
Expr area_sine(Expr x) { return Halide::asinh(x); }
Expr area_cosine(Expr x) { return Halide::acosh(x); }
Expr area_tangent(Expr x) { return Halide::atanh(x); }
Expr itself(Expr x) { return x; }
Expr complement(Expr x) { return ~x; }

/// -1, 0 or 1; a NaN stays one.
Expr sign(Expr x) {
  const Expr zero = constant_like(x, 0), one = constant_like(x, 1);
  if (x.type().is_uint()) return Halide::select(x > zero, one, zero);
  return Halide::select(x > zero, one, x < zero, -one, x);
}

Operator function(std::string_view name, int64_t (*flops)(const graph::Graph&, const graph::Node&),
                  void (*check)(const graph::Graph&, const graph::Node&), void (*algorithm)(Builder&)) {
  return {name, Category::Injective, Kernel::Pointwise, pointwise_access, flops, check, algorithm};
}

void check_integer(const graph::Graph& graph, const graph::Node& node) {
  using enum graph::ElementType;
  require_element(graph, node, 0, {Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64});
}

// Operations of transcendental functions are counted as the polynomials that Halide makes of them: about 20.
constexpr auto cheap = flops_an_output<1>;
constexpr auto dear = flops_an_output<20>;

}  // namespace

std::span<const Operator> unary_operators() {
  static const Operator rows[] = {
      function("Abs", cheap, check_one_input, unary<absolute>),
      function("Neg", cheap, check_one_input, unary<negative>),
      function("Exp", dear, check_float_input, unary<exp_of>),
      function("Log", dear, check_float_input, unary<log_of>),
      function("Sqrt", cheap, check_float_input, unary<square_root>),
      function("Reciprocal", cheap, check_float_input, unary<reciprocal>),
      function("Erf", dear, check_float_input, unary<erf>),
      function("Ceil", cheap, check_float_input, unary<ceiling>),
      function("Floor", cheap, check_float_input, unary<floor_of>),
      function("Round", cheap, check_float_input, unary<round_half_even>),
      function("Sign", cheap, check_one_input, unary<sign>),
      function("Sin", dear, check_float_input, unary<sine>),
      function("Cos", dear, check_float_input, unary<cosine>),
      function("Tan", dear, check_float_input, unary<tangent>),
      function("Asin", dear, check_float_input, unary<arc_sine>),
      function("Acos", dear, check_float_input, unary<arc_cosine>),
      function("Atan", dear, check_float_input, unary<arc_tangent>),
      function("Sinh", dear, check_float_input, unary<hyperbolic_sine>),
      function("Cosh", dear, check_float_input, unary<hyperbolic_cosine>),
      function("Asinh", dear, check_float_input, unary<area_sine>),
      function("Acosh", dear, check_float_input, unary<area_cosine>),
      function("Atanh", dear, check_float_input, unary<area_tangent>),
      function("BitwiseNot", cheap, check_integer, unary<complement>),
      function("Identity", no_flops, check_one_input, unary<itself>),
  };
  return rows;
}

}  // namespace cryolite::ops
