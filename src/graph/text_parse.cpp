#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "graph/base64.h"
#include "graph/half.h"
#include "graph/text.h"
#include "graph/text_grammar.h"

namespace cryolite::graph {
namespace {

using Tree = tao::pegtl::parse_tree::node;
using Branches = Tree::children_t;

[[noreturn]] void fail_at(const tao::pegtl::position& at, const std::string& message) {
  throw Error(message, {.file = fmt::format("{}:{}:{}", at.source, at.line, at.column)},
              "correct the text there");
}

[[noreturn]] void fail(const Tree& tree, const std::string& message) { fail_at(tree.begin(), message); }

template <class Rule>
const Tree* child(const Tree& tree) {
  for (const auto& branch : tree.children)
    if (branch->is_type<Rule>()) return branch.get();
  return nullptr;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    const char kind = text[++i];
    if (kind == 'x') {
      out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      out += kind == 'n' ? '\n' : kind == 't' ? '\t' : kind;
    }
  }
  return out;
}

std::string name_of(const Tree& tree) {
  return tree.is_type<grammar::quoted_content>() ? unescaped(tree.string_view()) : tree.string();
}

template <class Number>
Number number_of(const Tree& tree) {
  std::string_view text = tree.string_view();
  Number number{};
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ptr != text.data() + text.size() || result.ec != std::errc{})
    fail(tree, fmt::format("{} is not a number that fits here", text));
  return number;
}

template <class Number>
std::vector<Number> numbers_of(const Tree* tree) {
  std::vector<Number> numbers;
  if (tree == nullptr) return numbers;
  for (const auto& branch : tree->children) numbers.push_back(number_of<Number>(*branch));
  return numbers;
}

Dim dim_of(const Tree& tree) {
  if (tree.is_type<grammar::unknown_dim>()) return {};
  if (tree.is_type<grammar::fixed_content>()) return number_of<int64_t>(tree);
  Dim dim = Dim::symbolic(name_of(*tree.children.at(0)));
  if (tree.children.size() > 1) dim.extent = number_of<int64_t>(*tree.children[1]);
  return dim;
}

TensorType type_of(const Tree& tree) {
  const Tree& element = *tree.children.at(0);
  TensorType type;
  type.element = element_type_named(element.string_view());
  if (type.element == ElementType::Undefined && element.string_view() != "undefined")
    fail(element, fmt::format("{} is not an element type", element.string_view()));
  for (size_t i = 1; i < tree.children.size(); ++i) {
    if (tree.children[i]->is_type<grammar::any_rank>())
      type.has_rank = false;
    else
      type.dims.push_back(dim_of(*tree.children[i]));
  }
  return type;
}

Layout layout_of(const Tree& tree) {
  Layout layout;
  layout.order = numbers_of<int>(child<grammar::order>(tree));
  if (const Tree* block = child<grammar::block>(tree)) {
    layout.block_axis = number_of<int>(*block->children.at(0));
    layout.block = number_of<int64_t>(*block->children.at(1));
  }
  layout.strides = numbers_of<int64_t>(child<grammar::strides>(tree));
  return layout;
}

/// A layout must be a permutation of the value's axes.
void check_layout(const Tree& tree, const Layout& layout, const TensorType& type) {
  const int rank = static_cast<int>(type.dims.size());
  std::vector<bool> seen(rank, false);
  for (const int axis : layout.order) {
    if (axis < 0 || axis >= rank || seen[axis])
      fail(tree, fmt::format("the order of the layout does not name each of the {} axes once", rank));
    seen[axis] = true;
  }
  if (!layout.order.empty() && static_cast<int>(layout.order.size()) != rank)
    fail(tree, fmt::format("the order of the layout does not name each of the {} axes once", rank));
  if (layout.block_axis < -1 || layout.block_axis >= rank || layout.block < 1)
    fail(tree, "the block of the layout is not of one of the axes, or is empty");
  const size_t stored = rank + (layout.block_axis >= 0 ? 1 : 0);
  if (!layout.strides.empty() && layout.strides.size() != stored)
    fail(tree, fmt::format("the layout has {} strides for {} storage axes", layout.strides.size(), stored));
}

template <class T>
std::string packed(const std::vector<T>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T)};
}

template <class T>
std::string packed_numbers(const Tree& tree) {
  return packed(numbers_of<T>(&tree));
}

std::string packed_narrow(const Tree& tree, uint16_t (*convert)(float)) {
  std::vector<uint16_t> narrow;
  for (const float element : numbers_of<float>(&tree)) narrow.push_back(convert(element));
  return packed(narrow);
}

std::string bytes_of_elements(const Tree& tree, ElementType type) {
  switch (type) {
    case ElementType::Float32:
      return packed_numbers<float>(tree);
    case ElementType::Float64:
      return packed_numbers<double>(tree);
    case ElementType::Float16:
      return packed_narrow(tree, float_to_half);
    case ElementType::BFloat16:
      return packed_narrow(tree, float_to_bfloat16);
    case ElementType::Int8:
      return packed_numbers<int8_t>(tree);
    case ElementType::Int16:
      return packed_numbers<int16_t>(tree);
    case ElementType::Int32:
      return packed_numbers<int32_t>(tree);
    case ElementType::Int64:
      return packed_numbers<int64_t>(tree);
    case ElementType::Bool:
    case ElementType::UInt8:
      return packed_numbers<uint8_t>(tree);
    case ElementType::UInt16:
      return packed_numbers<uint16_t>(tree);
    case ElementType::UInt32:
      return packed_numbers<uint32_t>(tree);
    case ElementType::UInt64:
      return packed_numbers<uint64_t>(tree);
    case ElementType::Undefined:
      break;
  }
  fail(tree, "a constant needs an element type");
}

