#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace cryolite {
namespace {

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string render(const std::string& message, const Where& where, const std::string& remedy) {
  std::string line;
  if (!where.file.empty()) line += where.file + ": ";
  if (!where.node.empty()) line += fmt::format("node '{}': ", where.node);
  if (!where.value.empty()) line += fmt::format("value '{}': ", where.value);
  line += message;
  if (!remedy.empty()) line += "; " + remedy;
  return one_line(line);
}

const std::string& first_set(const std::string& inner, const std::string& outer) {
  return inner.empty() ? outer : inner;
}

}  // namespace

Error::Error(std::string message, Where where, std::string remedy)
    : std::runtime_error(render(message, where, remedy)),
      message_(std::move(message)),
      where_(std::move(where)),
      remedy_(std::move(remedy)) {}

Error Error::inside(const Where& outer) const {
  return Error(message_,
               {first_set(where_.file, outer.file), first_set(where_.node, outer.node),
                first_set(where_.value, outer.value)},
               remedy_);
}

}  // namespace cryolite
