#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "plan/sibling_family.h"
#include "simplify/edit.h"

namespace cryolite::plan::siblings {

using graph::absent;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

/// Constants one after the other along an axis; float32.
graph::Tensor joined(const std::vector<const graph::Tensor*>& parts, int axis) {
  graph::TensorType type = parts[0]->type;
  auto extents = type.extents();
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; ++i) outer *= extents[i];
  for (size_t i = axis + 1; i < extents.size(); ++i) inner *= extents[i];
  extents[axis] = 0;
  for (const graph::Tensor* part : parts) extents[axis] += part->type.extents()[axis];
  std::string bytes;
  bytes.reserve(static_cast<size_t>(outer * inner * extents[axis]) * sizeof(float));
  for (int64_t o = 0; o < outer; ++o)
    for (const graph::Tensor* part : parts) {
      const size_t run = static_cast<size_t>(part->type.extents()[axis] * inner) * sizeof(float);
      bytes.append(*part->bytes, static_cast<size_t>(o) * run, run);
    }
  type.dims[axis] = extents[axis];
  return graph::Tensor::of_bytes(type, std::move(bytes));
}

/// The biases that the nodes themselves have, or nothing where none has one.
std::optional<graph::Tensor> joined_bias(const Graph& graph, const Family& family) {
  std::vector<double> elements;
  bool found = false;
  for (const Branch& branch : family.branches) {
    const Node& node = graph.nodes[branch.node];
    std::vector<double> own(branch.width, 0);
    if (node.inputs.size() > bias && node.inputs[bias] != absent) {
      own = graph.value(node.inputs[bias]).constant->as_doubles();
      if (own.size() == 1) own.assign(branch.width, own[0]);
      found = true;
    }
    elements.insert(elements.end(), own.begin(), own.end());
  }
  if (!found) return std::nullopt;
  const graph::TensorType type{graph::ElementType::Float32, {static_cast<int64_t>(elements.size())}};
  return simplify::tensor_of(type, elements);
}

std::string joined_name(const Graph& graph, const Family& family) {
  std::vector<std::string> names;
  for (const Branch& branch : family.branches) names.push_back(graph.nodes[branch.node].name);
  return fmt::format("{}", fmt::join(names, "|"));
}

class Joiner {
 public:
  Joiner(Graph& graph, const Family& family) : graph_(graph), family_(family), name_(joined_name(graph, family)) {}

  void run(const Arrangement& arrangement) {
    for (const Branch& branch : family_.branches) width_ += branch.width;
    ValueId value = add_contraction();
    for (size_t s = 0; s < family_.steps.size(); ++s) value = add_step(s, value);
    add_split(value);
    if (arrangement.concat != absent) add_concat(arrangement, value);
    for (const Branch& branch : family_.branches) {
      simplify::clear_node(graph_.nodes[branch.node]);
      for (NodeId id : branch.absorbed) simplify::clear_node(graph_.nodes[id]);
    }
  }

 private:
  ValueId add_result(const std::string& name) {
    graph::TensorType type = graph_.value(family_.branches[0].tip).type;
    type.dims[family_.axis] = width_;
    return graph_.add_value({simplify::free_value_name(graph_, name), type, {}, {}});
  }

  ValueId add_contraction() {
    const Node first = graph_.nodes[family_.branches[0].node];
    std::vector<const graph::Tensor*> parts;
    for (const Branch& branch : family_.branches)
      parts.push_back(&*graph_.value(graph_.nodes[branch.node].inputs[weights]).constant);
    graph::Tensor joined_weights = joined(parts, family_.weight_axis);
    const auto joined_addend = joined_bias(graph_, family_);
    const ValueId result = add_result(name_);
    Node node{name_, first.op_type, {first.inputs[data]}, {result}, first.attributes};
    node.inputs.push_back(simplify::add_constant(graph_, name_ + "_weights", std::move(joined_weights)));
    if (joined_addend) node.inputs.push_back(simplify::add_constant(graph_, name_ + "_bias", *joined_addend));
    graph_.add_node(std::move(node));
    return result;
  }

