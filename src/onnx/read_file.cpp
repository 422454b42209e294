#include "onnx/read_file.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/stubs/logging.h>

#include <climits>
#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace cryolite::onnx {
namespace {

void check_readable(const std::string& path, const std::string& kind) {
  namespace fs = std::filesystem;
  std::error_code failure;
  if (!fs::exists(path, failure)) throw Error("the file does not exist", {.file = path}, "check the path");
  if (fs::is_directory(path, failure))
    throw Error("this is a folder", {.file = path}, fmt::format("name the {} file itself", kind));
  const auto size = fs::file_size(path, failure);
  if (failure) throw Error("the file cannot be read", {.file = path}, "check its permissions");
  if (size == 0) throw Error("the file is empty", {.file = path}, "export or download it again");
  if (size > INT_MAX)
    throw Error("the file is larger than the 2 GiB that its format can hold", {.file = path},
                "store the weights as external data");
}

template <class Message>
Message read_message(const std::string& path, const std::string& kind) {
  check_readable(path, kind);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("the file cannot be opened", {.file = path}, "check its permissions");
  const google::protobuf::LogSilencer silent;  // our Error says in one line what protobuf would print
  google::protobuf::io::IstreamInputStream stream(&file, 1 << 20);
  google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetTotalBytesLimit(INT_MAX);
  Message message;
  if (!message.ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage())
    throw Error(fmt::format("this is not an {} file, or it is cut short", kind), {.file = path},
                "export or download it again");
  return message;
}

}  // namespace

::onnx::ModelProto read_model_file(const std::string& path) {
  ::onnx::ModelProto model = read_message<::onnx::ModelProto>(path, "ONNX model");
  if (!model.has_graph() || model.opset_import_size() == 0)
    throw Error("this is not an ONNX model, or it is cut short: it has no graph or no opset", {.file = path},
                "export or download it again");
  return model;
}

::onnx::TensorProto read_tensor_proto(const std::string& path) {
  return read_message<::onnx::TensorProto>(path, "ONNX tensor");
}

}  // namespace cryolite::onnx
