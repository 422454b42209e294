#include <algorithm>
#include <set>

#include "ops/operator.h"
#include "schedule/cpu_parts.h"

/// rows (softmax, norms, or any reductions of the same rows): the statistics of a row right before the row is written,
/// so that the row is still in the nearest cache; what several of them need of every element, and is dear to compute
/// (the exponentials of a softmax), is kept for the row.
///
///     for rows (threads)
///       max, exp, sum
///       for vectors of the row
namespace cryolite::schedule::cpu {
namespace {

/// Copies of the input that the algorithm offers to schedules; nothing is gained by making them here.
bool is_copy(const ops::Stage& stage) { return stage.is_padding || stage.name.ends_with("_padded"); }

/// The innermost loop of the output outside of every axis that one of the stages is reduced over.
size_t level_of_rows(const std::vector<Loop>& loops, const std::vector<const ops::Stage*>& stages) {
  size_t outermost_reduced = 0;
  for (const ops::Stage* stage : stages)
    for (size_t l = 0; l < loops.size(); ++l)
      if (!stage->updates.empty() && extent_of(*stage, loops[l].name) == 1 && loops[l].extent > 1)
        outermost_reduced = std::max(outermost_reduced, l);
  return outermost_reduced + 1;
}

/// Stages inside of the reductions; nothing where one node is neither a reduction of rows nor pointwise.
std::optional<std::vector<const ops::Stage*>> stages_of_reductions(const GroupView& view) {
  std::vector<const ops::Stage*> stages;
  for (const graph::Node& node : view.graph.nodes) {
    const ops::Operator* op = ops::find(node.op_type);
    if (op && op->kernel == ops::Kernel::Pointwise) continue;
    if (!op || (op->kernel != ops::Kernel::Reduce && op->kernel != ops::Kernel::Rows)) return std::nullopt;
    const auto inner = inner_stages(view, node.name);
    stages.insert(stages.end(), inner.begin(), inner.end());
  }
  return stages;
}

bool is_reduction(const graph::Node& node) {
  const ops::Operator* op = ops::find(node.op_type);
  return op && op->kernel != ops::Kernel::Pointwise;
}

/// How many of the reductions and the result need each value, directly or through pointwise nodes; by value.
std::vector<std::set<graph::NodeId>> needed_by(const graph::Graph& group) {
  std::vector<std::set<graph::NodeId>> needs(group.values.size());
  for (graph::NodeId n = static_cast<graph::NodeId>(group.nodes.size()); n-- > 0;) {
    const graph::Node& node = group.nodes[n];
    std::set<graph::NodeId> own = is_reduction(node) ? std::set<graph::NodeId>{} : needs[node.outputs[0]];
    if (is_reduction(node) || node.outputs[0] == group.outputs[0]) own.insert(n);
    for (graph::ValueId input : node.inputs)
      if (input != graph::absent) needs[input].insert(own.begin(), own.end());
  }
  return needs;
}

/// A buffer of one row, filled in vectors.
void keep_row(GroupSchedule& schedule, const ops::Stage& stage, const std::string& output, const std::string& at,
              const Machine& machine) {
  const auto loops = loops_of(stage);
  const int64_t lanes = std::min(lanes_of(stage, machine), loops[0].extent);
  Line kept(stage.name);
  kept.call("compute_at", {output, at});
  if (lanes > 1) kept.call("vectorize", {loops[0].name, lanes, "ShiftInwards"});
  schedule.funcs.push_back(kept);
}

}  // namespace

std::vector<const ops::Stage*> dear_values_of_rows(const GroupView& view, const graph::Node& reduction) {
  const auto needs = needed_by(view.graph);
  const int64_t row_elements = view.graph.input_type(reduction, 0).elements();
  std::vector<const ops::Stage*> kept;
  for (const graph::Node& node : view.graph.nodes) {
    const graph::ValueId value = node.outputs[0];
    if (is_reduction(node) || value == view.graph.outputs[0] || needs[value].size() < 2) continue;
    if (!ops::is_dear(view.graph, node) || view.graph.output_type(node).elements() != row_elements) continue;
    kept.push_back(view.lowered.find(ops::identifier(view.graph.value(value).name)));
  }
  return kept;
}

bool rows(GroupSchedule& schedule, const GroupView& view, const Machine& machine, const Parameters&) {
  if (view.graph.outputs.size() != 1) return false;
  const ops::Stage& output = output_of(view);
  const auto loops = loops_of(output);
  const auto found = stages_of_reductions(view);
  if (!found) return false;
  const std::vector<const ops::Stage*>& stages = *found;
  const size_t level = level_of_rows(loops, stages);
  if (level >= loops.size()) return false;
  for (const ops::Stage* stage : stages)
    if (stage->extents.size() != output.extents.size()) return false;
  const int64_t lanes = lanes_of(output, machine);
  Line line(output.name);
  if (loops[0].extent >= lanes)
    line.call("split", {loops[0].name, loops[0].name + "_vectors", loops[0].name + "_in", lanes, "ShiftInwards"})
        .call("vectorize", {loops[0].name + "_in"});
  else if (loops[0].extent > 1)
    line.call("vectorize", {loops[0].name});
  const std::vector<Loop> outer(loops.begin() + static_cast<long>(level), loops.end());
  const Chunks chunks = parallel_chunks(line, outer, cost_of_steps(view), machine);
  schedule.funcs.push_back(line);
  for (const ops::Stage* stage : stages) {
    if (is_copy(*stage)) continue;
    if (!stage->updates.empty()) {
      accumulate_at(schedule, *stage, output.name, chunks.innermost, machine);
      continue;
    }
    keep_row(schedule, *stage, output.name, chunks.innermost, machine);
  }
  for (const ops::Stage* stage : dear_values_of_rows(view, anchor_of(view)))
    keep_row(schedule, *stage, output.name, chunks.innermost, machine);
  return true;
}

}  // namespace cryolite::schedule::cpu
