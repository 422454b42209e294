#include <algorithm>
#include <numeric>
#include <optional>

#include "ops/operator.h"
#include "plan/passes.h"

/// Concat, then everything that only relabels:
///
///     a ──► Concat ──► y          a and b are written straight into their slices of y
///     b ──┘
///     v ──► Reshape, Transpose, Split, Slice ──► t      t reads v's memory with strides of its own
///
/// A view needs its parent in memory: the kernel that computes the parent ends there.
namespace cryolite::plan {
namespace {

using graph::Graph;
using graph::Layout;
using graph::Node;
using graph::NodeId;
using graph::Uses;
using graph::ValueId;

/// Strides in elements by logical axis.
std::vector<int64_t> logical_strides(const graph::Value& value) {
  const auto stored = storage_strides(value.layout, value.type.extents());
  std::vector<int64_t> strides(stored.size());
  for (size_t s = 0; s < stored.size(); ++s)
    strides[value.layout.order.empty() ? s : value.layout.order[s]] = stored[s];
  return strides;
}

/// A layout with these logical strides: axes ordered from the largest stride to the smallest, so that the
/// innermost loop walks memory in small steps; axes of one element keep their place.
Layout layout_of_strides(const std::vector<int64_t>& strides, const std::vector<int64_t>& extents,
                         const Layout& wished) {
  const int rank = static_cast<int>(strides.size());
  Layout layout;
  layout.order = wished.order;
  if (layout.order.empty()) {
    layout.order.resize(rank);
    std::iota(layout.order.begin(), layout.order.end(), 0);
  }
  std::stable_sort(layout.order.begin(), layout.order.end(), [&](int a, int b) {
    return extents[a] > 1 && extents[b] > 1 && strides[a] > strides[b];
  });
  for (int axis : layout.order) layout.strides.push_back(strides[axis]);
  Layout dense = layout;
  dense.strides.clear();
  if (storage_strides(dense, extents) == layout.strides) layout.strides.clear();
  std::vector<int> identity(rank);
  std::iota(identity.begin(), identity.end(), 0);
  if (layout.order == identity) layout.order.clear();
  return layout;
}

/// Strides of the same elements under new extents, where no copy is needed: each run of new axes must cut up
/// old axes that are contiguous among themselves. Axes of one element take any stride.
std::optional<std::vector<int64_t>> reshaped_strides(const std::vector<int64_t>& from_extents,
                                                     const std::vector<int64_t>& from_strides,
                                                     const std::vector<int64_t>& to_extents) {
  std::vector<int64_t> extents, strides;
  for (size_t axis = 0; axis < from_extents.size(); ++axis) {
    if (from_extents[axis] == 1) continue;
    if (!extents.empty() && strides.back() == from_extents[axis] * from_strides[axis]) {
      extents.back() *= from_extents[axis];
      strides.back() = from_strides[axis];
    } else {
      extents.push_back(from_extents[axis]);
      strides.push_back(from_strides[axis]);
    }
  }
  std::vector<int64_t> result(to_extents.size(), 1);
  size_t run = extents.size();
  int64_t left = 1, step = 1;
  for (size_t axis = to_extents.size(); axis-- > 0;) {
    if (to_extents[axis] == 1) {
      result[axis] = step;
      continue;
    }
    if (left == 1) {
      if (run == 0) return std::nullopt;
      --run;
      left = extents[run];
      step = strides[run];
    }
    if (left % to_extents[axis] != 0) return std::nullopt;
    result[axis] = step;
    step *= to_extents[axis];
    left /= to_extents[axis];
  }
  if (left != 1 || run != 0) return std::nullopt;
  return result;
}

struct State {
  Graph& graph;
  Views& views;
  Uses uses;
  std::vector<bool> is_output;
  int64_t alignment;  // bytes

  bool is_aligned(ValueId id, int64_t offset) const {
    return offset * size_of(graph.value(id).type.element) % alignment == 0;
  }

