#pragma once
#include <string_view>
#include <utility>
#include <span>

namespace cryolite::emit {

/// The files of src/runtime and HalideRuntime.h, carried inside this program: {name, text}.
std::span<const std::pair<std::string_view, std::string_view>> runtime_sources();
/// The text of one of them. Precondition: it is there.
std::string_view runtime_source(std::string_view name);

}  // namespace cryolite::emit
