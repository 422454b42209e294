#include "simplify/simplify.h"

#include <array>

#include "simplify/rewrites.h"

namespace cryolite::simplify {
namespace {

using graph::Graph;
using graph::NodeId;

/// In the order in which they are tried at a node.
constexpr std::array<Rewrite, 12> kRewrites = {
    remove_identity, drop_unused_outputs, merge_views, merge_transposes, split_batch_normalization,
    fold_scale,      merge_affine,        fold_pad,    find_softmax,     find_layer_normalization,
    find_gemm,       normalize_gemm,
};

/// Applies the first rewrite that fits, anywhere, again and again. True where there was one.
bool rewrite_all(Graph& graph) {
  bool changed = false;
  graph::Uses uses = graph::uses_of(graph);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes.size()); ++id) {
    for (const Rewrite rewrite : kRewrites) {
      if (graph.nodes[id].outputs.empty() || !rewrite(graph, uses, id)) continue;
      changed = true;
      uses = graph::uses_of(graph);
    }
  }
  return changed;
}

}  // namespace

Graph simplify(Graph graph, const Evaluate& evaluate) {
  graph = fold_constants(std::move(graph), evaluate);
  for (bool changed = true; changed;) {
    changed = rewrite_all(graph);
    graph = graph::tidied(std::move(graph));
    changed = merge_duplicates(graph) || changed;
    graph = fold_constants(graph::tidied(std::move(graph)), evaluate);
  }
  return graph;
}

}  // namespace cryolite::simplify
