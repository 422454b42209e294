#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "lower/lowered_group.h"
#include "ops/operator.h"

/// A group (a graph of its own)           Funcs
///
///     x ──► conv1 ──► relu1 ──► y        x (ImageParam), c_padded, c_sum, c, y
///     w ──┘                              w (ImageParam)
///
/// Every node's algorithm is asked for its Funcs in topological order; what a node reads is the Func of the
/// node before it, the ImageParam of an input, or the numbers of a small constant.
namespace cryolite::lower {
namespace {

using graph::ValueId;
using Halide::Expr;
using ops::Index;

/// Bytes to which packed weights are aligned: a cache line, and the widest vector. Activations may be views
/// into other buffers, or the caller's own, so nothing is promised of them.
constexpr int weight_alignment = 64;

Halide::ImageParam make_input(const graph::Value& value) {
  const auto extents = storage_extents(value.layout, value.type.extents());
  const auto strides = storage_strides(value.layout, value.type.extents());
  const int dimensions = static_cast<int>(extents.size());
  Halide::ImageParam param(ops::halide_type(value.type.element), dimensions, ops::identifier(value.name));
  for (int d = 0; d < dimensions; ++d) {
    const size_t outer = extents.size() - 1 - d;
    param.dim(d).set_bounds(0, static_cast<int>(extents[outer])).set_stride(static_cast<int>(strides[outer]));
  }
  if (value.layout.block_axis >= 0) param.set_host_alignment(weight_alignment);
  return param;
}

void tell_output_shape(Halide::Func& func, const graph::Value& value) {
  const auto extents = storage_extents(value.layout, value.type.extents());
  const auto strides = storage_strides(value.layout, value.type.extents());
  for (size_t d = 0; d < extents.size(); ++d) {
    const size_t outer = extents.size() - 1 - d;
    func.output_buffer()
        .dim(static_cast<int>(d))
        .set_bounds(0, static_cast<int>(extents[outer]))
        .set_stride(static_cast<int>(strides[outer]));
  }
}

/// The element of a small constant at a logical index: a chain of selects, since compile-time constants have
/// few elements; a plain number where there is one.
Expr constant_element(const graph::Value& value, const Index& index) {
  const graph::Tensor& tensor = *value.constant;
  const Halide::Type type = ops::halide_type(tensor.type.element);
  const auto extents = value.type.extents();
  const bool is_real = graph::is_float(tensor.type.element);
  const auto reals = is_real ? tensor.as_doubles() : std::vector<double>{};
  const auto integers = is_real ? std::vector<int64_t>{} : tensor.as_integers();
  const auto number = [&](int64_t i) {
    return is_real ? Halide::Internal::make_const(type, reals[i]) : Halide::Internal::make_const(type, integers[i]);
  };
  const int64_t count = value.type.elements();
  if (count == 0) return Halide::Internal::make_zero(type);
  Expr linear = 0;
  for (size_t axis = 0; axis < extents.size(); ++axis)
    linear = linear * static_cast<int>(extents[axis]) + index[axis];
  Expr picked = number(count - 1);
  for (int64_t i = count - 2; i >= 0; --i)
    picked = Halide::select(linear == static_cast<int>(i), number(i), picked);
  return picked;
}

/// What nodes can read: grows as nodes are lowered.
struct Readers {
  const graph::Graph& group;
  std::map<ValueId, Halide::ImageParam> inputs;
  std::map<ValueId, ops::LaidFunc> funcs;

  Expr element(ValueId id, const Index& index) const {
    const graph::Value& value = group.value(id);
    if (auto func = funcs.find(id); func != funcs.end()) return func->second.at(index);
    if (auto input = inputs.find(id); input != inputs.end())
      return input->second(ops::storage_index(value.layout, index));
    if (value.constant) return constant_element(value, index);
    throw Error("is read before it is computed", {.value = value.name});
  }
};

void add_stages(LoweredGroup& lowered, const graph::Node& node, const std::vector<ops::Stage>& stages) {
  LoweredGroup::Node entry{node.name, node.op_type, {}};
  for (const ops::Stage& stage : stages) {
    entry.stages.push_back(static_cast<int>(lowered.stages.size()));
    lowered.stages.push_back(stage);
  }
  lowered.nodes.push_back(std::move(entry));
}

int output_stage(const LoweredGroup& lowered, const graph::Value& value) {
  const std::string name = ops::identifier(value.name);
  for (size_t i = lowered.stages.size(); i-- > 0;)
    if (lowered.stages[i].name == name) return static_cast<int>(i);
  throw Error("is an output of its group but no node of the group computes it", {.value = value.name});
}

void lower_node(LoweredGroup& lowered, Readers& readers, const graph::Node& node) {
  const ops::Operator& op = ops::require(readers.group, node);
  if (!op.algorithm) throw Error(fmt::format("{} runs outside of kernels", node.op_type), {.node = node.name});
  ops::Builder builder(readers.group, node,
                       [&](ValueId id, const Index& at) { return readers.element(id, at); });
  op.algorithm(builder);
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (node.outputs[i] != graph::absent) readers.funcs.emplace(node.outputs[i], builder.outputs()[i]);
  add_stages(lowered, node, builder.stages());
}

}  // namespace

const ops::Stage* LoweredGroup::find(const std::string& stage_name) const {
  auto found =
      std::find_if(stages.begin(), stages.end(), [&](const ops::Stage& s) { return s.name == stage_name; });
  return found == stages.end() ? nullptr : &*found;
}

LoweredGroup lower(const graph::Graph& group) {
  LoweredGroup lowered;
  Readers readers{group, {}, {}};
  for (ValueId id : group.inputs) {
    lowered.inputs.push_back(make_input(group.value(id)));
    readers.inputs.emplace(id, lowered.inputs.back());
  }
  for (const graph::Node& node : group.nodes) {
    try {
      lower_node(lowered, readers, node);
    } catch (const Error& error) {
      throw error.inside({.node = node.name});
    }
  }
  for (ValueId id : group.outputs) {
    lowered.outputs.push_back(output_stage(lowered, group.value(id)));
    tell_output_shape(lowered.stages[lowered.outputs.back()].laid.func, group.value(id));
  }
  return lowered;
}

}  // namespace cryolite::lower
