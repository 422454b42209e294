#pragma once
#include <Halide.h>

#include <functional>
#include <string>
#include <vector>

#include "graph/graph.h"

/// What an operator's algorithm is written with. Nothing here, nor in any file of src/ops, schedules.
namespace cryolite::ops {

/// Logical indices in ONNX's axis order (n, c, y, x), whatever the layout in memory is.
using Index = std::vector<Halide::Expr>;

/// A Func whose arguments are the storage axes of a layout, innermost first, called by logical index.
struct LaidFunc {
  Halide::Func func;
  graph::Layout layout;
  int rank = 0;
  std::vector<Halide::Var> vars;  ///< of the storage axes, innermost first

  /// The element at a logical index; also the left side of an update.
  Halide::FuncRef at(const Index& index) const;
  /// The left side of the pure definition: the Func at its own Vars. The logical index that these stand for
  /// is Builder::index(stage).
  Halide::FuncRef definition() const;
};

/// The storage index (innermost first) of a logical one.
std::vector<Halide::Expr> storage_index(const graph::Layout& layout, const Index& index);

/// One named reduction domain of an update, as schedules see it: "r.x" → the RVar.
struct UpdateLoops {
  std::vector<std::pair<std::string, Halide::RVar>> rvars;
};

/// A Func of a lowered node, as schedules name it.
struct Stage {
  std::string name;  ///< "conv1" for a node's value, "conv1_sum" for an inner stage
  LaidFunc laid;
  std::vector<int64_t> extents;      ///< logical, ONNX's order
  std::vector<std::string> axes;     ///< names of the logical axes, ONNX's order: n, c, y, x
  std::vector<UpdateLoops> updates;  ///< one an update definition
  bool is_padding = false;           ///< a copy of an input with its border filled in
};

/// Halide's type for an element type; Bool is UInt(8) holding 0 or 1.
Halide::Type halide_type(graph::ElementType type);
/// Loop names of a value's logical axes, by rank: (c), (n,c), (n,c,x), (n,c,y,x), (n,c,z,y,x), then a0, a1…
std::vector<std::string> axis_names(int rank);

/// The hands of an algorithm: reads the node's inputs, defines its outputs.
///
/// An operator with a reduction declares inner stages:
///
///     void reduce_sum(Builder& build) {
///       auto sum = build.stage("sum", build.output_extents(), Float(32), build.output_layout());
///       Index i = build.index(sum);
///       RDom r = build.reduction(sum, {{0, extent}});
///       sum.definition() = 0.f;
///       sum.at(i) += build.read(0, with(i, axis, r.x));
///       build.define(0, [&](const Index& at) { return sum.at(at); });
///     }
class Builder {
 public:
  using Reader = std::function<Halide::Expr(graph::ValueId, const Index&)>;

  /// `reader` gives the element of a value of the group or of one of its inputs.
  Builder(const graph::Graph& graph, const graph::Node& node, Reader reader);

  const graph::Graph& graph() const { return graph_; }
  const graph::Node& node() const { return node_; }

  bool has_input(size_t i) const;
  bool has_output(size_t i) const;
  /// Logical extents. Precondition: has_input(i) / has_output(i).
  std::vector<int64_t> extents(size_t input) const;
  std::vector<int64_t> output_extents(size_t output = 0) const;
  int rank(size_t input) const { return static_cast<int>(extents(input).size()); }
  Halide::Type type(size_t input) const;
  Halide::Type output_type(size_t output = 0) const;
  graph::Layout output_layout(size_t output = 0) const;
  graph::Layout input_layout(size_t input) const;

  /// The element of an input at a logical index inside its extents.
  Halide::Expr read(size_t input, const Index& index) const;
  /// The element of an input for an index of the output (or another shape) by ONNX's broadcasting:
  /// axes aligned at the end, axes of extent 1 read at 0.
  Halide::Expr read_broadcast(size_t input, const Index& index) const;

  /// A new inner Func named NODEVALUE_`name`, not yet defined.
  LaidFunc stage(const std::string& name, const std::vector<int64_t>& extents, const graph::Layout& layout = {});
  /// The logical index at the Vars of a stage, for its definition and updates.
  Index index(const LaidFunc& stage) const;
  /// A reduction domain for the next update of `stage`: {min, extent} an axis, named r.x, r.y, r.z, r.w, r.4…
  Halide::RDom reduction(const LaidFunc& stage,
                         const std::vector<std::pair<Halide::Expr, Halide::Expr>>& ranges);
  /// Input `input` surrounded by `fill` (its index may leave the extents by low[a] below and high[a] above on
  /// logical axis a): a stage "padded" of its own, so that a schedule can place the copy. Layout: the
  /// input's, except that a rank >= 3 value in a group whose output is channels-last is channels-last.
  LaidFunc padded(size_t input, const std::vector<int64_t>& low, const std::vector<int64_t>& high,
                  Halide::Expr fill);
  /// An exact copy of an input as a stage NODEVALUE_`name`, so that a schedule can place it (shared memory,
  /// a packed tile). Inlined unless scheduled.
  LaidFunc staged(size_t input, const std::string& name);

  /// Defines output i at every logical index. The value is cast to the output's type where it differs.
  void define(size_t output, const std::function<Halide::Expr(const Index&)>& element);

  /// All Funcs made, in order of definition, outputs last.
  const std::vector<Stage>& stages() const { return stages_; }
  /// The Func of each output (undefined Func where the output is absent).
  const std::vector<LaidFunc>& outputs() const { return outputs_; }

 private:
  Stage& find(const LaidFunc& stage);
  LaidFunc make_func(const std::string& name, const std::vector<int64_t>& extents, const graph::Layout& layout);
  const graph::Graph& graph_;
  const graph::Node& node_;
  Reader reader_;
  std::vector<Stage> stages_;
  std::vector<LaidFunc> outputs_;
};

/// `index` with the entry of one axis replaced.
Index with(Index index, int axis, Halide::Expr replacement);

/// A plain identifier made of an ONNX name: letters, digits and _; never empty, never starting with a digit.
std::string identifier(const std::string& name);

}  // namespace cryolite::ops
