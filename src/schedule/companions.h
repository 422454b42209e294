#pragma once
#include <functional>
#include <string>
#include <vector>

#include "schedule/strategy.h"

/// Groups of several results that have no node in common: siblings that read the same input.
namespace cryolite::schedule {

/// The results of a group apart; nothing where there is one, or where they share nodes.
std::vector<graph::Graph> companion_graphs(const graph::Graph& group);

/// Schedules each result by `make` as if it were alone, then runs all of them in the outer loops that they share, so
/// that what they read is still near. Precondition: companion_graphs gives more than one.
GroupSchedule schedule_together(const GroupView& view, const std::vector<graph::Graph>& graphs,
                                const std::function<GroupSchedule(const GroupView&)>& make);

/// The node that a group is built around: of most work among those that reduce; else the last one.
std::string anchor_of_graph(const graph::Graph& group);

}  // namespace cryolite::schedule
