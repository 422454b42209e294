#include "emit/traffic.h"

#include <algorithm>

namespace cryolite::emit {

struct TrafficCounter::Context : Halide::JITUserContext {
  TrafficCounter* counter = nullptr;
  static int32_t trace(Halide::JITUserContext* context, const halide_trace_event_t* event) {
    static_cast<Context*>(context)->counter->note(*event);
    return 0;
  }
};

int64_t TrafficCounter::Buffer::index_of(const int32_t* coordinates, int lane, int lanes) const {
  int64_t index = 0, stride = 1;
  for (size_t d = 0; d < extents.size(); ++d) {
    const int32_t at = coordinates[d * static_cast<size_t>(lanes) + static_cast<size_t>(lane)];
    if (at < 0 || at >= extents[d]) return -1;
    index += at * stride;
    stride *= extents[d];
  }
  return index;
}

void TrafficCounter::watch(lower::LoweredGroup& lowered, const std::vector<Halide::Buffer<>>& outputs) {
  const auto add = [&](const std::string& name, bool is_output, const Halide::Buffer<>& memory) {
    Buffer& buffer = buffers_[name];
    buffer.is_output = is_output;
    buffer.element_bytes = memory.type().bytes();
    for (int d = 0; d < memory.dimensions(); ++d) buffer.extents.push_back(memory.dim(d).extent());
    buffer.touched.assign(memory.number_of_elements(), false);
  };
  for (Halide::ImageParam& input : lowered.inputs) {
    add(input.name(), false, input.get());
    input.trace_loads();
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    Halide::Func func = lowered.stages[lowered.outputs[i]].laid.func;
    add(func.name(), true, outputs[i]);
    func.trace_stores();
  }
}

void TrafficCounter::note(const halide_trace_event_t& event) {
  if (event.event != halide_trace_load && event.event != halide_trace_store) return;
  const std::lock_guard guard(lock_);
  const auto found = buffers_.find(event.func);
  if (found == buffers_.end()) return;
  Buffer& buffer = found->second;
  const int lanes = std::max<int>(1, event.type.lanes);
  for (int lane = 0; lane < lanes; ++lane)
    if (const int64_t index = buffer.index_of(event.coordinates, lane, lanes); index >= 0)
      buffer.touched[static_cast<size_t>(index)] = true;
}

void TrafficCounter::realize(Halide::Pipeline& pipeline, Halide::Pipeline::RealizationArg outputs,
                             const Halide::Target& target) {
  Context context;
  context.counter = this;
  pipeline.jit_handlers().custom_trace = &Context::trace;
  pipeline.realize(&context, std::move(outputs), target);
}

Traffic TrafficCounter::total() const {
  Traffic total;
  for (const auto& [name, buffer] : buffers_) {
    const int64_t bytes = std::count(buffer.touched.begin(), buffer.touched.end(), true) * buffer.element_bytes;
    (buffer.is_output ? total.bytes_written : total.bytes_read) += bytes;
  }
  return total;
}

}  // namespace cryolite::emit
