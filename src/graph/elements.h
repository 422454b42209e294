#pragma once
#include <cstdint>
#include <vector>

#include "graph/tensor_type.h"

namespace cryolite::graph {

/// Calls visit(linear, offset) for every element of a shape: `linear` counts in row-major order, `offset` is
/// where the element lies in the layout, in elements.
template <class Visit>
void for_each_element(const Layout& layout, const std::vector<int64_t>& extents, Visit visit) {
  const auto strides = storage_strides(layout, extents);
  const int rank = static_cast<int>(extents.size());
  int64_t count = 1;
  for (int64_t extent : extents) count *= extent;
  std::vector<int64_t> index(rank, 0);
  for (int64_t linear = 0; linear < count; ++linear) {
    int64_t offset = layout.block_axis >= 0 ? index[layout.block_axis] % layout.block : 0;
    for (int s = 0; s < rank; ++s) {
      const int axis = layout.order.empty() ? s : layout.order[s];
      offset += strides[s] * (axis == layout.block_axis ? index[axis] / layout.block : index[axis]);
    }
    visit(linear, offset);
    for (int axis = rank - 1; axis >= 0 && ++index[axis] == extents[axis]; --axis) index[axis] = 0;
  }
}

/// Elements that a value takes in memory, from its first to its last, gaps of explicit strides included.
inline int64_t storage_span(const Layout& layout, const std::vector<int64_t>& extents) {
  const auto stored = storage_extents(layout, extents);
  const auto strides = storage_strides(layout, extents);
  int64_t last = 0;
  for (size_t s = 0; s < stored.size(); ++s) {
    if (stored[s] == 0) return 0;
    last += (stored[s] - 1) * strides[s];
  }
  return last + 1;
}

}  // namespace cryolite::graph
