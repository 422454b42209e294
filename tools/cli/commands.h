#pragma once
#include <CLI/CLI.hpp>

#include <map>
#include <set>
#include <string>

#include "plan/plan.h"

/// One function a subcommand: it declares its options on `app` and what to do when it is chosen.
namespace cryolite::cli {

void add_plan(CLI::App& app);
void add_compile(CLI::App& app);
void add_compile_group(CLI::App& app);  ///< hidden: the child process of compile
void add_run(CLI::App& app);
void add_verify(CLI::App& app);
void add_bench(CLI::App& app);
void add_ops(CLI::App& app);
void add_device(CLI::App& app);

/// What every command that reads a model takes.
struct ModelOptions {
  std::string model;
  std::string target = "host";
  std::string device;             ///< empty: host for CPU targets, a100 for GPU targets
  std::string planner = "optimal";
  std::vector<std::string> dims;  ///< name=value
  std::set<std::string> stored;   ///< nodes whose results are to be stored: measured_plan's, no option
};
void add_model_options(CLI::App& command, ModelOptions& options);

/// A model read, simplified and planned.
struct PlannedModel {
  graph::Graph original;
  device::Device device;
  plan::Plan plan;
};
/// Throws Error (file, node, remedy) where the model is at fault.
PlannedModel plan_model(const ModelOptions& options);

/// Writes text to a file (aside, then renamed), or to standard output where the path is "-".
void write_text(const std::string& path, const std::string& text);

/// The name that files and symbols carry: the model file's stem, or its folder's name where the file is called
/// model.onnx; as an identifier of C.
std::string default_name(const std::string& model_path);

}  // namespace cryolite::cli