  ValueId add_operand(size_t step, const std::string& name) {
    const graph::TensorType& out = graph_.value(family_.branches[0].tip).type;
    std::vector<double> elements;
    for (const Branch& branch : family_.branches)
      elements.insert(elements.end(), branch.operands[step].begin(), branch.operands[step].end());
    const graph::TensorType type{
        out.element, simplify::channel_shape(static_cast<int>(out.dims.size()), family_.axis, width_)};
    return simplify::add_constant(graph_, name + "_operand", simplify::tensor_of(type, elements));
  }

  ValueId add_step(size_t number, ValueId value) {
    const Step& step = family_.steps[number];
    const std::string name = fmt::format("{}", fmt::join(step.names, "|"));  // of nodes that are gone in the end
    Node node{name, step.op_type, {value}, {}, step.attributes};
    if (step.has_operand) node.inputs.push_back(add_operand(number, name));
    node.inputs.insert(node.inputs.end(), step.shared.begin(), step.shared.end());
    node.outputs = {add_result(name)};
    const ValueId result = node.outputs[0];
    graph_.add_node(std::move(node));
    return result;
  }

  void add_split(ValueId value) {
    std::vector<int64_t> widths;
    Node split{name_ + "_split", "Split", {value}, {}, {{"axis", int64_t{family_.axis}}}};
    for (const Branch& branch : family_.branches) {
      widths.push_back(branch.width);
      graph::Value part = graph_.value(branch.tip);
      part.name = simplify::free_value_name(graph_, part.name + "_part");
      parts_.push_back(graph_.add_value(std::move(part)));
      split.outputs.push_back(parts_.back());
    }
    split.inputs.push_back(simplify::add_integers(graph_, name_ + "_widths", widths));
    graph_.add_node(std::move(split));
    for (size_t b = 0; b < parts_.size(); ++b) read_instead(family_.branches[b].tip, parts_[b]);
  }

  void read_instead(ValueId from, ValueId to) {
    for (Node& node : graph_.nodes)
      for (ValueId& id : node.inputs)
        if (id == from) id = to;
  }

  /// The merged result in place of the parts that the Concat took, and of it the slice that the Concat was.
  void add_concat(const Arrangement& at, ValueId value) {
    const Node concat = graph_.nodes[at.concat];
    const ValueId whole = concat.outputs[0];
    if (at.count == concat.inputs.size() && at.count == family_.branches.size()) {
      graph_.nodes[at.concat] = {concat.name, "Identity", {value}, {whole}, {}};
      return;
    }
    std::vector<ValueId> operands = concat.inputs;
    operands.erase(operands.begin() + static_cast<long>(at.first),
                   operands.begin() + static_cast<long>(at.first + at.count));
    operands.insert(operands.begin() + static_cast<long>(at.first), value);
    if (at.count == family_.branches.size()) {
      graph_.nodes[at.concat].inputs = operands;
      return;
    }
    int64_t others = 0;
    for (size_t b = 0; b < parts_.size(); ++b) {
      const bool is_taken = std::count(concat.inputs.begin(), concat.inputs.end(), parts_[b]) > 0;
      if (!is_taken) others += family_.branches[b].width;
    }
    graph::Value grown = graph_.value(whole);
    grown.name = simplify::free_value_name(graph_, grown.name + "_and_branches");
    const int64_t own = grown.type.extents()[family_.axis];
    grown.type.dims[family_.axis] = own + others;
    const ValueId buffer = graph_.add_value(std::move(grown));
    graph_.nodes[at.concat] = {concat.name, "Concat", operands, {buffer}, concat.attributes};
    const int64_t start = at.at_start ? others : 0;
    Node slice{concat.name + "_slice", "Slice", {buffer}, {whole}, {}};
    for (int64_t number : {start, start + own, int64_t{family_.axis}})
      slice.inputs.push_back(simplify::add_integers(graph_, concat.name + "_slice_index", {number}));
    graph_.add_node(std::move(slice));
  }

  Graph& graph_;
  const Family& family_;
  std::string name_;
  int64_t width_ = 0;
  std::vector<ValueId> parts_;
};

}  // namespace

void join(Graph& graph, const Family& family, const Arrangement& arrangement) { Joiner(graph, family).run(arrangement); }

}  // namespace cryolite::plan::siblings
