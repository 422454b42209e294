#include "onnx/model_graph.h"

#include <fmt/format.h>

#include <unordered_map>

#include "base/error.h"
#include "onnx/import.h"
#include "onnx/tensor_proto.h"

namespace cryolite::onnx {
namespace {

using graph::ValueId;
using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;

template <class Field>
auto vector_of(const Field& field) {
  return std::vector<std::decay_t<decltype(*field.begin())>>(field.begin(), field.end());
}

graph::Attribute to_attribute(const AttributeProto& proto, const NodeProto& node) {
  switch (proto.type()) {
    case AttributeProto::INT:
      return proto.i();
    case AttributeProto::FLOAT:
      return proto.f();
    case AttributeProto::STRING:
      return proto.s();
    case AttributeProto::INTS:
      return vector_of(proto.ints());
    case AttributeProto::FLOATS:
      return vector_of(proto.floats());
    case AttributeProto::STRINGS:
      return vector_of(proto.strings());
    case AttributeProto::TENSOR:
      return to_tensor(::onnx::TensorProto(proto.t()), "");
    default:
      throw Error(fmt::format("attribute '{}' of {} is of a kind that is not supported", proto.name(),
                              node.op_type()),
                  {.node = node.name()}, "export the model without it");
  }
}

/// Reads a GraphProto into a Graph; values are found by name.
class GraphBuilder {
 public:
  GraphBuilder(const GraphProto& proto, Constants constants)
      : proto_(proto), constants_(std::move(constants)) {}

  graph::Graph build() {
    graph_.name = proto_.name();
    collect_types();
    for (const auto& input : proto_.input())
      if (!constants_.contains(input.name())) graph_.inputs.push_back(define(input.name(), {}));
    for (const NodeProto& node : proto_.node()) add(node);
    for (const auto& output : proto_.output()) graph_.outputs.push_back(look_up(output.name(), {}));
    return std::move(graph_);
  }

 private:
  void collect_types() {
    for (const auto* field : {&proto_.value_info(), &proto_.input(), &proto_.output()})
      for (const ::onnx::ValueInfoProto& info : *field) types_[info.name()] = &info.type();
  }

  graph::TensorType type_of(const std::string& name, const Where& where) const {
    const auto found = types_.find(name);
    if (found == types_.end()) return to_type({});
    const ::onnx::TypeProto& proto = *found->second;
    graph::TensorType type = to_type(proto);
    const int element = proto.tensor_type().elem_type();
    if (proto.value_case() != ::onnx::TypeProto::kTensorType &&
        proto.value_case() != ::onnx::TypeProto::VALUE_NOT_SET)
      throw Error("the value is a sequence, map, optional or sparse tensor", where,
                  "export the model with tensors");
    if (element != 0 && type.element == graph::ElementType::Undefined)
      throw Error(fmt::format("element type {} is not supported", onnx_type_name(element)), where,
                  "convert it to a number type of 8 to 64 bits");
    if (type.is_fixed()) check_size(type, where);
    return type;
  }

  static void check_size(const graph::TensorType& type, const Where& where) {
    int64_t elements = 0;
    try {
      elements = type.elements();
    } catch (const Error& error) {
      throw error.inside(where);
    }
    if (elements > INT32_MAX)
      throw Error(fmt::format("the value has {} elements, more than 32-bit indices reach", elements), where,
                  "make the model's dimensions smaller");
  }

  ValueId define(const std::string& name, const std::string& node) {
    graph::Value value{name, type_of(name, {.node = node, .value = name}), {}, {}};
    const ValueId id = graph_.add_value(std::move(value));
    ids_[name] = id;
    return id;
  }

  ValueId look_up(const std::string& name, const std::string& node) {
    if (name.empty()) return graph::absent;
    if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
    const auto constant = constants_.find(name);
    if (constant == constants_.end())
      throw Error("the value is read, but nothing writes it", {.node = node, .value = name},
                  "export the model again");
    check_size(constant->second.type, {.node = node, .value = name});
    graph::Value value{name, constant->second.type, {}, std::move(constant->second)};
    return ids_[name] = graph_.add_value(std::move(value));
  }

  void add(const NodeProto& proto) {
    graph::Node node{proto.name(), proto.op_type(), {}, {}, {}};
    for (const std::string& input : proto.input()) node.inputs.push_back(look_up(input, proto.name()));
    for (const std::string& output : proto.output())
      node.outputs.push_back(output.empty() ? graph::absent : define(output, proto.name()));
    while (!node.inputs.empty() && node.inputs.back() == graph::absent) node.inputs.pop_back();
    while (!node.outputs.empty() && node.outputs.back() == graph::absent) node.outputs.pop_back();
    for (const AttributeProto& attribute : proto.attribute())
      node.attributes.emplace(attribute.name(), to_attribute(attribute, proto));
    graph_.add_node(std::move(node));
  }

