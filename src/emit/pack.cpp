#include "emit/pack.h"

#include <fmt/format.h>

#include <cstring>
#include <fstream>

#include "base/error.h"
#include "graph/elements.h"

namespace cryolite::emit {
namespace {

constexpr int64_t alignment = 512;  // bytes: the most that OpenCL and Vulkan devices ask of a part of a buffer

template <int64_t element>
void scatter(const graph::Value& value, const char* from, char* to) {
  graph::for_each_element(value.layout, value.type.extents(), [&](int64_t linear, int64_t offset) {
    std::memcpy(to + offset * element, from + linear * element, element);
  });
}

bool is_dense_row_major(const graph::Layout& layout) { return layout.is_row_major() && layout.strides.empty(); }

void write_header(std::ostream& out, const WeightBlock& block) {
  char header[weights_header_bytes] = {'C', 'R', 'Y', 'O', 'W', 'G', 'T', '1'};
  std::memcpy(header + 8, &block.bytes, sizeof block.bytes);
  std::memcpy(header + 16, block.hash.words.data(), sizeof block.hash.words);
  out.write(header, sizeof header);
}

}  // namespace

std::string packed(const graph::Value& value) {
  const graph::Tensor& tensor = *value.constant;
  if (is_dense_row_major(value.layout)) return *tensor.bytes;
  const int64_t element = size_of(tensor.type.element);
  std::string result(graph::storage_span(value.layout, value.type.extents()) * element, '\0');
  switch (element) {
    case 1: scatter<1>(value, tensor.bytes->data(), result.data()); break;
    case 2: scatter<2>(value, tensor.bytes->data(), result.data()); break;
    case 4: scatter<4>(value, tensor.bytes->data(), result.data()); break;
    default: scatter<8>(value, tensor.bytes->data(), result.data()); break;
  }
  if (value.layout.block_axis >= 0) {
    // Kernels read whole blocks, so the last one is there to its end.
    int64_t whole = 1;
    for (int64_t extent : storage_extents(value.layout, value.type.extents())) whole *= extent;
    result.resize(std::max<size_t>(result.size(), whole * element), '\0');
  }
  return result;
}

WeightBlock write_weights(const graph::Graph& graph, const std::vector<graph::ValueId>& ids,
                          const std::string& path) {
  WeightBlock block;
  std::ofstream out(path, std::ios::binary);
  write_header(out, block);
  Hasher hasher;
  std::map<Hash, int64_t> known;
  for (graph::ValueId id : ids) {
    const std::string bytes = packed(graph.value(id));
    const Hash hash = hash_of(bytes);
    const auto [entry, is_new] = known.try_emplace(hash, block.bytes);
    block.offsets[id] = entry->second;
    if (!is_new) continue;
    const std::string gap((alignment - bytes.size() % alignment) % alignment, '\0');
    for (const std::string* piece : {&bytes, &gap}) {
      out.write(piece->data(), static_cast<std::streamsize>(piece->size()));
      hasher.add(*piece);
      block.bytes += static_cast<int64_t>(piece->size());
    }
  }
  block.hash = hasher.finish();
  out.seekp(0);
  write_header(out, block);
  out.close();
  if (!out) throw Error("cannot be written", {.file = path}, "check that the disk has space");
  return block;
}

}  // namespace cryolite::emit
