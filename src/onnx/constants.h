#pragma once
#include <onnx/onnx_pb.h>

#include <map>
#include <string>

#include "graph/graph.h"

namespace cryolite::onnx {

/// Constants taken out of a model, by value name.
using Constants = std::map<std::string, graph::Tensor>;

/// Constants up to this many elements stay in the model too, for shape inference to read (shapes, axes,
/// pads).
inline constexpr int64_t largest_visible_constant = 1024;

/// Turns Constant nodes into initializers, and drops initializers from the graph's inputs.
void lift_constants(::onnx::GraphProto& graph);

/// Moves the bytes of all initializers out of the graph. Small ones stay as copies that inference reads,
/// large ones become inputs of their type. `folder` holds external data. Throws Error as to_tensor does.
void take_constants(::onnx::GraphProto& graph, const std::string& folder, Constants& taken);

}  // namespace cryolite::onnx