  const GraphProto& proto_;
  Constants constants_;
  graph::Graph graph_;
  std::unordered_map<std::string, ValueId> ids_;
  std::unordered_map<std::string, const ::onnx::TypeProto*> types_;
};

struct AttributeWriter {
  AttributeProto& out;

  void operator()(int64_t number) { out.set_type(AttributeProto::INT), out.set_i(number); }
  void operator()(float number) { out.set_type(AttributeProto::FLOAT), out.set_f(number); }
  void operator()(const std::string& text) { out.set_type(AttributeProto::STRING), out.set_s(text); }
  void operator()(const std::vector<int64_t>& numbers) {
    out.set_type(AttributeProto::INTS);
    out.mutable_ints()->Add(numbers.begin(), numbers.end());
  }
  void operator()(const std::vector<float>& numbers) {
    out.set_type(AttributeProto::FLOATS);
    out.mutable_floats()->Add(numbers.begin(), numbers.end());
  }
  void operator()(const std::vector<std::string>& texts) {
    out.set_type(AttributeProto::STRINGS);
    for (const std::string& text : texts) out.add_strings(text);
  }
  void operator()(const graph::Tensor& tensor) {
    out.set_type(AttributeProto::TENSOR);
    *out.mutable_t() = to_proto(tensor, "");
  }
  void operator()(const std::shared_ptr<const graph::Graph>& graph) {
    out.set_type(AttributeProto::GRAPH);
    *out.mutable_g() = to_model(*graph).graph();
  }
};

void add_info(::onnx::ValueInfoProto& info, const graph::Value& value) {
  info.set_name(value.name);
  *info.mutable_type() = to_proto(value.type);
}

}  // namespace

graph::TensorType to_type(const ::onnx::TypeProto& proto) {
  graph::TensorType type;
  type.has_rank = false;
  if (proto.value_case() != ::onnx::TypeProto::kTensorType) return type;
  const auto& tensor = proto.tensor_type();
  type.element = element_type_of(tensor.elem_type());
  if (!tensor.has_shape()) return type;
  type.has_rank = true;
  for (const auto& dim : tensor.shape().dim()) {
    if (dim.has_dim_value() && dim.dim_value() >= 0)
      type.dims.emplace_back(dim.dim_value());
    else
      type.dims.push_back(graph::Dim::symbolic(dim.dim_param()));
  }
  return type;
}

::onnx::TypeProto to_proto(const graph::TensorType& type) {
  ::onnx::TypeProto proto;
  auto& tensor = *proto.mutable_tensor_type();
  tensor.set_elem_type(onnx_type_of(type.element));
  if (!type.has_rank) return proto;
  auto& shape = *tensor.mutable_shape();
  for (const graph::Dim& dim : type.dims) {
    auto& out = *shape.add_dim();
    if (dim.is_fixed())
      out.set_dim_value(dim.extent);
    else if (!dim.symbol.empty())
      out.set_dim_param(dim.symbol);
  }
  return proto;
}

graph::Graph to_graph(const ::onnx::ModelProto& model, Constants constants) {
  return GraphBuilder(model.graph(), std::move(constants)).build();
}

::onnx::ModelProto to_model(const graph::Graph& graph) {
  ::onnx::ModelProto model;
  model.set_ir_version(::onnx::Version::IR_VERSION);
  model.add_opset_import()->set_version(target_opset);
  GraphProto& proto = *model.mutable_graph();
  proto.set_name(graph.name);
  for (const ValueId id : graph.inputs) add_info(*proto.add_input(), graph.value(id));
  for (const graph::Value& value : graph.values) {
    if (!value.constant) continue;
    if (value.type.elements() > largest_visible_constant)
      add_info(*proto.add_input(), value);
    else
      *proto.add_initializer() = to_proto(*value.constant, value.name);
  }
  const auto name_of = [&](ValueId id) { return id == graph::absent ? std::string() : graph.value(id).name; };
  for (const graph::Node& node : graph.nodes) {
    NodeProto& out = *proto.add_node();
    out.set_name(node.name);
    out.set_op_type(node.op_type);
    for (const ValueId id : node.inputs) out.add_input(name_of(id));
    for (const ValueId id : node.outputs) out.add_output(name_of(id));
    for (const auto& [name, attribute] : node.attributes) {
      AttributeProto& to = *out.add_attribute();
      to.set_name(name);
      std::visit(AttributeWriter{to}, attribute);
    }
  }
  for (const ValueId id : graph.outputs) add_info(*proto.add_output(), graph.value(id));
  return model;
}

}  // namespace cryolite::onnx
