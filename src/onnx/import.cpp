#include "onnx/import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnx/defs/schema.h>
#include <onnx/inliner/inliner.h>
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <set>

#include "base/error.h"
#include "onnx/constants.h"
#include "onnx/control_flow.h"
#include "onnx/convert.h"
#include "onnx/import_proto.h"
#include "onnx/infer.h"
#include "onnx/model_graph.h"
#include "onnx/read_file.h"
#include "onnx/structure.h"

namespace cryolite::onnx {
namespace {

using ::onnx::GraphProto;
using ::onnx::ModelProto;

/// Some exporters describe inputs among the inner values once more: there the extents would stay free.
void forget_restated_inputs(GraphProto& graph) {
  std::set<std::string> inputs;
  for (const auto& input : graph.input()) inputs.insert(input.name());
  auto& infos = *graph.mutable_value_info();
  infos.erase(std::remove_if(infos.begin(), infos.end(), [&](const auto& info) { return inputs.contains(info.name()); }),
              infos.end());
}

/// Gives every unknown extent of an input a symbol, and those in `dims` their number.
void settle_dims(GraphProto& graph, const std::map<std::string, int64_t>& dims) {
  forget_restated_inputs(graph);
  std::set<std::string> symbols;
  for (auto& input : *graph.mutable_input()) {
    if (!input.type().has_tensor_type() || !input.type().tensor_type().has_shape()) continue;
    auto& shape = *input.mutable_type()->mutable_tensor_type()->mutable_shape();
    for (int axis = 0; axis < shape.dim_size(); ++axis) {
      auto& dim = *shape.mutable_dim(axis);
      if (dim.has_dim_value() && dim.dim_value() >= 0) continue;
      std::string symbol = dim.dim_param();
      // Exporters write "?" for every extent that they do not know: these need not be equal.
      if (symbol.empty() || symbol == "?") symbol = fmt::format("{}.{}", input.name(), axis);
      symbols.insert(symbol);
      const auto found = dims.find(symbol);
      if (found == dims.end())
        dim.set_dim_param(symbol);
      else
        dim.set_dim_value(found->second);
    }
  }
  for (const auto& [name, extent] : dims) {
    if (!symbols.contains(name))
      throw Error(fmt::format("--dim {}: the model's inputs have no such dimension, they have: {}", name,
                              symbols.empty() ? "none" : fmt::format("{}", fmt::join(symbols, ", "))),
                  {}, "name one of these");
    if (extent < 1)
      throw Error(fmt::format("--dim {}={}: an extent is at least 1", name, extent), {},
                  "give a positive number");
  }
}

void inline_local_functions(ModelProto& model) {
  if (model.functions_size() == 0) return;
  try {
    ::onnx::inliner::InlineLocalFunctions(model, /*convert_version=*/true);
  } catch (const std::exception& fault) {
    const std::string text = fault.what();
    throw Error("ONNX cannot inline the model's functions: " + text.substr(0, text.find('\n')), {},
                "export the model without functions");
  }
}

/// Writes the defaults of left-out attributes down: a function's body refers to them, and the inliner does
/// not know them.
void write_default_attributes(::onnx::NodeProto& node, const ::onnx::OpSchema& schema) {
  for (const auto& [name, attribute] : schema.attributes()) {
    if (attribute.default_value.type() == ::onnx::AttributeProto::UNDEFINED) continue;
    bool is_given = false;
    for (const auto& given : node.attribute()) is_given |= given.name() == name;
    if (is_given) continue;
    *node.add_attribute() = attribute.default_value;
    node.mutable_attribute(node.attribute_size() - 1)->set_name(name);
  }
}

/// Replaces operators that ONNX defines as functions of others, where they are not known as they are.
/// True where there were any.
bool expand_functions(ModelProto& model, const ImportOptions& options) {
  if (!options.known_operator) return false;
  ::onnx::inliner::FunctionIdVector expanded;
  std::set<std::string> seen;
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    if (options.known_operator(node.op_type())) continue;
    const auto* schema = ::onnx::OpSchemaRegistry::Schema(node.op_type(), target_opset, "");
    if (schema == nullptr || !(schema->HasFunction() || schema->HasContextDependentFunction())) continue;
    write_default_attributes(node, *schema);
    if (seen.insert(node.op_type()).second) expanded.emplace_back("", node.op_type());
  }
  if (expanded.empty()) return false;
  const auto set = ::onnx::inliner::FunctionIdSet::Create(std::move(expanded));
  ::onnx::inliner::InlineSelectedFunctions(model, *set, ::onnx::OpSchemaRegistry::Instance());
  lift_constants(*model.mutable_graph());
  name_nodes(*model.mutable_graph());
  return true;
}

/// Everything that the file's own opset says is still true of the model after this.
void prepare(ModelProto& model, const std::string& folder, const ImportOptions& options,
             Constants& constants) {
  GraphProto& graph = *model.mutable_graph();
  opset_of(model);
  model.set_ir_version(::onnx::Version::IR_VERSION);  // since version 4, constants need not be inputs too
  check_interface(graph);
  name_nodes(graph);
  inline_local_functions(model);
  lift_constants(graph);
  take_constants(graph, folder, constants);
  inline_constant_conditions(graph, constants);
  name_nodes(graph);
  sort_nodes(graph);
  take_constants(graph, folder, constants);
  settle_dims(graph, options.dims);
  check_nodes(model);
}

graph::Graph import_checked(ModelProto model, const std::string& folder, const ImportOptions& options) {
  Constants constants;
  prepare(model, folder, options, constants);
  convert_opset(model, target_opset);
  lift_constants(*model.mutable_graph());
  take_constants(*model.mutable_graph(), folder, constants);
  if (options.infer) infer_types(model);
  if (expand_functions(model, options)) {
    take_constants(*model.mutable_graph(), folder, constants);
    sort_nodes(*model.mutable_graph());
    if (options.infer) infer_types(model);
  }
  return to_graph(model, std::move(constants));
}

}  // namespace

