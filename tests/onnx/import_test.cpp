#include "onnx/import.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/onnx/models.h"

namespace cryolite::onnx {
namespace {

TEST(Import, GraphOfAModel) {
  EXPECT_EQ(imported(13, R"(m (float[1,2,4,4] x) => (float[1,3,2,2] y)
    <float[3,2,3,3] w, float[3] b = {1,2,3}> {
      w = ConstantOfShape <value = float[1] {0.5}> (shape)
      shape = Constant <value_ints = [3,2,3,3]> ()
      [conv1] c = Conv <strides = [2,2], pads = [1,1,1,1]> (x, w, b)
      y = Relu(c)
    })"),
            R"(
graph m (x: f32[1,2,4,4]) -> (y) {
  const shape: i64[4] = {3, 2, 3, 3}
  const b: f32[3] = {1, 2, 3}
  ConstantOfShape_0: w: f32[3,2,3,3] = ConstantOfShape(shape) {value=f32[1] = {0.5}}
  conv1: c: f32[1,3,2,2] = Conv(x, w, b) {pads=[1,1,1,1], strides=[2,2]}
  Relu_3: y: f32[1,3,2,2] = Relu(c)
}
)");
}

TEST(Import, SymbolicDimsStayOrAreGiven) {
  const std::string model =
      "m (float[n,3] x, float[?,3] z) => (float[n,3] y, float[k,3] w) { y = Relu(x) w = Abs(z) }";
  EXPECT_EQ(imported(13, model), R"(
graph m (x: f32[n,3], z: f32[z.0,3]) -> (y, w) {
  Relu_0: y: f32[n,3] = Relu(x)
  Abs_1: w: f32[z.0,3] = Abs(z)
}
)");
  EXPECT_EQ(imported(13, model, {.dims = {{"n", 2}, {"z.0", 5}}}), R"(
graph m (x: f32[2,3], z: f32[5,3]) -> (y, w) {
  Relu_0: y: f32[2,3] = Relu(x)
  Abs_1: w: f32[5,3] = Abs(z)
}
)");
}

TEST(Import, ShapeArithmeticSettlesShapes) {
  EXPECT_EQ(imported(13, R"(m (float[2,3,4] x) => (float[a,b] y) {
      s = Shape(x)
      zero = Constant <value_ints = [0]> ()
      first = Gather(s, zero)
      rest = Constant <value_ints = [-1]> ()
      target = Concat <axis = 0> (first, rest)
      y = Reshape(x, target)
    })")
                    .find("y: f32[2,12] = Reshape(x, target)") != std::string::npos,
            true);
}

TEST(Import, FunctionsAreInlined) {
  const std::string text = R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    m (float[2] x) => (float[2] y) { y = local.twice(x) }
    <domain: "local", opset_import: ["" : 17]>
    twice (a) => (b) { b = Add(a, a) })";
  ::onnx::ModelProto model;
  ASSERT_TRUE(::onnx::OnnxParser::Parse(model, text.c_str()).IsOK());
  const graph::Graph graph = import_proto(model, "");
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(graph.nodes[0].op_type, "Add");
  EXPECT_EQ(graph.value(graph.nodes[0].outputs[0]).name, "y");
}

TEST(Import, OperatorsThatAreFunctionsAreExpandedWhereNotKnown) {
  const std::string model = "m (float[2,3] x) => (float[2,3] y) { y = Celu(x) }";
  EXPECT_NE(imported(13, model).find("Celu(x)"), std::string::npos);
  const ImportOptions options{.known_operator = [](std::string_view op) { return op != "Celu"; }};
  const std::string expanded = imported(13, model, options);
  EXPECT_EQ(expanded.find("Celu("), std::string::npos) << expanded;
  EXPECT_NE(expanded.find("Elu("), std::string::npos) << expanded;
}

TEST(Import, ConstantConditionsAreTaken) {
  EXPECT_EQ(imported(13, R"(m (float[2] x) => (float[2] y) <bool c = {0}> {
      [branch] y = If (c) <
        then_branch = yes () => (float[2] a) { a = Relu(x) },
        else_branch = no () => (float[2] a) <float[2] k = {1,2}> { t = Add(x, k) a = Neg(t) }
      >
    })"),
            R"(
graph m (x: f32[2]) -> (y) {
  const branch/k: f32[2] = {1, 2}
  branch/Add_0: branch/t: f32[2] = Add(x, branch/k)
  branch/Neg_1: branch/a: f32[2] = Neg(branch/t)
  branch/output_0: y: f32[2] = Identity(branch/a)
}
)");
}

TEST(Import, NodesAreSortedAndGetNamesOfTheirOwn) {
  EXPECT_EQ(imported(13, R"(m (float[2] x) => (float[2] y) {
      [same] y = Relu(a)
      [same] a = Abs(x)
    })"),
            R"(
graph m (x: f32[2]) -> (y) {
  same_2: a: f32[2] = Abs(x)
  same: y: f32[2] = Relu(a)
}
)");
}

/// What older opsets wrote as attributes, and other meanings of the same name.
struct Upgrade {
  const char* name;
  int opset;
  const char* model;
  const char* expected;  ///< a part of the text
};

class Opset : public testing::TestWithParam<Upgrade> {};

TEST_P(Opset, IsConverted) {
  const std::string text = imported(GetParam().opset, GetParam().model);
  EXPECT_NE(text.find(GetParam().expected), std::string::npos) << text;
}

