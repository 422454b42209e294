#include "onnx/tensor_proto.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace cryolite::onnx {
namespace {

using graph::ElementType;
using ::onnx::TensorProto;

struct TypeRow {
  int onnx_type;
  ElementType element;
};

constexpr std::array kTypes = {
    TypeRow{TensorProto::FLOAT, ElementType::Float32},
    TypeRow{TensorProto::DOUBLE, ElementType::Float64},
    TypeRow{TensorProto::FLOAT16, ElementType::Float16},
    TypeRow{TensorProto::BFLOAT16, ElementType::BFloat16},
    TypeRow{TensorProto::INT8, ElementType::Int8},
    TypeRow{TensorProto::INT16, ElementType::Int16},
    TypeRow{TensorProto::INT32, ElementType::Int32},
    TypeRow{TensorProto::INT64, ElementType::Int64},
    TypeRow{TensorProto::UINT8, ElementType::UInt8},
    TypeRow{TensorProto::UINT16, ElementType::UInt16},
    TypeRow{TensorProto::UINT32, ElementType::UInt32},
    TypeRow{TensorProto::UINT64, ElementType::UInt64},
    TypeRow{TensorProto::BOOL, ElementType::Bool},
};

/// The repeated field `data` as little-endian elements of type T.
template <class T, class Field>
std::string narrowed(const Field& data) {
  std::string bytes(data.size() * sizeof(T), '\0');
  for (int i = 0; i < data.size(); ++i) {
    const T element = static_cast<T>(data.Get(i));
    std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
  }
  return bytes;
}

std::string typed_bytes(const TensorProto& proto, ElementType type) {
  switch (type) {
    case ElementType::Float32:
      return narrowed<float>(proto.float_data());
    case ElementType::Float64:
      return narrowed<double>(proto.double_data());
    case ElementType::Int64:
      return narrowed<int64_t>(proto.int64_data());
    case ElementType::UInt32:
      return narrowed<uint32_t>(proto.uint64_data());
    case ElementType::UInt64:
      return narrowed<uint64_t>(proto.uint64_data());
    case ElementType::Int32:
      return narrowed<int32_t>(proto.int32_data());
    case ElementType::Int8:
    case ElementType::UInt8:
    case ElementType::Bool:
      return narrowed<uint8_t>(proto.int32_data());
    default:
      return narrowed<uint16_t>(proto.int32_data());  // 16-bit types, floats as bit patterns
  }
}

struct External {
  std::string location;
  int64_t offset = 0, length = -1;
};

int64_t number_of(const std::string& text, const TensorProto& proto) {
  int64_t number = -1;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc{} || result.ptr != text.data() + text.size() || number < 0)
    throw Error(fmt::format("'{}' is not an offset or length of external data", text),
                {.value = proto.name()}, "write the external data again");
  return number;
}

External external_of(const TensorProto& proto) {
  External external;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") external.location = entry.value();
    if (entry.key() == "offset") external.offset = number_of(entry.value(), proto);
    if (entry.key() == "length") external.length = number_of(entry.value(), proto);
  }
  return external;
}

/// The file's path, once it is sure that it lies inside the model's folder, links followed.
std::filesystem::path checked_path(const External& external, const TensorProto& proto,
                                   const std::string& folder) {
  namespace fs = std::filesystem;
  const fs::path base = fs::weakly_canonical(folder.empty() ? "." : folder);
  const fs::path file = fs::weakly_canonical(base / external.location);
  const auto mismatch = std::mismatch(base.begin(), base.end(), file.begin(), file.end());
  if (external.location.empty() || fs::path(external.location).is_absolute() || mismatch.first != base.end())
    throw Error(fmt::format("external data in '{}' lie outside the model's folder", external.location),
                {.value = proto.name()}, "store the data beside the model with a relative path");
  if (!fs::is_regular_file(file))
    throw Error(fmt::format("external data file '{}' does not exist", external.location),
                {.value = proto.name()}, "put the file beside the model");
  return file;
}

std::string external_bytes(const TensorProto& proto, const std::string& folder, int64_t expected) {
  const External external = external_of(proto);
  const std::filesystem::path path = checked_path(external, proto, folder);
  if (external.length >= 0 && external.length != expected)
    throw Error(fmt::format("external data of {} bytes, but the shape needs {}", external.length, expected),
                {.value = proto.name()}, "write the external data again");
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path));
  if (external.offset > size || expected > size - external.offset)
    throw Error(fmt::format("external data file '{}' has {} bytes, but {} are needed from {}",
                            external.location, size, expected, external.offset),
                {.value = proto.name()}, "copy the whole file beside the model");
  std::string bytes(expected, '\0');
  std::ifstream in(path, std::ios::binary);
  in.seekg(external.offset);
  if (!in.read(bytes.data(), expected))
    throw Error(fmt::format("external data file '{}' cannot be read", external.location),
                {.value = proto.name()}, "check its permissions");
  return bytes;
}

}  // namespace

ElementType element_type_of(int onnx_type) {
  for (const TypeRow& row : kTypes)
    if (row.onnx_type == onnx_type) return row.element;
  return ElementType::Undefined;
}

int onnx_type_of(ElementType type) {
  for (const TypeRow& row : kTypes)
    if (row.element == type) return row.onnx_type;
  return TensorProto::UNDEFINED;
}

std::string onnx_type_name(int onnx_type) {
  if (!::onnx::TensorProto_DataType_IsValid(onnx_type)) return fmt::format("type {}", onnx_type);
  std::string name = ::onnx::TensorProto_DataType_Name(static_cast<::onnx::TensorProto_DataType>(onnx_type));
  std::transform(name.begin(), name.end(), name.begin(), ::tolower);
  return name;
}

int64_t element_count(const TensorProto& proto) {
  graph::TensorType type{ElementType::UInt8, {}};
  for (const int64_t dim : proto.dims()) {
    if (dim < 0)
      throw Error(fmt::format("a constant has the extent {}", dim), {.value = proto.name()},
                  "export the model again");
    type.dims.emplace_back(dim);
  }
  try {
    return type.elements();
  } catch (const Error& error) {
    throw error.inside({.value = proto.name()});
  }
}

graph::Tensor to_tensor(TensorProto&& proto, const std::string& folder) {
  graph::TensorType type{element_type_of(proto.data_type()), {}};
  if (type.element == ElementType::Undefined)
    throw Error(fmt::format("element type {} is not supported", onnx_type_name(proto.data_type())),
                {.value = proto.name()}, "convert the constant to a number type of 8 to 64 bits");
  for (const int64_t dim : proto.dims()) type.dims.emplace_back(dim);
  const int64_t elements = element_count(proto);
  const int64_t expected = elements * graph::size_of(type.element);
  std::string bytes;
  if (proto.data_location() == TensorProto::EXTERNAL)
    bytes = external_bytes(proto, folder, expected);
  else if (proto.has_raw_data())
    bytes = std::move(*proto.mutable_raw_data());
  else
    bytes = typed_bytes(proto, type.element);
  if (static_cast<int64_t>(bytes.size()) != expected)
    throw Error(
        fmt::format("a constant has {} bytes of data, but its shape needs {}", bytes.size(), expected),
        {.value = proto.name()}, "export the model again");
  return graph::Tensor::of_bytes(std::move(type), std::move(bytes));
}

TensorProto to_proto(const graph::Tensor& tensor, const std::string& name) {
  TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(onnx_type_of(tensor.type.element));
  for (const int64_t extent : tensor.type.extents()) proto.add_dims(extent);
  proto.set_raw_data(*tensor.bytes);
  return proto;
}

}  // namespace cryolite::onnx
