#include "emit/compile_group.h"

#include <Halide.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "emit/inspect.h"
#include "emit/target.h"
#include "graph/text.h"
#include "lower/lowered_group.h"
#include "schedule/schedule.h"

namespace cryolite::emit {
namespace {

using Halide::OutputFileType;

Halide::Module to_module(lower::LoweredGroup& lowered, const graph::Graph& group, const GroupJob& job) {
  std::vector<Halide::Func> outputs;
  for (size_t i = 0; i < group.outputs.size(); ++i)
    if (group.value(group.outputs[i]).type.elements() > 0)
      outputs.push_back(lowered.stages[lowered.outputs[i]].laid.func);
  std::vector<Halide::Argument> arguments;
  for (const Halide::ImageParam& input : lowered.inputs) arguments.push_back(input);
  return Halide::Pipeline(outputs).compile_to_module(arguments, job.symbol, kernel_target(job.target),
                                                     Halide::LinkageType::ExternalPlusArgv);
}

void write_module(const Halide::Module& module, const GroupJob& job) {
  const TemporaryFolder aside(job.result.substr(0, job.result.rfind('/')));
  std::map<OutputFileType, std::string> files{{OutputFileType::object, aside.file("kernel.o")}};
  const bool is_cuda = device_api(job.target) == "cuda";
  if (is_cuda) files[OutputFileType::device_code] = aside.file("kernel.ptx");
  module.compile(files);
  if (is_cuda) move_file(aside.file("kernel.ptx"), job.result + ".ptx");
  move_file(aside.file("kernel.o"), job.result + ".o");
}

}  // namespace

std::vector<graph::ValueId> written_outputs(const graph::Graph& group) {
  std::vector<graph::ValueId> written;
  for (graph::ValueId id : group.outputs)
    if (group.value(id).type.elements() > 0) written.push_back(id);
  return written;
}

void compile_group(const GroupJob& job) {
  const graph::Graph group = graph::parse_text(job.graph, "group");
  const auto schedules = schedule::parse_text(job.schedule, "schedule");
  lower::LoweredGroup lowered = lower::lower(group);
  for (const schedule::GroupSchedule& schedule : schedules) schedule::apply(schedule, lowered);
  try {
    const Halide::Module module = to_module(lowered, group, job);
    const KernelInfo info = inspect(module, job.symbol);
    write_module(module, job);
    write_file(job.result + ".json", to_json(info));
  } catch (const Halide::Error& error) {
    throw Error(fmt::format("Halide refuses the group: {}", error.what()));
  }
}

void compile_group_job(const std::string& job_file) {
  const std::string text = read_file(job_file);
  GroupJob job;
  try {
    const auto record = nlohmann::json::parse(text);
    record.at("graph").get_to(job.graph);
    record.at("schedule").get_to(job.schedule);
    record.at("target").get_to(job.target);
    record.at("symbol").get_to(job.symbol);
    record.at("result").get_to(job.result);
  } catch (const nlohmann::json::exception& fault) {
    throw Error(fmt::format("is no job of a group: {}", fault.what()), {.file = job_file});
  }
  compile_group(job);
}

}  // namespace cryolite::emit