Tensor tensor_of(const TensorType& type, const Tree& data) {
  if (!type.is_fixed()) fail(data, "a constant needs a type with fixed extents");
  std::string bytes;
  if (data.is_type<grammar::base64_content>()) {
    std::optional<std::string> decoded = from_base64(data.string_view());
    if (!decoded) fail(data, "this is not base64 with padding");
    bytes = std::move(*decoded);
  } else {
    bytes = bytes_of_elements(data, type.element);
  }
  if (static_cast<int64_t>(bytes.size()) != type.bytes())
    fail(data, fmt::format("the constant has {} elements, its type {}", bytes.size() / size_of(type.element),
                           type.elements()));
  return Tensor::of_bytes(type, std::move(bytes));
}

/// Builds one graph; names are looked up among the values defined so far.
class GraphReader {
 public:
  Graph read(const Tree& tree) {
    graph_.name = name_of(*tree.children.at(0));
    for (const auto& input : child<grammar::graph_inputs>(tree)->children)
      graph_.inputs.push_back(declare(*input));
    for (const auto& branch : tree.children) {
      if (branch->is_type<grammar::constant>()) read_constant(*branch);
      if (branch->is_type<grammar::node>()) read_node(*branch);
    }
    for (const auto& output : child<grammar::graph_outputs>(tree)->children)
      graph_.outputs.push_back(look_up(*output));
    return std::move(graph_);
  }

 private:
  /// Children: name, type, layout (may be missing).
  ValueId declare(const Tree& tree) {
    Value value;
    value.name = name_of(*tree.children.at(0));
    value.type = type_of(*tree.children.at(1));
    if (const Tree* layout = child<grammar::layout>(tree)) {
      value.layout = layout_of(*layout);
      check_layout(*layout, value.layout, value.type);
    }
    if (!ids_.emplace(value.name, static_cast<ValueId>(graph_.values.size())).second)
      fail(tree, fmt::format("value '{}' is defined twice", value.name));
    return graph_.add_value(std::move(value));
  }

  ValueId look_up(const Tree& tree) const {
    if (tree.is_type<grammar::nothing_here>()) return absent;
    const auto found = ids_.find(name_of(tree));
    if (found == ids_.end()) fail(tree, fmt::format("value '{}' is not defined above", name_of(tree)));
    return found->second;
  }

  void read_constant(const Tree& tree) {
    const ValueId id = declare(tree);
    graph_.values[id].constant = tensor_of(graph_.values[id].type, *tree.children.back());
  }

  /// Children: name, outputs, operator, inputs, attributes (may be missing).
  void read_node(const Tree& tree) {
    Node node;
    node.name = name_of(*tree.children.at(0));
    node.op_type = name_of(*tree.children.at(2));
    for (const auto& input : tree.children.at(3)->children) node.inputs.push_back(look_up(*input));
    for (const auto& output : tree.children.at(1)->children)
      node.outputs.push_back(output->is_type<grammar::nothing_here>() ? absent : declare(*output));
    if (const Tree* attributes = child<grammar::attributes>(tree))
      for (const auto& attribute : attributes->children)
        if (!node.attributes
                 .emplace(name_of(*attribute->children.at(0)), value_of(*attribute->children.at(1)))
                 .second)
          fail(*attribute, "the attribute is given twice");
    if (!node_names_.insert(node.name).second)
      fail(tree, fmt::format("node '{}' is defined twice", node.name));
    graph_.add_node(std::move(node));
  }

  static Attribute value_of(const Tree& tree) {
    if (tree.is_type<grammar::quoted_content>()) return unescaped(tree.string_view());
    if (tree.is_type<grammar::whole>()) return number_of<int64_t>(*tree.children.at(0));
    if (tree.is_type<grammar::number_content>()) return number_of<float>(tree);
    if (tree.is_type<grammar::integers>()) return numbers_of<int64_t>(&tree);
    if (tree.is_type<grammar::floats>()) return numbers_of<float>(&tree);
    if (tree.is_type<grammar::graph>()) return std::make_shared<const Graph>(GraphReader().read(tree));
    if (tree.is_type<grammar::tensor>())
      return tensor_of(type_of(*tree.children.at(0)), *tree.children.at(1));
    std::vector<std::string> texts;
    for (const auto& branch : tree.children) texts.push_back(name_of(*branch));
    return texts;
  }

  Graph graph_;
  std::unordered_map<std::string, ValueId> ids_;
  std::unordered_set<std::string> node_names_;
};

}  // namespace

Graph parse_text(std::string_view text, const std::string& file) {
  tao::pegtl::memory_input in(text.data(), text.size(), file);
  try {
    const auto root = tao::pegtl::parse_tree::parse<grammar::document, grammar::Kept, tao::pegtl::nothing,
                                                    grammar::Control>(in);
    return GraphReader().read(*root->children.at(0));
  } catch (const tao::pegtl::parse_error& error) {
    fail_at(error.positions().front(), std::string(error.message()));
  }
}

}  // namespace cryolite::graph
