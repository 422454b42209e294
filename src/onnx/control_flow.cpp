#include "onnx/control_flow.h"

#include <fmt/format.h>

#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "onnx/tensor_proto.h"

namespace cryolite::onnx {
namespace {

using ::onnx::GraphProto;
using ::onnx::NodeProto;
using Names = std::unordered_map<std::string, std::string>;

std::optional<bool> condition_of(const NodeProto& node, const GraphProto& graph, const Constants& constants) {
  if (node.op_type() != "If" || node.input_size() != 1) return std::nullopt;
  const auto truth = [&](const graph::Tensor& tensor) -> std::optional<bool> {
    if (tensor.type.element != graph::ElementType::Bool || tensor.type.elements() != 1) return std::nullopt;
    return tensor.bytes->at(0) != 0;
  };
  if (const auto known = constants.find(node.input(0)); known != constants.end()) return truth(known->second);
  for (const auto& constant : graph.initializer())
    if (constant.name() == node.input(0)) return truth(to_tensor(::onnx::TensorProto(constant), ""));
  return std::nullopt;
}

const GraphProto& branch_of(const NodeProto& node, bool condition) {
  const char* wanted = condition ? "then_branch" : "else_branch";
  for (const auto& attribute : node.attribute())
    if (attribute.name() == wanted && attribute.has_g()) return attribute.g();
  throw Error(fmt::format("an If has no {}", wanted), {.node = node.name()}, "export the model again");
}

void rename(std::string* name, const Names& names) {
  const auto found = names.find(*name);
  if (found != names.end()) *name = found->second;
}

/// Renames what a graph inside the branch reads from the branch; its own names hide outer ones.
void rename_reads(GraphProto& graph, Names names) {
  for (const auto& input : graph.input()) names.erase(input.name());
  for (const auto& constant : graph.initializer()) names.erase(constant.name());
  for (const NodeProto& node : graph.node())
    for (const std::string& output : node.output()) names.erase(output);
  for (NodeProto& node : *graph.mutable_node()) {
    for (std::string& input : *node.mutable_input()) rename(&input, names);
    for (auto& attribute : *node.mutable_attribute())
      if (attribute.has_g()) rename_reads(*attribute.mutable_g(), names);
  }
  for (auto& output : *graph.mutable_output()) rename(output.mutable_name(), names);
}

/// New names for what the branch defines: its outputs get the names of the If's, the rest is prefixed.
Names new_names(const GraphProto& branch, const NodeProto& node) {
  Names names;
  for (const auto& constant : branch.initializer())
    names[constant.name()] = node.name() + "/" + constant.name();
  for (const NodeProto& inner : branch.node())
    for (const std::string& output : inner.output())
      if (!output.empty()) names[output] = node.name() + "/" + output;
  return names;
}

/// Appends the branch to `out`, then an Identity for each output: simplification drops them again.
void append_branch(GraphProto branch, const NodeProto& node, GraphProto& graph,
                   google::protobuf::RepeatedPtrField<NodeProto>& out) {
  if (branch.output_size() != node.output_size())
    throw Error("an If and its branch differ in the number of outputs", {.node = node.name()},
                "export the model again");
  const Names names = new_names(branch, node);
  for (auto& constant : *branch.mutable_initializer()) {
    rename(constant.mutable_name(), names);
    *graph.add_initializer() = std::move(constant);
  }
  for (NodeProto& inner : *branch.mutable_node()) {
    for (std::string& input : *inner.mutable_input()) rename(&input, names);
    for (std::string& output : *inner.mutable_output()) rename(&output, names);
    for (auto& attribute : *inner.mutable_attribute())
      if (attribute.has_g()) rename_reads(*attribute.mutable_g(), names);
    if (inner.name().empty())
      inner.set_name(fmt::format("{}/{}_{}", node.name(), inner.op_type(), out.size()));
    *out.Add() = std::move(inner);
  }
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    NodeProto& copy = *out.Add();
    copy.set_name(fmt::format("{}/output_{}", node.name(), i));
    copy.set_op_type("Identity");
    std::string inner = branch.output(i).name();
    rename(&inner, names);
    copy.add_input(inner);
    copy.add_output(node.output(i));
  }
}

}  // namespace

void inline_constant_conditions(GraphProto& graph, const Constants& constants) {
  for (bool changed = true; changed;) {
    changed = false;
    google::protobuf::RepeatedPtrField<NodeProto> nodes;
    for (NodeProto& node : *graph.mutable_node()) {
      const std::optional<bool> condition = condition_of(node, graph, constants);
      if (!condition) {
        *nodes.Add() = std::move(node);
        continue;
      }
      append_branch(branch_of(node, *condition), node, graph, nodes);
      changed = true;
    }
    graph.mutable_node()->Swap(&nodes);
    if (changed) lift_constants(graph);
  }
}

}  // namespace cryolite::onnx
