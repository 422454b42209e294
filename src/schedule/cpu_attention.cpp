#include <algorithm>
#include <set>

#include "ops/operator.h"
#include "schedule/cpu_parts.h"

/// gemm_rows and attention: a contraction whose rows are reduced as a whole (softmax, norms), and perhaps contracted
/// again. A tile of rows goes all the way before the next one is begun, so that scores never leave the near caches:
///
///     for batches (threads)
///       turn the columns of K, where they do not lie side by side
///       for row_tile (threads, where there are few batches)
///         for column_block: scores[column_in, row_in] over r.x, and what is added to them
///         for rows of the tile: maximum, exponentials, sum, result of the row
///         for value_block: sum[value_in, row_in] over r.x                (attention)
namespace cryolite::schedule::cpu {
namespace {

using graph::Node;
using graph::ValueId;
using ops::Kernel;

constexpr Tunable tile_rows_of_scores{"rows", 1, 28};  // rows of a tile; rule: tile_rows of the widest block

struct Parts {
  const Node* first = nullptr;   ///< gives the scores
  const Node* second = nullptr;  ///< contracts what was made of them; nullptr: none
  ValueId scores = graph::absent;          ///< the last value before the first reduction, kept for a tile of rows
  std::vector<const Node*> reductions;     ///< of rows
};

Kernel kernel_of(const Node& node) {
  const ops::Operator* op = ops::find(node.op_type);
  return op ? op->kernel : Kernel::Extern;
}

/// Values that depend on `from`, without passing through `around`; by value.
std::vector<bool> reached_from(const graph::Graph& group, ValueId from, ValueId around) {
  std::vector<bool> reached(group.values.size(), false);
  reached[from] = from != around;
  for (const Node& node : group.nodes)
    for (ValueId input : node.inputs)
      if (input != graph::absent && reached[input])
        for (ValueId output : node.outputs) reached[output] = reached[output] || output != around;
  return reached;
}

/// The last pointwise value through which all goes that is made of the first contraction.
ValueId common_value(const graph::Graph& group, const Node& first) {
  const ValueId product = first.outputs[0], result = group.outputs[0];
  ValueId common = product;
  std::vector<bool> is_reduced(group.values.size(), false);
  for (const Node& node : group.nodes) {
    const bool reads_reduced = std::any_of(node.inputs.begin(), node.inputs.end(),
                                           [&](ValueId id) { return id != graph::absent && is_reduced[id]; });
    const ValueId value = node.outputs[0];
    is_reduced[value] = reads_reduced || (&node != &first && kernel_of(node) != Kernel::Pointwise);
    if (is_reduced[value] || group.value(value).type.dims != group.value(product).type.dims) continue;
    if (reached_from(group, product, graph::absent)[value] && !reached_from(group, product, value)[result])
      common = value;
  }
  return common;
}

bool find_parts(const GroupView& view, Parts& parts) {
  const graph::Graph& group = view.graph;
  if (group.outputs.size() != 1) return false;
  for (const Node& node : group.nodes) {
    switch (kernel_of(node)) {
      case Kernel::Pointwise: break;
      case Kernel::Contraction:
        if (parts.second) return false;
        (parts.first ? parts.second : parts.first) = &node;
        break;
      case Kernel::Reduce:
      case Kernel::Rows:
        if (!parts.first || parts.second) return false;
        parts.reductions.push_back(&node);
        break;
      default: return false;
    }
  }
  if (!parts.first || parts.reductions.empty()) return false;
  const size_t rank = group.output_type(*parts.first).dims.size();
  if (rank < 2 || group.value(group.outputs[0]).type.dims.size() != rank) return false;
  for (size_t operand : {0, 1})
    if (group.input_type(*parts.first, operand).dims.size() < 2) return false;
  parts.scores = common_value(group, *parts.first);
  return true;
}

/// Loop names of the last two logical axes, and the axes around them.
struct Axes {
  std::string columns, rows;
  int64_t column_count = 1, row_count = 1;
  std::vector<Loop> batches;  ///< innermost first
};

Axes axes_of(const ops::Stage& stage) {
  const size_t rank = stage.extents.size();
  Axes axes{stage.axes[rank - 1], stage.axes[rank - 2], stage.extents[rank - 1], stage.extents[rank - 2], {}};
  for (size_t axis = rank - 2; axis-- > 0;) axes.batches.push_back({stage.axes[axis], stage.extents[axis]});
  return axes;
}

const ops::Stage& stage_of(const GroupView& view, ValueId value) {
  return *view.lowered.find(ops::identifier(view.graph.value(value).name));
}

int64_t block_of(const GroupView& view, const Node& product, int64_t rows, const Machine& machine) {
  const graph::Layout& weights = view.graph.value(product.inputs[1]).layout;
  if (weights.block_axis >= 0) return weights.block;
  return packed_block(view.graph.output_type(product).extents().back(), rows, machine,
                      most_rows_of(view.graph, product));
}

const char* tail_of(const GroupView& view, const Node& product, int64_t columns, int64_t block) {
  if (columns % block == 0) return "Auto";
  return view.graph.value(product.inputs[1]).layout.block_axis >= 0 ? "GuardWithIf" : "ShiftInwards";
}

/// Cuts a value of `block` columns x `rows` rows into register tiles of its product, which is summed inside of them.
void product_tiles(GroupSchedule& schedule, const GroupView& view, const Node& product, Line& line,
                   const ops::Stage& value, int64_t rows, const std::string& row_loop, const Machine& machine) {
  const Axes axes = axes_of(value);
  const ops::Stage& sum = *inner_stage(view, product.name, "sum");
  const int64_t block = block_of(view, product, rows, machine), lanes = lanes_of(value, machine);
  const std::string column_block = axes.columns + "_block", column_in = axes.columns + "_in";
  line.call("split", {axes.columns, column_block, column_in, block, tail_of(view, product, axes.column_count, block)});
  line.call("reorder", {column_in, row_loop, column_block});
  vectorize_block(line, column_in, block, lanes);
  if (rows > 1) line.call("unroll", {row_loop});
  Line accumulator(sum.name);
  accumulator.call("compute_at", {value.name, column_block}).call("bound_extent", {axes.columns, block});
  for (const bool update : {false, true}) {
    if (update) begin_update(accumulator, sum, {axes.columns, axes.rows});
    vectorize_block(accumulator, axes.columns, block, lanes);
    if (rows > 1) accumulator.call("unroll", {axes.rows});
  }
  schedule.funcs.push_back(accumulator);
}

/// Stages in vectors along their innermost axis.
void in_vectors(Line& line, const ops::Stage& stage, const Machine& machine) {
  const auto loops = loops_of(stage);
  const int64_t lanes = std::min(lanes_of(stage, machine), loops[0].extent);
  if (lanes > 1) line.call("vectorize", {loops[0].name, lanes, "ShiftInwards"});
}

void keep_at(GroupSchedule& schedule, const ops::Stage& stage, const std::string& output, const std::string& at,
             const Machine& machine) {
  Line line(stage.name);
  line.call("compute_at", {output, at});
  in_vectors(line, stage, machine);
  schedule.funcs.push_back(line);
}

/// Statistics of the tile's rows, and what is dear of every element of them.
void reduce_rows(GroupSchedule& schedule, const GroupView& view, const Parts& parts, const std::string& output,
                 const std::string& at, const Machine& machine) {
  for (const Node* reduction : parts.reductions)
    for (const ops::Stage* stage : inner_stages(view, reduction->name)) {
      if (stage->is_padding) continue;
      if (stage->updates.empty()) keep_at(schedule, *stage, output, at, machine);
      else accumulate_at(schedule, *stage, output, at, machine);
    }
  for (const ops::Stage* stage : dear_values_of_rows(view, *parts.reductions[0]))
    keep_at(schedule, *stage, output, at, machine);
}

/// Operands whose columns do not lie side by side are turned before they are used, once for all rows of a batch.
void turn_columns(GroupSchedule& schedule, const GroupView& view, const Node& product, const std::string& output,
                  const std::string& at, const Machine& machine) {
  const ops::Stage* columns = inner_stage(view, product.name, "columns");
  if (!columns) return;
  Line line(columns->name);
  if (at.empty()) line.call("compute_root");
  else line.call("compute_at", {output, at});
  in_vectors(line, *columns, machine);
  schedule.funcs.push_back(line);
}

}  // namespace

bool attention(GroupSchedule& schedule, const GroupView& view, const Machine& machine, const Parameters& parameters) {
  Parts parts;
  if (!find_parts(view, parts)) return false;
  const ops::Stage& output = output_of(view);
  const ops::Stage& scores = stage_of(view, parts.scores);
  if (&scores == &output) return false;
  const Axes axes = axes_of(output);
  const int64_t rows = axes.row_count;
  int64_t tile = tile_rows(block_of(view, *parts.first, rows, machine), rows, machine);
  if (parts.second) tile = std::min(tile, tile_rows(block_of(view, *parts.second, rows, machine), rows, machine));
  tile = std::min(rows, tuned(parameters, tile_rows_of_scores, tile));
  const std::string row_tile = axes.rows + "_tile", row_in = axes.rows + "_in";

  Line line(output.name);
  line.call("split", {axes.rows, row_tile, row_in, tile, "ShiftInwards"});
  GroupSchedule inside;
  std::vector<Argument> order;
  if (parts.second) {
    product_tiles(inside, view, *parts.second, line, output, tile, row_in, machine);
    order = {axes.columns + "_in", row_in, axes.columns + "_block", row_tile};
  } else {
    order = {axes.columns, row_in, row_tile};
  }
  for (const Loop& batch : axes.batches) order.emplace_back(batch.name);
  line.call("reorder", order);
  if (!parts.second) in_vectors(line, output, machine);
  int64_t batch_count = 1;
  for (const Loop& batch : axes.batches) batch_count *= batch.extent;
  const bool by_batches = batch_count >= machine.threads;
  std::vector<Loop> outer = axes.batches;
  if (!by_batches) outer.insert(outer.begin(), Loop{row_tile, (rows + tile - 1) / tile});
  const Chunks chunks = parallel_chunks(line, outer, cost_of_steps(view), machine);
  const std::string at = by_batches ? row_tile : chunks.innermost;
  schedule.funcs.push_back(line);
  const std::string turned_at = by_batches ? chunks.innermost : "";
  turn_columns(schedule, view, *parts.first, output.name, turned_at, machine);
  if (parts.second) turn_columns(schedule, view, *parts.second, output.name, turned_at, machine);

  Line kept(scores.name);
  kept.call("compute_at", {output.name, at});
  product_tiles(inside, view, *parts.first, kept, scores, tile, axes.rows, machine);
  schedule.funcs.push_back(kept);
  // Row by row, so that partial results stay in registers.
  if (parts.second) {
    const ops::Stage& weights = stage_of(view, parts.second->inputs[0]);
    keep_at(schedule, weights, output.name, at, machine);
    reduce_rows(schedule, view, parts, weights.name, axes.rows, machine);
  } else {
    reduce_rows(schedule, view, parts, output.name, tile > 1 ? row_in : at, machine);
  }
  schedule.funcs.insert(schedule.funcs.end(), inside.funcs.begin(), inside.funcs.end());
  return true;
}

}  // namespace cryolite::schedule::cpu
