#pragma once
#include <string>
#include <vector>

#include "emit/traffic.h"
#include "graph/graph.h"
#include "schedule/schedule.h"

namespace cryolite::emit {

/// Runs one group (a graph of its own, no extern stages) through Halide's JIT, in this process.
/// Inputs and results are row-major, in the order of group.inputs and group.outputs; layouts inside are the
/// group's. `schedule` may be nullptr: every stage at root, unscheduled.
/// `target`: a Halide target string, "host" by default.
/// `traffic`: where it is given, gets what the kernel moved (CPU targets only; slow).
/// Throws Error where an input's type differs from the group's, or the schedule does not fit.
std::vector<graph::Tensor> run_group(const graph::Graph& group, const std::vector<graph::Tensor>& inputs,
                                     const schedule::GroupSchedule* schedule = nullptr,
                                     const std::string& target = "host", Traffic* traffic = nullptr);

/// Runs a whole graph one node a kernel with no schedule: the reference of tests, and the evaluator of
/// constant folding. Throws Error (node) for extern stages.
std::vector<graph::Tensor> evaluate(const graph::Graph& graph, const std::vector<graph::Tensor>& inputs);

}  // namespace cryolite::emit
