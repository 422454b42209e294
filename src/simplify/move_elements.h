#pragma once
#include <optional>

#include "graph/graph.h"

namespace cryolite::simplify {

/// Output 0 of a node that only moves elements of its constants: Concat, Slice, Transpose, Gather, Expand.
/// Nothing where the node is another, an input is not constant, or the type of the output is not fixed.
std::optional<graph::Tensor> moved_elements(const graph::Graph& graph, const graph::Node& node);

}  // namespace cryolite::simplify
