#pragma once
#include <onnx/onnx_pb.h>

#include <string>

#include "graph/tensor_type.h"

namespace cryolite::onnx {

/// Undefined for types that Cryolite does not compute with (string, complex, 8-bit floats, 4-bit integers).
graph::ElementType element_type_of(int onnx_type);
int onnx_type_of(graph::ElementType type);
/// ONNX's name of an element type, as for a message: "float16", "string"; "type 99" where it has none.
std::string onnx_type_name(int onnx_type);

/// The tensor of a message. Bytes in raw form are moved, not copied; external data are read from files under
/// `folder`. Throws Error (value) where the type is not supported, the data do not fit the shape, or the
/// external file is missing, too short or outside `folder`.
graph::Tensor to_tensor(::onnx::TensorProto&& proto, const std::string& folder);

/// The message of a tensor, with raw data.
::onnx::TensorProto to_proto(const graph::Tensor& tensor, const std::string& name);

/// Number of elements of the message's shape. Throws Error (value) where a dim is negative or the product
/// does not fit.
int64_t element_count(const ::onnx::TensorProto& proto);

}  // namespace cryolite::onnx
