#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/error.h"
#include "base/files.h"
#include "emit/compile_group.h"
#include "report/report.h"
#include "tools/cli/build.h"
#include "tools/cli/commands.h"
#include "tools/cli/measure.h"
#include "tools/cli/resources.h"

namespace cryolite::cli {
namespace {

/// One line that is rewritten in place on a terminal; a line every tenth of the work elsewhere.
std::function<void(int, int, const std::string&)> progress_printer() {
  const bool is_terminal = ::isatty(STDERR_FILENO);
  return [is_terminal, last = -1](int done, int total, const std::string& what) mutable {
    if (is_terminal) {
      std::fprintf(stderr, "\r\033[K[%d/%d] %s", done, total, what.substr(0, 90).c_str());
      if (done == total) std::fprintf(stderr, "\r\033[K");
    } else if (const int tenth = total ? 10 * done / total : 10; tenth != last) {
      last = tenth;
      std::fprintf(stderr, "[%d/%d] kernels compiled\n", done, total);
    }
  };
}

/// The default schedules, but for groups that the file speaks of.
std::vector<schedule::GroupSchedule> schedules_of(const plan::Plan& plan, const std::string& file) {
  std::vector<schedule::GroupSchedule> given;
  if (!file.empty()) given = schedule::parse_text(read_file(file), file);
  std::vector<bool> used(given.size(), false);
  std::vector<schedule::GroupSchedule> schedules;
  for (const plan::Group& group : plan.groups) {
    schedules.push_back(group.is_extern() ? schedule::GroupSchedule{} : plan::schedule_of(plan, group));
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i].group != plan::name_of(plan, group)) continue;
      used[i] = true;
      schedules.back() = given[i];
      // Applied once here, so that a mistake is told with its line before anything is compiled.
      lower::LoweredGroup lowered = lower::lower(plan::graph_of(plan, group));
      schedule::apply(given[i], lowered);
    }
  }
  for (size_t i = 0; i < given.size(); ++i)
    if (!used[i])
      throw Error(fmt::format("has a group '{}' that the plan does not have", given[i].group), {.file = file},
                  "`cryolite plan MODEL --schedule` prints the groups");
  return schedules;
}

}  // namespace

std::vector<emit::CompiledGroup> build_model(const PlannedModel& model, const BuildOptions& options) {
  emit::CompileOptions compile;
  compile.name = options.name;
  compile.folder = options.folder;
  compile.target = options.target;
  compile.embeds_weights = options.weights == "embed";
  compile.jobs = options.jobs;
  compile.plan_json = report::to_json_text(model.plan);
  compile.progress = progress_printer();
  const auto groups = emit::compile_model(model.plan, schedules_of(model.plan, options.schedule), compile);
  report::GroupResources resources;
  if (model.plan.machine.kind == schedule::Machine::Kind::Cuda)
    resources = write_resources(model.plan, groups, options.folder, options.name);
  if (!options.html.empty())
    write_text(options.html, report::to_html(model.plan, model.original, model.device, resources));
  return groups;
}

void add_compile(CLI::App& app) {
  struct Options {
    ModelOptions model;
    BuildOptions build;
    bool measure = false;
  };
  auto* command = app.add_subcommand("compile", "Compile a model into a static library and its header");
  auto options = std::make_shared<Options>();
  add_model_options(*command, options->model);
  command->add_option("-o,--output", options->build.folder, "folder of the results")->required();
  command->add_option("--name", options->build.name, "of files and symbols; default: from the model's path");
  command->add_option("--weights", options->build.weights, "embed (in the library) or file (mapped at run time)")
      ->check(CLI::IsMember({"embed", "file"}))
      ->capture_default_str();
  command->add_option("--schedule", options->build.schedule, "schedules for some or all groups");
  command->add_option("--html", options->build.html,
                      "write the plan on one page for a browser, with what ptxas says of CUDA kernels");
  command->add_option("--jobs", options->build.jobs, "kernels compiled at once")->capture_default_str()
      ->check(CLI::Range(1, 256));
  command->add_flag("--measure", options->measure,
                    "time kernels of several reductions beside their parts, and cut those that are slower as one");
  command->footer("Example: cryolite compile resnet50.onnx -o build/resnet --weights file");
  command->callback([options] {
    if (options->build.name.empty()) options->build.name = default_name(options->model.model);
    options->build.target = options->model.target;
    const PlannedModel model = options->measure ? measured_plan(options->model, 0) : plan_model(options->model);
    build_model(model, options->build);
    fmt::print("{0}/lib{1}.a, {0}/{1}.h: {2} kernels (unfused: {3})\n", options->build.folder, options->build.name,
               model.plan.fused.kernels, model.plan.unfused.kernels);
  });
}

void add_compile_group(CLI::App& app) {
  auto* command = app.add_subcommand("compile-group", "Compile one kernel (used by compile)");
  command->group("");
  auto job = std::make_shared<std::string>();
  command->add_option("job", *job, "the job file")->required();
  command->callback([job] { emit::compile_group_job(*job); });
}

}  // namespace cryolite::cli
