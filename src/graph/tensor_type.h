#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cryolite::graph {

enum class ElementType {
  Undefined, Float32, Float64, Float16, BFloat16,
  Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, Bool,
};

/// Bytes of one element; a Bool takes one byte holding 0 or 1. 0 for Undefined.
int64_t size_of(ElementType type);
/// The short name of the text form: f32, f64, f16, bf16, i8 … u64, bool.
std::string_view name_of(ElementType type);
/// Undefined where the name is not known.
ElementType element_type_named(std::string_view name);
bool is_float(ElementType type);

/// One axis of a shape: a number, or a symbol that stands for one ("batch").
struct Dim {
  int64_t extent = -1;  ///< -1 where it is not known
  std::string symbol;   ///< may be empty even where the extent is not known

  Dim() = default;
  Dim(int64_t fixed) : extent(fixed) {}
  static Dim symbolic(std::string name) { Dim d; d.symbol = std::move(name); return d; }
  bool is_fixed() const { return extent >= 0; }
  bool operator==(const Dim&) const = default;
};

/// Element type and shape, axes in ONNX's order (outermost first).
struct TensorType {
  ElementType element = ElementType::Undefined;
  std::vector<Dim> dims;
  bool has_rank = true;  ///< false: not even the number of axes is known

  bool is_fixed() const;
  /// Extents in ONNX's order. Precondition: is_fixed().
  std::vector<int64_t> extents() const;
  /// Number of elements. Precondition: is_fixed().
  int64_t elements() const;
  /// elements() * size_of(element).
  int64_t bytes() const { return elements() * size_of(element); }
  bool operator==(const TensorType&) const = default;
};

/// How a value lies in memory: storage axes are a permutation of the logical ones, one of which
/// may be cut into blocks whose inner part is stored innermost (c -> c / block, c % block).
struct Layout {
  std::vector<int> order;        ///< logical axes, outermost first; empty: row-major
  int block_axis = -1;           ///< logical axis cut into blocks, -1: none
  int64_t block = 1;             ///< elements of a block; the last one is padded with zeros
  std::vector<int64_t> strides;  ///< elements, one a storage axis, outermost first; empty: dense

  bool is_row_major() const;
  bool operator==(const Layout&) const = default;
};

/// Channels innermost: (n, c, spatial…) stored as (n, spatial…, c). Rank >= 3.
Layout channels_last(int rank);
/// Extents of the storage axes, outermost first, for a value of these logical extents. A block layout has one
/// axis more than the value: the inside of the blocks, last; the cut axis counts whole blocks (rounded up).
std::vector<int64_t> storage_extents(const Layout& layout, const std::vector<int64_t>& extents);
/// Strides in elements of the storage axes, outermost first: as given, or dense.
std::vector<int64_t> storage_strides(const Layout& layout, const std::vector<int64_t>& extents);

/// A constant: dense, row-major, little-endian. Copies share the bytes.
struct Tensor {
  TensorType type;
  std::shared_ptr<const std::string> bytes;

  template <class T>
  const T* as() const { return reinterpret_cast<const T*>(bytes->data()); }
  /// The elements as integers; any integer type or bool. Throws Error for others.
  std::vector<int64_t> as_integers() const;
  /// The elements as doubles; any type.
  std::vector<double> as_doubles() const;

  static Tensor of_bytes(TensorType type, std::string bytes);
  static Tensor of_integers(const std::vector<int64_t>& elements);                   ///< i64[n]
  static Tensor of_floats(const std::vector<float>& elements, std::vector<Dim> dims);  ///< f32
};

}  // namespace cryolite::graph
