#include "emit/driver.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "base/error.h"
#include "emit/target.h"
#include "graph/elements.h"
#include "ops/builder.h"
#include "ops/operator.h"

/// NAME_model.c:
///
///     static const int32_t shape_7[] = {16, 1, …};           one a kernel argument: extent, stride, innermost first
///     static const cryolite_buffer buffers[] = {…};          where each argument lies
///     static const int32_t step_0[] = {0, 3, 7};             arguments of a step
///     static const cryolite_step steps[] = {…};
///     static const cryolite_model model = {…};
///     int NAME_run(…) { return cryolite_run(…); }            the exported functions
namespace cryolite::emit {
namespace {

using graph::ValueId;
using plan::Home;

struct Tables {
  const plan::Plan& plan;
  const DriverParts& parts;
  std::string shapes, buffers, arrays, steps, declarations;
  std::map<ValueId, int> index;  ///< of a value's row in `buffers`
  std::set<std::string> declared;
  int step_count = 0;

  int buffer_of(ValueId id);
  void add_kernel(const plan::Group& group);
  void add_extern(const plan::Group& group);
};

const char* home_name(Home::Kind kind) {
  switch (kind) {
    case Home::Kind::Input: return "CRYOLITE_INPUT";
    case Home::Kind::Output: return "CRYOLITE_OUTPUT";
    case Home::Kind::Arena: return "CRYOLITE_ARENA";
    default: return "CRYOLITE_WEIGHT";
  }
}

/// The row of a value, made when it is first asked for.
int Tables::buffer_of(ValueId id) {
  const auto [entry, is_new] = index.try_emplace(id, static_cast<int>(index.size()));
  if (!is_new) return entry->second;
  const graph::Value& value = plan.graph.value(id);
  const Home& home = plan.homes.at(id);
  const auto weight = parts.weights.offsets.find(id);
  const bool is_weight = weight != parts.weights.offsets.end();
  if (home.kind == Home::Kind::Inside && !is_weight)
    throw Error("is read by a kernel but lies nowhere in memory", {.value = value.name}, "report this model");
  const auto extents = storage_extents(value.layout, value.type.extents());
  const auto strides = storage_strides(value.layout, value.type.extents());
  shapes += fmt::format("static const int32_t shape_{}[] = {{", entry->second);
  for (size_t axis = extents.size(); axis-- > 0;) {
    if (extents[axis] > INT32_MAX || strides[axis] > INT32_MAX)
      throw Error("has more than 2^31 elements along an axis", {.value = value.name}, "split the model's batch");
    shapes += fmt::format("{}, {}{}", extents[axis], strides[axis], axis > 0 ? ", " : "");
  }
  shapes += extents.empty() ? "0};\n" : "};\n";
  const Halide::Type type = ops::halide_type(value.type.element);
  const int64_t span = graph::storage_span(value.layout, value.type.extents()) * size_of(value.type.element);
  buffers += fmt::format("  {{{}, {}, {}, {}, {}, {}, {}, shape_{}}},  /* {} */\n",
                         is_weight ? "CRYOLITE_WEIGHT" : home_name(home.kind), static_cast<int>(type.code()),
                         type.bits(), extents.size(), is_weight ? -1 : home.index,
                         is_weight ? weight->second : home.offset, span, entry->second,
                         ops::identifier(value.name));
  return entry->second;
}

std::string scratch_of(const KernelInfo& info, int step) {
  std::string rows;
  for (const auto& row : info.scratch) rows += fmt::format("{{{}, {}}}, ", row.bytes, row.in_parallel ? 1 : 0);
  return rows.empty() ? "" : fmt::format("static const cryolite_scratch scratch_{}[] = {{{}}};\n", step, rows);
}

void Tables::add_kernel(const plan::Group& group) {
  const std::string& symbol = parts.symbols.at(group.id);
  if (symbol.empty()) return;
  const KernelInfo& info = parts.infos.at(group.id);
  if (declared.insert(symbol).second) declarations += fmt::format("int {}_argv(void** arguments);\n", symbol);
  std::vector<int> arguments;
  for (ValueId id : group.inputs) arguments.push_back(buffer_of(id));
  int outputs = 0;
  for (ValueId id : group.outputs) {
    if (plan.graph.value(id).type.elements() == 0) continue;
    arguments.push_back(buffer_of(id));
    ++outputs;
  }
  arrays += fmt::format("static const int32_t step_{}[] = {{{}}};\n", step_count, fmt::join(arguments, ", "));
  arrays += scratch_of(info, step_count);
  const std::string scratch = info.scratch.empty() ? "NULL" : fmt::format("scratch_{}", step_count);
  steps += fmt::format("  {{{}, {}_argv, NULL, step_{}, {}, {}, NULL, NULL, NULL, 0, {}, {}, {}}},\n",
                       c_string(plan::name_of(plan, group)), symbol, step_count, group.inputs.size(), outputs,
                       scratch, info.scratch.size(), info.touches_host ? 1 : 0);
  ++step_count;
}

/// Extents and strides of a value in ONNX's axis order.
void append_logical_shape(const graph::Value& value, std::vector<int64_t>& shape) {
  if (value.layout.block_axis >= 0)
    throw Error("is laid out in blocks, which extern stages cannot read", {.value = value.name}, "report this model");
  const auto extents = value.type.extents();
  const auto strides = storage_strides(value.layout, extents);
  std::vector<int64_t> logical(extents.size());
  for (size_t s = 0; s < extents.size(); ++s)
    logical[value.layout.order.empty() ? s : value.layout.order[s]] = strides[s];
  shape.insert(shape.end(), extents.begin(), extents.end());
  shape.insert(shape.end(), logical.begin(), logical.end());
}

void Tables::add_extern(const plan::Group& group) {
  const graph::Node& node = plan.graph.nodes.at(group.anchor);
  const ops::Operator* op = ops::find(node.op_type);
  if (!op || !op->extern_symbol) throw Error("has no function in the runtime", {.node = node.name});
  if (declared.insert(op->extern_symbol).second)
    declarations += fmt::format(
        "int {}(const struct cryolite_tensor*, int, struct cryolite_tensor*, int, const int64_t*, int);\n",
        op->extern_symbol);
  const auto parameters =
      op->extern_parameters ? op->extern_parameters(plan.graph, node) : std::vector<int64_t>{};
  std::vector<int> arguments, kinds;
  std::vector<int64_t> shape;
  for (const auto* list : {&node.inputs, &node.outputs})
    for (ValueId id : *list) {
      const bool is_left_out = id == graph::absent || plan.homes.at(id).kind == Home::Kind::Inside;
      const bool is_there = id != graph::absent && (!is_left_out || parts.weights.offsets.count(id));
      arguments.push_back(is_there ? buffer_of(id) : -1);
      kinds.push_back(is_there ? static_cast<int>(plan.graph.value(id).type.dims.size()) : 0);
      kinds.push_back(is_there ? static_cast<int>(plan.graph.value(id).type.element) : 0);
      if (is_there) append_logical_shape(plan.graph.value(id), shape);
    }
  const int s = step_count++;
  arrays += fmt::format("static const int32_t step_{}[] = {{{}}};\n", s, fmt::join(arguments, ", "));
  arrays += fmt::format("static const int32_t kinds_{}[] = {{{}}};\n", s, fmt::join(kinds, ", "));
  arrays += fmt::format("static const int64_t logical_{}[] = {{{}}};\n", s,
                        shape.empty() ? "0" : fmt::format("{}", fmt::join(shape, ", ")));
  arrays += fmt::format("static const int64_t parameters_{}[] = {{{}}};\n", s,
                        parameters.empty() ? "0" : fmt::format("{}", fmt::join(parameters, ", ")));
  steps += fmt::format("  {{{}, NULL, {}, step_{}, {}, {}, logical_{}, kinds_{}, parameters_{}, {}, NULL, 0, 1}},\n",
                       c_string(plan::name_of(plan, group)), op->extern_symbol, s, node.inputs.size(),
                       node.outputs.size(), s, s, s, parameters.size());
}

/// Tables of the model's inputs or outputs: for the runtime, and for the caller (exported).
std::string argument_tables(const plan::Plan& plan, const std::string& name, const std::string& kind,
                            const std::vector<ValueId>& ids) {
  std::string extents, rows, exported;
  for (size_t i = 0; i < ids.size(); ++i) {
    const graph::Value& value = plan.graph.value(ids[i]);
    const auto shape = value.type.extents();
    extents += fmt::format("static const int64_t {}_{}[] = {{{}}};\n", kind, i,
                           shape.empty() ? "0" : fmt::format("{}", fmt::join(shape, ", ")));
    rows += fmt::format("  {{{}, {}, {}}},\n", c_string(value.name), value.type.bytes(), value.type.elements());
    exported += fmt::format("  {{{}, (cryolite_element){}, {}, {}_{}, {}}},\n", c_string(value.name),
                            static_cast<int>(value.type.element), shape.size(), kind, i, value.type.bytes());
  }
  return fmt::format("{}static const cryolite_argument {}_arguments[] = {{\n{}  {{NULL, 0, 0}}\n}};\n"
                     "const cryolite_description {}_{}s[] = {{\n{}  {{NULL, (cryolite_element)0, 0, NULL, 0}}\n}};\n",
                     extents, kind, rows, name, kind, exported);
}

std::string functions(const plan::Plan& plan, const std::string& name) {
  std::vector<std::string> taken{"context"};
  std::string parameters, inputs, outputs;
  for (ValueId id : plan.graph.inputs) {
    const std::string parameter = parameter_name(plan.graph.value(id).name, taken);
    parameters += fmt::format(", const {}* {}", c_type(plan.graph.value(id).type.element), parameter);
    inputs += parameter + ", ";
  }
  for (ValueId id : plan.graph.outputs) {
    const std::string parameter = parameter_name(plan.graph.value(id).name, taken);
    parameters += fmt::format(", {}* {}", c_type(plan.graph.value(id).type.element), parameter);
    outputs += parameter + ", ";
  }
  return fmt::format(R"(
int {0}_create({0}_context** context, int threads, const char* weights_path) {{
  return cryolite_create(&model, (cryolite_context**)context, threads, weights_path);
}}
int {0}_run({0}_context* context, const void* const inputs[], void* const outputs[]) {{
  return cryolite_run((cryolite_context*)context, inputs, outputs);
}}
int {0}_infer({0}_context* context{1}) {{
  const void* const inputs[] = {{{2}NULL}};
  void* const outputs[] = {{{3}NULL}};
  return cryolite_run((cryolite_context*)context, inputs, outputs);
}}
void {0}_destroy({0}_context* context) {{ cryolite_destroy((cryolite_context*)context); }}
const char* {0}_error(const {0}_context* context) {{ return cryolite_error_text((const cryolite_context*)context); }}
)",
                     name, parameters, inputs, outputs);
}

}  // namespace

