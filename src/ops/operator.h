#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace cryolite::ops {

class Builder;

/// The four categories of fusion (the mission's text): what may be merged with what.
enum class Category { Injective, Broadcast, Reduction, Opaque };
/// How an output index reads an input.
enum class AccessMap { Identity, Broadcast, Permute, Window, WholeAxis, Opaque };

std::string_view name_of(Category category);
std::string_view name_of(AccessMap map);

/// What kind of loops a node brings; a group is scheduled by the strategy of its anchor's kind.
enum class Kernel {
  Pointwise,    ///< injective and broadcast operators
  Convolution,  ///< Conv: windows, contracted over input channels
  Transposed,   ///< ConvTranspose
  Contraction,  ///< MatMul, Gemm
  Pool,         ///< windows without contraction
  Reduce,       ///< Reduce*, ArgMax, global pools: whole axes to a point
  Rows,         ///< softmax, norms: whole axes reduced, then every element written
  Extern,       ///< run as a function of the runtime
};

/// A row of the operator table.
struct Operator {
  std::string_view op_type;
  Category category;
  Kernel kernel;
  /// One an input (absent ones included).
  std::vector<AccessMap> (*access)(const graph::Graph&, const graph::Node&);
  /// Floating-point operations of one evaluation (integer ones count alike); multiply-add is 2.
  int64_t (*flops)(const graph::Graph&, const graph::Node&);
  /// Throws Error (node, what, remedy) where element types, attributes or shapes are not supported.
  void (*check)(const graph::Graph&, const graph::Node&);
  /// Defines the outputs. nullptr: an extern stage.
  void (*algorithm)(Builder&);
  /// The runtime's function and its parameters; only for extern stages.
  const char* extern_symbol = nullptr;
  std::vector<int64_t> (*extern_parameters)(const graph::Graph&, const graph::Node&) = nullptr;
};

/// All operators, sorted by name.
std::span<const Operator> table();
/// nullptr where the operator is not known.
const Operator* find(std::string_view op_type);
/// Throws Error naming the node where its operator is not known, or its types are not supported.
const Operator& require(const graph::Graph& graph, const graph::Node& node);

/// Only the shape or the name changes, never the order of the elements in row-major storage:
/// Reshape, Flatten, Squeeze, Unsqueeze, Identity, Dropout (inference).
bool is_view(const graph::Node& node);
/// Elements of input `input` that an output element depends on are known to be exactly one, at the same index.
bool is_elementwise(const graph::Graph& graph, const graph::Node& node);
/// An element takes several times as long to compute as to load: better kept than computed again.
bool is_dear(const graph::Graph& graph, const graph::Node& node);

}  // namespace cryolite::ops
