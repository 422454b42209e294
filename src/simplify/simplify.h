#pragma once
#include <functional>
#include <vector>

#include "graph/graph.h"

namespace cryolite::simplify {

/// Computes the outputs of a graph that has no inputs but constants. Throws Error where an operator cannot be
/// computed at compile time.
using Evaluate = std::function<std::vector<graph::Tensor>(const graph::Graph&)>;

/// Replaces everything that does not depend on the inputs by constants, and infers the types that this
/// settles. Nothing else is rewritten. Names of nodes and values stay.
graph::Graph fold_constants(graph::Graph graph, const Evaluate& evaluate);

/// Folds constants and applies every rewrite of rewrites.h until none applies. Inputs and outputs keep names,
/// order and types; results are equal up to the rounding of weights that were multiplied at compile time.
graph::Graph simplify(graph::Graph graph, const Evaluate& evaluate);

}  // namespace cryolite::simplify
