#include <algorithm>

#include "graph/graph.h"
#include "schedule/gpu_emit.h"

/// conv1_padded ─┐
///               ├─► conv1_sum ──► relu1                   columns = channels, rows = x, lines = y
/// weights ──────┘
///
/// block                a tile of relu1: columns x rows x lines
///   conv1_sum          the tile, in shared memory
///   for each chunk of input channels (rxo):
///     conv1_padded     the patch under the tile, copied to shared memory by all threads
///     conv1_sum_partial  a thread's outputs, in registers: all terms of the chunk, then added to conv1_sum
///   relu1              read from conv1_sum, written
///
/// Accumulators of a thread stay in registers for depth/chunk x taps steps; the round trip through shared memory
/// costs one load, add and store a chunk. Halide computes nothing between threads' loops, so registers cannot live
/// across the copies; and warp-level registers (gpu_lanes) are CUDA's only.
///
/// Without an operand to stage, the sums stay in the thread's registers from first to last.
namespace cryolite::schedule::gpu {
namespace {

/// One of the three tiled axes, with its loops after splitting.
struct Tiled {
  std::string name;
  int64_t registers = 1, threads = 1;
  std::string block() const { return name + "_b"; }
  std::string inside() const { return name + "_i"; }
  std::string thread() const { return name + "_t"; }
  std::string element() const { return name + "_v"; }
};

constexpr int64_t largest_unrolled_window = 9;

struct Shape {
  std::optional<Axis> column, row, line;
  std::vector<Axis> rest;
  std::optional<int> row_operand, column_operand;
  Contraction contraction;
};

bool is_convolution(const graph::Node& node) { return node.op_type == "Conv" || node.op_type == "ConvInteger"; }

std::vector<std::string> logical_roles(const graph::Node& node, const StageInfo& root) {
  const auto& axes = root.stage->axes;  // ONNX's order
  const size_t rank = axes.size();
  if (!is_convolution(node)) {
    if (rank == 1) return {axes[0]};
    return {axes[rank - 1], axes[rank - 2]};
  }
  std::vector<std::string> roles{axes[1]};
  for (size_t axis = rank; axis-- > 2 && roles.size() < 3;) roles.push_back(axes[axis]);
  return roles;
}

int64_t entry(const std::vector<int64_t>& values, size_t from_end) {
  return from_end < values.size() ? values[values.size() - 1 - from_end] : 1;
}

void measure_windows(const graph::Node& node, const StageInfo& sum, Contraction& contraction) {
  const auto strides = graph::ints_attribute(node, "strides");
  const auto dilations = graph::ints_attribute(node, "dilations");
  const auto& loops = sum.updates[0];
  const auto span = [&](size_t loop, size_t from_end) {
    return loop < loops.size() ? (loops[loop].extent - 1) * entry(dilations, from_end) + 1 : 1;
  };
  contraction.row_stride = entry(strides, 0);
  contraction.line_stride = entry(strides, 1);
  contraction.row_span = span(1, 0);
  contraction.line_span = span(2, 1);
}

/// What is computed on the way into shared memory.
void measure_fill(const Emission& emission, const Kernel& kernel, Contraction& contraction) {
  const auto hosts = [&](const StageInfo& stage, int host) { return stage.role == Role::Thread && stage.host == host; };
  for (const StageInfo& stage : emission.kernels.stages) {
    if (kernel.staged && hosts(stage, *kernel.staged)) contraction.fill_terms += stage.terms();
    for (int held : kernel.held)
      if (hosts(stage, held)) contraction.held_terms += stage.terms();
  }
  if (kernel.staged && !kernel.held.empty())
    contraction.held = held_elements_of_row(emission.kernels.stages, kernel).value_or(0);
}

Shape shape_of(const Emission& emission, const Kernel& kernel, int sum_index) {
  const StageInfo& root = emission.stage(kernel.root);
  const StageInfo& sum = emission.stage(sum_index);
  const graph::Node& node = emission.graph_node_of(sum_index);
  const auto roles = logical_roles(node, root);
  Shape shape;
  for (const Axis& axis : root.axes) {
    if (axis.name == roles[0]) shape.column = axis;
    else if (roles.size() > 1 && axis.name == roles[1]) shape.row = axis;
    else if (roles.size() > 2 && axis.name == roles[2]) shape.line = axis;
    else shape.rest.push_back(axis);
  }
  Contraction& c = shape.contraction;
  c.columns = shape.column->extent;
  c.rows = shape.row ? shape.row->extent : 1;
  c.lines = shape.line ? shape.line->extent : 1;
  for (const Axis& axis : shape.rest) c.rest *= axis.extent;
  c.depth = sum.updates[0][0].extent;
  c.taps = sum.terms() / std::max<int64_t>(1, c.depth);
  if (is_convolution(node)) {
    measure_windows(node, sum, c);
    c.groups = graph::int_attribute(node, "group", 1);
  }
  shape.row_operand = emission.sibling(sum_index, is_convolution(node) ? "padded" : "a");
  // Halide lets shared memory go with its last use in the order of the code, even inside a loop that comes round
  // again: what is held must be read after all that is filled in the loop, so that the columns are not copied then.
  if (kernel.held.empty()) shape.column_operand = emission.sibling(sum_index, "b");
  c.stages_rows = shape.row_operand.has_value();
  c.stages_columns = shape.column_operand.has_value();
  measure_fill(emission, kernel, c);
  c.vectorizes = root.axes[0].name == shape.column->name && is_dense(emission.view) &&
                 emission.machine.kind != Machine::Kind::Vulkan;
  return shape;
}

std::vector<Tiled> tiled_axes(const Shape& shape, const Tile& tile) {
  std::vector<Tiled> axes{{shape.column->name, tile.column_registers, tile.column_threads}};
  if (shape.row) axes.push_back({shape.row->name, tile.row_registers, tile.row_threads});
  if (shape.line) axes.push_back({shape.line->name, tile.line_registers, tile.line_threads});
  return axes;
}

template <class Member>
std::vector<std::string> loops(const std::vector<Tiled>& axes, Member member) {
  std::vector<std::string> names;
  for (const Tiled& axis : axes) names.push_back((axis.*member)());
  return names;
}

void keep_in_registers(Line& line, const std::vector<std::string>& elements, bool vectorizes) {
  for (size_t i = 0; i < elements.size(); ++i)
    line.call(i == 0 && vectorizes ? "vectorize" : "unroll", {elements[i]});
}

/// The loops of a block's tile: registers inside, all threads fused into one loop outside.
void tile_over_threads(Line& line, const std::vector<Tiled>& axes, bool vectorizes,
                       const std::vector<std::string>& outside) {
  std::vector<std::string> order = loops(axes, &Tiled::element);
  const auto threads = loops(axes, &Tiled::thread);
  order.insert(order.end(), threads.begin(), threads.end());
  order.insert(order.end(), outside.begin(), outside.end());
  line.call("reorder", as_arguments(order));
  keep_in_registers(line, loops(axes, &Tiled::element), vectorizes);
  line.call("gpu_threads", {fuse_all(line, threads, "thread")});
}

/// Cuts the root into blocks; returns the innermost loop over blocks.
std::string cut_root(Emission& emission, const StageInfo& root, const Shape& shape, const std::vector<Tiled>& axes,
                     bool vectorizes) {
  Line line(root.name());
  line.call("compute_root");
  for (const Tiled& axis : axes) {
    line.call("split", {axis.name, axis.block(), axis.inside(), axis.registers * axis.threads, "ShiftInwards"});
    line.call("split", {axis.inside(), axis.thread(), axis.element(), axis.registers});
  }
  std::vector<std::string> blocks = loops(axes, &Tiled::block);
  for (const Axis& axis : shape.rest) blocks.push_back(axis.name);
  tile_over_threads(line, axes, vectorizes, blocks);
  std::vector<std::string> launched;
  for (size_t i = 0; i < std::min<size_t>(2, blocks.size()); ++i) launched.push_back(blocks[i]);
  if (blocks.size() > 2) launched.push_back(fuse_all(line, {blocks.begin() + 2, blocks.end()}, "block"));
  line.call("gpu_blocks", as_arguments(launched));
  emission.lines.push_back(line);
  return launched[0];
}

/// Cuts a pool into blocks of whole windows, its outputs over the threads; returns the innermost loop over blocks.
std::string cut_windows(Emission& emission, const StageInfo& root, const Shape& shape, const Tile& tile) {
  const Contraction& c = shape.contraction;
  std::vector<std::pair<std::string, int64_t>> cuts{{shape.column->name, tile.columns()}};
  if (shape.row) cuts.emplace_back(shape.row->name, tile.rows() / c.row_multiple);
  if (shape.line) cuts.emplace_back(shape.line->name, tile.lines() / c.line_multiple);
  Line line(root.name());
  line.call("compute_root");
  std::vector<std::string> inside, blocks;
  for (const auto& [axis, size] : cuts) {
    line.call("split", {axis, axis + "_b", axis + "_i", size, "ShiftInwards"});
    inside.push_back(axis + "_i");
    blocks.push_back(axis + "_b");
  }
  for (const Axis& axis : shape.rest) blocks.push_back(axis.name);
  std::vector<std::string> order = inside;
  order.insert(order.end(), blocks.begin(), blocks.end());
  line.call("reorder", as_arguments(order));
  const std::string all = fuse_all(line, inside, "element");
  line.call("split", {all, "step", "thread", tile.threads(), "GuardWithIf"}).call("gpu_threads", {"thread"});
  std::vector<std::string> launched(blocks.begin(), blocks.begin() + std::min<size_t>(2, blocks.size()));
  if (blocks.size() > 2) launched.push_back(fuse_all(line, {blocks.begin() + 2, blocks.end()}, "block"));
  line.call("gpu_blocks", as_arguments(launched));
  emission.lines.push_back(line);
  return launched[0];
}

void split_inside(Line& line, const std::vector<Tiled>& axes) {
  for (const Tiled& axis : axes) line.call("split", {axis.name, axis.thread(), axis.element(), axis.registers});
}

std::vector<std::string> register_order(const std::vector<Tiled>& axes, const StageInfo& sum,
                                        const std::string& depth_loop) {
  std::vector<std::string> order;
  for (const Tiled& axis : axes) order.push_back(axis.name);
  order.push_back(depth_loop);
  for (size_t i = 1; i < sum.updates[0].size(); ++i) order.push_back(sum.updates[0][i].name);
  return order;
}

/// Sums that live in registers of the root's threads.
void sum_in_threads(Emission& emission, const StageInfo& root, const StageInfo& sum, const std::vector<Tiled>& axes,
                    bool vectorizes, int64_t unroll) {
  std::vector<std::string> names;
  for (const Tiled& axis : axes) names.push_back(axis.name);
  Line line(sum.name());
  line.call("compute_at", {root.name(), axes.size() > 1 ? "thread" : axes[0].thread()});
  keep_in_registers(line, names, vectorizes);
  line.call("update", {int64_t{0}});
  line.call("reorder", as_arguments(register_order(axes, sum, sum.updates[0][0].name)));
  keep_in_registers(line, names, vectorizes);
  if (unroll > 1) line.call("unroll", {sum.updates[0][0].name, unroll});
  emission.lines.push_back(line);
}

/// Sums in shared memory, fed chunk by chunk from registers.
void sum_in_chunks(Emission& emission, const Kernel& kernel, const StageInfo& sum, const Shape& shape,
                   const Tile& tile, const std::string& block) {
  const StageInfo& root = emission.stage(kernel.root);
  const auto axes = tiled_axes(shape, tile);
  const std::string partial = sum.name() + "_partial";
  std::vector<std::string> names;
  for (const Tiled& axis : axes) names.push_back(axis.name);
  Line line(sum.name());
  line.call("compute_at", {root.name(), block});
  split_inside(line, axes);
  tile_over_threads(line, axes, shape.contraction.vectorizes, {});
  line.call("update", {int64_t{0}}).call("split", {sum.updates[0][0].name, "rxo", "rxi", tile.chunk});
  line.call("rfactor", {"rxo", "u", partial});
  split_inside(line, axes);
  tile_over_threads(line, axes, shape.contraction.vectorizes, {"rxo"});
  emission.lines.push_back(line);
  Line registers(partial);
  registers.call("compute_at", {sum.name(), axes.size() > 1 ? "thread" : axes[0].thread()});
  keep_in_registers(registers, names, shape.contraction.vectorizes);
  registers.call("update", {int64_t{0}}).call("reorder", as_arguments(register_order(axes, sum, "rxi")));
  keep_in_registers(registers, names, shape.contraction.vectorizes);
  if (tile.unroll > 1) registers.call("unroll", {"rxi", tile.unroll});
  emission.lines.push_back(registers);
  for (const auto& operand : {shape.row_operand, shape.column_operand})
    if (operand)
      fill_operand(emission, kernel, *operand, sum.name(), tile.chunk, tile.threads(), shape.contraction.vectorizes);
}

}  // namespace

bool is_contraction_kernel(const Emission& emission, const Kernel& kernel) {
  if (kernel.threads.size() != 1) return false;
  const StageInfo& sum = emission.stage(kernel.threads[0]);
  const StageInfo& root = emission.stage(kernel.root);
  if (!sum.name().ends_with("_sum") || sum.updates.size() != 1 || sum.updates[0].empty()) return false;
  if (!is_associative(*sum.stage) || root.stage->axes.empty() || root.stage->axes != sum.stage->axes) return false;
  return is_contraction(emission.view.graph, emission.graph_node_of(kernel.threads[0]));
}

void contraction(Emission& emission, const Kernel& kernel) {
  const StageInfo& root = emission.stage(kernel.root);
  const StageInfo& sum = emission.stage(kernel.threads[0]);
  const Shape shape = shape_of(emission, kernel, kernel.threads[0]);
  const Tile tile = choose_tile(shape.contraction, emission.machine, emission.parameters);
  const auto axes = tiled_axes(shape, tile);
  const std::string block = cut_root(emission, root, shape, axes, shape.contraction.vectorizes);
  if (shape.row_operand || shape.column_operand) {
    sum_in_chunks(emission, kernel, sum, shape, tile, block);
    if (!kernel.held.empty()) hold(emission, kernel, block, shape.row ? shape.row->name : "", tile.rows(), tile.threads());
  } else {
    sum_in_threads(emission, root, sum, axes, shape.contraction.vectorizes, tile.unroll);
  }
}

void window_chain(Emission& emission, const Kernel& kernel) {
  const StageInfo& root = emission.stage(kernel.root);
  const StageInfo& pool = emission.stage(kernel.threads[0]);
  const StageInfo& sum = emission.stage(*kernel.tile);
  Shape shape = shape_of(emission, kernel, *kernel.tile);
  const auto windows = touching_windows(emission.view.graph, emission.graph_node_of(kernel.threads[0]));
  Contraction& c = shape.contraction;
  c.row_multiple = windows[0];
  c.line_multiple = windows.size() > 1 && shape.line ? windows[1] : 1;
  c.rows *= c.row_multiple;
  c.lines *= c.line_multiple;
  c.sums_in_shared = true;
  const Tile tile = choose_tile(c, emission.machine, emission.parameters);
  const std::string block = cut_windows(emission, root, shape, tile);
  sum_in_chunks(emission, kernel, sum, shape, tile, block);
  Line line(pool.name());
  line.call("compute_at", {root.name(), "thread"}).call("update", {int64_t{0}});
  if (pool.terms() <= largest_unrolled_window)
    for (const Axis& axis : pool.updates[0])
      if (axis.extent > 1) line.call("unroll", {axis.name});
  emission.lines.push_back(line);
}

}  // namespace cryolite::schedule::gpu
