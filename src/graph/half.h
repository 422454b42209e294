#pragma once
#include <cstdint>

/// Sixteen-bit floating-point numbers as bit patterns.
namespace cryolite::graph {

float half_to_float(uint16_t bits);
/// Rounds to nearest, ties to even; overflow gives infinity.
uint16_t float_to_half(float number);
float bfloat16_to_float(uint16_t bits);
/// Rounds to nearest, ties to even.
uint16_t float_to_bfloat16(float number);

}  // namespace cryolite::graph
