#pragma once
#include <string>
#include <utility>
#include <vector>

namespace cryolite::emit {

/// Joins the PTX of several kernels into one module that ptxas takes: one header, and every entry renamed to
/// SYMBOL_ENTRY, since kernels of different groups may be called alike. `parts`: the group's symbol and its PTX, as
/// Halide emits it. Parts of the same symbol are taken once.
std::string merged_ptx(const std::vector<std::pair<std::string, std::string>>& parts);

}  // namespace cryolite::emit
