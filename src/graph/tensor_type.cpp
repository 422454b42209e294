#include "graph/tensor_type.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "graph/half.h"

namespace cryolite::graph {
namespace {

struct ElementRow {
  ElementType type;
  std::string_view name;
  int64_t bytes;
};

constexpr std::array kElements = {
    ElementRow{ElementType::Undefined, "undefined", 0}, ElementRow{ElementType::Float32, "f32", 4},
    ElementRow{ElementType::Float64, "f64", 8},         ElementRow{ElementType::Float16, "f16", 2},
    ElementRow{ElementType::BFloat16, "bf16", 2},       ElementRow{ElementType::Int8, "i8", 1},
    ElementRow{ElementType::Int16, "i16", 2},           ElementRow{ElementType::Int32, "i32", 4},
    ElementRow{ElementType::Int64, "i64", 8},           ElementRow{ElementType::UInt8, "u8", 1},
    ElementRow{ElementType::UInt16, "u16", 2},          ElementRow{ElementType::UInt32, "u32", 4},
    ElementRow{ElementType::UInt64, "u64", 8},          ElementRow{ElementType::Bool, "bool", 1},
};

const ElementRow& row_of(ElementType type) { return kElements.at(static_cast<size_t>(type)); }

template <class T, class Out, class Convert>
std::vector<Out> converted(const Tensor& tensor, Convert convert) {
  const size_t count = tensor.bytes->size() / sizeof(T);
  std::vector<Out> out(count);
  for (size_t i = 0; i < count; ++i) {
    T element;
    std::memcpy(&element, tensor.bytes->data() + i * sizeof(T), sizeof(T));
    out[i] = convert(element);
  }
  return out;
}

template <class T, class Out>
std::vector<Out> converted(const Tensor& tensor) {
  return converted<T, Out>(tensor, [](T element) { return static_cast<Out>(element); });
}

}  // namespace

int64_t size_of(ElementType type) { return row_of(type).bytes; }

std::string_view name_of(ElementType type) { return row_of(type).name; }

ElementType element_type_named(std::string_view name) {
  for (const ElementRow& row : kElements)
    if (row.name == name) return row.type;
  return ElementType::Undefined;
}

bool is_float(ElementType type) {
  return type == ElementType::Float32 || type == ElementType::Float64 || type == ElementType::Float16 ||
         type == ElementType::BFloat16;
}

bool TensorType::is_fixed() const {
  if (!has_rank || element == ElementType::Undefined) return false;
  for (const Dim& dim : dims)
    if (!dim.is_fixed()) return false;
  return true;
}

std::vector<int64_t> TensorType::extents() const {
  std::vector<int64_t> out;
  out.reserve(dims.size());
  for (const Dim& dim : dims) out.push_back(dim.extent);
  return out;
}

int64_t TensorType::elements() const {
  int64_t count = 1, nonzero = 1;
  for (const Dim& dim : dims) {
    count *= dim.extent == 0 ? 0 : 1;
    if (dim.extent != 0 && __builtin_mul_overflow(nonzero, dim.extent, &nonzero))
      throw Error("a shape has more elements than 64 bits can count", {}, "check the model's dimensions");
  }
  // Bytes must be countable too; 8 is the largest element.
  if (nonzero > INT64_MAX / 8)
    throw Error("a shape has more bytes than 64 bits can count", {}, "check the model's dimensions");
  return count * nonzero;
}

// Tells the order only: a view of a row-major buffer with strides of its own is row-major too.
bool Layout::is_row_major() const {
  if (block_axis >= 0) return false;
  for (size_t i = 0; i < order.size(); ++i)
    if (order[i] != static_cast<int>(i)) return false;
  return true;
}

Layout channels_last(int rank) {
  Layout layout;
  layout.order.push_back(0);
  for (int axis = 2; axis < rank; ++axis) layout.order.push_back(axis);
  layout.order.push_back(1);
  return layout;
}

std::vector<int64_t> storage_extents(const Layout& layout, const std::vector<int64_t>& extents) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < extents.size(); ++i) {
    const int axis = layout.order.empty() ? static_cast<int>(i) : layout.order.at(i);
    const int64_t extent = extents.at(axis);
    out.push_back(axis == layout.block_axis ? (extent + layout.block - 1) / layout.block : extent);
  }
  if (layout.block_axis >= 0) out.push_back(layout.block);
  return out;
}

std::vector<int64_t> storage_strides(const Layout& layout, const std::vector<int64_t>& extents) {
  if (!layout.strides.empty()) return layout.strides;
  const std::vector<int64_t> stored = storage_extents(layout, extents);
  std::vector<int64_t> strides(stored.size());
  int64_t stride = 1;
  for (size_t i = stored.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= stored[i];
  }
  return strides;
}

std::vector<int64_t> Tensor::as_integers() const {
  switch (type.element) {
    case ElementType::Int8:
      return converted<int8_t, int64_t>(*this);
    case ElementType::Int16:
      return converted<int16_t, int64_t>(*this);
    case ElementType::Int32:
      return converted<int32_t, int64_t>(*this);
    case ElementType::Int64:
      return converted<int64_t, int64_t>(*this);
    case ElementType::Bool:
    case ElementType::UInt8:
      return converted<uint8_t, int64_t>(*this);
    case ElementType::UInt16:
      return converted<uint16_t, int64_t>(*this);
    case ElementType::UInt32:
      return converted<uint32_t, int64_t>(*this);
    case ElementType::UInt64:
      return converted<uint64_t, int64_t>(*this);
    default:
      break;
  }
  throw Error(fmt::format("a tensor of {} stands where integers are needed", name_of(type.element)), {},
              "use an integer tensor");
}

std::vector<double> Tensor::as_doubles() const {
  switch (type.element) {
    case ElementType::Float32:
      return converted<float, double>(*this);
    case ElementType::Float64:
      return converted<double, double>(*this);
    case ElementType::Float16:
      return converted<uint16_t, double>(*this, half_to_float);
    case ElementType::BFloat16:
      return converted<uint16_t, double>(*this, bfloat16_to_float);
    case ElementType::UInt64:
      return converted<uint64_t, double>(*this);
    default:
      break;
  }
  const std::vector<int64_t> integers = as_integers();
  return {integers.begin(), integers.end()};
}

Tensor Tensor::of_bytes(TensorType type, std::string bytes) {
  return {std::move(type), std::make_shared<const std::string>(std::move(bytes))};
}

Tensor Tensor::of_integers(const std::vector<int64_t>& elements) {
  TensorType type{ElementType::Int64, {Dim(static_cast<int64_t>(elements.size()))}};
  return of_bytes(std::move(type),
                  std::string(reinterpret_cast<const char*>(elements.data()), elements.size() * 8));
}

Tensor Tensor::of_floats(const std::vector<float>& elements, std::vector<Dim> dims) {
  return of_bytes({ElementType::Float32, std::move(dims)},
                  std::string(reinterpret_cast<const char*>(elements.data()), elements.size() * 4));
}

}  // namespace cryolite::graph
