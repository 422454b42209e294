#include <algorithm>

#include "schedule/cpu_parts.h"

/// gemm: columns along the vectors, rows across them, as in direct_conv; batches and row tiles over threads. A second
/// operand that is not packed weights is copied once a batch into rows along the columns, where it pays.
namespace cryolite::schedule::cpu {
namespace {

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

void vectorize_block(Line& line, const std::string& axis, int64_t extent, int64_t lanes) {
  if (extent == 1) return;
  if (extent <= lanes || extent % lanes != 0) {
    line.call("vectorize", {axis});
  } else {
    line.call("vectorize", {axis, lanes});
    if (extent > lanes) line.call("unroll", {axis});
  }
}

void plain(GroupSchedule& schedule, const ops::Stage& output, const ops::Stage& sum) {
  schedule.funcs.push_back(Line(output.name).call("compute_root"));
  const auto loops = loops_of(output);
  if (!loops.empty())
    schedule.funcs.push_back(Line(sum.name).call("compute_at", {output.name, loops[0].name}));
}

}  // namespace

void gemm(GroupSchedule& schedule, const GroupView& view, const Machine& machine) {
  const graph::Node& anchor = anchor_of(view);
  const ops::Stage& output = output_of(view);
  const ops::Stage& sum = *inner_stage(view, anchor.name, "sum");
  const Axes axes = axes_of(output, view.graph, anchor);
  if (axes.columns.empty()) return plain(schedule, output, sum);
  const graph::Layout& weights = view.graph.value(anchor.inputs[1]).layout;
  const bool packed = weights.block_axis >= 0;
  const int64_t lanes = lanes_of(output, machine);
  const int64_t block = packed ? weights.block : std::min(axes.column_count, register_tile(axes.column_count, axes.row_count, machine).columns);
  const int64_t tile = std::min(axes.row_count, register_tile(block, axes.row_count, machine).rows);
  const bool ragged = axes.column_count % block != 0;

  Line line(output.name);
  const std::string column_block = axes.columns + "_block", column_in = axes.columns + "_in";
  line.call("split", {axes.columns, column_block, column_in, block, !ragged ? "Auto" : packed ? "GuardWithIf" : "ShiftInwards"});
  std::vector<Argument> order{column_in};
  std::string row_tile;
  if (!axes.rows.empty() && tile > 1) {
    row_tile = axes.rows + "_tile";
    line.call("split", {axes.rows, row_tile, axes.rows + "_in", tile, "ShiftInwards"});
    order.emplace_back(axes.rows + "_in");
  } else if (!axes.rows.empty()) {
    row_tile = axes.rows;
  }
  // Threads take blocks of columns (or batches): each weight is then read by one core only.
  const int64_t blocks = (axes.column_count + block - 1) / block;
  std::vector<Loop> outer;
  if (!row_tile.empty()) order.emplace_back(row_tile);
  order.emplace_back(column_block);
  for (const Loop& batch : axes.batches) order.emplace_back(batch.name);
  line.call("reorder", order);
  outer = {{column_block, blocks}};
  for (const Loop& batch : axes.batches) outer.push_back(batch);
  vectorize_block(line, column_in, block, lanes);
  if (tile > 1) line.call("unroll", {axes.rows + "_in"});
  const std::string accumulate_at = row_tile.empty() ? column_block : row_tile;
  std::vector<Loop> chunked = outer;
  if (row_tile.empty()) chunked.erase(chunked.begin());
  parallel_chunks(line, chunked, cost_of_steps(view), machine);
  schedule.funcs.push_back(line);

  Line accumulator(sum.name);
  accumulator.call("compute_at", {output.name, accumulate_at});
  accumulator.call("bound_extent", {axes.columns, block});
  vectorize_block(accumulator, axes.columns, block, lanes);
  if (tile > 1) accumulator.call("unroll", {axes.rows});
  accumulator.call("update", {0});
  std::vector<Argument> inner{axes.columns};
  if (!axes.rows.empty()) inner.emplace_back(axes.rows);
  for (const auto& [name, rvar] : sum.updates.at(0).rvars) inner.emplace_back(name);
  accumulator.call("reorder", inner);
  vectorize_block(accumulator, axes.columns, block, lanes);
  if (tile > 1) accumulator.call("unroll", {axes.rows});
  schedule.funcs.push_back(accumulator);
}

}  // namespace cryolite::schedule::cpu
