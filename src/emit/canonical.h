#pragma once
#include <string>

#include "graph/graph.h"
#include "schedule/schedule.h"

namespace cryolite::emit {

/// A group and its schedule under names of no meaning (values v0, v1…, nodes n0, n1…), so that groups which
/// compute the same share one kernel.
struct CanonicalGroup {
  graph::Graph graph;
  schedule::GroupSchedule schedule;
};

/// Throws Error (node) where the group cannot be lowered.
CanonicalGroup canonical(const graph::Graph& group, const schedule::GroupSchedule& schedule);

}  // namespace cryolite::emit
