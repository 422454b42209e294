#include "emit/ptx_module.h"

#include <regex>
#include <set>
#include <sstream>

namespace cryolite::emit {
namespace {

bool is_header(const std::string& line) {
  return line.starts_with(".version") || line.starts_with(".target") || line.starts_with(".address_size");
}

/// Declarations outside of functions that several parts may repeat to the letter.
bool is_shared_declaration(const std::string& line) {
  return line.starts_with(".extern") || line.starts_with(".visible .global") || line.starts_with(".weak");
}

/// Names of the entries of one part.
std::set<std::string> entries_of(const std::string& ptx) {
  static const std::regex entry(R"(\.entry\s+([A-Za-z0-9_$]+))");
  std::set<std::string> names;
  for (std::sregex_iterator match(ptx.begin(), ptx.end(), entry), end; match != end; ++match)
    names.insert((*match)[1]);
  return names;
}

/// Whole identifiers only; an entry's parameters are called ENTRY_param_N and follow it.
std::string renamed(const std::string& line, const std::set<std::string>& entries, const std::string& symbol) {
  static const std::regex identifier(R"([A-Za-z_$][A-Za-z0-9_$]*)");
  static const std::regex parameter(R"(_param_[0-9]+$)");
  std::string result;
  auto copied = line.begin();
  for (std::sregex_iterator match(line.begin(), line.end(), identifier), end; match != end; ++match) {
    const std::string entry = std::regex_replace(match->str(), parameter, "");
    if (!entries.count(entry)) continue;
    result.append(copied, line.begin() + match->position());
    result += symbol + "_" + match->str();
    copied = line.begin() + match->position() + match->length();
  }
  return result.append(copied, line.end());
}

}  // namespace

std::string merged_ptx(const std::vector<std::pair<std::string, std::string>>& parts) {
  std::string header, body;
  std::set<std::string> seen, declared;
  for (const auto& [symbol, ptx] : parts) {
    if (!seen.insert(symbol).second) continue;
    const std::set<std::string> entries = entries_of(ptx);
    std::istringstream lines(ptx);
    for (std::string line; std::getline(lines, line);) {
      if (line.find('\0') != std::string::npos) line.erase(line.find('\0'));
      if (is_header(line)) {
        if (seen.size() == 1) header += line + "\n";
      } else if (!is_shared_declaration(line) || declared.insert(line).second) {
        body += renamed(line, entries, symbol) + "\n";
      }
    }
  }
  return header + body;
}

}  // namespace cryolite::emit
