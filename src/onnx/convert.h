#pragma once
#include <onnx/onnx_pb.h>

namespace cryolite::onnx {

/// Converts the model to opset `target` with ONNX's converter, and puts right what that leaves out: how Resize and
/// Upsample before opset 11 map coordinates, Hardmax before 13, stale attributes, the names of replaced nodes.
/// Throws Error where the converter cannot.
void convert_opset(::onnx::ModelProto& model, int target);

}  // namespace cryolite::onnx
