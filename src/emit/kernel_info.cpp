#include <nlohmann/json.hpp>

#include "base/error.h"
#include "emit/compile_group.h"

namespace cryolite::emit {

using nlohmann::json;

std::string to_json(const GroupJob& job) {
  return json{{"graph", job.graph}, {"schedule", job.schedule}, {"target", job.target}, {"symbol", job.symbol},
              {"result", job.result}}
      .dump();
}

std::string to_json(const KernelInfo& info) {
  json scratch = json::array(), kernels = json::array();
  for (const auto& row : info.scratch) scratch.push_back({{"bytes", row.bytes}, {"in_parallel", row.in_parallel}});
  for (const auto& row : info.device_kernels)
    kernels.push_back({{"name", row.name}, {"blocks", row.blocks}, {"threads", row.threads},
                       {"shared_bytes", row.shared_bytes}});
  return json{{"scratch", scratch}, {"touches_host", info.touches_host}, {"device_kernels", kernels}}.dump(1);
}

KernelInfo kernel_info_of(const std::string& text) {
  try {
    const json record = json::parse(text);
    KernelInfo info;
    for (const json& row : record.at("scratch"))
      info.scratch.push_back({row.at("bytes").get<int64_t>(), row.at("in_parallel").get<bool>()});
    info.touches_host = record.at("touches_host").get<bool>();
    for (const json& row : record.at("device_kernels"))
      info.device_kernels.push_back({row.at("name").get<std::string>(),
                                     row.at("blocks").get<std::array<int64_t, 3>>(),
                                     row.at("threads").get<std::array<int64_t, 3>>(),
                                     row.at("shared_bytes").get<int64_t>()});
    return info;
  } catch (const json::exception& fault) {
    throw Error(std::string("the record of a compiled kernel is damaged: ") + fault.what(), {},
                "remove the folder of compiled kernels in the cache");
  }
}

}  // namespace cryolite::emit
