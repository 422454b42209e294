#include "emit/compile_model.h"

#include "emit/ptx_module.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/subprocess.h"
#include "emit/cache.h"
#include "emit/canonical.h"
#include "emit/driver.h"
#include "emit/runtime_sources.h"
#include "emit/target.h"
#include "emit/toolchain.h"
#include "graph/text.h"
#include "ops/builder.h"

/// plan ──► kernels (one a distinct group, in child processes, kept in the cache) ─┐
///      ──► weights (packed) ──────────────────────────────────────────────────────┼─► libNAME.a, NAME.h, …
///      ──► tables (NAME_model.c, compiled by cc) ─────────────────────────────────┘
namespace cryolite::emit {
namespace {

namespace fs = std::filesystem;
using schedule::GroupSchedule;

/// A kernel to be compiled, and the groups that use it.
struct Kernel {
  GroupJob job;
  std::string key;
  std::vector<int> groups;
};

std::string node_names(const plan::Plan& plan, const plan::Group& group) {
  std::vector<std::string> names;
  for (graph::NodeId n : group.nodes) names.push_back(plan.graph.nodes.at(n).name);
  if (names.size() > 6) {
    const size_t more = names.size() - 5;
    names.resize(5);
    names.push_back(fmt::format("{} more", more));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// The distinct kernels of a plan, and each group's symbol.
std::vector<Kernel> distinct_kernels(const plan::Plan& plan, const std::vector<GroupSchedule>& schedules,
                                     const std::string& target, const std::string& compiled_with,
                                     const Cache& cache, std::vector<CompiledGroup>& groups) {
  std::vector<Kernel> kernels;
  std::map<std::string, size_t> known;
  for (const plan::Group& group : plan.groups) {
    groups[group.id].id = group.id;
    if (group.is_extern()) continue;
    const graph::Graph own = plan::graph_of(plan, group);
    if (written_outputs(own).empty()) continue;
    const CanonicalGroup same = canonical(own, schedules.at(group.id));
    Kernel kernel;
    kernel.job.graph = graph::to_text(same.graph);
    kernel.job.schedule = schedule::to_text(same.schedule);
    kernel.job.target = target;
    kernel.key = hash_of(kernel.job.graph + '\0' + kernel.job.schedule + '\0' + target + '\0' + compiled_with).hex();
    kernel.job.symbol = "cryolite_kernel_" + kernel.key;
    kernel.job.result = cache.path(kernel.job.symbol);
    groups[group.id].symbol = kernel.job.symbol;
    groups[group.id].record = kernel.job.result + ".json";
    if (device_api(target) == "cuda") groups[group.id].ptx = kernel.job.result + ".ptx";
    const auto [entry, is_new] = known.try_emplace(kernel.key, kernels.size());
    if (is_new) kernels.push_back(std::move(kernel));
    kernels[entry->second].groups.push_back(group.id);
  }
  return kernels;
}

std::string this_program() {
  std::error_code fault;
  return std::filesystem::read_symlink("/proc/self/exe", fault).string();
}

/// The last line that a child printed: its own error message.
std::string complaint(const std::string& output) {
  size_t end = output.find_last_not_of("\n ");
  if (end == std::string::npos) return "";
  const size_t begin = output.rfind('\n', end);
  std::string line = output.substr(begin == std::string::npos ? 0 : begin + 1, end - (begin == std::string::npos ? -1 : static_cast<long>(begin)));
  if (line.starts_with("cryolite: ")) line.erase(0, 10);
  return line;
}

void compile_missing(const plan::Plan& plan, const std::vector<GroupSchedule>& schedules,
                     const std::vector<Kernel>& kernels, const Cache& cache, const CompileOptions& options,
                     const std::string& compiler) {
  const TemporaryFolder jobs(cache.folder());
  std::vector<Command> commands;
  std::vector<const Kernel*> missing;
  for (const Kernel& kernel : kernels) {
    if (cache.has(kernel.job.symbol, ".json")) continue;
    const std::string file = jobs.file(kernel.key + ".job");
    write_file(file, to_json(kernel.job));
    commands.push_back({{compiler, "compile-group", file}, options.timeout});
    missing.push_back(&kernel);
  }
  int done = static_cast<int>(kernels.size() - missing.size());
  const int total = static_cast<int>(kernels.size());
  if (options.progress) options.progress(done, total, "kernels");
  run_all(commands, options.jobs, [&](size_t index, const Finished& finished) {
    const plan::Group& group = plan.groups.at(missing[index]->groups.front());
    if (!finished.is_well() || !cache.has(missing[index]->job.symbol, ".json")) {
      const std::string said = complaint(finished.output);
      if (const std::string& file = schedules.at(group.id).file; !file.empty())
        throw Error(fmt::format("group {} cannot be compiled with this schedule: the compiler {}{}{}",
                                plan::name_of(plan, group), finished.describe(), said.empty() ? "" : ": ", said),
                    {.file = file}, "`cryolite plan MODEL --schedule` prints schedules to start from");
      throw Error(fmt::format("the kernel of nodes {} cannot be compiled: the compiler {}{}{}",
                              node_names(plan, group), finished.describe(), said.empty() ? "" : ": ", said),
                  {.node = plan::name_of(plan, group)}, "try --planner none, or report this model");
    }
    if (options.progress) options.progress(++done, total, node_names(plan, group));
  });
}

/// The object with the weights inside: the file's bytes after its header, aligned to a cache line.
std::string weights_object(const TemporaryFolder& folder, const std::string& name, const std::string& file) {
  const std::string source = folder.file(name + "_weights.S"), object = folder.file(name + "_weights.o");
  write_file(source, fmt::format("  .section .rodata\n  .balign 64\n  .globl {0}_weights\n  .type {0}_weights, @object\n"
                                 "{0}_weights:\n  .incbin \"{1}\", {2}\n  .size {0}_weights, . - {0}_weights\n"
                                 "  .section .note.GNU-stack,\"\",@progbits\n",
                                 name, file, weights_header_bytes));
  compile_c(source, object, {});
  return object;
}

std::string model_object(const TemporaryFolder& folder, const plan::Plan& plan, const DriverParts& parts) {
  for (const char* header : {"cryolite_runtime.h", "cryolite_description.h"})
    write_file(folder.file(header), runtime_source(header));
  write_file(folder.file(parts.name + ".h"), model_header(plan, parts));
  const std::string source = folder.file(parts.name + "_model.c"), object = folder.file(parts.name + "_model.o");
  write_file(source, model_source(plan, parts));
  compile_c(source, object, {folder.path()});
  return object;
}

std::string all_schedules(const plan::Plan& plan, const std::vector<GroupSchedule>& schedules) {
  std::string text;
  for (const plan::Group& group : plan.groups)
    if (!group.is_extern()) text += schedule::to_text(schedules.at(group.id)) + "\n";
  return text;
}

std::string all_ptx(const std::vector<Kernel>& kernels) {
  std::vector<std::pair<std::string, std::string>> parts;
  for (const Kernel& kernel : kernels) parts.emplace_back(kernel.job.symbol, read_file(kernel.job.result + ".ptx"));
  return merged_ptx(parts);
}

void check(const plan::Plan& plan, const std::vector<GroupSchedule>& schedules, const CompileOptions& options) {
  if (options.name.empty() || ops::identifier(options.name) != options.name)
    throw Error(fmt::format("'{}' cannot be a model's name", options.name), {},
                "use letters, digits and _, not beginning with a digit");
  if (schedules.size() != plan.groups.size())
    throw Error(fmt::format("{} schedules are given for {} groups", schedules.size(), plan.groups.size()));
  require_writable_folder(options.folder);
  require_toolchain();
}

std::vector<CompiledGroup> compile_into_folder(const plan::Plan& plan, const std::vector<GroupSchedule>& schedules,
                                               const CompileOptions& options, const std::string& target) {
  check(plan, schedules, options);
  const std::string compiler = options.compiler.empty() ? this_program() : options.compiler;
  const Cache cache(options.cache.empty() ? default_cache() : options.cache);
  std::vector<CompiledGroup> groups(plan.groups.size());
  const std::vector<Kernel> kernels =
      distinct_kernels(plan, schedules, target, versions(compiler), cache, groups);
  compile_missing(plan, schedules, kernels, cache, options, compiler);

  if (options.progress) options.progress(static_cast<int>(kernels.size()), static_cast<int>(kernels.size()), "archive");
  const TemporaryFolder folder(options.folder);
  const std::string weights_file = folder.file(options.name + ".weights");
  DriverParts parts;
  parts.name = options.name;
  parts.target = target;
  parts.embeds_weights = options.embeds_weights;
  parts.weights = write_weights(plan.graph, stored_constants(plan), weights_file);
  bool has_extern_stages = false;
  for (const plan::Group& group : plan.groups) {
    const CompiledGroup& compiled = groups[group.id];
    parts.symbols.push_back(compiled.symbol);
    parts.infos.push_back(compiled.symbol.empty() ? KernelInfo{} : kernel_info_of(read_file(compiled.record)));
    has_extern_stages = has_extern_stages || group.is_extern();
  }
  std::vector<std::string> members{model_object(folder, plan, parts)};
  if (parts.embeds_weights && parts.weights.bytes > 0)
    members.push_back(weights_object(folder, options.name, weights_file));
  for (const Kernel& kernel : kernels) members.push_back(kernel.job.result + ".o");
  for (const std::string& object : runtime_objects(cache, target, has_extern_stages)) members.push_back(object);
  const std::string archive = fmt::format("lib{}.a", options.name);
  make_archive(folder.file(archive), members);

  const std::string stem = options.folder + "/" + options.name;
  if (!plan.groups.empty() && device_api(target) == "cuda") write_file(stem + ".ptx", all_ptx(kernels));
  if (!options.plan_json.empty()) write_file(stem + ".plan.json", options.plan_json);
  write_file(stem + ".schedule", all_schedules(plan, schedules));
  if (!options.embeds_weights && parts.weights.bytes > 0) move_file(weights_file, stem + ".weights");
  move_file(folder.file(options.name + ".h"), stem + ".h");
  move_file(folder.file(archive), options.folder + "/" + archive);
  return groups;
}

/// Those of the folders on the way to `folder` that are not there yet, innermost first.
std::vector<fs::path> missing_folders(const std::string& folder) {
  std::vector<fs::path> missing;
  for (fs::path path = fs::absolute(folder); !path.empty() && !fs::exists(path) && path.has_relative_path();
       path = path.parent_path())
    missing.push_back(path);
  return missing;
}

}  // namespace

std::vector<CompiledGroup> compile_model(const plan::Plan& plan, const std::vector<GroupSchedule>& schedules,
                                         const CompileOptions& options) {
  const std::string target = target_string(options.target);
  const std::vector<fs::path> made = missing_folders(options.folder);
  try {
    return compile_into_folder(plan, schedules, options, target);
  } catch (...) {
    std::error_code still_used;
    for (const fs::path& folder : made) fs::remove(folder, still_used);  // removes empty folders only
    throw;
  }
}

}  // namespace cryolite::emit
