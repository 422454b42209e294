#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include <cstdio>
#include <fstream>

// Writes the ONNX model that the generator model_group is tested on: write_test_model FILE.
int main(int argc, char** argv) {
  const char* text = R"(<ir_version: 8, opset_import: ["" : 17]>
    layer (float[1,5,9,11] x, float[16,5,3,3] w, float[16] b) => (float[1,16,9,11] y) {
      [conv] c = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w, b)
      [relu] y = Relu (c)
    })";
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser::Parse(model, text);
  if (argc != 2 || !status.IsOK()) {
    std::fprintf(stderr, "%s\n", status.ErrorMessage().c_str());
    return 1;
  }
  std::ofstream file(argv[1], std::ios::binary);
  return model.SerializeToOstream(&file) ? 0 : 1;
}
