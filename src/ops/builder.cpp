#include "ops/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cctype>
#include <numeric>

namespace cryolite::ops {

using graph::ElementType;
using Halide::Expr;

namespace {

std::vector<int> storage_order(const graph::Layout& layout, int rank) {
  if (!layout.order.empty()) return layout.order;
  std::vector<int> order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// Loop names of the storage axes, innermost first: what Halide shows and schedules name.
std::vector<Halide::Var> storage_vars(const graph::Layout& layout, int rank) {
  const auto names = axis_names(rank);
  std::vector<Halide::Var> vars;
  if (layout.block_axis >= 0) vars.emplace_back(names[layout.block_axis] + "_in");
  const auto order = storage_order(layout, rank);
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) vars.emplace_back(names[*axis]);
  return vars;
}

/// The logical index of a storage point: undoes storage_index for the Vars of a definition.
Index logical_index(const graph::Layout& layout, int rank, const std::vector<Halide::Var>& vars) {
  Index index(rank);
  size_t next = layout.block_axis >= 0 ? 1 : 0;
  const auto order = storage_order(layout, rank);
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) index[*axis] = vars[next++];
  if (layout.block_axis >= 0) {
    Expr& blocked = index[layout.block_axis];
    blocked = blocked * static_cast<int>(layout.block) + vars[0];
  }
  return index;
}

}  // namespace

std::vector<Expr> storage_index(const graph::Layout& layout, const Index& index) {
  std::vector<Expr> storage;
  const int block = static_cast<int>(layout.block);
  if (layout.block_axis >= 0) storage.push_back(index[layout.block_axis] % block);
  const auto order = storage_order(layout, static_cast<int>(index.size()));
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis)
    storage.push_back(*axis == layout.block_axis ? index[*axis] / block : index[*axis]);
  return storage;
}

Halide::FuncRef LaidFunc::at(const Index& index) const {
  assert(static_cast<int>(index.size()) == rank);
  return func(storage_index(layout, index));
}

Halide::FuncRef LaidFunc::definition() const {
  return func(vars);
}

Halide::Type halide_type(ElementType type) {
  switch (type) {
    case ElementType::Float32: return Halide::Float(32);
    case ElementType::Float64: return Halide::Float(64);
    case ElementType::Float16: return Halide::Float(16);
    case ElementType::BFloat16: return Halide::BFloat(16);
    case ElementType::Int8: return Halide::Int(8);
    case ElementType::Int16: return Halide::Int(16);
    case ElementType::Int32: return Halide::Int(32);
    case ElementType::Int64: return Halide::Int(64);
    case ElementType::UInt8: return Halide::UInt(8);
    case ElementType::UInt16: return Halide::UInt(16);
    case ElementType::UInt32: return Halide::UInt(32);
    case ElementType::UInt64: return Halide::UInt(64);
    case ElementType::Bool: return Halide::UInt(8);
    case ElementType::Undefined: break;
  }
  assert(false && "a value without a type reached lowering");
  return Halide::Type();
}

std::vector<std::string> axis_names(int rank) {
  switch (rank) {
    case 0: return {};
    case 1: return {"c"};
    case 2: return {"n", "c"};
    case 3: return {"n", "c", "x"};
    case 4: return {"n", "c", "y", "x"};
    case 5: return {"n", "c", "z", "y", "x"};
    default: break;
  }
  std::vector<std::string> names;
  for (int axis = 0; axis < rank; ++axis) names.push_back(fmt::format("a{}", axis));
  return names;
}

std::string identifier(const std::string& name) {
  std::string plain;
  for (char letter : name) plain += std::isalnum(static_cast<unsigned char>(letter)) ? letter : '_';
  if (plain.empty() || std::isdigit(static_cast<unsigned char>(plain[0]))) plain = "v_" + plain;
  return plain;
}

Index with(Index index, int axis, Expr replacement) {
  index.at(axis) = std::move(replacement);
  return index;
}

Builder::Builder(const graph::Graph& graph, const graph::Node& node, Reader reader)
    : graph_(graph), node_(node), reader_(std::move(reader)), outputs_(node.outputs.size()) {}

bool Builder::has_input(size_t i) const {
  return i < node_.inputs.size() && node_.inputs[i] != graph::absent;
}
bool Builder::has_output(size_t i) const {
  return i < node_.outputs.size() && node_.outputs[i] != graph::absent;
}
std::vector<int64_t> Builder::extents(size_t input) const {
  return graph_.input_type(node_, input).extents();
}
std::vector<int64_t> Builder::output_extents(size_t output) const {
  return graph_.output_type(node_, output).extents();
}
Halide::Type Builder::type(size_t input) const { return halide_type(graph_.input_type(node_, input).element); }
Halide::Type Builder::output_type(size_t output) const {
  return halide_type(graph_.output_type(node_, output).element);
}