graph::Graph import_proto(ModelProto model, const std::string& folder, const ImportOptions& options) {
  try {
    return import_checked(std::move(model), folder, options);
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw Error("there is not enough memory for the model's constants", {}, "use a machine with more memory");
  } catch (const std::exception& fault) {
    throw Error(fmt::format("ONNX's library refuses the model: {}", fault.what()), {},
                "export the model again");
  }
}

graph::Graph import_model(const std::string& path, const ImportOptions& options) {
  try {
    graph::Graph graph =
        import_proto(read_model_file(path), std::filesystem::path(path).parent_path(), options);
    if (graph.name.empty()) graph.name = std::filesystem::path(path).stem();
    return graph;
  } catch (const Error& error) {
    throw error.inside({.file = path});
  }
}

void require_fixed_types(const graph::Graph& graph) {
  std::set<std::string> symbols;
  for (const graph::ValueId id : graph.inputs) {
    const graph::Value& input = graph.value(id);
    if (!input.type.has_rank)
      throw Error("the number of axes of this input is not known", {.value = input.name},
                  "export the model with the shape of its inputs");
    for (const graph::Dim& dim : input.type.dims)
      if (!dim.is_fixed()) symbols.insert(dim.symbol);
  }
  if (!symbols.empty()) {
    std::string remedy = "give";
    for (const std::string& symbol : symbols) remedy += fmt::format(" --dim {}=NUMBER", symbol);
    throw Error("extents of the model's inputs are not known", {}, remedy);
  }
  for (const graph::Node& node : graph.nodes)
    for (const graph::ValueId id : node.outputs)
      if (id != graph::absent && !graph.value(id).type.is_fixed())
        throw Error(fmt::format("the shape that {} gives depends on the data", node.op_type),
                    {.node = node.name, .value = graph.value(id).name},
                    "only shapes that the inputs' shapes decide can be compiled");
}

}  // namespace cryolite::onnx
