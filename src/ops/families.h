#pragma once
#include <span>

#include "ops/operator.h"

/// The rows of each family of operators: one function a file. table.cpp joins them.
/// A new family adds its line here and in table.cpp.
namespace cryolite::ops {

std::span<const Operator> activation_operators();      ///< activation.cpp
std::span<const Operator> unary_operators();           ///< unary.cpp
std::span<const Operator> cast_operators();            ///< cast.cpp
std::span<const Operator> arithmetic_operators();      ///< arithmetic.cpp
std::span<const Operator> logic_operators();           ///< logic.cpp
std::span<const Operator> shape_operators();           ///< shape.cpp
std::span<const Operator> movement_operators();        ///< movement.cpp
std::span<const Operator> slice_operators();           ///< slice.cpp
std::span<const Operator> gather_operators();          ///< gather.cpp
std::span<const Operator> pad_operators();             ///< pad.cpp
std::span<const Operator> resize_operators();          ///< resize.cpp
std::span<const Operator> scatter_operators();         ///< scatter.cpp
std::span<const Operator> extern_operators();          ///< extern.cpp
std::span<const Operator> convolution_operators();     ///< convolution.cpp
std::span<const Operator> conv_transpose_operators();  ///< conv_transpose.cpp
std::span<const Operator> pool_operators();            ///< pool.cpp
std::span<const Operator> matmul_operators();          ///< matmul.cpp
std::span<const Operator> reduce_operators();          ///< reduce.cpp
std::span<const Operator> normalization_operators();   ///< normalization.cpp
std::span<const Operator> softmax_operators();         ///< softmax.cpp

}  // namespace cryolite::ops
