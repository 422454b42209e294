#include "onnx/convert.h"

#include <fmt/format.h>
#include <onnx/defs/schema.h>
#include <onnx/version_converter/convert.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "onnx/structure.h"
#include "onnx/tensor_proto.h"

namespace cryolite::onnx {
namespace {

using ::onnx::GraphProto;
using ::onnx::NodeProto;

void set_text(NodeProto& node, const std::string& name, const std::string& text) {
  for (const auto& attribute : node.attribute())
    if (attribute.name() == name) return;
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(::onnx::AttributeProto::STRING);
  attribute.set_s(text);
}

/// Scales of a Resize that are constants in the graph; empty where they are not.
std::vector<float> constant_scales(const GraphProto& graph, const NodeProto& resize) {
  if (resize.input_size() < 3) return {};
  for (const auto& constant : graph.initializer()) {
    if (constant.name() != resize.input(2)) continue;
    const std::vector<double> scales = to_tensor(::onnx::TensorProto(constant), "").as_doubles();
    return {scales.begin(), scales.end()};
  }
  return {};
}

/// Before opset 11, Resize and Upsample map index i to i / scale, and "nearest" rounds that down where it
/// enlarges and up where it shrinks (onnxruntime does; the text of ONNX is silent). Opset 11's defaults are
/// others.
void keep_old_resize(GraphProto& graph) {
  for (NodeProto& node : *graph.mutable_node()) {
    if (node.op_type() != "Resize") continue;
    const std::vector<float> scales = constant_scales(graph, node);
    const bool shrinks = !scales.empty() && *std::max_element(scales.begin(), scales.end()) <= 1;
    set_text(node, "coordinate_transformation_mode", "asymmetric");
    set_text(node, "nearest_mode", shrinks ? "ceil" : "floor");
  }
}

/// y = Hardmax(x) before opset 13 works on x flattened to two axes: written so that it means the same
/// since 13.
void flatten_hardmax(GraphProto& graph) {
  google::protobuf::RepeatedPtrField<NodeProto> nodes;
  const auto add = [&](const char* op, const std::string& name, const std::string& input,
                       const std::string& output) {
    NodeProto& node = *nodes.Add();
    node.set_op_type(op);
    node.set_name(name);
    node.add_input(input);
    node.add_output(output);
    return &node;
  };
  const auto set_axis = [](NodeProto& node, int64_t axis) {
    auto& attribute = *node.add_attribute();
    attribute.set_name("axis");
    attribute.set_type(::onnx::AttributeProto::INT);
    attribute.set_i(axis);
  };
  for (NodeProto& node : *graph.mutable_node()) {
    if (node.op_type() != "Hardmax") {
      nodes.Add(std::move(node));
      continue;
    }
    const int64_t axis = node.attribute_size() > 0 ? node.attribute(0).i() : 1;
    const std::string x = node.input(0), y = node.output(0), name = node.name();
    add("Shape", name + "/shape", x, y + "/shape");
    set_axis(*add("Flatten", name + "/flatten", x, y + "/flat"), axis);
    set_axis(*add("Hardmax", name, y + "/flat", y + "/hard"), 1);
    add("Reshape", name + "/reshape", y + "/hard", y)->add_input(y + "/shape");
  }
  graph.mutable_node()->Swap(&nodes);
}

/// The converter leaves some attributes behind that became inputs.
void drop_stale_attributes(GraphProto& graph, int opset) {
  for (NodeProto& node : *graph.mutable_node()) {
    const auto* schema = ::onnx::OpSchemaRegistry::Schema(node.op_type(), opset, "");
    if (schema == nullptr) continue;
    for (int i = node.attribute_size() - 1; i >= 0; --i)
      if (!schema->attributes().contains(node.attribute(i).name()))
        node.mutable_attribute()->DeleteSubrange(i, 1);
  }
}

/// The converter replaces some nodes by new ones without a name; their outputs keep theirs.
void restore_names(GraphProto& graph, const std::unordered_map<std::string, std::string>& name_of_writer) {
  std::unordered_set<std::string> present;
  for (const NodeProto& node : graph.node()) present.insert(node.name());
  for (NodeProto& node : *graph.mutable_node()) {
    if (!node.name().empty() || node.output_size() == 0) continue;
    const auto writer = name_of_writer.find(node.output(0));
    if (writer != name_of_writer.end() && present.insert(writer->second).second)
      node.set_name(writer->second);
  }
  name_nodes(graph);
}

}  // namespace

void convert_opset(::onnx::ModelProto& model, int target) {
  const int opset = opset_of(model);
  if (opset >= target) return;
  if (opset < 13) flatten_hardmax(*model.mutable_graph());
  std::unordered_map<std::string, std::string> name_of_writer;
  for (const NodeProto& node : model.graph().node())
    if (node.output_size() > 0) name_of_writer.emplace(node.output(0), node.name());
  try {
    model = ::onnx::version_conversion::ConvertVersion(model, target);
  } catch (const std::exception& fault) {
    const std::string text = fault.what();
    throw Error(fmt::format("ONNX cannot convert the model from opset {} to {}: {}", opset, target,
                            text.substr(0, text.find('\n'))),
                {}, "export the model with a newer opset");
  }
  drop_stale_attributes(*model.mutable_graph(), target);
  if (opset < 11) keep_old_resize(*model.mutable_graph());
  restore_names(*model.mutable_graph(), name_of_writer);
}

}  // namespace cryolite::onnx