  bool is_empty(ValueId id) const { return graph.value(id).type.elements() == 0; }
  ValueId root(ValueId id) const {
    while (views.parent[id] != id) id = views.parent[id];
    return id;
  }
  void set_view(ValueId child, ValueId parent, int64_t offset) {
    views.parent[child] = parent;
    views.offset[child] = offset;
  }
};

/// An operand that its producer can write straight into a slice: computed by a kernel, in no other memory yet.
bool can_move(const State& state, const Node& concat, ValueId id) {
  const NodeId producer = state.uses.producer[id];
  if (producer == graph::absent || state.is_output[id] || state.views.parent[id] != id) return false;
  if (std::count(concat.inputs.begin(), concat.inputs.end(), id) > 1) return false;
  const Node& node = state.graph.nodes[producer];
  if (node.op_type == "Concat") return state.views.is_view_node[producer];
  const ops::Operator* op = ops::find(node.op_type);
  const bool relabels = ops::is_view(node) || node.op_type == "Transpose" || node.op_type == "Split" ||
                        node.op_type == "Slice";
  return op && op->kernel != ops::Kernel::Extern && !relabels;
}

/// Whether every part would begin at an offset that the device can bind. Strides of the whole are not known yet
/// where it is itself a part: those of its own layout tell what multiple of the alignment is at hand.
bool parts_are_aligned(const State& state, const Node& concat) {
  if (state.alignment <= 1) return true;
  const graph::Value& whole = state.graph.value(concat.outputs[0]);
  const auto strides = logical_strides(whole);
  const int axis = graph::normalized_axis(graph::int_attribute(concat, "axis", 0),
                                          static_cast<int>(whole.type.dims.size()), concat);
  int64_t start = 0;
  for (ValueId id : concat.inputs) {
    if (!state.is_aligned(id, start * strides[axis])) return false;
    start += state.graph.value(id).type.extents()[axis];
  }
  return true;
}

/// Every Concat whose operands are mostly movable becomes a view; the few others are copied by Identity nodes,
/// which `copies` lists as (concat, operand). From the last to the first, so that a Concat of Concats lies in the
/// outermost buffer.
void mark_concats(State& state, std::vector<std::pair<NodeId, size_t>>& copies) {
  for (NodeId n = 0; n < static_cast<NodeId>(state.graph.nodes.size()); ++n)
    if (state.graph.nodes[n].op_type == "Concat") state.views.is_view_node[n] = true;
  for (NodeId n = static_cast<NodeId>(state.graph.nodes.size()); n-- > 0;) {
    const Node& node = state.graph.nodes[n];
    if (node.op_type != "Concat") continue;
    int64_t moved_bytes = 0;
    for (ValueId id : node.inputs)
      if (can_move(state, node, id)) moved_bytes += state.graph.value(id).type.bytes();
    if (2 * moved_bytes < state.graph.value(node.outputs[0]).type.bytes() || !parts_are_aligned(state, node)) {
      state.views.is_view_node[n] = false;
      continue;
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (state.is_empty(node.inputs[i])) continue;
      if (can_move(state, node, node.inputs[i]))
        state.set_view(node.inputs[i], node.outputs[0], 0);
      else
        copies.emplace_back(n, i);
    }
  }
}

/// Adds the copies before their Concat: the node list stays in topological order.
void insert_copies(Graph& graph, Views& views, std::vector<std::pair<NodeId, size_t>> copies) {
  std::sort(copies.begin(), copies.end(), std::greater<>());
  for (const auto& [concat, operand] : copies) {
    const ValueId from = graph.nodes[concat].inputs[operand];
    graph::Value value{graph.value(from).name + "_copy" + std::to_string(operand), graph.value(from).type, {}, {}};
    value.layout.order = graph.value(graph.nodes[concat].outputs[0]).layout.order;
    const ValueId to = graph.add_value(std::move(value));
    views.parent.push_back(graph.nodes[concat].outputs[0]);
    views.offset.push_back(0);
    graph.nodes[concat].inputs[operand] = to;
    Node copy{graph.nodes[concat].name + "_copy" + std::to_string(operand), "Identity", {from}, {to}, {}};
    graph.nodes.insert(graph.nodes.begin() + concat, std::move(copy));
    views.is_view_node.insert(views.is_view_node.begin() + concat, false);
  }
}

/// Strides and offsets of the operands of Concat views, outermost buffers first.
void place_concat_operands(Graph& graph, Views& views) {
  for (NodeId n = static_cast<NodeId>(graph.nodes.size()); n-- > 0;) {
    const Node& node = graph.nodes[n];
    if (node.op_type != "Concat" || !views.is_view_node[n]) continue;
    const graph::Value& whole = graph.value(node.outputs[0]);
    const auto strides = logical_strides(whole);
    const int axis = graph::normalized_axis(graph::int_attribute(node, "axis", 0),
                                            static_cast<int>(whole.type.dims.size()), node);
    int64_t start = 0;
    for (ValueId id : node.inputs) {
      graph::Value& part = graph.values[id];
      if (part.type.elements() > 0) {
        views.offset[id] = start * strides[axis];
        part.layout = layout_of_strides(strides, part.type.extents(), whole.layout);
      }
      start += part.type.extents()[axis];
    }
  }
}

struct StridedView {
  std::vector<int64_t> strides;
  int64_t offset = 0;
};

StridedView transposed(const Graph& graph, const Node& node) {
  const auto from = logical_strides(graph.value(node.inputs[0]));
  const int rank = static_cast<int>(from.size());
  std::vector<int64_t> reversed(rank);
  for (int axis = 0; axis < rank; ++axis) reversed[axis] = rank - 1 - axis;
  StridedView view;
  for (int64_t axis : graph::ints_attribute(node, "perm", reversed)) view.strides.push_back(from[axis]);
  return view;
}

/// A Slice with constant, positive steps; nullopt otherwise.
std::optional<StridedView> sliced(const Graph& graph, const Node& node) {
  StridedView view{logical_strides(graph.value(node.inputs[0])), 0};
  const auto extents = graph.value(node.inputs[0]).type.extents();
  const graph::Tensor* starts = graph.constant_input(node, 1);
  if (!starts) return std::nullopt;
  const auto first = starts->as_integers();
  std::vector<int64_t> axes(first.size()), steps(first.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (const graph::Tensor* given = graph.constant_input(node, 3)) axes = given->as_integers();
  if (const graph::Tensor* given = graph.constant_input(node, 4)) steps = given->as_integers();
  for (size_t i = 0; i < first.size(); ++i) {
    const int axis = graph::normalized_axis(axes[i], static_cast<int>(extents.size()), node);
    if (steps[i] <= 0) return std::nullopt;
    const int64_t start = std::clamp<int64_t>(first[i] < 0 ? first[i] + extents[axis] : first[i], 0, extents[axis]);
    view.offset += start * view.strides[axis];
    view.strides[axis] *= steps[i];
  }
  return view;
}

std::vector<StridedView> split_parts(const Graph& graph, const Node& node) {
  const auto strides = logical_strides(graph.value(node.inputs[0]));
  const int axis = graph::normalized_axis(graph::int_attribute(node, "axis", 0),
                                          static_cast<int>(strides.size()), node);
  std::vector<StridedView> parts;
  int64_t start = 0;
  for (ValueId id : node.outputs) {
    parts.push_back({strides, start * strides[axis]});
    if (id != graph::absent) start += graph.value(id).type.extents()[axis];
  }
  return parts;
}

/// One a output, or empty where the node needs a kernel.
std::vector<StridedView> views_of(const Graph& graph, const Node& node) {
  const graph::Value& from = graph.value(node.inputs[0]);
  if (ops::is_view(node)) {
    const auto strides = reshaped_strides(from.type.extents(), logical_strides(from),
                                          graph.value(node.outputs[0]).type.extents());
    return strides ? std::vector<StridedView>{{*strides, 0}} : std::vector<StridedView>{};
  }
  if (node.op_type == "Transpose") return {transposed(graph, node)};
  if (node.op_type == "Split") return split_parts(graph, node);
  if (node.op_type == "Slice") {
    const auto view = sliced(graph, node);
    return view ? std::vector<StridedView>{*view} : std::vector<StridedView>{};
  }
  return {};
}

/// A model output can be a view only where it is the whole of a value that a kernel writes, dense and row-major:
/// the kernel then writes into the caller's buffer.
bool may_be_output_view(const State& state, ValueId child, ValueId parent, const StridedView& view) {
  const auto extents = state.graph.value(child).type.extents();
  const ValueId root = state.root(parent);
  const bool is_free = root == parent && state.uses.producer[root] != graph::absent && !state.is_output[root];
  return is_free && view.offset == 0 && graph::storage_strides({}, extents) == view.strides &&
         state.graph.value(child).type.elements() == state.graph.value(root).type.elements();
}

void mark_relabelling(State& state, NodeId n) {
  Graph& graph = state.graph;
  const Node& node = graph.nodes[n];
  if (node.op_type == "Concat" || node.inputs.empty() || node.inputs[0] == graph::absent) return;
  const ValueId from = node.inputs[0];
  if (graph.value(from).constant) return;
  if (state.views.parent[node.outputs[0]] != node.outputs[0]) return;  // a copy into a Concat
  const auto views = views_of(graph, node);
  if (views.empty()) return;
  for (const StridedView& view : views)
    if (!state.is_aligned(from, view.offset)) return;
  for (size_t i = 0; i < views.size(); ++i) {
    const ValueId to = node.outputs[i];
    if (to == graph::absent || !state.is_output[to]) continue;
    if (!may_be_output_view(state, to, from, views[i])) return;
  }
  state.views.is_view_node[n] = true;
  for (size_t i = 0; i < views.size(); ++i) {
    const ValueId to = node.outputs[i];
    if (to == graph::absent) continue;
    if (state.is_output[to]) state.is_output[from] = true;  // taken: no second output can claim this memory
    graph.values[to].layout =
        layout_of_strides(views[i].strides, graph.value(to).type.extents(), graph.value(to).layout);
    state.set_view(to, from, views[i].offset);
  }
}

/// Nodes whose outputs have no elements need no kernel.
void mark_empty(State& state) {
  for (size_t n = 0; n < state.graph.nodes.size(); ++n) {
    const auto& outputs = state.graph.nodes[n].outputs;
    if (std::all_of(outputs.begin(), outputs.end(),
                    [&](ValueId id) { return id == graph::absent || state.is_empty(id); }))
      state.views.is_view_node[n] = true;
  }
}

}  // namespace

Views assign_views(Graph& graph, int64_t alignment, const NodeNames& computed) {
  Views views;
  views.parent.resize(graph.values.size());
  std::iota(views.parent.begin(), views.parent.end(), 0);
  views.offset.assign(graph.values.size(), 0);
  views.is_view_node.assign(graph.nodes.size(), false);
  std::vector<std::pair<NodeId, size_t>> copies;
  {
    State state{graph, views, graph::uses_of(graph), {}, alignment};
    state.is_output = state.uses.is_output;
    mark_concats(state, copies);
  }
  insert_copies(graph, views, copies);
  place_concat_operands(graph, views);
  State state{graph, views, graph::uses_of(graph), {}, alignment};
  state.is_output = state.uses.is_output;
  for (NodeId n = 0; n < static_cast<NodeId>(graph.nodes.size()); ++n)
    if (!computed.count(graph.nodes[n].name)) mark_relabelling(state, n);
  mark_empty(state);
  return views;
}

}  // namespace cryolite::plan
