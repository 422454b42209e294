#pragma once
#include <onnx/onnx_pb.h>

#include "graph/graph.h"
#include "onnx/constants.h"

namespace cryolite::onnx {

/// The type of a message; Undefined where it is not a tensor or not of a supported element type.
graph::TensorType to_type(const ::onnx::TypeProto& proto);
::onnx::TypeProto to_proto(const graph::TensorType& type);

/// The graph of a checked, sorted, converted and inferred model; `constants` are moved into it. Throws Error
/// where a value has an element type that is not supported, or more elements than 32-bit indices reach.
graph::Graph to_graph(const ::onnx::ModelProto& model, Constants constants);

/// The model of a graph. Constants of more than `largest_visible_constant` elements become inputs of their
/// type, so that the model is small whatever the weights are.
::onnx::ModelProto to_model(const graph::Graph& graph);

}  // namespace cryolite::onnx
