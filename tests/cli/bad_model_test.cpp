#include "tests/cli/cli_case.h"

// Models that are wrong. One line says where and what to do, the exit code is 1, and nothing is left behind.
namespace cryolite::cli::test {
namespace {

Case compile(const std::string& name, const std::string& model, std::vector<std::string> says) {
  says.push_back("m.onnx");
  return {name, {{"m.onnx", model}}, "compile m.onnx -o out", std::move(says)};
}

TEST(BadModel, Files) {
  const std::string whole = onnx_file("m (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1,2,3,4}> { y = MatMul(x, w) }");
  std::string noise(4000, '\0');
  unsigned state = 1;
  for (char& byte : noise) byte = static_cast<char>((state = state * 1664525u + 1013904223u) >> 24);
  const Case cases[] = {
      {"missing", {}, "compile none.onnx -o out", {"none.onnx", "does not exist", "check the path"}},
      {"folder", {{"m.onnx/", ""}}, "compile m.onnx -o out", {"m.onnx", "folder"}},
      compile("empty", "", {"empty"}),
      compile("cut short", whole.substr(0, whole.size() - 5), {"cut short", "download it again"}),
      compile("cut to a tenth", whole.substr(0, whole.size() / 10), {"download it again"}),
      compile("random bytes", noise, {"not an ONNX model"}),
      compile("text", "hello, I am not a model\n", {"not an ONNX model"}),
      compile("zeros", std::string(100, '\0'), {"not an ONNX model"}),
      compile("no graph", onnx_file("m () => () { }").substr(0, 2), {"no graph"}),
  };
  for (const Case& wrong : cases) expect_refused(wrong);
}

TEST(BadModel, Operators) {
  const auto model = [](const std::string& graph, int opset = 13) { return onnx_file(graph, opset); };
  const Case cases[] = {
      compile("unknown operator", model("m (float[2] x) => (float[2] y) { [n] y = Frobnicate(x) }"),
              {"'n'", "no operator Frobnicate"}),
      compile("unknown domain", model("m (float[2] x) => (float[2] y) { [n] y = com.acme.Relu(x) }"),
              {"'n'", "com.acme"}),
      compile("newer operator", model("m (float[2] x) => (float[2] y) { [n] y = Gelu(x) }"), {"'n'", "opset 13"}),
      compile("newer opset", model("m (float[2] x) => (float[2] y) { [n] y = Relu(x) }", 99), {"opset 99"}),
      compile("not compiled yet",
              model("m (float[9] x) => (float[9] y) { [n] y = Bernoulli(x) }", 15), {"RandomUniformLike_0", "cryolite ops"}),
      compile("control flow",
              model("m (float[2] x, bool c) => (float[2] y) { [n] y = If (c) < then_branch = t () => (float[2] a) "
                    "{ a = Relu(x) }, else_branch = e () => (float[2] a) { a = Abs(x) } > }"),
              {"'n'", "If"}),
      compile("strings", model("m (string[2] x) => (string[2] y) { y = Identity(x) }"), {"'x'", "string"}),
      compile("complex", model("m (complex64[2] x) => (complex64[2] y) { y = Identity(x) }"), {"'x'", "complex64"}),
      compile("sequence",
              model("m (float[2] x) => (float[2] y) { [n] s = SequenceConstruct(x) y = SequenceAt(s, i) "
                    "i = Constant <value_int = 0> () }"),
              {"'s'", "sequence"}),
      compile("cycle", model("m (float[2] x) => (float[2] y) { [n] a = Add(x, y) [k] y = Relu(a) }"),
              {"'n'", "cycle"}),
      compile("never written", model("m (float[2] x) => (float[2] y) { [n] y = Add(x, z) }"), {"'n'", "'z'"}),
      compile("written twice", model("m (float[2] x) => (float[2] y) { y = Relu(x) [n] y = Abs(x) }"),
              {"'n'", "second time"}),
      compile("attribute missing", model("m (float[2] x) => (float[2] y) { [n] y = Cast(x) }"), {"'n'", "to"}),
      compile("unknown attribute", model("m (float[2] x) => (float[2] y) { [n] y = Relu <slope = 2> (x) }"),
              {"'n'", "slope"}),
      compile("free dimension", model("m (float[batch,2] x) => (float[batch,2] y) { [n] y = Relu(x) }"),
              {"--dim batch=NUMBER"}),
      compile("shape depends on data",
              model("m (float[9] x) => (int64[1,k] y) { [n] y = NonZero(x) }"), {"'n'", "NonZero", "depends on the data"}),
  };
  for (const Case& wrong : cases) expect_refused(wrong);
}

TEST(BadModel, Shapes) {
  const auto model = [](const std::string& graph, int opset = 13) { return onnx_file(graph, opset); };
  const Case cases[] = {
      compile("product", model("m (float[2,3] x, float[4,5] z) => (float[2,5] y) { [n] y = MatMul(x, z) }"),
              {"'n'", "contradict"}),
      compile("broadcast", model("m (float[2] x, float[3] z) => (float[3] y) { [n] y = Add(x, z) }"),
              {"'n'", "contradict"}),
      compile("types", model("m (float[2] x, int64[2] z) => (float[2] y) { [n] y = Add(x, z) }"),
              {"'n'", "contradict"}),
      compile("declared", model("m (float[2,3] x) => (float[2,4] y) { y = Relu(x) }"), {"'y'", "declares"}),
      compile("channels",
              model("m (float[1,3,8,8] x, float[4,5,3,3] w) => (float[1,4,6,6] y) { [n] y = Conv(x, w) }"), {"'n'"}),
      compile("groups",
              model("m (float[1,6,8,8] x, float[4,3,3,3] w) => (float[1,4,6,6] y) { [n] y = Conv <group = 0> (x, w) }"),
              {"'n'"}),
      compile("stride of zero",
              model("m (float[1,3,8,8] x, float[4,3,3,3] w) => (float[1,4,a,b] y) { [n] y = Conv <strides = [0,0]> (x, w) }"),
              {"'n'"}),
      compile("window beyond the image",
              model("m (float[1,3,2,2] x) => (float[1,3,a,b] y) { [n] y = MaxPool <kernel_shape = [5,5]> (x) }"),
              {"'n'", "extent of -2"}),
      compile("reshape", model("m (float[2,3] x) => (float[4] y) <int64[1] s = {4}> { [n] y = Reshape(x, s) }"),
              {"'n'"}),
      compile("two free extents",
              model("m (float[2,3] x) => (float[a,b] y) <int64[2] s = {-1,-1}> { [n] y = Reshape(x, s) }"), {"'n'"}),
      compile("permutation", model("m (float[2,3] x) => (float[a,b] y) { [n] y = Transpose <perm = [0,0]> (x) }"),
              {"'n'"}),
      compile("axis", model("m (float[2,3] x) => (float[2,3] y) { [n] y = Softmax <axis = 7> (x) }"), {"'n'"}),
      compile("split",
              model("m (float[4] x) => (float[2] y, float[3] z) <int64[2] s = {2,3}> { [n] y, z = Split(x, s) }"),
              {"'n'"}),
      compile("constant index out of range",
              model("m (float[4] x) => (float[1] y) <int64[1] i = {9}> { [n] y = Gather(x, i) }"), {"'n'"}),
      compile("negative extent", model("m (float[2,-3] x) => (float[2,-3] y) { y = Relu(x) }"), {"x.1"}),
      compile("negative pads",
              model("m (float[2] x) => (float[a] y) <int64[2] p = {-3,0}> { [n] y = Pad(x, p) }"), {"'n'", "extent of -1"}),
      compile("huge extents",
              model("m (float[4000000000,4000000000] x) => (float[4000000000,4000000000] y) { y = Relu(x) }"),
              {"'x'", "32-bit indices"}),
      compile("huge tensor", model("m (float[65536,65536] x) => (float[65536,65536] y) { y = Relu(x) }"),
              {"'x'", "32-bit indices"}),
      compile("huge fill",
              model("m (float[1] x) => (float[a,b] y) <int64[2] s = {1099511627776,1099511627776}> "
                    "{ f = ConstantOfShape(s) [n] y = Add(x, f) }"),
              {"'f'", "32-bit indices"}),
      compile("huge inside",
              model("m (float[1] x) => (float y) <int64[2] s = {100000,100000}> "
                    "{ [e] f = Expand(x, s) [n] y = ReduceSum <keepdims = 0> (f) }"),
              {"'f'", "32-bit indices"}),
      compile("huge pads",
              model("m (float[2] x) => (float[a] y) <int64[2] p = {9223372036854775807,1}> { [n] y = Pad(x, p) }"),
              {"'n'", "overflow"}),
      compile("huge repeats",
              model("m (float[2] x) => (float[a] y) <int64[1] r = {9223372036854775807}> { [n] y = Tile(x, r) }"),
              {"'n'", "overflow"}),
      compile("endless range",
              model("m (int64 z) => (int64[a] y) <int64 b = {0}, int64 e = {9000000000000000000}, int64 d = {1}> "
                    "{ [r] f = Range(b, e, d) [n] y = Add(f, z) }"),
              {"'f'"}),
      compile("range without a step",
              model("m (int64 z) => (int64[a] y) <int64 b = {0}, int64 e = {9}, int64 d = {0}> "
                    "{ [r] f = Range(b, e, d) [n] y = Add(f, z) }"),
              {"'r'"}),
  };
  for (const Case& wrong : cases) expect_refused(wrong);
}

/// A model whose weight lies in a file.
std::string external(const std::string& entries, const std::string& type = "float[2]") {
  return onnx_file("m (float[2] x) => (float[2] y) <" + type + " w = [" + entries + "]> { [n] y = Add(x, w) }");
}

TEST(BadModel, ExternalData) {
  const std::string bytes(8, '\0');
  const auto inside = [&](const std::string& name, const std::string& model, std::vector<std::string> says) {
    says.insert(says.end(), {"m.onnx", "'w'"});
    return Case{name, {{"model/m.onnx", model}, {"model/w.bin", bytes}, {"secret.bin", bytes}},
                "compile model/m.onnx -o out", std::move(says)};
  };
  const Case cases[] = {
      inside("missing", external(R"("location": "none.bin")"), {"none.bin", "does not exist"}),
      inside("no place", external(R"("offset": "0")"), {"outside the model's folder"}),
      inside("above", external(R"("location": "../secret.bin")"), {"outside the model's folder"}),
      inside("above by a detour", external(R"("location": "a/../../secret.bin")"), {"outside the model's folder"}),
      inside("absolute", external(R"("location": "/etc/hostname")"), {"outside the model's folder"}),
      inside("a folder", external(R"("location": ".")"), {"does not exist"}),
      inside("offset", external(R"("location": "w.bin", "offset": "4")"), {"has 8 bytes"}),
      inside("offset far out", external(R"("location": "w.bin", "offset": "9223372036854775807")"), {"w.bin"}),
      inside("negative offset", external(R"("location": "w.bin", "offset": "-4")"), {"not an offset"}),
      inside("length", external(R"("location": "w.bin", "length": "4")"), {"4 bytes", "8"}),
      inside("length far out", external(R"("location": "w.bin", "length": "99999999999999999999")"),
             {"not an offset or length"}),
      inside("larger than its file", external(R"("location": "w.bin")", "float[3]"), {"w.bin"}),
  };
  for (const Case& wrong : cases) expect_refused(wrong);
  expect_refused(inside("link", external(R"("location": "link.bin")"), {"outside the model's folder"}),
                 [](const std::string& folder) {
                   std::filesystem::create_symlink("../secret.bin", folder + "/model/link.bin");
                 });
}

}  // namespace
}  // namespace cryolite::cli::test
