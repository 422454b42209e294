#include "emit/cache.h"

#include <Halide.h>
#include <fmt/format.h>

#include <filesystem>

#include "base/files.h"
#include "base/hash.h"
#include "emit/runtime_sources.h"
#include "emit/target.h"
#include "emit/toolchain.h"

namespace cryolite::emit {
namespace {

std::string halide_version() {
  return fmt::format("{}.{}.{}", HALIDE_VERSION_MAJOR, HALIDE_VERSION_MINOR, HALIDE_VERSION_PATCH);
}

/// A folder with the runtime's sources and headers, for the C compiler.
void unpack_sources(const TemporaryFolder& folder) {
  for (const auto& [name, text] : runtime_sources()) write_file(folder.file(name), text);
}

std::string sources_key() {
  Hasher hasher;
  for (const auto& [name, text] : runtime_sources()) {
    hasher.add(name);
    hasher.add(text);
  }
  hasher.add(c_compiler());
  return hasher.finish().hex();
}

std::string compiled_source(const Cache& cache, std::string_view name, const std::string& key) {
  const std::string stem(name.substr(0, name.rfind('.')));
  const std::string entry = fmt::format("{}/cryolite_{}", key, stem);
  if (cache.has(entry, ".o")) return cache.path(entry) + ".o";
  std::filesystem::create_directories(cache.path(key));
  const TemporaryFolder folder(cache.folder());
  unpack_sources(folder);
  compile_c(folder.file(name), folder.file("object.o"), {folder.path()});
  move_file(folder.file("object.o"), cache.path(entry) + ".o");
  return cache.path(entry) + ".o";
}

std::string halide_runtime(const Cache& cache, const std::string& target) {
  const std::string full = runtime_target(target).to_string();
  const std::string entry = "halide_runtime_" + hash_of(full + halide_version()).hex();
  if (!cache.has(entry, ".o")) {
    const TemporaryFolder folder(cache.folder());
    Halide::compile_standalone_runtime(folder.file("runtime.o"), runtime_target(target));
    move_file(folder.file("runtime.o"), cache.path(entry) + ".o");
  }
  return cache.path(entry) + ".o";
}

}  // namespace

Cache::Cache(const std::string& folder) : folder_(folder) { require_writable_folder(folder); }

bool Cache::has(const std::string& key, const std::string& extension) const {
  return std::filesystem::exists(path(key) + extension);
}

std::string default_cache() { return cache_folder() + "/kernels"; }

std::string versions(const std::string& compiler) {
  return fmt::format("halide {} compiler {}", halide_version(), hash_of_file(compiler).hex());
}

std::vector<std::string> runtime_objects(const Cache& cache, const std::string& target, bool has_extern_stages) {
  std::vector<std::string> objects;
  const std::string key = "runtime_" + sources_key();
  for (const auto& [name, text] : runtime_sources())
    if (name.ends_with(".c") && (has_extern_stages || !name.starts_with("extern_")))
      objects.push_back(compiled_source(cache, name, key));
  objects.push_back(halide_runtime(cache, target));
  return objects;
}

}  // namespace cryolite::emit
