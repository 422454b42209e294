# Writes OUTPUT, a C++ file that holds the text of FILES (separated by |): see emit/runtime_sources.h.
string(REPLACE "|" ";" files "${FILES}")
set(rows "")
foreach(file IN LISTS files)
  file(READ "${file}" text)
  get_filename_component(name "${file}" NAME)
  string(APPEND rows "    {\"${name}\", R\"cryolite_text(${text})cryolite_text\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "#include \"emit/runtime_sources.h\"

#include <algorithm>
#include <cassert>

namespace cryolite::emit {
namespace {

constexpr std::pair<std::string_view, std::string_view> sources[] = {
${rows}};

}  // namespace

std::span<const std::pair<std::string_view, std::string_view>> runtime_sources() { return sources; }

std::string_view runtime_source(std::string_view name) {
  const auto* found = std::find_if(std::begin(sources), std::end(sources), [&](const auto& s) { return s.first == name; });
  assert(found != std::end(sources));
  return found->second;
}

}  // namespace cryolite::emit
")
