#include "onnx/structure.h"

#include <fmt/format.h>
#include <onnx/checker.h>
#include <onnx/defs/schema.h>

#include <functional>
#include <map>
#include <queue>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "onnx/tensor_proto.h"

namespace cryolite::onnx {
namespace {

using ::onnx::GraphProto;
using ::onnx::NodeProto;

/// Value name → index of the node that writes it; -1 for inputs and constants of the graph.
using Writers = std::unordered_map<std::string, int>;

Writers writers_of(const GraphProto& graph) {
  Writers writers;
  for (const auto& constant : graph.initializer()) writers.emplace(constant.name(), -1);
  for (const auto& input : graph.input()) {
    // Old models list their constants among the inputs too.
    if (!writers.emplace(input.name(), -1).second) {
      bool is_constant = false;
      for (const auto& constant : graph.initializer()) is_constant |= constant.name() == input.name();
      if (!is_constant)
        throw Error("two inputs of the graph have this name", {.value = input.name()},
                    "export the model again");
    }
  }
  for (int i = 0; i < graph.node_size(); ++i)
    for (const std::string& output : graph.node(i).output())
      if (!output.empty() && !writers.emplace(output, i).second)
        throw Error("the value is written a second time", {.node = graph.node(i).name(), .value = output},
                    "give every value one writer: export the model again");
  return writers;
}

/// By node, the indices of the nodes whose outputs it reads.
std::vector<std::vector<int>> dependencies(const GraphProto& graph, const Writers& writers) {
  std::vector<std::vector<int>> needs(graph.node_size());
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& name : names_read(graph.node(i))) {
      const auto writer = writers.find(name);
      if (writer == writers.end())
        throw Error("the value is read, but nothing writes it", {.node = graph.node(i).name(), .value = name},
                    "export the model again");
      if (writer->second >= 0) needs[i].push_back(writer->second);
    }
  }
  for (const auto& output : graph.output())
    if (!writers.contains(output.name()))
      throw Error("nothing writes this output of the graph", {.value = output.name()},
                  "export the model again");
  return needs;
}

std::vector<int> sorted_order(const GraphProto& graph, const std::vector<std::vector<int>>& needs) {
  std::vector<int> waiting(needs.size());
  std::vector<std::vector<int>> readers(needs.size());
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < static_cast<int>(needs.size()); ++i) {
    waiting[i] = static_cast<int>(needs[i].size());
    for (const int writer : needs[i]) readers[writer].push_back(i);
    if (waiting[i] == 0) ready.push(i);
  }
  std::vector<int> order;
  for (; !ready.empty();) {
    const int next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const int reader : readers[next])
      if (--waiting[reader] == 0) ready.push(reader);
  }
  if (order.size() == needs.size()) return order;
  // Follow unsorted writers backwards; after as many steps as there are nodes one stands on the cycle.
  int node = 0;
  while (waiting[node] == 0) ++node;
  for (size_t step = 0; step < needs.size(); ++step)
    for (const int writer : needs[node])
      if (waiting[writer] != 0) {
        node = writer;
        break;
      }
  throw Error("the node needs its own output: the graph has a cycle", {.node = graph.node(node).name()},
              "export the model again");
}

void collect_reads(const GraphProto& graph, std::unordered_set<std::string>& reads) {
  std::unordered_set<std::string> own;
  for (const auto& input : graph.input()) own.insert(input.name());
  for (const auto& constant : graph.initializer()) own.insert(constant.name());
  for (const NodeProto& node : graph.node()) {
    for (const std::string& name : names_read(node))
      if (!own.contains(name)) reads.insert(name);
    own.insert(node.output().begin(), node.output().end());
  }
  for (const auto& output : graph.output())
    if (!own.contains(output.name())) reads.insert(output.name());
}

bool is_own_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

/// What the checker says, without its trailing context lines.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

