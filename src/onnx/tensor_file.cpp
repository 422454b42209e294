#include "onnx/tensor_file.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "onnx/read_file.h"
#include "onnx/tensor_proto.h"

namespace cryolite::onnx {

NamedTensor read_tensor_file(const std::string& path) {
  ::onnx::TensorProto proto = read_tensor_proto(path);
  std::string name = proto.name();
  try {
    return {std::move(name), to_tensor(std::move(proto), std::filesystem::path(path).parent_path())};
  } catch (const Error& error) {
    throw error.inside({.file = path});
  }
}

void write_tensor_file(const std::string& path, const NamedTensor& tensor) {
  // Written beside and renamed, so that nobody sees half a file.
  const std::string unfinished = path + "." + std::to_string(getpid()) + ".part";
  std::ofstream file(unfinished, std::ios::binary);
  const bool is_written = file && to_proto(tensor.tensor, tensor.name).SerializeToOstream(&file);
  file.close();
  std::error_code failure;
  if (is_written && file) std::filesystem::rename(unfinished, path, failure);
  if (is_written && file && !failure) return;
  std::filesystem::remove(unfinished, failure);
  throw Error("the file cannot be written", {.file = path},
              "check the folder, its permissions and free space");
}

}  // namespace cryolite::onnx
