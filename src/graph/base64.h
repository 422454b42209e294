#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace cryolite::graph {

/// RFC 4648, with padding.
std::string base64_of(std::string_view bytes);
/// Nothing where the text is not base64 with padding.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace cryolite::graph
