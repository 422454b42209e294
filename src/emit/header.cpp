#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "emit/driver.h"
#include "emit/runtime_sources.h"
#include "ops/builder.h"

namespace cryolite::emit {
namespace {

using graph::ElementType;
using graph::ValueId;

/// Words that cannot name a parameter in C11 or C++20.
constexpr std::string_view keywords[] = {
    "alignas", "alignof", "and", "asm", "auto", "bool", "break", "case", "catch", "char", "class", "concept", "const",
    "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype", "default", "delete", "do", "double",
    "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
    "inline", "inputs", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "nullptr", "operator", "or",
    "outputs", "private", "protected", "public", "register", "reinterpret_cast", "requires", "restrict", "return",
    "short", "signed", "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this",
    "throw", "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void",
    "volatile", "while", "xor"};

std::string shape_text(const graph::Value& value) {
  return fmt::format("{}[{}]", name_of(value.type.element), fmt::join(value.type.extents(), ", "));
}

struct Parameter {
  std::string name, type, shape;
  int64_t elements;
  bool is_input;
};

std::vector<Parameter> parameters_of(const plan::Plan& plan) {
  std::vector<std::string> taken{"context"};
  std::vector<Parameter> parameters;
  for (bool is_input : {true, false})
    for (ValueId id : is_input ? plan.graph.inputs : plan.graph.outputs) {
      const graph::Value& value = plan.graph.value(id);
      parameters.push_back({parameter_name(value.name, taken), std::string(c_type(value.type.element)),
                            shape_text(value), value.type.elements(), is_input});
    }
  return parameters;
}

std::string c_part(const plan::Plan& plan, const DriverParts& parts, const std::vector<Parameter>& parameters) {
  std::string infer, notes;
  for (const Parameter& p : parameters) {
    infer += fmt::format(",\n               {}{}* {}", p.is_input ? "const " : "", p.type, p.name);
    notes += fmt::format(" *   {} {}: {}\n", p.is_input ? "in " : "out", p.name, p.shape);
  }
  const bool maps_file = !parts.embeds_weights && parts.weights.bytes > 0;
  return fmt::format(R"(
#ifdef __cplusplus
extern "C" {{
#endif

/* Functions that can fail return 0 where all is well, another number otherwise; {0}_error has the text.
 * A context serves one thread at a time; different contexts may run at the same time. */
typedef struct {0}_context {0}_context;

enum {{ {0}_input_count = {1}, {0}_output_count = {2} }};
extern const cryolite_description {0}_inputs[];
extern const cryolite_description {0}_outputs[];

/* Allocates all that runs will need. threads: 1 runs in the caller's thread alone, 0 takes one a core.
 * {3}
 * On failure *context is NULL and {0}_error(NULL) has the text. */
int {0}_create({0}_context** context, int threads, const char* weights_path);

/* One pointer for each input and output, in the order of {0}_inputs and {0}_outputs: dense row-major memory. */
int {0}_run({0}_context* context, const void* const inputs[], void* const outputs[]);

/* The same by name:
{4} */
int {0}_infer({0}_context* context{5});

void {0}_destroy({0}_context* context);
const char* {0}_error(const {0}_context* context);

#ifdef __cplusplus
}}
#endif
)",
                     parts.name, plan.graph.inputs.size(), plan.graph.outputs.size(),
                     maps_file ? fmt::format("weights_path: of {0}.weights; NULL looks in the working directory.", parts.name)
                               : "weights_path: NULL; the weights are in the library.",
                     notes, infer);
}

std::string cpp_part(const std::string& name, const std::vector<Parameter>& parameters) {
  std::string spans, checks, arguments;
  for (const Parameter& p : parameters) {
    spans += fmt::format("{}std::span<{}{}> {}", spans.empty() ? "" : ", ", p.is_input ? "const " : "", p.type, p.name);
    checks += fmt::format("    check({}.size(), {}, {});\n", p.name, p.elements, c_string(p.name));
    arguments += fmt::format(", {}.data()", p.name);
  }
  return fmt::format(R"(
#if defined(__cplusplus) && __cplusplus >= 202002L
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

namespace {0} {{

/* A context that ends with its scope. Throws std::runtime_error with the text of {0}_error. */
class Model {{
 public:
  explicit Model(int threads = 0, const char* weights_path = nullptr) {{
    if ({0}_create(&context_, threads, weights_path) != 0) throw std::runtime_error({0}_error(nullptr));
  }}
  ~Model() {{ {0}_destroy(context_); }}
  Model(Model&& other) noexcept : context_(std::exchange(other.context_, nullptr)) {{}}
  Model& operator=(Model&& other) noexcept {{
    std::swap(context_, other.context_);
    return *this;
  }}

  void run({1}) {{
{2}    if ({0}_infer(context_{3}) != 0) throw std::runtime_error({0}_error(context_));
  }}

 private:
  static void check(std::size_t given, std::size_t needed, const char* name) {{
    if (given != needed)
      throw std::invalid_argument(std::string(name) + " has " + std::to_string(given) + " elements instead of " +
                                  std::to_string(needed));
  }}
  {0}_context* context_ = nullptr;
}};

}}  // namespace {0}
#endif
)",
                     name, spans, checks, arguments);
}

}  // namespace

std::string parameter_name(const std::string& value, std::vector<std::string>& taken) {
  std::string name = ops::identifier(value);
  const auto is_bad = [&](const std::string& word) {
    return std::find(std::begin(keywords), std::end(keywords), word) != std::end(keywords) ||
           std::find(taken.begin(), taken.end(), word) != taken.end();
  };
  if (is_bad(name)) name += "_";
  for (int n = 2; is_bad(name); ++n) name = ops::identifier(value) + "_" + std::to_string(n);
  taken.push_back(name);
  return name;
}

std::string c_string(const std::string& text) {
  std::string literal = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\')
      literal += fmt::format("\\{}", static_cast<char>(c));
    else if (c < 32 || c >= 127 || c == '?')
      literal += fmt::format("\\{:03o}", static_cast<unsigned>(c));
    else
      literal += static_cast<char>(c);
  }
  return literal + "\"";
}

std::string_view c_type(ElementType element) {
  switch (element) {
    case ElementType::Float32: return "float";
    case ElementType::Float64: return "double";
    case ElementType::Int8: return "int8_t";
    case ElementType::Int16: return "int16_t";
    case ElementType::Int32: return "int32_t";
    case ElementType::Int64: return "int64_t";
    case ElementType::UInt16:
    case ElementType::Float16:
    case ElementType::BFloat16: return "uint16_t";
    case ElementType::UInt32: return "uint32_t";
    case ElementType::UInt64: return "uint64_t";
    default: return "uint8_t";
  }
}

std::string model_header(const plan::Plan& plan, const DriverParts& parts) {
  const auto parameters = parameters_of(plan);
  std::string upper = parts.name;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return fmt::format("/* {0}, compiled by Cryolite for {1}.\n * Link with lib{0}.a, -lpthread -ldl -lm. */\n"
                     "#ifndef CRYOLITE_MODEL_{2}_H\n#define CRYOLITE_MODEL_{2}_H\n",
                     parts.name, parts.target, upper) +
         std::string(runtime_source("cryolite_description.h")) + c_part(plan, parts, parameters) +
         cpp_part(parts.name, parameters) + "#endif\n";
}

}  // namespace cryolite::emit
