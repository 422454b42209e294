#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/error.h"
#include "onnx/import.h"
#include "tests/onnx/models.h"

// Models that are wrong: each gives one line that names the place and a remedy.
namespace cryolite::onnx {
namespace {

/// The Error that importing gives; fails the test where there is none.
template <class Import>
Error error_of(Import import) {
  try {
    import();
  } catch (const Error& error) {
    EXPECT_FALSE(error.remedy().empty()) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error;
  }
  ADD_FAILURE() << "the model was accepted";
  return Error("");
}

struct BadModel {
  const char* name;
  int opset;
  const char* model;
  const char* node;     ///< expected place
  const char* value;    ///< expected place
  const char* message;  ///< part of what it says
};

class Bad : public testing::TestWithParam<BadModel> {};

TEST_P(Bad, IsRefused) {
  const BadModel& bad = GetParam();
  const Error error = error_of([&] { import_proto(model_of(bad.opset, bad.model), ""); });
  EXPECT_EQ(error.where().node, bad.node) << error.what();
  EXPECT_EQ(error.where().value, bad.value) << error.what();
  EXPECT_NE(error.message().find(bad.message), std::string::npos) << error.what();
}

INSTANTIATE_TEST_SUITE_P(
    Import, Bad,
    testing::Values(
        BadModel{"UnknownOperator", 13, "m (float[2] x) => (float[2] y) { [n] y = Frobnicate(x) }", "n", "",
                 "no operator Frobnicate in opset 13"},
        BadModel{"OperatorNewerThanOpset", 13, "m (float[2] x) => (float[2] y) { [n] y = Gelu(x) }", "n", "",
                 "no operator Gelu in opset 13"},
        BadModel{"UnknownDomain", 13, "m (float[2] x) => (float[2] y) { [n] y = com.acme.Relu(x) }", "n", "",
                 "'com.acme', which is not known"},
        BadModel{"Cycle", 13, "m (float[2] x) => (float[2] y) { [n] a = Add(x, y) [k] y = Relu(a) }", "n", "",
                 "cycle"},
        BadModel{"OwnOutput", 13, "m (float[2] x) => (float[2] y) { [n] y = Add(x, y) }", "n", "", "cycle"},
        BadModel{"WrittenTwice", 13, "m (float[2] x) => (float[2] y) { y = Relu(x) [n] y = Abs(x) }", "n",
                 "y", "written a second time"},
        BadModel{"InputWritten", 13, "m (float[2] x) => (float[2] x) { [n] x = Relu(x) }", "n", "x",
                 "written a second time"},
        BadModel{"NeverWritten", 13, "m (float[2] x) => (float[2] y) { [n] y = Add(x, z) }", "n", "z",
                 "nothing writes it"},
        BadModel{"OutputNeverWritten", 13, "m (float[2] x) => (float[2] y) { z = Relu(x) }", "", "y",
                 "nothing writes this output"},
        BadModel{"TwoInputsOfOneName", 13, "m (float[2] x, float[2] x) => (float[2] y) { y = Relu(x) }", "",
                 "x", "two inputs"},
        BadModel{"StringInput", 13, "m (string[2] x) => (string[2] y) { y = Identity(x) }", "", "x",
                 "element type string is not supported"},
        BadModel{"ComplexInput", 13, "m (complex64[2] x) => (complex64[2] y) { y = Identity(x) }", "", "x",
                 "element type complex64"},
        BadModel{
            "SequenceInput", 13,
            "m (seq(float[2]) x) => (float[2] y, seq(float[2]) z) { z = Identity(x) y = SequenceAt(x, i) "
            "i = Constant <value_int = 0> () }",
            "", "x", "sequence"},
        BadModel{"StringInside", 13,
                 "m (float[2] x) => (float[2] y) { [n] s = Cast <to = 8> (x) y = Cast <to = 1> (s) }", "n",
                 "s", "element type string"},
        BadModel{"SequenceInside", 13,
                 "m (float[2] x) => (float[2] y) { [n] s = SequenceConstruct(x) y = SequenceAt(s, i) "
                 "i = Constant <value_int = 0> () }",
                 "n", "s", "sequence"},
        BadModel{"ShapesContradict", 13,
                 "m (float[2,3] x, float[4,5] z) => (float[2,5] y) { [n] y = MatMul(x, z) }", "n", "",
                 "contradict"},
        BadModel{"BroadcastContradicts", 13,
                 "m (float[2] x, float[3] z) => (float[3] y) { [n] y = Add(x, z) }", "n", "", "contradict"},
        BadModel{"TypesContradict", 13, "m (float[2] x, int64[2] z) => (float[2] y) { [n] y = Add(x, z) }",
                 "n", "", "contradict"},
        BadModel{"DeclaredShapeContradicts", 13, "m (float[2,3] x) => (float[2,4] y) { y = Relu(x) }", "",
                 "y", "declares f32[2,4]"},
        BadModel{"DeclaredTypeContradicts", 13, "m (float[2] x) => (int64[2] y) { y = Relu(x) }", "Relu_0",
                 "", "contradict"},
        BadModel{"MissingInput", 13, "m (float[2] x) => (float[2] y) { [n] y = Add(x) }", "n", "", "input"},
        BadModel{"MissingAttribute", 13, "m (float[2] x) => (float[2] y) { [n] y = Cast(x) }", "n", "", "to"},
        BadModel{"WrongAttributeKind", 13,
                 "m (float[2] x) => (float[2] y) { [n] y = Softmax <axis = \"one\"> (x) }", "n", "", "axis"},
        BadModel{"UnknownAttribute", 13, "m (float[2] x) => (float[2] y) { [n] y = Relu <slope = 2> (x) }",
                 "n", "", "slope"},
        BadModel{"HugeDims", 13,
                 "m (float[4000000000,4000000000] x) => (float[4000000000,4000000000] y) { y = Relu(x) }", "",
                 "x", "32-bit indices"},
        BadModel{"HugeTensor", 13, "m (float[65536,65536] x) => (float[65536,65536] y) { y = Relu(x) }", "",
                 "x", "32-bit indices"},
        BadModel{
            "DynamicCondition", 13,
            "m (float[2] x, bool c) => (float[2] y) { [n] y = If (c) < then_branch = t () => (float[2] a) "
            "{ a = Relu(x) }, else_branch = e () => (float[2] a) { a = Abs(x) } > }",
            "n", "", "If"},
        BadModel{"OpsetTooNew", 99, "m (float[2] x) => (float[2] y) { y = Relu(x) }", "", "", "opset 99"}),
    [](const auto& info) { return std::string(info.param.name); });

class BadFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              (std::string("bad_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_ / "model");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ / "model" / "m.onnx"; }
  void write(const std::string& bytes) const { std::ofstream(path(), std::ios::binary) << bytes; }

  /// A model whose weight lies in a file.
  static ::onnx::ModelProto external(const std::string& location, const std::string& offset,
                                     const std::string& length) {
    ::onnx::ModelProto model = model_of(13, "m (float[2] x) => (float[2] y) { y = Add(x, w) }");
    ::onnx::TensorProto& weight = *model.mutable_graph()->add_initializer();
    weight.set_name("w");
    weight.set_data_type(::onnx::TensorProto::FLOAT);
    weight.add_dims(2);
    weight.set_data_location(::onnx::TensorProto::EXTERNAL);
    const std::pair<const char*, std::string> entries[] = {
        {"location", location}, {"offset", offset}, {"length", length}};
    for (const auto& [key, value] : entries) {
      if (value.empty()) continue;
      auto& entry = *weight.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    return model;
  }

  Error refused(const std::string& bytes) const {
    write(bytes);
    const Error error = error_of([&] { import_model(path()); });
    EXPECT_EQ(error.where().file, path());
    return error;
  }
  void expect_external_refused(const ::onnx::ModelProto& model, const std::string& message) const {
    const Error error = refused(model.SerializeAsString());
    EXPECT_EQ(error.where().value, "w");
    EXPECT_NE(error.message().find(message), std::string::npos) << error.what();
  }

  std::filesystem::path folder_;
};

TEST_F(BadFile, Missing) {
  const Error error = error_of([&] { import_model(folder_ / "none.onnx"); });
  EXPECT_EQ(error.where().file, folder_ / "none.onnx");
  EXPECT_NE(error.message().find("does not exist"), std::string::npos);
}

TEST_F(BadFile, Folder) {
  EXPECT_NE(error_of([&] { import_model(folder_); }).message().find("folder"), std::string::npos);
}

TEST_F(BadFile, Empty) { EXPECT_NE(refused("").message().find("empty"), std::string::npos); }

TEST_F(BadFile, Text) {
  EXPECT_NE(refused("hello, I am not a model").message().find("not an ONNX model"), std::string::npos);
}

TEST_F(BadFile, CutShortAnywhere) {
  const std::string whole =
      model_of(13, "m (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1,2,3,4}> { y = MatMul(x, w) }")
          .SerializeAsString();
  for (size_t length = 1; length < whole.size(); ++length) {
    write(whole.substr(0, length));
    try {
      import_model(path());
      ADD_FAILURE() << "accepted the first " << length << " of " << whole.size() << " bytes";
    } catch (const Error& error) {
      EXPECT_EQ(error.where().file, path());
    }
  }
}

TEST_F(BadFile, RandomBytes) {
  std::mt19937 engine(1);
  for (int trial = 0; trial < 200; ++trial) {
    std::string bytes(1 + engine() % 300, '\0');
    for (char& byte : bytes) byte = static_cast<char>(engine());
    refused(bytes);
  }
}

/// Whatever one changed byte does, it ends in a graph or in an Error.
TEST_F(BadFile, OneByteChanged) {
  const std::string whole =
      model_of(11, R"(m (float[1,2,4,4] x) => (float[1,8] y) <float[2,2,1,1] w = {1,2,3,4}> {
      c = Conv <pads = [0,0,0,0]> (x, w) p = MaxPool <kernel_shape = [2,2], strides = [2,2]> (c) y = Flatten(p)
    })")
          .SerializeAsString();
  std::mt19937 engine(2);
  int refusals = 0;
  for (size_t place = 0; place < whole.size(); ++place) {
    std::string bytes = whole;
    bytes[place] = static_cast<char>(engine());
    write(bytes);
    try {
      import_model(path());
    } catch (const Error& error) {
      EXPECT_EQ(error.where().file, path());
      ++refusals;
    }
  }
  EXPECT_GT(refusals, 50);
}

TEST_F(BadFile, ExternalDataIsRead) {
  std::ofstream(folder_ / "model" / "w.bin", std::ios::binary)
      << std::string(4, 'x') << std::string("\0\0\x80\x3f\0\0\0\x40", 8);
  write(external("w.bin", "4", "8").SerializeAsString());
  const graph::Graph graph = import_model(path());
  EXPECT_EQ(graph.constant_input(graph.nodes.at(0), 1)->as_doubles(), (std::vector<double>{1, 2}));
}

TEST_F(BadFile, ExternalDataMissing) {
  expect_external_refused(external("w.bin", "0", "8"), "does not exist");
}

TEST_F(BadFile, ExternalDataOutside) {
  std::ofstream(folder_ / "secret.bin", std::ios::binary) << std::string(8, '\0');
  expect_external_refused(external("../secret.bin", "0", "8"), "outside the model's folder");
  expect_external_refused(external((folder_ / "secret.bin").string(), "0", "8"),
                          "outside the model's folder");
  std::filesystem::create_symlink(folder_ / "secret.bin", folder_ / "model" / "link.bin");
  expect_external_refused(external("link.bin", "0", "8"), "outside the model's folder");
}

TEST_F(BadFile, ExternalDataTooShort) {
  std::ofstream(folder_ / "model" / "w.bin", std::ios::binary) << std::string(8, '\0');
  expect_external_refused(external("w.bin", "4", "8"), "has 8 bytes, but 8 are needed from 4");
  expect_external_refused(external("w.bin", "0", "4"), "external data of 4 bytes, but the shape needs 8");
  expect_external_refused(external("w.bin", "-4", "8"), "not an offset");
}

TEST_F(BadFile, ConstantOfWrongLength) {
  ::onnx::ModelProto model =
      model_of(13, "m (float[2] x) => (float[2] y) <float[2] w = {1,2}> { y = Add(x, w) }");
  model.mutable_graph()->mutable_initializer(0)->set_dims(0, 3);
  EXPECT_NE(refused(model.SerializeAsString()).message().find("its shape needs 12"), std::string::npos);
}

TEST_F(BadFile, ConstantOfHugeShape) {
  ::onnx::ModelProto model =
      model_of(13, "m (float[2] x) => (float[2] y) <float[2] w = {1,2}> { y = Add(x, w) }");
  auto& weight = *model.mutable_graph()->mutable_initializer(0);
  weight.set_dims(0, int64_t{1} << 40);
  weight.add_dims(int64_t{1} << 40);
  EXPECT_EQ(refused(model.SerializeAsString()).where().value, "w");
  weight.set_dims(0, -2);
  EXPECT_NE(refused(model.SerializeAsString()).message().find("extent -2"), std::string::npos);
}

TEST_F(BadFile, UnknownDim) {
  write(model_of(13, "m (float[n] x) => (float[n] y) { y = Relu(x) }").SerializeAsString());
  const Error unknown = error_of([&] { import_model(path(), {.dims = {{"batch", 1}}}); });
  EXPECT_NE(unknown.message().find("they have: n"), std::string::npos) << unknown.what();
  const Error negative = error_of([&] { import_model(path(), {.dims = {{"n", -1}}}); });
  EXPECT_NE(negative.message().find("at least 1"), std::string::npos) << negative.what();
}

}  // namespace
}  // namespace cryolite::onnx
