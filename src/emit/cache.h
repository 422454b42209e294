#pragma once
#include <string>
#include <vector>

#include "emit/compile_group.h"

namespace cryolite::emit {

/// Compiled things under names made of what they were compiled from. Several processes may use one folder: files
/// appear whole, and two that write the same name write the same contents.
class Cache {
 public:
  /// Makes the folder. Throws Error (file) where that is not possible.
  explicit Cache(const std::string& folder);

  /// The path, without extension, of a key's files.
  std::string path(const std::string& key) const { return folder_ + "/" + key; }
  bool has(const std::string& key, const std::string& extension) const;
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

/// ${XDG_CACHE_HOME:-~/.cache}/cryolite/kernels
std::string default_cache();

/// What else compiled code depends on: Halide's version and the compiler's own build.
std::string versions(const std::string& compiler);

/// The archive members that every model for `target` shares: the runtime's objects and Halide's runtime, compiled
/// when they are not in the cache. Paths of objects. Throws Error.
std::vector<std::string> runtime_objects(const Cache& cache, const std::string& target, bool has_extern_stages);

}  // namespace cryolite::emit
