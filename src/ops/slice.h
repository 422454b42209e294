#pragma once
#include <vector>

#include "graph/graph.h"

namespace cryolite::ops {

/// What a Slice takes along one axis of its input: from[start + i * step] for 0 <= i < extent.
struct SliceAxis {
  int64_t start = 0;
  int64_t step = 1;
  int64_t extent = 0;
};

/// One an axis of the input: negative starts and ends counted from the end, clamped as ONNX has it.
/// Throws Error where starts, ends, axes or steps are no constants, or a step is 0.
std::vector<SliceAxis> slice_axes(const graph::Graph& graph, const graph::Node& node);

}  // namespace cryolite::ops
