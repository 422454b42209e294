#include "report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cryolite::report {
namespace {

constexpr char32_t replacement = 0xFFFD;

/// The character at `at`, which moves past it; `replacement`, one byte further, where no valid one stands there.
char32_t next_character(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(at);
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xC2 && first < 0xE0 ? 2
                        : first >= 0xE0 && first < 0xF0 ? 3
                        : first >= 0xF0 && first < 0xF5 ? 4
                                                        : 0;
  char32_t character = length <= 1 ? first : first & (0xFFu >> (length + 1));
  bool is_valid = length > 0;
  for (size_t i = 1; i < length; ++i) {
    is_valid = is_valid && (byte(at + i) & 0xC0u) == 0x80u;
    character = character << 6 | (byte(at + i) & 0x3Fu);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  is_valid = is_valid && character >= least[length] && character <= 0x10FFFF;
  is_valid = is_valid && (character < 0xD800 || character > 0xDFFF);  // halves of UTF-16's pairs
  at += is_valid ? length : 1;
  return is_valid ? character : replacement;
}

char32_t printable(char32_t c) {
  if (c < 0x20) return 0x2400 + c;
  if (c == 0x7F) return 0x2421;
  const bool is_control = c >= 0x80 && c < 0xA0;
  const bool ends_line = c == 0x2028 || c == 0x2029;
  const bool turns_direction =
      c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
  const bool is_no_character = (c & 0xFFFE) == 0xFFFE;
  return is_control || ends_line || turns_direction || is_no_character ? replacement : c;
}

void append(std::string& text, char32_t c) {
  const auto put = [&](char32_t byte) { text += static_cast<char>(byte); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0 | c >> 6);
  } else {
    if (c < 0x10000) {
      put(0xE0 | c >> 12);
    } else {
      put(0xF0 | c >> 18);
      put(0x80 | (c >> 12 & 0x3F));
    }
    put(0x80 | (c >> 6 & 0x3F));
  }
  put(0x80 | (c & 0x3F));
}

std::u32string characters(std::string_view text) {
  std::u32string all;
  for (size_t at = 0; at < text.size();) all += printable(next_character(text, at));
  return all;
}

std::string encoded(std::u32string_view characters) {
  std::string text;
  for (char32_t c : characters) append(text, c);
  return text;
}

}  // namespace

std::string clean_text(std::string_view text) { return encoded(characters(text)); }

std::string xml_text(std::string_view text) {
  std::string escaped;
  for (char c : clean_text(text)) switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  return escaped;
}

std::string dot_text(std::string_view text) {
  std::string escaped;
  for (char c : clean_text(text)) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c == '&' ? "&amp;" : std::string(1, c);  // Graphviz reads entities as HTML does
  }
  return escaped;
}

std::string shortened(std::string_view text, size_t width) {
  const std::u32string all = characters(text);
  if (all.size() <= width) return encoded(all);
  const size_t tail = width / 2, head = width - tail - 1;
  return encoded(all.substr(0, head)) + "…" + encoded(all.substr(all.size() - tail));
}

std::string bytes_text(int64_t bytes) {
  if (std::llabs(bytes) >= 1'000'000) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
  if (std::llabs(bytes) >= 1'000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{} B", bytes);
}

std::string flops_text(int64_t flops) {
  if (flops >= 1'000'000'000) return fmt::format("{:.1f} G", static_cast<double>(flops) / 1e9);
  if (flops >= 1'000'000) return fmt::format("{:.1f} M", static_cast<double>(flops) / 1e6);
  return fmt::format("{:.1f} k", static_cast<double>(flops) / 1e3);
}

std::string time_text(double seconds) {
  return seconds >= 1e-3 ? short_number(seconds * 1e3) + " ms" : short_number(seconds * 1e6) + " us";
}

std::string short_number(double number) {
  const double size = std::abs(number);
  if (size == 0) return "0";
  constexpr int most_digits = 6;
  const int digits = std::clamp(2 - static_cast<int>(std::floor(std::log10(size))), 0, most_digits);
  return fmt::format("{:.{}f}", number, digits);
}

}  // namespace cryolite::report
