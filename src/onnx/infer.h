#pragma once
#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace cryolite::onnx {

/// ONNX's shape inference with data propagation over a model whose declared types, but those of inputs, are
/// dropped. Throws Error (node) where shapes or types contradict each other.
void infer_types(::onnx::ModelProto& model);

/// Integers of values that follow from shapes: shape arithmetic, done by ONNX's data propagation. By value
/// name.
using KnownIntegers = std::map<std::string, std::vector<int64_t>>;

/// Fills in types that are not fixed, from those that are and from small constants. Types that are fixed
/// stay. Throws Error (node) where they contradict each other.
KnownIntegers infer_types(graph::Graph& graph);

}  // namespace cryolite::onnx
