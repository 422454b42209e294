#include "ops/access.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace cryolite::ops {

using graph::ElementType;
using graph::Graph;
using graph::Node;

AccessMaps pointwise_access(const Graph& graph, const Node& node) {
  AccessMaps maps;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const bool is_same = graph.input_type(node, i).dims == graph.output_type(node).dims;
    maps.push_back(is_same ? AccessMap::Identity : AccessMap::Broadcast);
  }
  return maps;
}

void require_inputs(const Node& node, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (i >= node.inputs.size() || node.inputs[i] == graph::absent)
      throw Error(fmt::format("{} lacks its input {}", node.op_type, i), {.node = node.name},
                  "repair the model: this input is not optional");
}

const graph::Tensor& require_constant(const Graph& graph, const Node& node, size_t input,
                                      std::string_view meaning) {
  if (input >= node.inputs.size() || node.inputs[input] == graph::absent) require_inputs(node, input + 1);
  if (const graph::Tensor* tensor = graph.constant_input(node, input)) return *tensor;
  throw Error(fmt::format("the {} of {} (input {}) are computed at run time", meaning, node.op_type, input),
              {.node = node.name, .value = graph.value(node.inputs[input]).name},
              "make them constant: export the model with fixed shapes, or fix its dims with --dim");
}

std::vector<int64_t> constant_integers(const Graph& graph, const Node& node, size_t input,
                                       std::string_view meaning, std::vector<int64_t> fallback) {
  if (input >= node.inputs.size() || node.inputs[input] == graph::absent) return fallback;
  return require_constant(graph, node, input, meaning).as_integers();
}

void require_element(const Graph& graph, const Node& node, size_t input,
                     std::initializer_list<ElementType> allowed) {
  require_inputs(node, input + 1);
  const ElementType element = graph.input_type(node, input).element;
  if (std::find(allowed.begin(), allowed.end(), element) != allowed.end()) return;
  std::string names;
  for (ElementType type : allowed)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", graph::name_of(type));
  throw Error(fmt::format("{} does not take elements of type {}", node.op_type, graph::name_of(element)),
              {.node = node.name, .value = graph.value(node.inputs[input]).name},
              fmt::format("cast the value to one of {}", names));
}

void require_float(const Graph& graph, const Node& node, size_t input) {
  require_element(graph, node, input,
                  {ElementType::Float32, ElementType::Float64, ElementType::Float16, ElementType::BFloat16});
}

void check_one_input(const Graph&, const Node& node) { require_inputs(node, 1); }
void check_float_input(const Graph& graph, const Node& node) { require_float(graph, node, 0); }

}  // namespace cryolite::ops
