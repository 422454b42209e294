#include "base/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <fstream>
#include <new>
#include <vector>

#include "base/error.h"

namespace cryolite {
namespace {

Hash from(const XXH128_hash_t& hash) { return {{hash.high64, hash.low64}}; }
XXH3_state_t* state_of(void* state) { return static_cast<XXH3_state_t*>(state); }

}  // namespace

std::string Hash::hex() const { return fmt::format("{:016x}{:016x}", words[0], words[1]); }

Hash hash_of(std::string_view bytes) { return from(XXH3_128bits(bytes.data(), bytes.size())); }

Hasher::Hasher() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  XXH3_128bits_reset(state_of(state_));
}

Hasher::~Hasher() { XXH3_freeState(state_of(state_)); }

void Hasher::add(std::string_view bytes) { XXH3_128bits_update(state_of(state_), bytes.data(), bytes.size()); }

Hash Hasher::finish() const { return from(XXH3_128bits_digest(state_of(state_))); }

Hash hash_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("cannot be read", {.file = path});
  Hasher hasher;
  std::vector<char> piece(1 << 20);
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0)
    hasher.add({piece.data(), static_cast<size_t>(file.gcount())});
  return hasher.finish();
}

}  // namespace cryolite
