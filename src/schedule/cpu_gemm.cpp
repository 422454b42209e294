#include <algorithm>

#include "schedule/cpu_parts.h"

/// gemm: columns along the vectors, rows across them, all accumulators in registers; the weights of a block of columns
/// stay in the cache while all rows pass by:
///
///     for batches
///       for column_block (threads)
///         for row_tile: sum[column_in, row_in] over r.x
namespace cryolite::schedule::cpu {
namespace {

constexpr Tunable product_rows{"rows", 1, 28};  // rows of a register tile; rule: tile_rows
constexpr Tunable rows_outside{"rows_outside", 0, 1};  // 1: all columns of a tile of rows before the next; rule: 0

/// Loop names by meaning: the last logical axis is the columns, the one before it the rows.
struct Axes {
  std::string columns, rows;  ///< empty where the result has no such axis
  int64_t column_count = 1, row_count = 1;
  std::vector<Loop> batches;  ///< innermost first
};

Axes axes_of(const ops::Stage& output, const graph::Graph& graph, const graph::Node& anchor) {
  Axes axes;
  const auto a = graph.input_type(anchor, 0).dims.size(), b = graph.input_type(anchor, 1).dims.size();
  size_t rank = output.extents.size();
  if (b > 1 && rank > 0) {
    --rank;
    axes.columns = output.axes[rank], axes.column_count = output.extents[rank];
  }
  if (a > 1 && rank > 0) {
    --rank;
    axes.rows = output.axes[rank], axes.row_count = output.extents[rank];
  }
  for (size_t axis = rank; axis-- > 0;) axes.batches.push_back({output.axes[axis], output.extents[axis]});
  return axes;
}

}  // namespace

bool gemm(GroupSchedule& schedule, const GroupView& view, const Machine& machine, const Parameters& parameters) {
  const graph::Node& anchor = anchor_of(view);
  const ops::Stage* sum = inner_stage(view, anchor.name, "sum");
  if (!only_epilogue_follows(view, anchor.name) || !sum || sum->updates.size() != 1) return false;
  const ops::Stage& output = output_of(view);
  const Axes axes = axes_of(output, view.graph, anchor);
  if (axes.columns.empty()) return false;
  const graph::Layout& weights = view.graph.value(anchor.inputs[1]).layout;
  const bool packed = weights.block_axis >= 0;
  const int64_t lanes = lanes_of(output, machine);
  const int64_t most = most_rows_of(view.graph, anchor);
  const int64_t block = packed ? weights.block : packed_block(axes.column_count, axes.row_count, machine, most);
  const bool by_rows = axes.row_count > 1 && tuned(parameters, rows_outside, 0) != 0;
  // Where others share the loop over rows, whatever their width, a tile has the rows that fit beside three vectors.
  const int64_t rows_that_fit = tile_rows(by_rows ? std::max(block, 3 * lanes) : block, axes.row_count, machine, most);
  const int64_t tile = std::min(axes.row_count, tuned(parameters, product_rows, rows_that_fit));
  const bool ragged = axes.column_count % block != 0;

  Line line(output.name);
  const std::string column_block = axes.columns + "_block", column_in = axes.columns + "_in";
  const char* tail = !ragged ? "Auto" : packed ? "GuardWithIf" : "ShiftInwards";
  line.call("split", {axes.columns, column_block, column_in, block, tail});
  std::vector<Argument> order{column_in};
  std::string row_tile = axes.rows;
  if (!axes.rows.empty() && tile > 1) {
    row_tile = axes.rows + "_tile";
    line.call("split", {axes.rows, row_tile, axes.rows + "_in", tile, "ShiftInwards"});
    order.emplace_back(axes.rows + "_in");
  }
  if (by_rows) order.emplace_back(column_block);
  if (!row_tile.empty()) order.emplace_back(row_tile);
  if (!by_rows) order.emplace_back(column_block);
  for (const Loop& batch : axes.batches) order.emplace_back(batch.name);
  line.call("reorder", order);
  vectorize_block(line, column_in, block, lanes);
  if (tile > 1) line.call("unroll", {axes.rows + "_in"});
  // Threads take blocks of columns, or batches: each weight is then read by one core only.
  const int64_t blocks = (axes.column_count + block - 1) / block;
  std::vector<Loop> outer{by_rows ? Loop{row_tile, (axes.row_count + tile - 1) / tile} : Loop{column_block, blocks}};
  outer.insert(outer.end(), axes.batches.begin(), axes.batches.end());
  const Chunks chunks = parallel_chunks(line, outer, cost_of_steps(view), machine);
  schedule.funcs.push_back(line);

  Line accumulator(sum->name);
  const std::string inner = by_rows ? column_block : row_tile;
  accumulator.call("compute_at", {output.name, inner.empty() ? chunks.innermost : inner});
  accumulator.call("bound_extent", {axes.columns, block});
  for (const bool update : {false, true}) {
    std::vector<Argument> inner{axes.columns};
    if (!axes.rows.empty()) inner.emplace_back(axes.rows);
    if (update) begin_update(accumulator, *sum, inner);
    vectorize_block(accumulator, axes.columns, block, lanes);
    if (tile > 1) accumulator.call("unroll", {axes.rows});
  }
  schedule.funcs.push_back(accumulator);
  return true;
}

}  // namespace cryolite::schedule::cpu