INSTANTIATE_TEST_SUITE_P(
    Import, Opset,
    testing::Values(
        Upgrade{"Softmax11", 11, "m (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax(x) }",
                "f32[2,12] = Flatten(x) {axis=1}"},
        Upgrade{"Softmax11LastAxis", 11,
                "m (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax <axis = 2> (x) }",
                "y: f32[2,3,4] = Softmax(x) {axis=-1}"},
        Upgrade{"Softmax13", 13, "m (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax(x) }",
                "y: f32[2,3,4] = Softmax(x)\n"},
        Upgrade{"Clip6", 6, "m (float[2] x) => (float[2] y) { y = Clip <min = 0.0, max = 6.0> (x) }",
                "= {6}\n"},
        Upgrade{
            "Upsample9", 9,
            "m (float[1,1,2,2] x) => (float[1,1,4,4] y) <float[4] s = {1,1,2,2}> { [up] y = Upsample(x, s) }",
            "up: y: f32[1,1,4,4] = Resize(x, "},
        Upgrade{"Upsample9Floors", 9,
                "m (float[1,1,2,2] x) => (float[1,1,4,4] y) <float[4] s = {1,1,2,2}> { y = Upsample(x, s) }",
                "{coordinate_transformation_mode=\"asymmetric\", mode=\"nearest\", nearest_mode=\"floor\"}"},
        Upgrade{
            "Upsample7", 7,
            "m (float[1,1,2,2] x) => (float[1,1,4,4] y) { y = Upsample <scales = [1.0,1.0,2.0,2.0]> (x) }",
            "coordinate_transformation_mode=\"asymmetric\""},
        Upgrade{
            "Resize10Shrinks", 10,
            "m (float[1,1,4,4] x) => (float[1,1,2,2] y) <float[4] s = {1,1,0.5,0.5}> { y = Resize(x, s) }",
            "nearest_mode=\"ceil\""},
        Upgrade{"Hardmax11", 11, "m (float[2,3,4] x) => (float[2,3,4] y) { [h] y = Hardmax(x) }",
                "h: y/hard: f32[2,12] = Hardmax(y/flat) {axis=1}"},
        Upgrade{"PadReflect2", 10,
                "m (float[2,2] x) => (float[2,4] y) { y = Pad <mode = \"reflect\", pads = [0,1,0,1], value = "
                "3.0> (x) }",
                ") {mode=\"reflect\"}"},
        Upgrade{"Slice1", 9,
                "m (float[4,4] x) => (float[2,4] y) { y = Slice <axes = [0], starts = [1], ends = [3]> (x) }",
                "y: f32[2,4] = Slice(x, "},
        Upgrade{"Pad2", 10,
                "m (float[2,2] x) => (float[2,4] y) { y = Pad <pads = [0,1,0,1], value = 3.0> (x) }",
                "y: f32[2,4] = Pad(x, "},
        Upgrade{"Squeeze1", 11, "m (float[1,2] x) => (float[2] y) { y = Squeeze <axes = [0]> (x) }",
                "y: f32[2] = Squeeze(x, "},
        Upgrade{"Unsqueeze1", 11, "m (float[2] x) => (float[1,2] y) { y = Unsqueeze <axes = [0]> (x) }",
                "y: f32[1,2] = Unsqueeze(x, "},
        Upgrade{"Split2", 11,
                "m (float[4] x) => (float[1] y, float[3] z) { y, z = Split <split = [1,3]> (x) }",
                "y: f32[1], z: f32[3] = Split(x, "},
        Upgrade{"Split13", 13, "m (float[4] x) => (float[2] y, float[2] z) { y, z = Split(x) }",
                "Split(x) {num_outputs=2}"},
        Upgrade{"ReduceSum11", 11, "m (float[2,3] x) => (float[2,1] y) { y = ReduceSum <axes = [1]> (x) }",
                "y: f32[2,1] = ReduceSum(x, "},
        Upgrade{"ReduceMean13", 13, "m (float[2,3] x) => (float[2,1] y) { y = ReduceMean <axes = [1]> (x) }",
                "y: f32[2,1] = ReduceMean(x, "},
        Upgrade{"TopK1", 9,
                "m (float[5] x) => (float[2] y, int64[2] i) { y, i = TopK <k = 2, axis = 0> (x) }",
                "y: f32[2], i: i64[2] = TopK(x, "},
        Upgrade{"Dropout7", 7, "m (float[5] x) => (float[5] y) { y = Dropout <ratio = 0.3> (x) }",
                "y: f32[5] = Dropout(x, "},
        Upgrade{
            "BatchNormalization7", 7,
            "m (float[1,2,2,2] x, float[2] s, float[2] b, float[2] mean, float[2] var) => (float[1,2,2,2] y) "
            "{ y = BatchNormalization <epsilon = 0.01> (x, s, b, mean, var) }",
            "y: f32[1,2,2,2] = BatchNormalization(x, s, b, mean, var) {epsilon=0.01"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Import, WhatIsNotFixedIsNamed) {
  const graph::Graph symbolic =
      import_proto(model_of(13, "m (float[n,c] x) => (float[n,c] y) { y = Relu(x) }"), "");
  try {
    require_fixed_types(symbolic);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.remedy(), "give --dim c=NUMBER --dim n=NUMBER");
  }
  const graph::Graph data_dependent =
      import_proto(model_of(13, "m (float[4] x) => (int64[1,k] y) { [find] y = NonZero(x) }"), "");
  try {
    require_fixed_types(data_dependent);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.where().node, "find");
  }
}

}  // namespace
}  // namespace cryolite::onnx