// Strides are of a buffer in memory: the stages of an algorithm take over only the order of the axes.
graph::Layout Builder::output_layout(size_t output) const {
  graph::Layout layout = graph_.value(node_.outputs.at(output)).layout;
  layout.strides.clear();
  return layout;
}
graph::Layout Builder::input_layout(size_t input) const {
  graph::Layout layout = graph_.value(node_.inputs.at(input)).layout;
  layout.strides.clear();
  return layout;
}

Expr Builder::read(size_t input, const Index& index) const { return reader_(node_.inputs.at(input), index); }

Expr Builder::read_broadcast(size_t input, const Index& index) const {
  const auto own = extents(input);
  assert(own.size() <= index.size());
  const size_t skipped = index.size() - own.size();
  Index at;
  for (size_t axis = 0; axis < own.size(); ++axis)
    at.push_back(own[axis] == 1 ? Expr(0) : index[skipped + axis]);
  return read(input, at);
}

LaidFunc Builder::make_func(const std::string& name, const std::vector<int64_t>& extents,
                            const graph::Layout& layout) {
  const int rank = static_cast<int>(extents.size());
  LaidFunc laid{Halide::Func(name), layout, rank, storage_vars(layout, rank)};
  stages_.push_back({name, laid, extents, axis_names(rank), {}, false});
  return laid;
}

LaidFunc Builder::stage(const std::string& name, const std::vector<int64_t>& extents,
                        const graph::Layout& layout) {
  size_t named_after = 0;
  while (!has_output(named_after)) ++named_after;
  return make_func(identifier(graph_.value(node_.outputs[named_after]).name) + "_" + name, extents, layout);
}

Stage& Builder::find(const LaidFunc& stage) {
  auto found = std::find_if(stages_.begin(), stages_.end(), [&](const Stage& candidate) {
    return candidate.laid.func.name() == stage.func.name();
  });
  assert(found != stages_.end());
  return *found;
}

Index Builder::index(const LaidFunc& stage) const {
  return logical_index(stage.layout, stage.rank, stage.vars);
}

Halide::RDom Builder::reduction(const LaidFunc& stage, const std::vector<std::pair<Expr, Expr>>& ranges) {
  static constexpr const char* short_names[] = {"r.x", "r.y", "r.z", "r.w"};
  Halide::Region region;
  for (const auto& [min, extent] : ranges) region.emplace_back(min, extent);
  Halide::RDom domain(region, "r");
  UpdateLoops loops;
  for (int d = 0; d < domain.dimensions(); ++d)
    loops.rvars.emplace_back(d < 4 ? short_names[d] : fmt::format("r.{}", d), domain[d]);
  find(stage).updates.push_back(std::move(loops));
  return domain;
}

LaidFunc Builder::padded(size_t input, const std::vector<int64_t>& low, const std::vector<int64_t>& high,
                         Expr fill) {
  const auto inside = extents(input);
  graph::Layout layout = output_layout(0);
  if (layout.order.size() != inside.size()) layout = input_layout(input);
  LaidFunc copy = stage("padded", inside, layout);
  const Index at = index(copy);
  Index clamped = at;
  Expr is_inside = Halide::Internal::const_true();
  for (size_t axis = 0; axis < inside.size(); ++axis) {
    if (low[axis] == 0 && high[axis] == 0) continue;
    const int last = static_cast<int>(inside[axis]) - 1;
    is_inside = is_inside && at[axis] >= 0 && at[axis] <= last;
    clamped[axis] = Halide::clamp(at[axis], 0, last);
  }
  copy.definition() = Halide::select(is_inside, Halide::likely(read(input, clamped)), fill);
  stages_.back().is_padding = true;
  return copy;
}

LaidFunc Builder::staged(size_t input, const std::string& name) {
  LaidFunc copy = stage(name, extents(input), input_layout(input));
  copy.definition() = read(input, index(copy));
  return copy;
}

void Builder::define(size_t output, const std::function<Expr(const Index&)>& element) {
  const graph::Value& value = graph_.value(node_.outputs.at(output));
  LaidFunc laid = make_func(identifier(value.name), value.type.extents(), output_layout(output));
  Expr result = element(index(laid));
  const Halide::Type wanted = output_type(output);
  if (result.type() != wanted) result = Halide::cast(wanted, result);
  laid.definition() = result;
  outputs_.at(output) = laid;
}

}  // namespace cryolite::ops
