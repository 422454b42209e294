#pragma once
#include <Halide.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "lower/lowered_group.h"

namespace cryolite::emit {

/// What a kernel moved at its inputs and outputs, every address once: what it would take from memory if no cache
/// forgot, which is what plans promise.
struct Traffic {
  int64_t bytes_read = 0, bytes_written = 0;
  int64_t bytes() const { return bytes_read + bytes_written; }
};

/// Watches a group run: Halide reports each load of its inputs and each store to its outputs.
class TrafficCounter {
 public:
  /// Asks for reports; after the inputs are set, before the group is compiled. `outputs`: as lowered.outputs.
  void watch(lower::LoweredGroup& lowered, const std::vector<Halide::Buffer<>>& outputs);
  /// Runs the pipeline on the host and counts.
  void realize(Halide::Pipeline& pipeline, Halide::Pipeline::RealizationArg outputs, const Halide::Target& target);
  Traffic total() const;

 private:
  struct Buffer {
    bool is_output = false;
    int64_t element_bytes = 0;
    std::vector<int64_t> extents;  ///< innermost first
    std::vector<bool> touched;     ///< by linear index
    int64_t index_of(const int32_t* coordinates, int lane, int lanes) const;  ///< -1 outside of the buffer
  };
  struct Context;
  void note(const halide_trace_event_t& event);

  std::map<std::string, Buffer> buffers_;  ///< by Halide's name
  std::mutex lock_;                        ///< kernels run in several threads
};

}  // namespace cryolite::emit
