#pragma once
#include <string>

#include "graph/tensor_type.h"

namespace cryolite::cli {

struct Comparison {
  bool equal = true;
  double largest_absolute = 0;  ///< over all elements; infinite where one side only is NaN or infinite
  double largest_relative = 0;  ///< largest difference over the largest expected value
  std::string first_bad;        ///< "[0,3,1]: got 2, expected 1", empty where equal
};

/// Elements agree where |got - expected| <= atol + rtol * |expected|, or both are NaN, or both the same infinity;
/// integers and booleans must be equal. Shapes and element types must be the same.
Comparison compare(const graph::Tensor& got, const graph::Tensor& expected, double rtol, double atol);

/// "f32[1,3,224,224]".
std::string type_text(const graph::TensorType& type);

}  // namespace cryolite::cli
