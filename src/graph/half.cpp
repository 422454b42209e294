#include "graph/half.h"

#include <bit>
#include <cmath>

namespace cryolite::graph {

float half_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1f, fraction = bits & 0x3ff;
  if (exponent == 0) {  // zero and subnormals: fraction * 2^-24
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  const uint32_t wide_exponent = exponent == 0x1f ? 0xff : exponent + 112;
  return std::bit_cast<float>(sign | wide_exponent << 23 | fraction << 13);
}

uint16_t float_to_half(float number) {
  const uint32_t bits = std::bit_cast<uint32_t>(number);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;   // not a number
  if (magnitude >= 0x477ff000) return sign | 0x7c00;  // rounds past the largest half, 65504
  if (magnitude < 0x38800000) {                       // below 2^-14: a multiple of 2^-24
    const float steps = std::ldexp(std::bit_cast<float>(magnitude), 24);
    return sign | static_cast<uint16_t>(std::nearbyint(steps));  // 1024 carries into the first normal number
  }
  const uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return sign | static_cast<uint16_t>((rounded - 0x38000000) >> 13);
}

float bfloat16_to_float(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t float_to_bfloat16(float number) {
  const uint32_t bits = std::bit_cast<uint32_t>(number);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return static_cast<uint16_t>(bits >> 16 | 0x40);  // stays not a number
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace cryolite::graph
