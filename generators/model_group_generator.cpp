#include <Halide.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "emit/evaluate.h"
#include "lower/lowered_group.h"
#include "onnx/import.h"
#include "ops/builder.h"
#include "ops/operator.h"
#include "plan/plan.h"
#include "simplify/simplify.h"

namespace {

using namespace cryolite;
using Halide::Parameter;

/// One kernel of a model's plan, as a generator for add_halide_library.
///
///     model    path of the ONNX file
///     group    the kernel's name (its last node, as `cryolite plan` prints it) or its number
///     planner  greedy or none
///     dims     free dimensions, name=number, separated by commas
///
/// Inputs and outputs are those of the group, weights among them, called as its values are (as identifiers), in the
/// group's layouts: storage axes innermost first. Not a Halide::Generator<>, whose inputs are members of a class:
/// here they are known only when the model has been read.
class ModelGroup : public Halide::Internal::AbstractGenerator {
 public:
  explicit ModelGroup(const Halide::GeneratorContext& context) : context_(context) {}

  std::string name() override { return "model_group"; }
  Halide::GeneratorContext context() const override { return context_; }

  void set_generatorparam_value(const std::string& name, const std::string& value) override {
    const std::pair<const char*, std::string*> known[] = {
        {"model", &model_}, {"group", &group_}, {"planner", &planner_}, {"dims", &dims_}};
    for (const auto& [word, member] : known)
      if (name == word) {
        *member = value;
        return;
      }
    fail(Error("there is no parameter " + name, {}, "give model, group, planner and dims"));
  }
  void set_generatorparam_value(const std::string& name, const Halide::LoopLevel&) override {
    fail(Error("parameter " + name + " takes no loop level"));
  }

  std::vector<ArgInfo> arginfos() override {
    lower_once();
    std::vector<ArgInfo> infos;
    for (graph::ValueId id : graph_.inputs) infos.push_back(info_of(id, Halide::Internal::ArgInfoDirection::Input));
    for (graph::ValueId id : graph_.outputs) infos.push_back(info_of(id, Halide::Internal::ArgInfoDirection::Output));
    return infos;
  }

  Halide::Pipeline build_pipeline() override {
    lower_once();
    std::vector<Halide::Func> outputs;
    for (int stage : lowered_.outputs) outputs.push_back(lowered_.stages[stage].laid.func);
    return Halide::Pipeline(outputs);
  }

  std::vector<Parameter> input_parameter(const std::string& name) override {
    for (size_t i = 0; i < graph_.inputs.size(); ++i)
      if (identifier_of(graph_.inputs[i]) == name) return {lowered_.inputs[i].parameter()};
    fail(Error("the group has no input " + name));
  }

  std::vector<Halide::Func> output_func(const std::string& name) override {
    for (size_t i = 0; i < graph_.outputs.size(); ++i)
      if (identifier_of(graph_.outputs[i]) == name) return {lowered_.stages[lowered_.outputs[i]].laid.func};
    fail(Error("the group has no output " + name));
  }

  void bind_input(const std::string& name, const std::vector<Parameter>&) override { refuse_binding(name); }
  void bind_input(const std::string& name, const std::vector<Halide::Func>&) override { refuse_binding(name); }
  void bind_input(const std::string& name, const std::vector<Halide::Expr>&) override { refuse_binding(name); }
  bool emit_cpp_stub(const std::string&) override { return false; }
  bool emit_hlpipe(const std::string&) override { return false; }
  bool allow_out_of_order_inputs_and_outputs() const override { return false; }

 private:
  Halide::GeneratorContext context_;
  std::string model_, group_, planner_ = "greedy", dims_;
  bool is_lowered_ = false;
  graph::Graph graph_;
  lower::LoweredGroup lowered_;

  /// Generators are programs of their own: a fault of the model ends this one with a line that says what it is.
  [[noreturn]] static void fail(const std::exception& fault) {
    std::fprintf(stderr, "model_group: %s\n", fault.what());
    std::exit(1);
  }
  [[noreturn]] static void refuse_binding(const std::string& name) {
    fail(Error("input " + name + " cannot be bound to an expression"));
  }

  std::string identifier_of(graph::ValueId id) const { return ops::identifier(graph_.value(id).name); }

  ArgInfo info_of(graph::ValueId id, Halide::Internal::ArgInfoDirection direction) const {
    const graph::Value& value = graph_.value(id);
    const auto extents = storage_extents(value.layout, value.type.extents());
    return {identifier_of(id), direction, Halide::Internal::ArgInfoKind::Buffer,
            {ops::halide_type(value.type.element)}, static_cast<int>(extents.size())};
  }

  std::map<std::string, int64_t> fixed_dims() const {
    std::map<std::string, int64_t> fixed;
    for (size_t begin = 0; begin < dims_.size();) {
      const size_t end = std::min(dims_.find(',', begin), dims_.size());
      const size_t equals = dims_.find('=', begin);
      if (equals >= end) throw Error("dims is not of the form name=number,name=number");
      fixed[dims_.substr(begin, equals - begin)] = std::atoll(dims_.c_str() + equals + 1);
      begin = end + 1;
    }
    return fixed;
  }

  plan::Plan planned() const {
    onnx::ImportOptions import_options;
    import_options.dims = fixed_dims();
    import_options.known_operator = [](std::string_view op_type) { return ops::find(op_type) != nullptr; };
    const simplify::Evaluate evaluate = [](const graph::Graph& constant) { return emit::evaluate(constant, {}); };
    const graph::Graph original = simplify::fold_constants(onnx::import_model(model_, import_options), evaluate);
    const graph::Graph simplified = simplify::simplify(original, evaluate);
    onnx::require_fixed_types(simplified);
    plan::Options options;
    options.planner = planner_;
    options.machine = schedule::machine_of(context_.target().to_string());
    options.model_name = "model";
    const bool is_cpu = options.machine.kind == schedule::Machine::Kind::Cpu;
    return plan::make_plan(simplified, original, device::load(is_cpu ? "host" : "a100"), options);
  }

  const plan::Group& chosen(const plan::Plan& plan) const {
    for (const plan::Group& group : plan.groups)
      if (plan::name_of(plan, group) == group_ || std::to_string(group.id) == group_) return group;
    std::string names;
    for (const plan::Group& group : plan.groups) names += (names.empty() ? "" : ", ") + plan::name_of(plan, group);
    throw Error("the plan has no group '" + group_ + "'", {.file = model_}, "it has " + names);
  }

  void lower_once() {
    if (is_lowered_) return;
    is_lowered_ = true;
    try {
      const plan::Plan plan = planned();
      const plan::Group& group = chosen(plan);
      if (group.is_extern()) throw Error("the group is no Halide kernel", {.node = group_});
      graph_ = plan::graph_of(plan, group);
      lowered_ = lower::lower(graph_);
      schedule::apply(plan::schedule_of(plan, group), lowered_);
    } catch (const std::exception& fault) {
      fail(fault);
    }
  }
};

const Halide::Internal::RegisterGenerator registered(
    "model_group", [](const Halide::GeneratorContext& context) -> Halide::Internal::AbstractGeneratorPtr {
      return std::make_unique<ModelGroup>(context);
    });

}  // namespace
