#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cctype>
#include <cmath>

#include "graph/base64.h"
#include "graph/half.h"
#include "graph/text.h"

namespace cryolite::graph {
namespace {

/// Constants up to this many elements are printed as numbers, larger ones as base64.
constexpr int64_t kNumbersUpTo = 16;

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

bool is_plain(std::string_view name) {
  if (name.empty() || name == "_" || name == "const" || name == "graph") return false;
  for (const char c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.' && c != '/' && c != '-')
      return false;
  return true;
}

std::string name_text(std::string_view name) { return is_plain(name) ? std::string(name) : quoted(name); }

bool is_number(std::string_view text) {
  for (const char c : text)
    if (!std::isdigit(static_cast<unsigned char>(c))) return false;
  return true;
}

std::string symbol_text(const std::string& symbol) {
  return is_number(symbol) ? quoted(symbol) : name_text(symbol);
}

std::string dim_text(const Dim& dim) {
  if (dim.symbol.empty()) return dim.is_fixed() ? fmt::format("{}", dim.extent) : "?";
  return dim.is_fixed() ? fmt::format("{}={}", symbol_text(dim.symbol), dim.extent) : symbol_text(dim.symbol);
}

std::string type_text(const TensorType& type) {
  if (!type.has_rank) return fmt::format("{}[*]", name_of(type.element));
  std::vector<std::string> dims;
  for (const Dim& dim : type.dims) dims.push_back(dim_text(dim));
  return fmt::format("{}[{}]", name_of(type.element), fmt::join(dims, ","));
}

std::string layout_text(const Layout& layout) {
  if (layout == Layout{}) return "";
  std::string text = fmt::format(" @[{}", fmt::join(layout.order, ","));
  if (layout.block_axis >= 0 || layout.block != 1)
    text += fmt::format("|{}:{}", layout.block_axis, layout.block);
  text += ']';
  if (!layout.strides.empty()) text += fmt::format("/({})", fmt::join(layout.strides, ","));
  return text;
}

/// The shortest text that reads back as the same number, recognisable as a float.
template <class Float>
std::string float_text(Float number) {
  std::string text = fmt::format("{}", number);
  if (std::isfinite(number) && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

template <class T>
std::string elements_text(const T* elements, int64_t count) {
  return fmt::format("{}", fmt::join(elements, elements + count, ", "));
}

template <class Convert>
std::string narrow_text(const Tensor& tensor, Convert convert) {
  std::vector<float> wide;
  for (size_t i = 0; i * 2 < tensor.bytes->size(); ++i) wide.push_back(convert(tensor.as<uint16_t>()[i]));
  return elements_text(wide.data(), static_cast<int64_t>(wide.size()));
}

std::string numbers_text(const Tensor& tensor) {
  const int64_t count = tensor.type.elements();
  switch (tensor.type.element) {
    case ElementType::Float32:
      return elements_text(tensor.as<float>(), count);
    case ElementType::Float64:
      return elements_text(tensor.as<double>(), count);
    case ElementType::Float16:
      return narrow_text(tensor, half_to_float);
    case ElementType::BFloat16:
      return narrow_text(tensor, bfloat16_to_float);
    case ElementType::UInt64:
      return elements_text(tensor.as<uint64_t>(), count);
    default:
      break;
  }
  const std::vector<int64_t> integers = tensor.as_integers();
  return elements_text(integers.data(), count);
}

/// Numbers lose the payload of a NaN and what a bool holds beside 0 and 1.
bool has_only_plain_elements(const Tensor& tensor) {
  if (tensor.type.element == ElementType::Bool) {
    for (const char byte : *tensor.bytes)
      if (byte != 0 && byte != 1) return false;
    return true;
  }
  if (!is_float(tensor.type.element)) return true;
  for (const double element : tensor.as_doubles())
    if (std::isnan(element)) return false;
  return true;
}

std::string tensor_text(const Tensor& tensor, const PrintOptions& options) {
  const int64_t count = tensor.type.elements();
  if (options.elide_constants_over >= 0 && count > options.elide_constants_over) return "…";
  if (count <= kNumbersUpTo && has_only_plain_elements(tensor))
    return fmt::format("{{{}}}", numbers_text(tensor));
  return fmt::format("base64\"{}\"", base64_of(*tensor.bytes));
}

std::string indented(const std::string& text, std::string_view indent) {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '\n') out += indent;
  }
  return out;
}

struct AttributeText {
  const PrintOptions& options;

  std::string operator()(int64_t number) const { return fmt::format("{}", number); }
  std::string operator()(float number) const { return float_text(number); }
  std::string operator()(const std::string& text) const { return quoted(text); }
  std::string operator()(const std::vector<int64_t>& numbers) const {
    return fmt::format("[{}]", fmt::join(numbers, ","));
  }
  std::string operator()(const std::vector<float>& numbers) const {
    std::vector<std::string> parts;
    for (const float number : numbers) parts.push_back(float_text(number));
    return fmt::format("floats[{}]", fmt::join(parts, ","));
  }
  std::string operator()(const std::vector<std::string>& texts) const {
    std::vector<std::string> parts;
    for (const std::string& text : texts) parts.push_back(quoted(text));
    return fmt::format("strings[{}]", fmt::join(parts, ","));
  }
  std::string operator()(const Tensor& tensor) const {
    return fmt::format("{} = {}", type_text(tensor.type), tensor_text(tensor, options));
  }
  std::string operator()(const std::shared_ptr<const Graph>& graph) const {
    std::string text = indented(to_text(*graph, options), "    ");
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
    return text;
  }
};

std::string declaration(const Graph& graph, ValueId id) {
  if (id == absent) return "_";
  const Value& value = graph.value(id);
  return fmt::format("{}: {}{}", name_text(value.name), type_text(value.type), layout_text(value.layout));
}

std::string reference(const Graph& graph, ValueId id) {
  return id == absent ? "_" : name_text(graph.value(id).name);
}

template <class Part>
std::string joined(const Graph& graph, const std::vector<ValueId>& ids, Part part) {
  std::vector<std::string> parts;
  for (const ValueId id : ids) parts.push_back(part(graph, id));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string node_text(const Graph& graph, const Node& node, const PrintOptions& options) {
  std::string text =
      fmt::format("{}: {} = {}({})", name_text(node.name), joined(graph, node.outputs, declaration),
                  name_text(node.op_type), joined(graph, node.inputs, reference));
  if (node.attributes.empty()) return text;
  std::vector<std::string> parts;
  for (const auto& [name, attribute] : node.attributes)
    parts.push_back(fmt::format("{}={}", name_text(name), std::visit(AttributeText{options}, attribute)));
  return text + fmt::format(" {{{}}}", fmt::join(parts, ", "));
}

}  // namespace

std::string to_text(const Graph& graph, const PrintOptions& options) {
  std::string text =
      fmt::format("graph {} ({}) -> ({}) {{\n", name_text(graph.name),
                  joined(graph, graph.inputs, declaration), joined(graph, graph.outputs, reference));
  for (ValueId id = 0; id < static_cast<ValueId>(graph.values.size()); ++id)
    if (const std::optional<Tensor>& constant = graph.values[id].constant)
      text += fmt::format("  const {} = {}\n", declaration(graph, id), tensor_text(*constant, options));
  for (const Node& node : graph.nodes) text += fmt::format("  {}\n", node_text(graph, node, options));
  return text + "}\n";
}

}  // namespace cryolite::graph
