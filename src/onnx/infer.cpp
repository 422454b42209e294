#include "onnx/infer.h"

#include <fmt/format.h>
#include <onnx/shape_inference/implementation.h>

#include <climits>
#include <regex>
#include <unordered_map>

#include "base/error.h"
#include "onnx/model_graph.h"
#include "onnx/tensor_proto.h"

namespace cryolite::onnx {
namespace {

using ::onnx::shape_inference::DataValueMap;

constexpr std::string_view kRemedy = "correct the model's shapes, or the --dim values given";

/// ONNX's message is "(op_type:Conv, node name: conv1): [ShapeInferenceError] what", perhaps after a general
/// line.
[[noreturn]] void rethrow(const std::exception& fault) {
  const std::string text = fault.what();
  static const std::regex pattern(R"(node name: (.*?)\): (?:\[[A-Za-z]+\] )?([^\n]*))");
  std::smatch match;
  if (!std::regex_search(text, match, pattern)) throw Error(text, {}, std::string(kRemedy));
  throw Error("its types or shapes contradict each other: " + match[2].str(), {.node = match[1].str()},
              std::string(kRemedy));
}

void run_inference(::onnx::ModelProto& model, bool strict, bool propagates_data, DataValueMap* known = nullptr) {
  try {
    ::onnx::shape_inference::InferShapes(
        model, ::onnx::OpSchemaRegistry::Instance(),
        ::onnx::ShapeInferenceOptions(/*check_type=*/true, strict, propagates_data), known);
  } catch (const std::exception& fault) {
    rethrow(fault);
  }
}

/// The extents that two types of one value agree on. Throws Error (value) where they do not.
void check_agreement(const graph::TensorType& declared, const graph::TensorType& inferred,
                     const std::string& value) {
  bool agree = declared.element == inferred.element || declared.element == graph::ElementType::Undefined ||
               inferred.element == graph::ElementType::Undefined;
  if (declared.has_rank && inferred.has_rank) {
    agree = agree && declared.dims.size() == inferred.dims.size();
    for (size_t i = 0; agree && i < declared.dims.size(); ++i)
      agree = !declared.dims[i].is_fixed() || !inferred.dims[i].is_fixed() ||
              declared.dims[i].extent == inferred.dims[i].extent;
  }
  if (agree) return;
  const auto text = [](const graph::TensorType& type) {
    std::string shape;
    for (const graph::Dim& dim : type.dims)
      shape += (shape.empty() ? "" : ",") + (dim.is_fixed() ? std::to_string(dim.extent) : dim.symbol + "?");
    return fmt::format("{}[{}]", graph::name_of(type.element), shape);
  };
  throw Error(fmt::format("the file declares {} for this output, but its shape is {}", text(declared),
                          text(inferred)),
              {.value = value}, std::string(kRemedy));
}

/// Throws Error where an extent is below zero, or the number of elements too large.
void check_size(const ::onnx::TypeProto& type, const Where& where) {
  double elements = 1;
  bool is_known = true;
  for (const auto& dim : type.tensor_type().shape().dim()) {
    is_known = is_known && dim.has_dim_value();
    if (!dim.has_dim_value()) continue;
    if (dim.dim_value() < 0)
      throw Error(fmt::format("the value has an extent of {}: what it is made of is too small", dim.dim_value()), where,
                  std::string(kRemedy));
    elements *= static_cast<double>(dim.dim_value());
  }
  if (is_known && elements > INT32_MAX)
    throw Error(fmt::format("the value has {:.3g} elements, more than 32-bit indices reach", elements), where,
                "make the model's dimensions smaller");
}

/// A step of zero would never end; ONNX's inference divides by it.
void check_range(const ::onnx::NodeProto& node, const ::onnx::GraphProto& graph) {
  if (node.op_type() != "Range" || node.input_size() != 3) return;
  for (const auto& constant : graph.initializer()) {
    if (constant.name() != node.input(2)) continue;
    const std::vector<double> step = to_tensor(::onnx::TensorProto(constant), "").as_doubles();
    if (!step.empty() && step.front() == 0)
      throw Error("Range has a step of 0", {.node = node.name(), .value = constant.name()},
                  "give it a step above or below zero");
  }
}

/// ONNX's data propagation keeps a message an element of every vector of known length: lengths are inferred and
/// checked without it first.
void check_sizes(::onnx::ModelProto& model) {
  ::onnx::GraphProto& graph = *model.mutable_graph();
  for (const auto& input : graph.input()) check_size(input.type(), {.value = input.name()});
  for (const auto& node : graph.node()) check_range(node, graph);
  run_inference(model, /*strict=*/true, /*propagates_data=*/false);
  std::unordered_map<std::string, const ::onnx::TypeProto*> types;
  for (const auto* field : {&graph.value_info(), &graph.output()})
    for (const auto& info : *field) types.emplace(info.name(), &info.type());
  for (const auto& node : graph.node())
    for (const std::string& output : node.output())
      if (const auto found = types.find(output); found != types.end())
        check_size(*found->second, {.node = node.name(), .value = output});
  graph.clear_value_info();
}

KnownIntegers integers_of(const DataValueMap& propagated) {
  KnownIntegers known;
  for (const auto& [name, shape] : propagated) {
    std::vector<int64_t> integers;
    for (const auto& dim : shape.dim())
      if (dim.has_dim_value()) integers.push_back(dim.dim_value());
    if (static_cast<int>(integers.size()) == shape.dim_size()) known.emplace(name, std::move(integers));
  }
  return known;
}

}  // namespace

void infer_types(::onnx::ModelProto& model) {
  ::onnx::GraphProto& graph = *model.mutable_graph();
  graph.clear_value_info();
  std::vector<graph::TensorType> declared;
  for (auto& output : *graph.mutable_output()) {
    declared.push_back(to_type(output.type()));
    if (output.type().has_tensor_type()) output.mutable_type()->mutable_tensor_type()->clear_shape();
  }
  check_sizes(model);
  run_inference(model, /*strict=*/true, /*propagates_data=*/true);
  for (int i = 0; i < graph.output_size(); ++i)
    check_agreement(declared[i], to_type(graph.output(i).type()), graph.output(i).name());
}

KnownIntegers infer_types(graph::Graph& graph) {
  ::onnx::ModelProto model = to_model(graph);
  for (auto& output : *model.mutable_graph()->mutable_output())
    output.mutable_type()->mutable_tensor_type()->clear_shape();
  // Operators of our own have no schema: inference takes the types that they have.
  for (const graph::Node& node : graph.nodes)
    for (const graph::ValueId id : node.outputs) {
      if (id == graph::absent || !graph.value(id).type.is_fixed()) continue;
      auto& info = *model.mutable_graph()->add_value_info();
      info.set_name(graph.value(id).name);
      *info.mutable_type() = to_proto(graph.value(id).type);
    }
  DataValueMap propagated;
  run_inference(model, /*strict=*/false, /*propagates_data=*/true, &propagated);
  std::unordered_map<std::string, graph::TensorType> inferred;
  for (const auto* field : {&model.graph().value_info(), &model.graph().output()})
    for (const auto& info : *field) inferred.emplace(info.name(), to_type(info.type()));
  for (graph::Value& value : graph.values) {
    const auto found = inferred.find(value.name);
    if (value.type.is_fixed() || found == inferred.end()) continue;
    if (found->second.element == graph::ElementType::Undefined) found->second.element = value.type.element;
    if (found->second.has_rank || !value.type.has_rank) value.type = found->second;
  }
  return integers_of(propagated);
}

}  // namespace cryolite::onnx
