#pragma once
#include <string>
#include <vector>

#include "graph/tensor_type.h"

namespace cryolite::onnx {

struct NamedTensor {
  std::string name;
  graph::Tensor tensor;
};

/// A TensorProto file, as ONNX's tests have them (test_data_set_0/input_0.pb). Throws Error (file).
NamedTensor read_tensor_file(const std::string& path);
void write_tensor_file(const std::string& path, const NamedTensor& tensor);

/// Numpy's archive of arrays, in the order of the file. Arrays must be in C order and little-endian.
/// Throws Error (file, value).
std::vector<NamedTensor> read_npz(const std::string& path);
/// As numpy.savez: uncompressed; bfloat16, which numpy does not know, is written as float32. The file appears
/// whole or not at all.
void write_npz(const std::string& path, const std::vector<NamedTensor>& tensors);

}  // namespace cryolite::onnx
