#include <algorithm>

#include "ops/operator.h"
#include "schedule/cpu_convolution.h"

/// window_chain: convolution, activation and a pool whose windows only touch, in one nest. The patch of the
/// convolution that a strip of pooled pixels needs is computed where they are, row by row in registers, and never
/// written to memory:
///
///     for y (threads)
///       for c_block
///         for x_tile                                pooled pixels
///           for rows of the window
///             sum[c_in, x_in * window] over r.x, kx, ky
///             patch = activation(sum)
///           best over the window, then the epilogue of the pool
namespace cryolite::schedule::cpu {
namespace {

constexpr Tunable pooled_pixels{"rows", 1, 14};  // pooled pixels of a tile; rule: what fills the registers

struct Chain {
  const graph::Node* conv = nullptr;
  const graph::Node* pool = nullptr;
  const graph::Node* before_pool = nullptr;  ///< the last node of the patch
  bool patch_reads_more = false;             ///< other inputs join between convolution and pool
};

/// The group as one convolution, elementwise nodes, one pool and an elementwise epilogue; nothing else.
bool find_chain(const GroupView& view, Chain& chain) {
  const graph::Graph& group = view.graph;
  for (const graph::Node& node : group.nodes) {
    const ops::Operator* op = ops::find(node.op_type);
    if (!op) return false;
    const graph::Node** place = op->kernel == ops::Kernel::Convolution ? &chain.conv
                                : op->kernel == ops::Kernel::Pool      ? &chain.pool
                                                                       : nullptr;
    if (place && *place) return false;
    if (place) *place = &node;
    if (!place && op->kernel != ops::Kernel::Pointwise) return false;
  }
  if (!chain.conv || !chain.pool || !graph::has_attribute(*chain.pool, "kernel_shape")) return false;
  if (!only_epilogue_follows(view, chain.pool->name, chain.conv->name)) return false;
  graph::ValueId reached = chain.conv->outputs[0];
  chain.before_pool = chain.conv;
  for (const graph::Node& node : group.nodes) {
    if (reached == chain.pool->inputs[0]) return true;
    if (!std::count(node.inputs.begin(), node.inputs.end(), reached)) continue;
    if (!ops::is_elementwise(group, node) || group.output_type(node).dims != group.value(reached).type.dims) return false;
    for (graph::ValueId id : node.inputs)
      if (id != graph::absent && id != reached && !group.value(id).constant) chain.patch_reads_more = true;
    chain.before_pool = &node;
    reached = node.outputs[0];
  }
  return reached == chain.pool->inputs[0];
}

}  // namespace

bool window_chain(GroupSchedule& schedule, const GroupView& view, const Machine& machine,
                  const Parameters& parameters) {
  Chain chain;
  if (!find_chain(view, chain)) return false;
  const ops::Stage& output = output_of(view);
  const ops::Stage* sum = inner_stage(view, chain.conv->name, "sum");
  const ops::Stage* padded = inner_stage(view, chain.conv->name, "padded");
  const ops::Stage* windows = inner_stage(view, chain.pool->name, "padded");
  if (!sum || sum->updates.size() != 1 || !windows) return false;
  const ConvShape shape = shape_of(view.graph, *chain.conv);
  const int64_t window = graph::ints_attribute(*chain.pool, "kernel_shape").back();
  const int64_t lanes = lanes_of(output, machine);
  const int64_t block = block_of(view.graph, *chain.conv, machine);
  const bool is_ragged = shape.outputs % block != 0;
  // Values that join the patch are not padded to whole blocks as the weights are.
  if (is_ragged && chain.patch_reads_more) return false;
  const int64_t pooled = extent_of(output, "x");
  const int64_t fitting = std::max<int64_t>(1, tile_rows(block, pooled * window, machine) / window);
  const int64_t tile = std::min(tuned(parameters, pooled_pixels, fitting), pooled);
  // A border of the pool makes the patch's extents depend on where the tile is.
  const bool is_even = !windows->is_padding;
  const auto outer = loops_around_rows(output);
  const int64_t blocks = (shape.outputs + block - 1) / block;
  const bool by_channels = blocks >= machine.threads && shape.weight_bytes > machine.l2_bytes / 2;

  Line line(output.name);
  line.call("split", {"c", "c_block", "c_in", block, channel_tail(view.graph, *chain.conv, shape.outputs, block)});
  line.call("split", {"x", "x_tile", "x_in", tile, "ShiftInwards"});
  std::vector<Argument> order{"c_in", "x_in", "x_tile"};
  if (!by_channels) order.emplace_back("c_block");
  for (const Loop& loop : outer) order.emplace_back(loop.name);
  if (by_channels) order.emplace_back("c_block");
  line.call("reorder", order);
  vectorize_block(line, "c_in", block, lanes);
  if (tile > 1) line.call("unroll", {"x_in"});
  const std::vector<Loop> chunked = by_channels ? std::vector<Loop>{{"c_block", blocks}} : outer;
  const std::string chunk = parallel_chunks(line, chunked, cost_of_steps(view), machine).thread;
  schedule.funcs.push_back(line);

  const std::string patch_name = ops::identifier(view.graph.value(chain.before_pool->outputs[0]).name);
  Line patch(patch_name);
  patch.call("compute_at", {output.name, "x_tile"}).call("bound_extent", {"c", block});
  vectorize_block(patch, "c", block, lanes);
  if (is_even) patch.call("unroll", {"x"});
  schedule.funcs.push_back(patch);
  if (is_copied(view, *chain.conv, padded))
    copy_border(schedule, *padded, output.name, by_channels ? "" : chunk, machine);
  accumulate_tile(schedule, *sum, patch_name, "y", block, is_even, lanes);
  for (const ops::Stage* stage : inner_stages(view, chain.pool->name))
    if (!stage->updates.empty()) accumulate_tile(schedule, *stage, output.name, "x_tile", block, tile > 1, lanes);
  return true;
}

}  // namespace cryolite::schedule::cpu
