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
/// exp(x), infinite from where float32 ends (Halide's own comes back to 0 from 1.5e9).
Halide::Expr exponential(const Halide::Expr& x);
/// 1 / (1 + exp(-x))
Halide::Expr logistic(const Halide::Expr& x);
/// log(1 + exp(x)) without overflow.
Halide::Expr softplus(const Halide::Expr& x);

/// A constant of the type of `like`.
Halide::Expr constant_like(const Halide::Expr& like, double number);

}  // namespace cryolite::ops
