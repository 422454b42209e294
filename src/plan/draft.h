#pragma once
#include "plan/choice.h"

namespace cryolite::plan {

/// A graph laid out and cut into kernels, and what that is predicted to cost.
struct Draft {
  graph::Graph graph;  ///< every value with its layout
  Views views;
  Stored stored;
  double seconds = 0;
};

/// The cheapest of the plans that differ in whether siblings are merged, and in which nodes that only relabel
/// elements (Transpose, Slice…) are views and which are computed inside of kernels. Appends the decisions about
/// siblings. `graph`: simplified, types fixed, outputs its own.
Draft best_draft(const graph::Graph& graph, const device::Device& device, const Options& options,
                 std::vector<Decision>& decisions);

}  // namespace cryolite::plan
