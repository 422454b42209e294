#pragma once
#include <vector>

#include "plan/plan.h"

namespace cryolite::plan {

/// Horizontal fusion: contractions of one input (Q, K and V; the branches of an Inception module) become one whose
/// weights are theirs one after the other, where that is predicted to cost less. Biases and activations of the
/// branches are taken along; what the branches gave are then parts (Split) of the one result. Appends a decision for
/// each branch that was merged or left alone. `graph`: simplified, types fixed.
graph::Graph merge_siblings(graph::Graph graph, const device::Device& device, std::vector<Decision>& decisions);

}  // namespace cryolite::plan