std::vector<ValueId> stored_constants(const plan::Plan& plan) {
  std::vector<ValueId> ids;
  std::set<ValueId> taken;
  const auto add = [&](ValueId id) {
    if (id != graph::absent && plan.graph.value(id).constant && plan.graph.value(id).type.elements() > 0 &&
        taken.insert(id).second)
      ids.push_back(id);
  };
  for (const plan::Group& group : plan.groups) {
    for (ValueId id : group.inputs) add(id);
    if (group.is_extern())
      for (ValueId id : plan.graph.nodes.at(group.anchor).inputs) add(id);
  }
  return ids;
}

std::string model_source(const plan::Plan& plan, const DriverParts& parts) {
  Tables tables{plan, parts, {}, {}, {}, {}, {}, {}, {}, 0};
  for (const plan::Group& group : plan.groups) group.is_extern() ? tables.add_extern(group) : tables.add_kernel(group);
  const std::string api = device_api(parts.target);
  const bool embeds = parts.embeds_weights && parts.weights.bytes > 0;
  std::string text = fmt::format("/* The tables of {}, made by Cryolite. */\n#include \"{}.h\"\n"
                                 "#include \"cryolite_runtime.h\"\n\n",
                                 parts.name, parts.name);
  text += tables.declarations;
  if (embeds) text += fmt::format("extern const unsigned char {}_weights[];\n", parts.name);
  if (!api.empty()) text += fmt::format("const struct halide_device_interface_t* halide_{}_device_interface(void);\n", api);
  text += tables.shapes;
  text += fmt::format("static const cryolite_buffer buffers[] = {{\n{}  {{0}}\n}};\n", tables.buffers);
  text += tables.arrays;
  text += fmt::format("static const cryolite_step steps[] = {{\n{}  {{0}}\n}};\n", tables.steps);
  text += argument_tables(plan, parts.name, "input", plan.graph.inputs);
  text += argument_tables(plan, parts.name, "output", plan.graph.outputs);
  text += fmt::format(
      "static const cryolite_model model = {{CRYOLITE_TABLES, {}, {}, buffers, {}, steps, {}, input_arguments, {}, output_arguments, {}, "
      "{}, {}, {}, {{{:#x}u, {:#x}u}}, {}, {}}};\n",
      c_string(parts.name), c_string(parts.target), tables.index.size(), tables.step_count, plan.graph.inputs.size(),
      plan.graph.outputs.size(), plan.arena_bytes, embeds ? parts.name + "_weights" : "NULL", parts.weights.bytes,
      parts.weights.hash.words[0], parts.weights.hash.words[1], api.empty() ? "NULL" : c_string(api),
      api.empty() ? "NULL" : fmt::format("halide_{}_device_interface", api));
  return text + functions(plan, parts.name);
}

}  // namespace cryolite::emit
