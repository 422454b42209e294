#pragma once
#include <string>
#include <vector>

namespace cryolite::emit {

/// The C compiler that builds the driver: $CRYOLITE_CC, or cc.
std::string c_compiler();
/// Throws Error (remedy) where there is no working C compiler or `ar`.
void require_toolchain();

/// Compiles a .c or .S file to an object. Throws Error with the compiler's first complaint.
void compile_c(const std::string& source, const std::string& object, const std::vector<std::string>& include_folders);

/// Puts objects into a static library, members under their file names. Throws Error.
void make_archive(const std::string& archive, const std::vector<std::string>& objects);

/// Links everything in an archive into a shared library that keeps to its own symbols. Throws Error.
void link_shared(const std::string& archive, const std::string& library);

}  // namespace cryolite::emit
