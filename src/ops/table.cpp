#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "ops/families.h"
#include "ops/operator.h"

namespace cryolite::ops {
namespace {

/// Every family; a row of the table stands in exactly one of them.
constexpr std::span<const Operator> (*families[])() = {
    activation_operators, unary_operators,       cast_operators,           arithmetic_operators,
    logic_operators,      shape_operators,       movement_operators,       slice_operators,
    gather_operators,     pad_operators,         resize_operators,         scatter_operators,
    extern_operators,     convolution_operators, conv_transpose_operators, matmul_operators,
    pool_operators,       reduce_operators,      normalization_operators,  softmax_operators,
};

std::vector<Operator> joined() {
  std::vector<Operator> rows;
  for (const auto family : families)
    for (const Operator& row : family()) rows.push_back(row);
  std::sort(rows.begin(), rows.end(),
            [](const Operator& a, const Operator& b) { return a.op_type < b.op_type; });
  return rows;
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Every element of the node's values must be of a type that Halide computes with.
void require_known_types(const graph::Graph& graph, const graph::Node& node) {
  const auto check = [&](graph::ValueId id) {
    if (id == graph::absent) return;
    const graph::Value& value = graph.value(id);
    if (value.type.element == graph::ElementType::Undefined)
      throw Error("has an element type that is not supported", {.node = node.name, .value = value.name},
                  "use floating-point, integer or bool tensors of 8 to 64 bits");
    if (!value.type.is_fixed())
      throw Error("has a shape that is not known at compile time", {.node = node.name, .value = value.name},
                  "fix the model's dims with --dim");
  };
  for (graph::ValueId id : node.inputs) check(id);
  for (graph::ValueId id : node.outputs) check(id);
}

}  // namespace

std::string_view name_of(Category category) {
  switch (category) {
    case Category::Injective:
      return "injective";
    case Category::Broadcast:
      return "broadcast";
    case Category::Reduction:
      return "reduction";
    case Category::Opaque:
      return "opaque";
  }
  return "";
}

std::string_view name_of(AccessMap map) {
  switch (map) {
    case AccessMap::Identity:
      return "identity";
    case AccessMap::Broadcast:
      return "broadcast";
    case AccessMap::Permute:
      return "permute";
    case AccessMap::Window:
      return "window";
    case AccessMap::WholeAxis:
      return "whole-axis";
    case AccessMap::Opaque:
      return "opaque";
  }
  return "";
}

std::span<const Operator> table() {
  static const std::vector<Operator> rows = joined();
  return rows;
}

const Operator* find(std::string_view op_type) {
  const auto rows = table();
  const auto row =
      std::lower_bound(rows.begin(), rows.end(), op_type,
                       [](const Operator& a, std::string_view name) { return a.op_type < name; });
  return row != rows.end() && row->op_type == op_type ? &*row : nullptr;
}

const Operator& require(const graph::Graph& graph, const graph::Node& node) {
  const Operator* op = find(node.op_type);
  if (!op)
    throw Error(fmt::format("operator {} is not supported", node.op_type), {.node = node.name},
                "`cryolite ops` lists the supported ones");
  require_known_types(graph, node);
  try {
    if (op->check) op->check(graph, node);
  } catch (const Error& error) {
    throw error.inside({.node = node.name});
  }
  return *op;
}

bool is_view(const graph::Node& node) {
  return is_one_of(node.op_type, {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout"});
}

bool is_elementwise(const graph::Graph& graph, const graph::Node& node) {
  const Operator* op = find(node.op_type);
  if (!op || op->kernel != Kernel::Pointwise || node.inputs.empty()) return false;
  const auto maps = op->access(graph, node);
  const auto is_alike = [](AccessMap map) {
    return map == AccessMap::Identity || map == AccessMap::Broadcast;
  };
  return std::all_of(maps.begin(), maps.end(), is_alike) &&
         std::find(maps.begin(), maps.end(), AccessMap::Identity) != maps.end();
}

bool is_dear(const graph::Graph& graph, const graph::Node& node) {
  constexpr int64_t dear = 8;  // flops an element: those of transcendental functions
  const Operator* op = find(node.op_type);
  return op && op->flops && op->flops(graph, node) >= dear * graph.output_type(node).elements();
}

}  // namespace cryolite::ops
