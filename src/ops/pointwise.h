#pragma once
#include "ops/access.h"
#include "ops/builder.h"

/// Expressions and algorithms that pointwise families share.
namespace cryolite::ops {

/// 16-bit floats as float32, everything else as it is: arithmetic on 16 bits loses digits that ONNX's
/// operators keep. Builder::define casts the result back.
inline Halide::Expr widened(Halide::Expr element) {
  const bool is_short = element.type().is_float() && element.type().bits() == 16;
  return is_short ? Halide::cast(Halide::Float(32), element) : element;
}

/// y[i] = function(x[i])
template <Halide::Expr (*function)(Halide::Expr)>
void unary(Builder& build) {
  build.define(0, [&](const Index& at) { return function(widened(build.read(0, at))); });
}

/// y[i] = function(a[i], b[i]) by ONNX's broadcasting.
template <Halide::Expr (*function)(Halide::Expr, Halide::Expr)>
void binary(Builder& build) {
  build.define(0, [&](const Index& at) {
    return function(widened(build.read_broadcast(0, at)), widened(build.read_broadcast(1, at)));
  });
}

}  // namespace cryolite::ops
