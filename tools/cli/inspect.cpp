#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"
#include "device/device.h"
#include "graph/text.h"
#include "ops/operator.h"
#include "report/report.h"
#include "tools/cli/commands.h"

namespace cryolite::cli {
namespace {

struct PlanOptions {
  ModelOptions model;
  std::string json, explain, graph;
  bool schedule = false;
};

std::string schedules_text(const plan::Plan& plan) {
  std::string text;
  for (const plan::Group& group : plan.groups)
    if (!group.is_extern()) text += schedule::to_text(plan::schedule_of(plan, group)) + "\n";
  return text;
}

void run_plan(const PlanOptions& options) {
  const PlannedModel model = plan_model(options.model);
  if (!options.json.empty()) write_text(options.json, report::to_json(model.plan).dump(2) + "\n");
  if (!options.graph.empty())
    write_text(options.graph, graph::to_text(model.plan.graph, {.elide_constants_over = 8}));
  if (!options.explain.empty()) write_text("-", report::explanation(model.plan, options.explain));
  if (options.schedule) write_text("-", schedules_text(model.plan));
  if (options.json.empty() && options.graph.empty() && options.explain.empty() && !options.schedule)
    write_text("-", report::to_table(model.plan));
}

std::string access_text(const ops::Operator& op) {
  return fmt::format("{:<24} {:<10}", op.op_type, ops::name_of(op.category));
}

}  // namespace

void add_plan(CLI::App& app) {
  auto* command = app.add_subcommand("plan", "Show which nodes become one kernel, where each is computed, and why");
  auto options = std::make_shared<PlanOptions>();
  add_model_options(*command, options->model);
  command->add_option("--json", options->json, "write the plan as JSON to this file (- is standard output)");
  command->add_option("--graph", options->graph, "write the planned graph as text, layouts included");
  command->add_option("--explain", options->explain, "NODE or PRODUCER->CONSUMER: why it was fused or not");
  command->add_flag("--schedule", options->schedule, "print the schedule of every kernel");
  command->footer("Example: cryolite plan resnet50.onnx --device h100 --target cuda --json plan.json");
  command->callback([options] { run_plan(*options); });
}

void add_ops(CLI::App& app) {
  auto* command = app.add_subcommand("ops", "List the operators: name and category");
  command->footer("Example: cryolite ops");
  command->callback([] {
    for (const ops::Operator& op : ops::table()) fmt::print("{}\n", access_text(op));
  });
}

void add_device(CLI::App& app) {
  struct Options {
    std::string name = "host", json;
    bool refresh = false, list = false;
  };
  auto* command = app.add_subcommand("device", "Describe a device; `host` is measured once and kept");
  auto options = std::make_shared<Options>();
  command->add_option("name", options->name, "host, a100, h100, h200, orin, rtx4090, or a JSON file")
      ->capture_default_str();
  command->add_flag("--refresh", options->refresh, "measure the host anew");
  command->add_flag("--list", options->list, "list the names that are known");
  command->add_option("--json", options->json, "write the description as JSON to this file (- is standard output)");
  command->footer("Example: cryolite device host --refresh");
  command->callback([options] {
    if (options->list) {
      for (const std::string& name : device::built_in_names()) fmt::print("{}\n", name);
      return;
    }
    const device::Device device = device::load(options->name, options->refresh);
    if (!options->json.empty()) return write_text(options->json, device::to_json(device).dump(2) + "\n");
    fmt::print("{}: {} cores, {:.1f} GFLOP/s float32\n", device.name, device.cores, device.flops_per_second / 1e9);
    for (const device::MemoryLevel& level : device.memory)
      fmt::print("  {:<8} {:>10} {:>9.1f} GB/s\n", level.name,
                 level.bytes ? fmt::format("{} KiB", level.bytes >> 10) : "", level.bytes_per_second / 1e9);
    fmt::print("  source: {}\n", device.source);
  });
}

}  // namespace cryolite::cli
