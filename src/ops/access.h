#pragma once
#include <initializer_list>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "ops/operator.h"

/// What rows of the table share: access maps, counts of operations, checks.
namespace cryolite::ops {

using AccessMaps = std::vector<AccessMap>;

/// Identity where an input has the output's extents, Broadcast elsewhere: pointwise operators with ONNX's
/// broadcasting.
AccessMaps pointwise_access(const graph::Graph& graph, const graph::Node& node);
/// The same map for every input.
template <AccessMap map>
AccessMaps every_input(const graph::Graph&, const graph::Node& node) {
  return AccessMaps(node.inputs.size(), map);
}
/// `first` for input 0, `others` for those after it: data and its parameters.
template <AccessMap first, AccessMap others>
AccessMaps first_and_others(const graph::Graph&, const graph::Node& node) {
  AccessMaps maps(node.inputs.size(), others);
  if (!maps.empty()) maps[0] = first;
  return maps;
}

/// Operations of one evaluation where each element of the outputs takes `count`.
template <int64_t count>
int64_t flops_an_output(const graph::Graph& graph, const graph::Node& node) {
  int64_t elements = 0;
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (node.outputs[i] != graph::absent) elements += graph.output_type(node, i).elements();
  return count * elements;
}
/// Operations of one evaluation where each element of input 0 takes `count`.
template <int64_t count>
int64_t flops_an_input(const graph::Graph& graph, const graph::Node& node) {
  return count * graph.input_type(node, 0).elements();
}
inline int64_t no_flops(const graph::Graph&, const graph::Node&) { return 0; }

/// Throws Error for a node with fewer than `count` inputs, or whose input `i < count` is absent.
void require_inputs(const graph::Node& node, size_t count);
/// The constant behind input i. Throws Error, saying what the input means and how to make it constant.
const graph::Tensor& require_constant(const graph::Graph& graph, const graph::Node& node, size_t input,
                                      std::string_view meaning);
/// As require_constant, but the elements as integers; `fallback` where the input is absent.
std::vector<int64_t> constant_integers(const graph::Graph& graph, const graph::Node& node, size_t input,
                                       std::string_view meaning, std::vector<int64_t> fallback = {});
/// Throws Error where the element type of input i is none of `allowed`.
void require_element(const graph::Graph& graph, const graph::Node& node, size_t input,
                     std::initializer_list<graph::ElementType> allowed);
/// Throws Error where the element type of input i is not a floating-point one.
void require_float(const graph::Graph& graph, const graph::Node& node, size_t input);
/// Every type and rank: only that input 0 is there.
void check_one_input(const graph::Graph& graph, const graph::Node& node);
/// A floating-point input 0.
void check_float_input(const graph::Graph& graph, const graph::Node& node);

}  // namespace cryolite::ops
