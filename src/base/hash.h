#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace cryolite {

/// 128 bits of XXH3: for keys of caches and for finding equal contents, not against an adversary.
struct Hash {
  std::array<uint64_t, 2> words{};
  auto operator<=>(const Hash&) const = default;
  /// 32 digits of lower-case hexadecimal.
  std::string hex() const;
};

Hash hash_of(std::string_view bytes);

/// Hashes bytes that arrive in pieces.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  void add(std::string_view bytes);
  Hash finish() const;

 private:
  void* state_;
};

/// The hash of a file's contents. Throws Error (file) where it cannot be read.
Hash hash_of_file(const std::string& path);

}  // namespace cryolite
