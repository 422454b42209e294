#include "onnx/convert.h"

#include <fmt/format.h>
#include <onnx/version_converter/convert.h>

#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "onnx/structure.h"

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

/// Resize 10 and Upsample take the element at floor(index / scale): opset 11's default is another.
void keep_old_resize(GraphProto& graph) {
  for (NodeProto& node : *graph.mutable_node()) {
    if (node.op_type() != "Resize") continue;
    set_text(node, "coordinate_transformation_mode", "asymmetric");
    set_text(node, "nearest_mode", "floor");
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
  if (opset < 11) keep_old_resize(*model.mutable_graph());
  restore_names(*model.mutable_graph(), name_of_writer);
}

}  // namespace cryolite::onnx
