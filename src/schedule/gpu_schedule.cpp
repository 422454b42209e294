#include "schedule/gpu.h"

#include <algorithm>

#include "base/error.h"
#include "schedule/gpu_emit.h"

namespace cryolite::schedule::gpu {
namespace {

constexpr int64_t default_threads = 256;

bool ends_with_stage(const std::string& name, const std::string& suffix) { return name.ends_with("_" + suffix); }

int64_t smallest_block(int64_t positions, int64_t threads) { return std::min(positions, threads); }

void one_kernel(Emission& emission, const Kernel& kernel) {
  const StageInfo& root = emission.stage(kernel.root);
  if (root.reduces()) {
    stored_reduction(emission, kernel);
  } else if (kernel.tile) {
    window_chain(emission, kernel);
  } else if (kernel.staged) {
    contraction(emission, kernel);
  } else if (!kernel.rows.empty()) {
    rows(emission, kernel);
  } else if (kernel.threads.empty()) {
    pointwise(emission, kernel);
  } else if (wants_shared_reduction(emission, kernel)) {
    shared_reduction(emission, kernel);
  } else if (is_contraction_kernel(emission, kernel)) {
    contraction(emission, kernel);
  } else {
    per_thread(emission, kernel);
  }
}

graph::Layout columns_innermost(int rank) {
  graph::Layout layout;
  for (int axis = rank - 1; axis >= 0; --axis) layout.order.push_back(axis);
  return layout;
}

}  // namespace

const lower::LoweredGroup::Node& Emission::node_of(int stage) const {
  for (const auto& node : view.lowered.nodes)
    if (std::find(node.stages.begin(), node.stages.end(), stage) != node.stages.end()) return node;
  throw Error("has a stage that no node owns", {.value = this->stage(stage).name()});
}

const graph::Node& Emission::graph_node_of(int stage) const {
  const auto& lowered = node_of(stage);
  for (const graph::Node& node : view.graph.nodes)
    if (node.name == lowered.name) return node;
  throw Error("is lowered but not in its group", {.node = lowered.name});
}

std::optional<int> Emission::sibling(int stage, const std::string& suffix) const {
  for (int other : node_of(stage).stages)
    if (ends_with_stage(this->stage(other).name(), suffix) &&
        (this->stage(other).role == Role::Inline || this->stage(other).role == Role::Staged))
      return other;
  return std::nullopt;
}

int64_t Emission::parameter(const char* name, int64_t fallback) const {
  const auto found = parameters.find(name);
  return found == parameters.end() ? fallback : std::max<int64_t>(1, found->second);
}

std::vector<Argument> as_arguments(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

std::vector<std::string> names_of(const std::vector<Axis>& axes) {
  std::vector<std::string> names;
  for (const Axis& axis : axes) names.push_back(axis.name);
  return names;
}

std::string fuse_all(Line& line, const std::vector<std::string>& loops, const std::string& fused) {
  std::string current = loops.at(0);
  for (size_t i = 1; i < loops.size(); ++i) {
    const std::string name = i + 1 == loops.size() ? fused : fused + std::to_string(i);
    line.call("fuse", {current, loops[i], name});
    current = name;
  }
  return current;
}

void spread_over_threads(Line& line, const std::vector<std::string>& loops, int64_t positions, int64_t threads) {
  if (loops.empty()) {
    line.call("gpu_single_thread");
    return;
  }
  const std::string all = fuse_all(line, loops, "position");
  line.call("split", {all, "block", "thread", smallest_block(positions, threads), "GuardWithIf"});
  line.call("gpu_blocks", {"block"}).call("gpu_threads", {"thread"});
}

bool is_dense(const GroupView& view) {
  for (const auto* list : {&view.graph.inputs, &view.graph.outputs})
    for (graph::ValueId id : *list)
      if (!view.graph.value(id).layout.strides.empty()) return false;
  return true;
}

int64_t vector_of(const Emission& emission, const Kernel& kernel) {
  const StageInfo& root = emission.stage(kernel.root);
  if (root.axes.empty() || !is_dense(emission.view) || emission.machine.kind == Machine::Kind::Vulkan) return 1;
  for (const Halide::Type& type : root.stage->laid.func.types())
    if (type.bits() > 32 || type.bits() == 1) return 1;
  for (int thread : kernel.threads) {
    const StageInfo& stage = emission.stage(thread);
    if (stage.axes.empty() || stage.axes[0].name != root.axes[0].name) return 1;
  }
  const bool is_stored = std::find(emission.view.lowered.outputs.begin(), emission.view.lowered.outputs.end(),
                                   kernel.root) != emission.view.lowered.outputs.end();
  const int64_t busy = static_cast<int64_t>(emission.machine.multiprocessors) * default_threads;
  int64_t wanted = is_stored ? emission.parameter("vector", root.elements() >= 4 * busy ? 4 : 1) : 1;
  while (wanted > 1 && root.axes[0].extent % wanted != 0) wanted /= 2;
  return wanted;
}

void pointwise(Emission& emission, const Kernel& kernel) {
  const StageInfo& root = emission.stage(kernel.root);
  const int64_t vector = vector_of(emission, kernel);
  std::vector<std::string> loops = names_of(root.axes);
  Line line(root.name());
  line.call("compute_root");
  if (vector > 1) {
    line.call("split", {loops[0], loops[0] + "_o", loops[0] + "_v", vector}).call("vectorize", {loops[0] + "_v"});
    loops[0] += "_o";
  }
  spread_over_threads(line, loops, root.elements() / vector, emission.parameter("threads", default_threads));
  emission.lines.push_back(line);
}

void stored_reduction(Emission& emission, const Kernel& kernel) {
  const StageInfo& root = emission.stage(kernel.root);
  const int64_t threads = emission.parameter("threads", default_threads);
  Line line(root.name());
  line.call("compute_root");
  spread_over_threads(line, names_of(root.axes), root.elements(), threads);
  for (int u = 0; u < static_cast<int>(root.updates.size()); ++u) {
    line.call("update", {int64_t{u}});
    const auto kept = kept_loops(*root.stage, u);
    int64_t positions = 1;
    for (const Axis& axis : root.axes)
      if (std::find(kept.begin(), kept.end(), axis.name) != kept.end()) positions *= axis.extent;
    spread_over_threads(line, kept, positions, threads);
  }
  emission.lines.push_back(line);
}

GroupSchedule make_schedule(const GroupView& group, const Machine& machine, const Parameters& parameters) {
  const Kernels kernels = kernels_of(group.graph, group.lowered, machine);
  Emission emission{group, machine, parameters, kernels, {}};
  for (const Kernel& kernel : kernels.kernels) one_kernel(emission, kernel);
  return {group.graph.name, std::move(emission.lines), ""};
}

graph::Layout weight_layout(const graph::Graph& graph, const graph::Node& anchor, size_t input, const Machine&) {
  const auto& type = graph.input_type(anchor, input);
  const int rank = static_cast<int>(type.dims.size());
  if (input != 1 || rank < 2) return {};
  if (anchor.op_type == "Conv") {  // (co, ci, ky, kx) as ky, kx, ci, co
    graph::Layout layout;
    for (int axis = 2; axis < rank; ++axis) layout.order.push_back(axis);
    layout.order.push_back(1);
    layout.order.push_back(0);
    return layout;
  }
  if (anchor.op_type == "ConvTranspose") {  // (ci, co, ky, kx) as ky, kx, ci, co
    graph::Layout layout;
    for (int axis = 2; axis < rank; ++axis) layout.order.push_back(axis);
    layout.order.push_back(0);
    layout.order.push_back(1);
    return layout;
  }
  if (anchor.op_type == "Gemm" && graph::int_attribute(anchor, "transB", 0) != 0) return columns_innermost(rank);
  return {};
}

}  // namespace cryolite::schedule::gpu
