#include "graph/base64.h"

#include <array>
#include <cstdint>

namespace cryolite::graph {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<int8_t, 256> inverse() {
  std::array<int8_t, 256> table{};
  table.fill(-1);
  for (size_t i = 0; i < kDigits.size(); ++i)
    table[static_cast<uint8_t>(kDigits[i])] = static_cast<int8_t>(i);
  return table;
}
constexpr std::array<int8_t, 256> kInverse = inverse();

}  // namespace

std::string base64_of(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t word = 0;
    for (size_t k = 0; k < 3; ++k) word = word << 8 | (k < count ? static_cast<uint8_t>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) text += k <= count ? kDigits[word >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    size_t digits = 4;
    if (i + 4 == text.size()) {
      if (text[i + 3] == '=') digits = text[i + 2] == '=' ? 2 : 3;
    }
    uint32_t word = 0;
    for (size_t k = 0; k < 4; ++k) {
      const int8_t digit = k < digits ? kInverse[static_cast<uint8_t>(text[i + k])] : 0;
      if (digit < 0) return std::nullopt;
      word = word << 6 | static_cast<uint32_t>(digit);
    }
    for (size_t k = 0; k + 1 < digits; ++k) bytes += static_cast<char>(word >> (16 - 8 * k) & 0xff);
  }
  return bytes;
}

}  // namespace cryolite::graph
