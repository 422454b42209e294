#include "emit/evaluate.h"

#include <fmt/format.h>

#include <cstring>
#include <map>

#include "base/error.h"
#include "graph/elements.h"
#include "lower/lowered_group.h"
#include "ops/operator.h"

namespace cryolite::emit {
namespace {

using graph::Tensor;
using graph::ValueId;

constexpr int64_t buffer_alignment = 64;  // bytes: a cache line, and what packed weights promise to Halide


/// Memory for a value in its layout; explicit strides are kept, as a kernel of a plan would see them.
struct LaidBuffer {
  std::vector<char> bytes;
  Halide::Buffer<> buffer;

  explicit LaidBuffer(const graph::Value& value) {
    const auto extents = storage_extents(value.layout, value.type.extents());
    const auto strides = storage_strides(value.layout, value.type.extents());
    std::vector<halide_dimension_t> dims;
    for (size_t d = extents.size(); d-- > 0;)
      dims.emplace_back(0, static_cast<int>(extents[d]), static_cast<int>(strides[d]));
    const int64_t span = graph::storage_span(value.layout, value.type.extents());
    bytes.assign(span * size_of(value.type.element) + 2 * buffer_alignment, 0);
    const int64_t past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(bytes.data()) % buffer_alignment);
    char* aligned = bytes.data() + (buffer_alignment - past) % buffer_alignment;
    buffer = Halide::Buffer<>(ops::halide_type(value.type.element), aligned, static_cast<int>(dims.size()),
                              dims.data());
  }
};

void copy_in(LaidBuffer& laid, const graph::Value& value, const Tensor& tensor) {
  const int64_t element = size_of(value.type.element);
  char* to = reinterpret_cast<char*>(laid.buffer.raw_buffer()->host);
  graph::for_each_element(value.layout, value.type.extents(), [&](int64_t linear, int64_t offset) {
    std::memcpy(to + offset * element, tensor.bytes->data() + linear * element, element);
  });
  laid.buffer.set_host_dirty();
}

Tensor copy_out(LaidBuffer& laid, const graph::Value& value) {
  laid.buffer.copy_to_host();
  const int64_t element = size_of(value.type.element);
  std::string bytes(value.type.bytes(), '\0');
  const char* from = reinterpret_cast<const char*>(laid.buffer.raw_buffer()->host);
  graph::for_each_element(value.layout, value.type.extents(), [&](int64_t linear, int64_t offset) {
    std::memcpy(bytes.data() + linear * element, from + offset * element, element);
  });
  return Tensor::of_bytes(value.type, std::move(bytes));
}

void check_input(const graph::Value& value, const Tensor& tensor) {
  if (tensor.type.element != value.type.element || tensor.type.dims != value.type.dims)
    throw Error("is fed with a tensor of another type", {.value = value.name},
                "feed the declared shape and element type");
}

/// Outputs of no elements are left out: they need no code, and Halide takes no empty loops.
void realize(lower::LoweredGroup& lowered, std::vector<LaidBuffer>& outputs, const std::string& target,
             Traffic* traffic) {
  std::vector<Halide::Func> funcs;
  std::vector<Halide::Buffer<>> buffers;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const bool is_scalar = outputs[i].buffer.dimensions() == 0;
    if (!is_scalar && outputs[i].buffer.number_of_elements() == 0) continue;
    funcs.push_back(lowered.stages[lowered.outputs[i]].laid.func);
    buffers.push_back(outputs[i].buffer);
  }
  if (funcs.empty()) return;
  const Halide::Target halide_target = target == "host" ? Halide::get_host_target() : Halide::Target(target);
  TrafficCounter counter;
  if (traffic) counter.watch(lowered, buffers);
  Halide::Realization realization(std::move(buffers));
  Halide::Pipeline pipeline(funcs);
  if (!traffic) return pipeline.realize(Halide::Pipeline::RealizationArg(realization), halide_target);
  counter.realize(pipeline, Halide::Pipeline::RealizationArg(realization), halide_target);
  *traffic = counter.total();
}

/// A node alone as a graph: its inputs that are not compile-time constants become graph inputs (`fed`).
graph::Graph graph_of_node(const graph::Graph& graph, const graph::Node& node, std::vector<ValueId>& fed) {
  graph::Graph single;
  graph::Node copy = node;
  std::map<ValueId, ValueId> renumbered;
  for (ValueId& id : copy.inputs) {
    if (id == graph::absent) continue;
    const graph::Value& value = graph.value(id);
    const auto [entry, is_new] = renumbered.try_emplace(id, 0);
    if (is_new) {
      entry->second = single.add_value(value);
      const bool is_small_constant = value.constant && value.type.elements() <= 64;
      if (!is_small_constant) {
        single.values.back().constant.reset();
        single.inputs.push_back(entry->second);
        fed.push_back(id);
      }
    }
    id = entry->second;
  }
  for (ValueId& id : copy.outputs) {
    if (id == graph::absent) continue;
    id = single.add_value(graph.value(id));
    single.outputs.push_back(id);
  }
  single.nodes.push_back(std::move(copy));
  return single;
}

}  // namespace

std::vector<Tensor> run_group(const graph::Graph& group, const std::vector<Tensor>& inputs,
                              const schedule::GroupSchedule* schedule, const std::string& target,
                              Traffic* traffic) {
  lower::LoweredGroup lowered = lower::lower(group);
  if (schedule) {
    schedule::apply(*schedule, lowered);
  } else {
    for (ops::Stage& stage : lowered.stages) stage.laid.func.compute_root();
  }
  std::vector<LaidBuffer> in, out;
  for (size_t i = 0; i < group.inputs.size(); ++i) {
    const graph::Value& value = group.value(group.inputs[i]);
    check_input(value, inputs.at(i));
    in.emplace_back(value);
    copy_in(in.back(), value, inputs[i]);
    lowered.inputs[i].set(in.back().buffer);
  }
  for (ValueId id : group.outputs) out.emplace_back(group.value(id));
  try {
    realize(lowered, out, target, traffic);
  } catch (const Halide::Error& error) {
    throw Error(fmt::format("Halide refuses the group: {}", error.what()),
                {.node = group.nodes.empty() ? "" : group.nodes.back().name});
  }
  std::vector<Tensor> results;
  for (size_t i = 0; i < out.size(); ++i) results.push_back(copy_out(out[i], group.value(group.outputs[i])));
  return results;
}

std::vector<Tensor> evaluate(const graph::Graph& graph, const std::vector<Tensor>& inputs) {
  std::map<ValueId, Tensor> known;
  for (size_t i = 0; i < graph.inputs.size(); ++i) known[graph.inputs[i]] = inputs.at(i);
  for (size_t id = 0; id < graph.values.size(); ++id)
    if (graph.values[id].constant) known[static_cast<ValueId>(id)] = *graph.values[id].constant;
  for (const graph::Node& node : graph.nodes) {
    std::vector<ValueId> fed;
    const graph::Graph single = graph_of_node(graph, node, fed);
    std::vector<Tensor> arguments;
    for (ValueId id : fed) arguments.push_back(known.at(id));
    const auto results = run_group(single, arguments);
    size_t next = 0;
    for (ValueId id : node.outputs)
      if (id != graph::absent) known[id] = results.at(next++);
  }
  std::vector<Tensor> results;
  for (ValueId id : graph.outputs) results.push_back(known.at(id));
  return results;
}

}  // namespace cryolite::emit
