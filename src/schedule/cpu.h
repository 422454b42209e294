#pragma once
#include "schedule/strategy.h"

/// Strategies for CPUs: vectors along channels or rows, register tiles, threads over the outermost loop.
namespace cryolite::schedule::cpu {

graph::Layout weight_layout(const graph::Graph& graph, const graph::Node& anchor, size_t input,
                            const Machine& machine);
GroupSchedule make_schedule(const GroupView& view, const Machine& machine, const Parameters& parameters);

}  // namespace cryolite::schedule::cpu
