#pragma once
#include <onnx/onnx_pb.h>

#include <string>

namespace cryolite::onnx {

/// Parses a file without holding a second copy of it. Throws Error (file) where it is missing, empty, cut
/// short, larger than protobuf can hold, or not of ONNX's format.
::onnx::ModelProto read_model_file(const std::string& path);
::onnx::TensorProto read_tensor_proto(const std::string& path);

}  // namespace cryolite::onnx
