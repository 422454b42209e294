#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

/// What the parts of horizontal fusion hand to each other.
namespace cryolite::plan::siblings {

inline constexpr size_t data = 0, weights = 1, bias = 2;  ///< inputs of MatMul, Gemm and Conv

struct Branch {
  graph::NodeId node = 0;
  int64_t width = 0;            ///< outputs: columns or channels
  std::vector<graph::NodeId> absorbed;  ///< bias and activation nodes that follow, in order
  graph::ValueId tip = graph::absent;  ///< what the branch gives: result of the last of them
  std::vector<std::vector<double>> operands;  ///< by step of the epilogue: its constants, one an output; or none
};

/// One step of the merged epilogue.
struct Step {
  std::string op_type;
  bool has_operand = false;             ///< constants along the merged axis: those of the branches, joined
  std::map<std::string, graph::Attribute> attributes;
  std::vector<graph::ValueId> shared;          ///< further inputs, as the branches have them
  std::vector<std::string> names;       ///< of the nodes that it stands for
};

struct Family {
  std::vector<Branch> branches;
  int axis = 0;         ///< of the output
  int weight_axis = 0;  ///< of the weights, along which they are joined
  std::vector<Step> steps;
};

/// How the branches that one Concat takes, if any, can lie beside the others.
struct Arrangement {
  graph::NodeId concat = graph::absent;
  size_t first = 0, count = 0;  ///< operands of the Concat that are branches: consecutive
  bool at_start = false, at_end = false;  ///< of the Concat
};

/// Attributes are the same; tensors and graphs never are.
bool equal(const std::map<std::string, graph::Attribute>& a, const std::map<std::string, graph::Attribute>& b);

/// Contractions of one input, two or more, that differ in nothing but their outputs' number and constants.
std::vector<Family> families_of(const graph::Graph& graph);

/// Takes biases along the joined axis and activations that follow the branches into family.steps.
void absorb_epilogues(const graph::Graph& graph, const graph::Uses& uses, Family& family);

/// Orders the branches so that a Concat that takes some of them can lie in one buffer with the others. Nothing where
/// results would have to be copied: a branch is a model output, or the branches are taken by several Concats.
std::optional<Arrangement> arrange(const graph::Graph& graph, const graph::Uses& uses, Family& family);

/// Puts the one contraction in the family's place; the nodes that it stands for are left empty.
void join(graph::Graph& graph, const Family& family, const Arrangement& arrangement);

}  // namespace cryolite::plan::siblings
