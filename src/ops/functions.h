#pragma once
#include <Halide.h>

/// Functions of one real argument that vectorise: polynomials instead of a call of libm for each element.
/// float32 only, save where said; float64 goes to libm.
namespace cryolite::ops {

/// log(1 + e) for 0 <= e <= 1. float32: 2 ulp.
Halide::Expr log_one_plus(const Halide::Expr& e);
/// float32: 3 ulp; both signs, any magnitude.
Halide::Expr error_function(const Halide::Expr& x);
/// float32: 6 ulp; exactly ±1 from |x| = 9.
Halide::Expr hyperbolic_tangent(const Halide::Expr& x);
/// Whether a float is not a number, or infinite, by its bits: Halide lets LLVM take results to be finite
/// numbers, and a comparison of a float with itself to be known. 16 to 64 bits.
Halide::Expr is_not_a_number(const Halide::Expr& x);
Halide::Expr is_infinite(const Halide::Expr& x);
/// exp(x): NaN stays NaN, and infinite from where float32 ends (Halide's own makes NaN a number, and comes
/// back to 0 from 1.5e9).
Halide::Expr exponential(const Halide::Expr& x);
/// log(x): NaN stays NaN.
Halide::Expr logarithm(const Halide::Expr& x);
/// 1 / (1 + exp(-x))
Halide::Expr logistic(const Halide::Expr& x);
/// log(1 + exp(x)) without overflow.
Halide::Expr softplus(const Halide::Expr& x);

/// A constant of the type of `like`.
Halide::Expr constant_like(const Halide::Expr& like, double number);

}  // namespace cryolite::ops
