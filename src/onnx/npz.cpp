#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zip.h>

#include <array>
#include <cstring>
#include <memory>
#include <regex>

#include "base/error.h"
#include "onnx/tensor_file.h"

namespace cryolite::onnx {
namespace {

using graph::ElementType;
using graph::Tensor;

struct NumpyType {
  ElementType element;
  std::string_view descr;
};

constexpr std::array kNumpyTypes = {
    NumpyType{ElementType::Float32, "<f4"}, NumpyType{ElementType::Float64, "<f8"},
    NumpyType{ElementType::Float16, "<f2"}, NumpyType{ElementType::Int8, "|i1"},
    NumpyType{ElementType::Int16, "<i2"},   NumpyType{ElementType::Int32, "<i4"},
    NumpyType{ElementType::Int64, "<i8"},   NumpyType{ElementType::UInt8, "|u1"},
    NumpyType{ElementType::UInt16, "<u2"},  NumpyType{ElementType::UInt32, "<u4"},
    NumpyType{ElementType::UInt64, "<u8"},  NumpyType{ElementType::Bool, "|b1"},
};

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr std::string_view kSuffix = ".npy";

ElementType element_of(const std::string& descr, const Where& where) {
  for (const NumpyType& row : kNumpyTypes)
    if (row.descr == descr) return row.element;
  throw Error(fmt::format("numpy type '{}' is not supported", descr), where, "convert the array with astype");
}

/// Length of the header and where the elements start.
std::pair<size_t, size_t> header_span(const std::string& npy, const Where& where) {
  const bool is_npy = npy.size() >= 12 && npy.compare(0, kMagic.size(), kMagic) == 0;
  const int version = is_npy ? npy[6] : 0;
  size_t start = 10, length = 0;
  if (version == 1) {
    uint16_t short_length;
    std::memcpy(&short_length, npy.data() + 8, 2);
    length = short_length;
  } else if (version == 2 || version == 3) {
    uint32_t long_length;
    std::memcpy(&long_length, npy.data() + 8, 4);
    length = long_length;
    start = 12;
  }
  if (length == 0 || length > npy.size() - start)
    throw Error("this is not an array in numpy's format", where, "write the file with numpy.savez");
  return {start, length};
}

Tensor from_npy(std::string npy, const Where& where) {
  const auto [start, length] = header_span(npy, where);
  const std::string header = npy.substr(start, length);
  static const std::regex pattern(
      R"('descr': *'([^']*)', *'fortran_order': *(True|False), *'shape': *\(([0-9, ]*)\))");
  std::smatch match;
  if (!std::regex_search(header, match, pattern))
    throw Error("the array's header is not of numpy's usual form", where,
                "write plain arrays with numpy.savez");
  graph::TensorType type{element_of(match[1], where), {}};
  const std::string shape = match[3];
  static const std::regex number("[0-9]+");
  for (std::sregex_iterator it(shape.begin(), shape.end(), number), end; it != end; ++it)
    type.dims.emplace_back(static_cast<int64_t>(std::stoll(it->str())));
  if (match[2] == "True" && type.dims.size() > 1)
    throw Error("the array is in Fortran order", where, "store numpy.ascontiguousarray of it");
  if (static_cast<int64_t>(npy.size() - start - length) != type.bytes())
    throw Error("the array's data do not fit its shape", where, "write the file again");
  npy.erase(0, start + length);
  return Tensor::of_bytes(std::move(type), std::move(npy));
}

std::string to_npy(const Tensor& given) {
  Tensor tensor = given;
  if (tensor.type.element == ElementType::BFloat16) {
    const std::vector<double> wide = given.as_doubles();
    tensor = Tensor::of_floats({wide.begin(), wide.end()}, given.type.dims);
  }
  std::string_view descr;
  for (const NumpyType& row : kNumpyTypes)
    if (row.element == tensor.type.element) descr = row.descr;
  const std::vector<int64_t> extents = tensor.type.extents();
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                                   fmt::join(extents, ", "), extents.size() == 1 ? "," : "");
  // Numpy aligns the elements to 64 bytes.
  const size_t unpadded = kMagic.size() + 4 + header.size() + 1;
  header += std::string((64 - unpadded % 64) % 64, ' ') + '\n';
  const auto length = static_cast<uint16_t>(header.size());
  std::string npy(kMagic);
  npy += std::string("\x01\x00", 2);
  npy += std::string(reinterpret_cast<const char*>(&length), 2);
  return npy + header + *tensor.bytes;
}

using Archive = std::unique_ptr<zip_t, decltype(&zip_discard)>;

std::string entry_bytes(zip_t* archive, zip_uint64_t index, const zip_stat_t& stat, const Where& where) {
  const std::unique_ptr<zip_file_t, decltype(&zip_fclose)> entry(zip_fopen_index(archive, index, 0),
                                                                 &zip_fclose);
  std::string bytes;
  if (entry) bytes.resize(stat.size);
  if (!entry || zip_fread(entry.get(), bytes.data(), stat.size) != static_cast<zip_int64_t>(stat.size))
    throw Error("the array cannot be read from the archive", where, "write the file again");
  return bytes;
}

}  // namespace

std::vector<NamedTensor> read_npz(const std::string& path) {
  int code = 0;
  const Archive archive(zip_open(path.c_str(), ZIP_RDONLY, &code), &zip_discard);
  if (!archive)
    throw Error(code == ZIP_ER_NOENT ? "the file does not exist" : "this is not an .npz file", {.file = path},
                "write it with numpy.savez");
  std::vector<NamedTensor> tensors;
  const zip_int64_t entries = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < entries; ++i) {
    zip_stat_t stat;
    if (zip_stat_index(archive.get(), i, 0, &stat) != 0)
      throw Error("the archive is damaged", {.file = path}, "write it again");
    std::string name = stat.name;
    if (name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
    const Where where{.file = path, .value = name};
    tensors.push_back({name, from_npy(entry_bytes(archive.get(), i, stat, where), where)});
  }
  return tensors;
}

void write_npz(const std::string& path, const std::vector<NamedTensor>& tensors) {
  const auto fail = [&] {
    throw Error("the file cannot be written", {.file = path},
                "check the folder, its permissions and free space");
  };
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code), &zip_discard);
  if (!archive) fail();
  std::vector<std::string> contents;  // must live until the archive is closed
  for (const NamedTensor& named : tensors) contents.push_back(to_npy(named.tensor));
  for (size_t i = 0; i < tensors.size(); ++i) {
    zip_source_t* source = zip_source_buffer(archive.get(), contents[i].data(), contents[i].size(), 0);
    const zip_int64_t index = zip_file_add(archive.get(), (tensors[i].name + std::string(kSuffix)).c_str(),
                                           source, ZIP_FL_ENC_UTF_8);
    if (index < 0) zip_source_free(source);
    if (index < 0 || zip_set_file_compression(archive.get(), index, ZIP_CM_STORE, 0) != 0) fail();
  }
  // libzip writes beside and renames. An archive without entries would be deleted: numpy writes none either.
  if (zip_close(archive.get()) != 0) fail();
  (void)archive.release();
}

}  // namespace cryolite::onnx