void check_node(const NodeProto& node, int opset, const ::onnx::checker::CheckerContext& context) {
  const Where where{.node = node.name()};
  if (!is_own_domain(node.domain()))
    throw Error(
        fmt::format("operator {} is of the domain '{}', which is not known", node.op_type(), node.domain()),
        where, "export the model with ONNX's own operators");
  if (::onnx::OpSchemaRegistry::Schema(node.op_type(), opset, "") == nullptr)
    throw Error(fmt::format("there is no operator {} in opset {} of ONNX", node.op_type(), opset), where,
                "correct the operator's name or the model's opset");
  for (const auto& attribute : node.attribute())
    if (attribute.has_g() || attribute.graphs_size() > 0)
      throw Error(
          fmt::format("{} is not supported where its condition or body depends on inputs", node.op_type()),
          where, "export the model without control flow, or with the condition a constant");
  try {
    ::onnx::checker::check_node(node, context, ::onnx::checker::LexicalScopeContext());
  } catch (const std::exception& fault) {
    throw Error(first_line(fault.what()), where, "export the model again");
  }
}

}  // namespace

std::unordered_set<std::string> names_read(const NodeProto& node) {
  std::unordered_set<std::string> reads;
  for (const std::string& input : node.input())
    if (!input.empty()) reads.insert(input);
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) collect_reads(attribute.g(), reads);
    for (const GraphProto& graph : attribute.graphs()) collect_reads(graph, reads);
  }
  return reads;
}

void name_nodes(GraphProto& graph) {
  std::unordered_set<std::string> taken;
  for (int i = 0; i < graph.node_size(); ++i) {
    NodeProto& node = *graph.mutable_node(i);
    const std::string base = node.name().empty() ? fmt::format("{}_{}", node.op_type(), i) : node.name();
    std::string name = base;
    for (int copy = 2; !taken.insert(name).second; ++copy) name = fmt::format("{}_{}", base, copy);
    node.set_name(name);
  }
}

void sort_nodes(GraphProto& graph) {
  const std::vector<int> order = sorted_order(graph, dependencies(graph, writers_of(graph)));
  google::protobuf::RepeatedPtrField<NodeProto> nodes;
  nodes.Reserve(graph.node_size());
  for (const int index : order) nodes.Add(std::move(*graph.mutable_node(index)));
  graph.mutable_node()->Swap(&nodes);
}

int opset_of(const ::onnx::ModelProto& model) {
  const auto [oldest, newest] = ::onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("");
  for (const auto& opset : model.opset_import()) {
    if (!is_own_domain(opset.domain())) continue;
    if (opset.version() < oldest || opset.version() > newest)
      throw Error(fmt::format("opset {} is not among those known, {} to {}", opset.version(), oldest, newest),
                  {}, "export the model with an older opset");
    return static_cast<int>(opset.version());
  }
  throw Error("the model does not say which opset of ONNX it uses", {}, "export the model again");
}

void check_nodes(const ::onnx::ModelProto& model) {
  const int opset = opset_of(model);
  ::onnx::checker::CheckerContext context;
  context.set_ir_version(static_cast<int>(model.ir_version()));
  context.set_opset_imports({{"", opset}, {"ai.onnx", opset}});
  for (const NodeProto& node : model.graph().node()) check_node(node, opset, context);
}

void check_interface(const GraphProto& graph) {
  const auto check = [](const ::onnx::ValueInfoProto& value, const char* role) {
    const ::onnx::TypeProto& type = value.type();
    if (type.value_case() != ::onnx::TypeProto::kTensorType &&
        type.value_case() != ::onnx::TypeProto::VALUE_NOT_SET)
      throw Error(fmt::format("this {} is a sequence, map, optional or sparse tensor", role),
                  {.value = value.name()}, "export the model with tensors as inputs and outputs");
    const int element = type.tensor_type().elem_type();
    if (element != 0 && element_type_of(element) == graph::ElementType::Undefined)
      throw Error(fmt::format("element type {} is not supported", onnx_type_name(element)),
                  {.value = value.name()}, "convert it to a number type of 8 to 64 bits");
  };
  for (const auto& input : graph.input()) check(input, "input");
  for (const auto& output : graph.output()) check(output, "output");
}

}  // namespace cryolite::onnx
