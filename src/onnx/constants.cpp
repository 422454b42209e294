#include "onnx/constants.h"

#include <fmt/format.h>

#include <unordered_set>

#include "base/error.h"
#include "onnx/tensor_proto.h"

namespace cryolite::onnx {
namespace {

using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

/// The tensor that a Constant node's attribute holds.
TensorProto value_of(NodeProto& node) {
  TensorProto tensor;
  for (AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.name() == "value") {
      tensor = std::move(*attribute.mutable_t());
    } else if (attribute.name() == "value_float") {
      tensor.set_data_type(TensorProto::FLOAT);
      tensor.add_float_data(attribute.f());
    } else if (attribute.name() == "value_floats") {
      tensor.set_data_type(TensorProto::FLOAT);
      tensor.add_dims(attribute.floats_size());
      *tensor.mutable_float_data() = attribute.floats();
    } else if (attribute.name() == "value_int") {
      tensor.set_data_type(TensorProto::INT64);
      tensor.add_int64_data(attribute.i());
    } else if (attribute.name() == "value_ints") {
      tensor.set_data_type(TensorProto::INT64);
      tensor.add_dims(attribute.ints_size());
      *tensor.mutable_int64_data() = attribute.ints();
    } else {
      throw Error(fmt::format("a Constant with '{}' is not supported", attribute.name()),
                  {.node = node.name()}, "store the constant as a dense tensor of numbers");
    }
    return tensor;
  }
  throw Error("a Constant without a value", {.node = node.name()}, "export the model again");
}

template <class Field, class Drop>
void drop_where(Field& field, Drop drop) {
  int kept = 0;
  for (int i = 0; i < field.size(); ++i)
    if (!drop(*field.Mutable(i))) field.SwapElements(kept++, i);
  field.DeleteSubrange(kept, field.size() - kept);
}

void add_input(GraphProto& graph, const std::string& name, const graph::TensorType& type) {
  ::onnx::ValueInfoProto& input = *graph.add_input();
  input.set_name(name);
  auto& tensor = *input.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx_type_of(type.element));
  tensor.mutable_shape();
  for (const int64_t extent : type.extents()) tensor.mutable_shape()->add_dim()->set_dim_value(extent);
}

}  // namespace

void lift_constants(GraphProto& graph) {
  drop_where(*graph.mutable_node(), [&](NodeProto& node) {
    if (node.op_type() != "Constant" || !(node.domain().empty() || node.domain() == "ai.onnx")) return false;
    if (node.output_size() != 1)
      throw Error("a Constant has one output", {.node = node.name()}, "export the model again");
    TensorProto& constant = *graph.add_initializer();
    constant = value_of(node);
    constant.set_name(node.output(0));
    return true;
  });
  std::unordered_set<std::string> names;
  for (const TensorProto& constant : graph.initializer())
    if (!names.insert(constant.name()).second)
      throw Error("two constants have this name", {.value = constant.name()}, "export the model again");
  drop_where(*graph.mutable_input(),
             [&](const ::onnx::ValueInfoProto& input) { return names.contains(input.name()); });
}

void take_constants(GraphProto& graph, const std::string& folder, Constants& taken) {
  if (graph.sparse_initializer_size() > 0)
    throw Error("sparse constants are not supported", {.value = graph.sparse_initializer(0).values().name()},
                "store them as dense tensors");
  drop_where(*graph.mutable_initializer(), [&](TensorProto& constant) {
    const std::string name = constant.name();
    if (taken.contains(name)) return false;  // a visible copy, from a call before
    const bool visible = element_count(constant) <= largest_visible_constant;
    graph::Tensor tensor = to_tensor(std::move(constant), folder);
    if (visible)
      constant = to_proto(tensor, name);
    else
      add_input(graph, name, tensor.type);
    taken.emplace(name, std::move(tensor));
    return !visible;
  });
}

}  // namespace cryolite::onnx
