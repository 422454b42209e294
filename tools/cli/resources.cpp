#include "tools/cli/resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "emit/compile_group.h"
#include "emit/ptx_report.h"
#include "report/report.h"
#include "tools/cli/commands.h"

namespace cryolite::cli {
namespace {

using nlohmann::json;

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

emit::PtxOptions options_of(const emit::CompiledGroup& group) {
  emit::PtxOptions options;
  for (const emit::DeviceKernel& kernel : emit::kernel_info_of(read_file(group.record)).device_kernels) {
    const int64_t threads = kernel.threads[0] * kernel.threads[1] * kernel.threads[2];
    options.launches[kernel.name] = {threads, kernel.shared_bytes};
  }
  return options;
}

report::Resources worst_of(const emit::PtxReport& ptx) {
  report::Resources worst;
  worst.occupancy = 1;
  for (const emit::KernelResources& kernel : ptx.kernels) {
    worst.registers = std::max(worst.registers, kernel.registers);
    worst.spill_bytes += kernel.spill_store_bytes + kernel.spill_load_bytes;
    worst.occupancy = std::min(worst.occupancy, kernel.occupancy);
  }
  return worst;
}

}  // namespace

report::GroupResources write_resources(const plan::Plan& plan, const std::vector<emit::CompiledGroup>& groups,
                                       const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name + ".resources.json";
  if (emit::find_ptxas().empty()) {
    write_text(path, json{{"kernels", nullptr}, {"why", "ptxas was not found"}}.dump(2) + "\n");
    return {};
  }
  json kernels = json::array();
  report::GroupResources resources;
  std::map<std::string, emit::PtxReport> known;  // groups share kernels
  std::string architecture;
  for (const emit::CompiledGroup& group : groups) {
    if (group.ptx.empty()) continue;
    if (!known.count(group.ptx)) known[group.ptx] = emit::report_ptx(group.ptx, options_of(group));
    const emit::PtxReport& ptx = known[group.ptx];
    architecture = ptx.architecture;
    resources[group.id] = worst_of(ptx);
    const json measured = emit::to_json(ptx);
    for (json entry : measured.at("kernels")) {
      entry["group"] = group.id;
      entry["nodes"] = plan::name_of(plan, plan.groups.at(group.id));
      kernels.push_back(entry);
    }
  }
  write_text(path, json{{"architecture", architecture}, {"kernels", kernels}}.dump(2) + "\n");
  write_text(folder + "/" + name + ".plan.json", report::to_json_text(plan, resources));
  return resources;
}

}  // namespace cryolite::cli
