#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/hash.h"
#include "graph/graph.h"

namespace cryolite::emit {

/// The bytes of a constant in its layout: storage order, blocks filled up with zeros, gaps of strides zero.
std::string packed(const graph::Value& value);

/// Constants in one block of memory, each at a multiple of 512 bytes; equal contents lie there once.
struct WeightBlock {
  std::map<graph::ValueId, int64_t> offsets;  ///< bytes
  int64_t bytes = 0;
  Hash hash;                                  ///< of the block
};

/// Packs the constants `ids` of a graph and writes them to `path`: a 64-byte header (magic, size, hash), then the
/// block. Holds one packed constant in memory at a time.
WeightBlock write_weights(const graph::Graph& graph, const std::vector<graph::ValueId>& ids,
                          const std::string& path);

inline constexpr int64_t weights_header_bytes = 64;

}  // namespace cryolite::emit
