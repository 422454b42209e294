#pragma once
#include "graph/graph.h"

/// The rewrites, one a file. Each looks at one node: where it applies it changes the graph and says true;
/// `uses` is then out of date. Values and nodes that nothing needs any more are left for `graph::tidied`.
namespace cryolite::simplify {

using Rewrite = bool (*)(graph::Graph& graph, const graph::Uses& uses, graph::NodeId id);

/// Identity, Dropout, Cast to the same type, Transpose, Reshape, Slice, Pad … that change nothing.
bool remove_identity(graph::Graph& graph, const graph::Uses& uses, graph::NodeId id);
/// Optional outputs that nobody reads become absent.
bool drop_unused_outputs(graph::Graph& graph, const graph::Uses& uses, graph::NodeId id);
/// Reshape, Flatten, Squeeze and Unsqueeze in a row become one Reshape.
bool merge_views(graph::Graph& graph, const graph::Uses& uses, graph::NodeId id);
/// Two Transposes become one; one that moves only axes of extent 1 becomes a Reshape.
bool merge_transposes(graph::Graph& graph, const graph::Uses& uses, graph::NodeId id);
/// BatchNormalization becomes a Mul and an Add by channel, which fold into a convolution where there is one.
bool split_batch_normalization(graph::Graph& graph, const graph::Uses& uses, graph::NodeId id);
/// Mul, Div, Add or Sub by constants a channel after Conv, ConvTranspose or Gemm go into weights and bias.
bool fold_scale(graph::Graph& graph, const graph::Uses& uses, graph::NodeId id);
/// Mul and Add by constants a channel in a row become one Mul and one Add.
bool merge_affine(graph::Graph& graph, const graph::Uses& uses, graph::NodeId id);
/// A Pad becomes pads of the Conv or pool that reads it.
bool fold_pad(graph::Graph& graph, const graph::Uses& uses, graph::NodeId id);
/// Layer normalisation spelled out becomes LayerNormalization.
bool find_layer_normalization(graph::Graph& graph, const graph::Uses& uses, graph::NodeId id);
/// exp(x - max(x)) / sum becomes Softmax.
bool find_softmax(graph::Graph& graph, const graph::Uses& uses, graph::NodeId id);
/// MatMul of matrices and Add of a bias that does not widen the result become Gemm.
bool find_gemm(graph::Graph& graph, const graph::Uses& uses, graph::NodeId id);
/// Gemm with constant B: transB, alpha and beta go into the constants.
bool normalize_gemm(graph::Graph& graph, const graph::Uses& uses, graph::NodeId id);

/// Nodes that compute the same, and constants that hold the same, become one.
bool merge_duplicates(graph::Graph& graph);

}  // namespace cryolite::simplify
