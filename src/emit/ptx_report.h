#pragma once
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

/// What ptxas makes of emitted PTX: registers, spills, shared memory, and how many threads a GPU can keep resident.
namespace cryolite::emit {

/// Limits of one streaming multiprocessor. The defaults are those of an H100 (and, but for shared memory, an A100).
struct MultiprocessorLimits {
  int registers = 64 << 10;
  int threads = 2048;
  int blocks = 32;
  int64_t shared_bytes = 228 << 10;
  int64_t reserved_shared_bytes = 1 << 10;  ///< of each block, by the driver
  int registers_of_warp_step = 256;         ///< a warp's registers are handed out in steps of so many
};

/// How a kernel is started: what PTX made by Halide does not say.
struct Launch {
  int64_t threads = 0;              ///< a block; 0: not known
  int64_t dynamic_shared_bytes = 0;  ///< a block, asked for at the launch: all that Halide's kernels use
};

struct KernelResources {
  std::string name;
  int registers = 0;                  ///< a thread
  int64_t spill_store_bytes = 0;      ///< a thread
  int64_t spill_load_bytes = 0;       ///< a thread
  int64_t stack_bytes = 0;            ///< a thread: spills, and arrays that are not held in registers
  int64_t shared_bytes = 0;           ///< a block: static and dynamic
  int64_t threads = 0;                ///< a block; 0: not known
  double occupancy = 0;               ///< resident threads / the most there can be; 0 where threads are not known
  std::string limited_by;             ///< "registers", "shared memory", "threads", "blocks"; "" where not known
};

struct PtxReport {
  std::string architecture;  ///< sm_80, sm_90…
  std::vector<KernelResources> kernels;

  /// 0: nothing spilled.
  int64_t spilled_bytes() const;
};

struct PtxOptions {
  std::string architecture = "sm_90";
  /// ptxas -maxrregcount: Halide 21's CUDA runtime loads modules with at most 64. 0: no limit.
  int most_registers = 64;
  MultiprocessorLimits limits;
  std::map<std::string, Launch> launches;  ///< by kernel
};

/// The path of ptxas: $CRYOLITE_PTXAS, PATH, or /usr/local/cuda/bin. Empty where there is none.
std::string find_ptxas();

/// Runs ptxas on a PTX file. Throws Error where there is no ptxas or it refuses the file.
PtxReport report_ptx(const std::string& ptx_file, const PtxOptions& options = {});

/// Reads what `ptxas -v` prints. Kernels in the order of the text; occupancy by `options`.
PtxReport parse_ptxas(std::string_view output, const PtxOptions& options);

/// Resident threads of a multiprocessor / its most, and what limits them: fills occupancy and limited_by.
void add_occupancy(KernelResources& kernel, const MultiprocessorLimits& limits);

/// {"architecture", "kernels": [{"name", "registers", "spill_bytes", "spill_store_bytes", "spill_load_bytes",
/// "stack_bytes", "shared_bytes", "threads", "occupancy", "limited_by"}]}; threads, occupancy and limited_by are
/// null where the launch is not known.
nlohmann::json to_json(const PtxReport& report);

}  // namespace cryolite::emit
