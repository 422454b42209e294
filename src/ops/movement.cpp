#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "ops/families.h"
#include "ops/functions.h"
#include "ops/pointwise.h"

/// Operators that move elements and compute nothing: an output element is an input element at another index.
namespace cryolite::ops {
namespace {

using graph::Graph;
using graph::Node;
using Halide::Expr;

using Extents = std::vector<int64_t>;

/// Index of a run of axes taken apart from, and joined to, a position in row-major order.
Expr joined_index(const Index& at, const Extents& extents, size_t begin, size_t end) {
  Expr linear = 0;
  for (size_t axis = begin; axis < end; ++axis) linear = linear * static_cast<int>(extents[axis]) + at[axis];
  return linear;
}
void split_index(Expr linear, const Extents& extents, size_t begin, size_t end, Index& at) {
  for (size_t axis = end; axis-- > begin;) {
    const int extent = static_cast<int>(extents[axis]);
    at[axis] = extent == 1 ? Expr(0) : axis == begin ? linear : linear % extent;
    linear = linear / extent;
  }
}

/// The index under `from` of the element that stands at `at` under `to`. Shapes are cut into the shortest
/// runs of equal products, so that axes which a reshape leaves alone keep their plain index.
Index reshaped_index(const Index& at, const Extents& to, const Extents& from) {
  Index result(from.size(), 0);
  size_t t = 0, f = 0;
  while (t < to.size() || f < from.size()) {
    size_t t_end = t, f_end = f;
    int64_t t_count = 1, f_count = 1;
    do {
      const bool take_to = t_end < to.size() && (t_count <= f_count || f_end == from.size());
      if (take_to)
        t_count *= to[t_end++];
      else
        f_count *= from[f_end++];
    } while (t_count != f_count || (t_count == 1 && f_count == 1 && t_end + f_end < to.size() + from.size()));
    split_index(joined_index(at, to, t, t_end), from, f, f_end, result);
    t = t_end;
    f = f_end;
  }
  return result;
}

void reshape(Builder& build) {
  const Extents from = build.extents(0), to = build.output_extents();
  const bool is_empty = build.graph().output_type(build.node()).elements() == 0;
  build.define(0, [&](const Index& at) {
    if (is_empty) return Halide::Internal::make_zero(build.output_type());
    return build.read(0, reshaped_index(at, to, from));
  });
}

void check_reshape(const Graph& graph, const Node& node) {
  require_inputs(node, 1);
  if (graph.input_type(node, 0).elements() != graph.output_type(node).elements())
    throw Error(fmt::format("{} of {} elements to {}", node.op_type, graph.input_type(node, 0).elements(),
                            graph.output_type(node).elements()),
                {.node = node.name}, "repair the model: a reshape keeps the number of elements");
}

void transpose(Builder& build) {
  const int rank = build.rank(0);
  Extents reversed(rank);
  for (int axis = 0; axis < rank; ++axis) reversed[axis] = rank - 1 - axis;
  const auto order = graph::ints_attribute(build.node(), "perm", reversed);
  build.define(0, [&](const Index& at) {
    Index from(rank);
    for (int axis = 0; axis < rank; ++axis) from.at(order.at(axis)) = at[axis];
    return build.read(0, from);
  });
}
void check_transpose(const Graph& graph, const Node& node) {
  require_inputs(node, 1);
  auto order = graph::ints_attribute(node, "perm");
  if (order.empty()) return;
  Extents sorted(graph.input_type(node, 0).dims.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  std::sort(order.begin(), order.end());
  if (order != sorted)
    throw Error("perm is no permutation of the input's axes", {.node = node.name}, "repair the model");
}

void expand(Builder& build) {
  build.define(0, [&](const Index& at) { return build.read_broadcast(0, at); });
}

/// A chain of selects over the operands; each is read inside its extents whatever the index.
void concat(Builder& build) {
  const int rank = build.rank(0);
  const int axis = graph::normalized_axis(graph::int_attribute(build.node(), "axis", 0), rank, build.node());
  std::vector<std::pair<size_t, int>> operands;  // input, its first index along the axis
  int offset = 0;
  for (size_t i = 0; i < build.node().inputs.size(); ++i) {
    if (build.graph().input_type(build.node(), i).elements() > 0) operands.emplace_back(i, offset);
    offset += static_cast<int>(build.extents(i)[axis]);
  }
  build.define(0, [&](const Index& at) {
    Expr picked;
    for (size_t o = operands.size(); o-- > 0;) {
      const auto [input, first] = operands[o];
      const int extent = static_cast<int>(build.extents(input)[axis]);
      const Expr inside =
          operands.size() == 1 ? at[axis] - first : Halide::clamp(at[axis] - first, 0, extent - 1);
      const Expr element = build.read(input, with(at, axis, inside));
      picked = picked.defined() ? Halide::select(at[axis] < first + extent, element, picked) : element;
    }
    return picked.defined() ? picked : Halide::Internal::make_zero(build.output_type());
  });
}
void check_concat(const Graph& graph, const Node& node) {
  require_inputs(node, std::max<size_t>(1, node.inputs.size()));
  graph::normalized_axis(graph::int_attribute(node, "axis", 0),
                         static_cast<int>(graph.input_type(node, 0).dims.size()), node);
}

void split(Builder& build) {
  const int axis =
      graph::normalized_axis(graph::int_attribute(build.node(), "axis", 0), build.rank(0), build.node());
  int offset = 0;
  for (size_t i = 0; i < build.node().outputs.size(); ++i) {
    if (!build.has_output(i)) continue;
    const bool is_empty = build.graph().output_type(build.node(), i).elements() == 0;
    build.define(i, [&](const Index& at) {
      if (is_empty) return Halide::Internal::make_zero(build.output_type(i));
      return build.read(0, with(at, axis, at[axis] + offset));
    });
    offset += static_cast<int>(build.output_extents(i)[axis]);
  }
}
void check_split(const Graph& graph, const Node& node) {
  require_inputs(node, 1);
  const int axis = graph::normalized_axis(graph::int_attribute(node, "axis", 0),
                                          static_cast<int>(graph.input_type(node, 0).dims.size()), node);
  int64_t sum = 0;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == graph::absent)
      throw Error("a part of the Split has no name", {.node = node.name}, "name every output of the Split");
    sum += graph.output_type(node, i).extents().at(axis);
  }
  if (sum != graph.input_type(node, 0).extents().at(axis))
    throw Error("the parts of the Split do not add up to its input", {.node = node.name}, "repair the model");
}

void tile(Builder& build) {
  const auto extents = build.extents(0), wanted = build.output_extents();
  build.define(0, [&](const Index& at) {
    Index from = at;
    for (size_t axis = 0; axis < at.size(); ++axis)
      if (extents[axis] != wanted[axis])
        from[axis] = at[axis] % static_cast<int>(std::max<int64_t>(1, extents[axis]));
    return build.read(0, from);
  });
}

/// (n, c, y b + by, x b + bx) ← (n, channel, y, x): DCR has the channel as ((by b + bx) C + c), CRD as
/// ((c b + by) b + bx).
void depth_to_space(Builder& build) {
  const int block = static_cast<int>(graph::int_attribute(build.node(), "blocksize", 1));
  const int channels = static_cast<int>(build.output_extents()[1]);
  const bool is_crd = graph::string_attribute(build.node(), "mode", "DCR") == "CRD";
  build.define(0, [&](const Index& at) {
    const Expr in_y = at[2] % block, in_x = at[3] % block;
    const Expr channel =
        is_crd ? (at[1] * block + in_y) * block + in_x : (in_y * block + in_x) * channels + at[1];
    return build.read(0, {at[0], channel, at[2] / block, at[3] / block});
  });
}

/// (n, channel, y, x) ← (n, c, y b + by, x b + bx): DCR has the channel as ((by b + bx) C + c), CRD as
/// ((c b + by) b + bx).
void space_to_depth(Builder& build) {
  const int block = static_cast<int>(graph::int_attribute(build.node(), "blocksize", 1));
  const int channels = static_cast<int>(build.extents(0)[1]);
  const bool is_crd = graph::string_attribute(build.node(), "mode", "DCR") == "CRD";
  build.define(0, [&](const Index& at) {
    const Expr place = is_crd ? at[1] % (block * block) : at[1] / channels;
    const Expr channel = is_crd ? at[1] / (block * block) : at[1] % channels;
    return build.read(0, {at[0], channel, at[2] * block + place / block, at[3] * block + place % block});
  });
}
void check_blocks(const Graph& graph, const Node& node) {
  require_inputs(node, 1);
  if (graph.input_type(node, 0).dims.size() != 4 || graph::int_attribute(node, "blocksize", 0) < 1)
    throw Error(fmt::format("{} needs four axes and a blocksize from 1", node.op_type), {.node = node.name},
                "repair the model");
}

/// The first lengths[b] elements of each batch in reverse order.
void reverse_sequence(Builder& build) {
  const int time = static_cast<int>(graph::int_attribute(build.node(), "time_axis", 0));
  const int batch = static_cast<int>(graph::int_attribute(build.node(), "batch_axis", 1));
  const int last = static_cast<int>(build.extents(0)[time]) - 1;
  build.define(0, [&](const Index& at) {
    const Expr length = Halide::cast<int>(build.read(1, {at[batch]}));
    const Expr from = Halide::select(at[time] < length, length - 1 - at[time], at[time]);
    return build.read(0, with(at, time, Halide::clamp(from, 0, last)));
  });
}
void check_two_inputs(const Graph&, const Node& node) { require_inputs(node, 2); }

constexpr auto permuted = first_and_others<AccessMap::Permute, AccessMap::Broadcast>;
constexpr auto broadcast = every_input<AccessMap::Broadcast>;

constexpr Operator moving(std::string_view name, void (*check)(const Graph&, const Node&),
                          void (*algorithm)(Builder&)) {
  return {name, Category::Injective, Kernel::Pointwise, permuted, no_flops, check, algorithm};
}

constexpr Operator rows[] = {
    moving("Reshape", check_reshape, reshape),
    moving("Flatten", check_reshape, reshape),
    moving("Squeeze", check_reshape, reshape),
    moving("Unsqueeze", check_reshape, reshape),
    moving("Transpose", check_transpose, transpose),
    {"Expand", Category::Broadcast, Kernel::Pointwise, broadcast, no_flops, check_one_input, expand},
    {"Concat", Category::Injective, Kernel::Pointwise, every_input<AccessMap::Permute>, no_flops,
     check_concat, concat},
    moving("Split", check_split, split),
    {"Tile", Category::Broadcast, Kernel::Pointwise, permuted, no_flops, check_one_input, tile},
    moving("DepthToSpace", check_blocks, depth_to_space),
    moving("SpaceToDepth", check_blocks, space_to_depth),
    moving("ReverseSequence", check_two_inputs, reverse_sequence),
};

}  // namespace

std::span<const Operator> movement_operators() { return rows; }

}  // namespace cryolite::ops
