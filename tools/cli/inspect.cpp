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
  std::string json, explain, graph, dot, svg, roofline, html;
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
  bool is_table_wanted = true;
  const auto write = [&](const std::string& file, const auto& make) {
    if (file.empty()) return;
    write_text(file, make());
    is_table_wanted = false;
  };
  write(options.json, [&] { return report::to_json_text(model.plan); });
  write(options.graph, [&] { return graph::to_text(model.plan.graph, {.elide_constants_over = 8}); });
  write(options.dot, [&] { return report::to_dot(model.plan); });
  write(options.svg, [&] { return report::to_graph_svg(model.plan); });
  write(options.roofline, [&] { return report::to_roofline_svg(model.plan, model.original, model.device); });
  write(options.html, [&] { return report::to_html(model.plan, model.original, model.device); });
  write(options.explain.empty() ? "" : "-", [&] {
    try {
      return report::explanation(model.plan, options.explain);
    } catch (const Error& error) {
      throw error.inside({.file = options.model.model});
    }
  });
  write(options.schedule ? "-" : "", [&] { return schedules_text(model.plan); });
  if (is_table_wanted) write_text("-", report::to_table(model.plan, model.device));
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
  command->add_option("--dot", options->dot, "write the graph, a cluster a kernel, in Graphviz's language");
  command->add_option("--svg", options->svg, "write the graph, a cluster a kernel, as a picture");
  command->add_option("--roofline", options->roofline,
                      "write a picture of every kernel below the device's roofs, before and after");
  command->add_option("--html", options->html, "write all of the plan on one page for a browser");
  command->add_option("--explain", options->explain, "NODE or PRODUCER->CONSUMER: why it was fused or not");
  command->add_flag("--schedule", options->schedule, "print the schedule of every kernel");
  command->footer("Example: cryolite plan resnet50.onnx --device h100 --target cuda --html plan.html");
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
