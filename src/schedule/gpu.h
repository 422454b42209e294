#pragma once
#include "schedule/strategy.h"

/// Strategies for CUDA, OpenCL and Vulkan: blocks over tiles of the output, threads inside, accumulators in
/// registers.
namespace cryolite::schedule::gpu {

graph::Layout weight_layout(const graph::Graph& graph, const graph::Node& anchor, size_t input,
                            const Machine& machine);
GroupSchedule make_schedule(const GroupView& view, const Machine& machine, const Parameters& parameters);

}  // namespace cryolite::schedule::gpu
