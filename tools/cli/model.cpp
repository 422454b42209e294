#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "emit/evaluate.h"
#include "emit/target.h"
#include "onnx/import.h"
#include "ops/builder.h"
#include "ops/operator.h"
#include "simplify/simplify.h"
#include "tools/cli/commands.h"

namespace cryolite::cli {
namespace {

namespace fs = std::filesystem;

std::map<std::string, int64_t> parsed_dims(const std::vector<std::string>& dims) {
  std::map<std::string, int64_t> parsed;
  for (const std::string& dim : dims) {
    const size_t equals = dim.find('=');
    char* end = nullptr;
    const long value = equals == std::string::npos ? 0 : std::strtol(dim.c_str() + equals + 1, &end, 10);
    if (equals == std::string::npos || equals == 0 || value <= 0 || *end != '\0')
      throw Error(fmt::format("--dim {} is not of the form name=number", dim), {}, "write, say, --dim batch=1");
    parsed[dim.substr(0, equals)] = value;
  }
  return parsed;
}

bool is_gpu(schedule::Machine::Kind kind) { return kind != schedule::Machine::Kind::Cpu; }

}  // namespace

void add_model_options(CLI::App& command, ModelOptions& options) {
  command.add_option("model", options.model, "the ONNX model")->required();
  command.add_option("--target", options.target,
                     "host, cuda, opencl, vulkan, or a Halide target string")->capture_default_str();
  command.add_option("--device", options.device,
                     "device that costs are predicted for: a name (see `cryolite device`) or a JSON file");
  command.add_option("--planner", options.planner, "none (one kernel a node), greedy (by rules) or optimal (by predicted cost)")
      ->check(CLI::IsMember({"none", "greedy", "optimal"}))
      ->capture_default_str();
  command.add_option("--dim", options.dims, "fixes a free dimension: name=number; may be repeated");
}

PlannedModel plan_model(const ModelOptions& options) {
  emit::target_string(options.target);  // throws where there is no such target
  try {
    onnx::ImportOptions import_options;
    import_options.dims = parsed_dims(options.dims);
    import_options.known_operator = [](std::string_view op_type) { return ops::find(op_type) != nullptr; };
    PlannedModel model;
    model.original = onnx::import_model(options.model, import_options);
    const simplify::Evaluate evaluate = [](const graph::Graph& constant) { return emit::evaluate(constant, {}); };
    model.original = simplify::fold_constants(std::move(model.original), evaluate);
    const graph::Graph simplified = simplify::simplify(model.original, evaluate);
    onnx::require_fixed_types(simplified);
    plan::Options plan_options;
    plan_options.planner = options.planner;
    plan_options.machine = schedule::machine_of(options.target);
    plan_options.model_name = default_name(options.model);
    plan_options.stored = options.stored;
    const bool gpu = is_gpu(plan_options.machine.kind);
    model.device = device::load(!options.device.empty() ? options.device : gpu ? "a100" : "host");
    model.plan = plan::make_plan(simplified, model.original, model.device, plan_options);
    return model;
  } catch (const Error& error) {
    throw error.inside({.file = options.model});
  }
}

void write_text(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return;
  }
  const std::string aside = fmt::format("{}.{}.part", path, ::getpid());
  std::ofstream out(aside, std::ios::binary);
  out << text;
  out.close();
  std::error_code fault;
  if (out) fs::rename(aside, path, fault);
  if (out && !fault) return;
  fs::remove(aside, fault);
  throw Error("cannot be written", {.file = path}, "check that the folder exists and is writable");
}

std::string default_name(const std::string& model_path) {
  fs::path path(model_path);
  std::string stem = path.stem().string();
  if (stem == "model") {
    const std::string folder = fs::absolute(path).parent_path().filename().string();
    if (!folder.empty()) stem = folder;
  }
  return ops::identifier(stem);
}

}  // namespace cryolite::cli
