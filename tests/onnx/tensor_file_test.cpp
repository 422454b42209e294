#include "onnx/tensor_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace cryolite::onnx {
namespace {

using graph::ElementType;
using graph::Tensor;

class TensorFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              (std::string("tensor_file_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

  std::filesystem::path folder_;
};

std::vector<NamedTensor> samples() {
  return {{"gpu_0/data_0", Tensor::of_floats({1, -2.5f, 3, 4, 5, 6}, {2, 3})},
          {"scalar", Tensor::of_floats({7}, {})},
          {"ids", Tensor::of_integers({-1, 1LL << 40})},
          {"half", Tensor::of_bytes({ElementType::Float16, {1, 2}}, std::string("\x00\x3c\x00\xc0", 4))},
          {"mask", Tensor::of_bytes({ElementType::Bool, {3}}, std::string("\x01\x00\x01", 3))},
          {"none", Tensor::of_bytes({ElementType::UInt8, {0, 4}}, "")}};
}

void expect_same(const NamedTensor& a, const NamedTensor& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.tensor.type, b.tensor.type);
  EXPECT_EQ(*a.tensor.bytes, *b.tensor.bytes);
}

TEST_F(TensorFile, ProtoRoundTrips) {
  for (const NamedTensor& sample : samples()) {
    write_tensor_file(path("t.pb"), sample);
    expect_same(read_tensor_file(path("t.pb")), sample);
  }
}

TEST_F(TensorFile, NpzRoundTrips) {
  write_npz(path("t.npz"), samples());
  const std::vector<NamedTensor> again = read_npz(path("t.npz"));
  ASSERT_EQ(again.size(), samples().size());
  for (size_t i = 0; i < again.size(); ++i) expect_same(again[i], samples()[i]);
}

TEST_F(TensorFile, WritesBfloat16AsFloat32) {
  const Tensor tensor = Tensor::of_bytes({ElementType::BFloat16, {2}}, std::string("\x80\x3f\x20\xc0", 4));
  write_npz(path("t.npz"), {{"x", tensor}});
  const std::vector<NamedTensor> again = read_npz(path("t.npz"));
  EXPECT_EQ(again.at(0).tensor.type.element, ElementType::Float32);
  EXPECT_EQ(again.at(0).tensor.as_doubles(), (std::vector<double>{1, -2.5}));
}

template <class Read>
void expect_refused(Read read, const std::string& file, const std::string& message) {
  try {
    read();
    ADD_FAILURE() << "accepted " << file;
  } catch (const Error& error) {
    EXPECT_EQ(error.where().file, file);
    EXPECT_NE(error.message().find(message), std::string::npos) << error.what();
    EXPECT_FALSE(error.remedy().empty());
  }
}

TEST_F(TensorFile, RefusesWrongFiles) {
  expect_refused([&] { read_tensor_file(path("no.pb")); }, path("no.pb"), "does not exist");
  const std::string empty = write("empty.pb", "");
  expect_refused([&] { read_tensor_file(empty); }, empty, "empty");
  const std::string text = write("text.pb", "this is not protobuf");
  expect_refused([&] { read_tensor_file(text); }, text, "not an ONNX tensor");
  expect_refused([&] { read_npz(path("no.npz")); }, path("no.npz"), "does not exist");
  expect_refused([&] { read_npz(text); }, text, "not an .npz file");
  const std::string unwritable = path("no_folder/x.npz");
  expect_refused([&] { write_npz(unwritable, samples()); }, unwritable, "cannot be written");
  expect_refused([&] { write_tensor_file(unwritable, samples()[0]); }, unwritable, "cannot be written");
}

}  // namespace
}  // namespace cryolite::onnx
