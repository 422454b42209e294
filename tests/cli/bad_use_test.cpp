#include "onnx/tensor_file.h"
#include "tests/cli/cli_case.h"

// A good model with files or options that are wrong.
namespace cryolite::cli::test {
namespace {

using graph::Tensor;

std::string good_model() {
  return onnx_file("m (float[1,4,8] x) => (float[1,4,8] y) { [a] s = Softmax(x) [b] y = Relu(s) }");
}

Case with(const std::string& name, Files files, const std::string& command, std::vector<std::string> says,
          int code = 1) {
  files["m.onnx"] = good_model();
  return {name, std::move(files), command, std::move(says), code};
}

TEST(BadUse, Options) {
  const Case cases[] = {
      with("no command", {}, "", {}, 2),
      with("unknown command", {}, "translate m.onnx", {"subcommand"}, 2),
      with("unknown option", {}, "plan m.onnx --fast", {"--fast"}, 2),
      with("no output", {}, "compile m.onnx", {"--output"}, 2),
      with("unknown planner", {}, "plan m.onnx --planner best", {"best"}, 2),
      with("threads are no number", {}, "run m.onnx --input a --output b --threads many", {"many"}, 2),
      with("no threads", {}, "bench m.onnx --threads 0", {"--threads"}, 2),
      with("jobs", {}, "compile m.onnx -o out --jobs 0", {"--jobs"}, 2),
      with("negative threads", {}, "verify m.onnx --threads -3", {"--threads"}, 2),
      with("too many threads", {}, "verify m.onnx --threads 99999999", {"--threads"}, 2),
      with("unknown dimension", {}, "plan m.onnx --dim batch=1", {"m.onnx", "batch", "none"}),
      with("no number", {}, "plan m.onnx --dim batch=one", {"--dim batch=one", "write, say, --dim batch=1"}),
      with("no equals sign", {}, "plan m.onnx --dim batch", {"--dim batch"}),
      with("nothing after it", {}, "plan m.onnx --dim batch=", {"--dim batch="}),
      with("extent of zero", {}, "plan m.onnx --dim batch=0", {"--dim batch=0"}),
      with("huge extent", {}, "plan m.onnx --dim batch=99999999999999999999", {"--dim batch"}),
      with("unknown target", {}, "compile m.onnx -o out --target toaster", {"toaster", "use host"}),
      with("other system", {}, "compile m.onnx -o out --target x86-64-windows", {"windows", "Linux"}),
      with("other processor", {}, "compile m.onnx -o out --target arm-64-linux", {"arm-64-linux"}),
      with("name", {}, "compile m.onnx -o out --name 2fast", {"2fast", "letters"}),
      with("unknown node", {}, "plan m.onnx --explain conv9", {"m.onnx", "conv9"}),
      with("unknown edge", {}, "plan m.onnx --explain a->conv9", {"m.onnx", "conv9"}),
      with("edge that is none", {}, "plan m.onnx --explain b->a", {"m.onnx", "b->a"}),
  };
  for (const Case& wrong : cases) expect_refused(wrong);
}

TEST(BadUse, Devices) {
  const auto device = [](const std::string& name, const std::string& text, std::vector<std::string> says) {
    says.push_back("d.json");
    return with(name, {{"d.json", text}}, "plan m.onnx --device d.json", std::move(says));
  };
  const Case cases[] = {
      with("unknown name", {}, "plan m.onnx --device z80", {"z80", "a100"}),
      with("missing file", {}, "plan m.onnx --device none.json", {"none.json", "cannot be read"}),
      with("folder", {{"d.json/", ""}}, "plan m.onnx --device d.json", {"d.json"}),
      device("empty", "", {"device file"}),
      device("no JSON", "cores = 4", {"device file"}),
      device("fields missing", "{\"name\": \"d\"}", {"flops_per_second"}),
      device("wrong kind", R"({"name": "d", "flops_per_second": "many", "memory": []})", {"device file"}),
      device("no memory", R"({"name": "d", "flops_per_second": 1e9, "memory": []})", {"memory level"}),
      device("no cores",
             R"({"name": "d", "flops_per_second": 1e9, "cores": 0, "memory": [{"name": "m", "bytes_per_second": 1e9}]})",
             {"cores"}),
      device("no width",
             R"({"name": "d", "flops_per_second": 1e9, "vector_bytes": -8,
                 "memory": [{"name": "m", "bytes_per_second": 1e9}]})",
             {"vector_bytes"}),
  };
  for (const Case& wrong : cases) expect_refused(wrong);
}

TEST(BadUse, Outputs) {
  const Case cases[] = {
      with("folder is a file", {{"out", "mine"}}, "compile m.onnx -o out", {"out", "cannot be written"}),
      with("below a file", {{"file", "mine"}}, "compile m.onnx -o file/out", {"file/out", "cannot be written"}),
      with("not writable", {}, "compile m.onnx -o /proc/out", {"/proc/out", "cannot be written"}),
      with("deep and not writable", {{"file", "mine"}}, "compile m.onnx -o new/folders/file --schedule file", {"file"}),
      with("JSON", {}, "plan m.onnx --json none/plan.json", {"none/plan.json", "cannot be written"}),
      with("JSON is a folder", {{"p.json/", ""}}, "plan m.onnx --json p.json", {"p.json", "cannot be written"}),
      with("graph", {}, "plan m.onnx --graph none/graph.txt", {"none/graph.txt", "cannot be written"}),
      with("device", {}, "device a100 --json none/d.json", {"none/d.json", "cannot be written"}),
  };
  for (const Case& wrong : cases) expect_refused(wrong);
}

TEST(BadUse, Schedules) {
  const auto schedule = [](const std::string& name, const std::string& text, std::vector<std::string> says) {
    says.push_back("s.txt");
    return with(name, {{"s.txt", text}}, "compile m.onnx -o out --schedule s.txt", std::move(says));
  };
  const Case cases[] = {
      with("missing", {}, "compile m.onnx -o out --schedule none.txt", {"none.txt", "cannot be read"}),
      with("folder", {{"s.txt/", ""}}, "compile m.onnx -o out --schedule s.txt", {"s.txt", "cannot be read"}),
      schedule("syntax", "group b\nb.vectorize(\n", {"line 2", "FUNC.call"}),
      schedule("no group", "b.vectorize(c, 8)\n", {"line 1", "before any group"}),
      schedule("another model's", "group conv1.pool1\npool1.parallel(y)\n", {"conv1.pool1", "plan MODEL --schedule"}),
      schedule("unknown Func", "group b\nconv1.parallel(y)\n", {"line 2", "conv1"}),
      schedule("unknown call", "group b\nb.explode(y)\n", {"line 2", "explode"}),
      schedule("unknown loop", "group b\nb.parallel(q7)\n", {"line 2", "q7"}),
      schedule("split by zero", "group b\nb.split(x, xo, xi, 0)\n", {"line 2", "above zero"}),
      schedule("negative split", "group b\nb.split(x, xo, xi, -4)\n", {"line 2", "split"}),
      schedule("split into a loop that is there", "group b\nb.split(x, c, xi, 4)\n", {"line 2", "'c'"}),
      schedule("too few arguments", "group b\nb.split(x)\n", {"line 2", "split"}),
      schedule("too many arguments", "group b\nb.parallel(c, 2, 3, 4, 5, 6, 7)\n", {"line 2", "parallel"}),
      schedule("level of a later Func", "group b\na_max.compute_at(a_sum, c)\na_sum.compute_root()\n", {"group b", "invalid location"}),
      schedule("level of itself", "group b\na_max.compute_at(a_max, c)\n", {"a_max"}),
      schedule("number too large", "group b\nb.vectorize(x, 99999999999999999999)\n", {"too large"}),
      schedule("random bytes", std::string("\x01\xfe\x00\xc3(", 5), {"line 1"}),
  };
  for (const Case& wrong : cases) expect_refused(wrong);
}

/// A file that numpy could have written, of one tensor.
std::string npz(const std::string& name, const Tensor& tensor) {
  const TemporaryFolder folder;
  onnx::write_npz(folder.file("a.npz"), {{name, tensor}});
  return read_file(folder.file("a.npz"));
}

std::string tensor_file(const std::string& name, const Tensor& tensor) {
  const TemporaryFolder folder;
  onnx::write_tensor_file(folder.file("t.pb"), {name, tensor});
  return read_file(folder.file("t.pb"));
}

Tensor ones(std::vector<graph::Dim> dims) { return Tensor::of_floats(std::vector<float>(32, 1), std::move(dims)); }

TEST(BadUse, Arrays) {
  const std::string whole = npz("x", ones({1, 4, 8}));
  const auto run = [](const std::string& name, const std::string& contents, std::vector<std::string> says) {
    says.push_back("in.npz");
    return with(name, {{"in.npz", contents}}, "run m.onnx --input in.npz --output out.npz", std::move(says));
  };
  std::string damaged = whole;
  damaged[40] ^= 0x55;
  const Case cases[] = {
      with("missing", {}, "run m.onnx --input in.npz --output out.npz", {"in.npz", "does not exist"}),
      with("folder", {{"in.npz/", ""}}, "run m.onnx --input in.npz --output out.npz", {"in.npz"}),
      run("empty", "", {".npz"}),
      run("cut short", whole.substr(0, whole.size() / 2), {".npz"}),
      run("text", "0 1 2 3", {".npz"}),
      run("damaged", damaged, {"'x'"}),
      run("input missing", npz("z", ones({1, 4, 8})), {"'x'", "name the arrays"}),
      run("shape", npz("x", ones({1, 8, 4})), {"'x'", "f32[1,8,4]", "f32[1,4,8]"}),
      run("type", npz("x", Tensor::of_integers(std::vector<int64_t>(32, 1))), {"'x'", "i64[32]", "f32[1,4,8]"}),
      with("output folder", {{"in.npz", whole}}, "run m.onnx --input in.npz --output none/out.npz",
           {"none/out.npz", "cannot be written"}),
  };
  for (const Case& wrong : cases) expect_refused(wrong);
}

TEST(BadUse, Data) {
  const std::string right = tensor_file("x", ones({1, 4, 8})), answer = tensor_file("y", ones({1, 4, 8}));
  const auto verify = [](const std::string& name, Files files, std::vector<std::string> says) {
    says.push_back("data");
    return with(name, std::move(files), "verify m.onnx --data data", std::move(says));
  };
  const Case cases[] = {
      with("nothing beside the model", {}, "verify m.onnx", {"test_data_set_0", "--data"}),
      verify("missing", {}, {"output_0.pb"}),
      verify("empty", {{"data/", ""}}, {"output_0.pb"}),
      verify("no inputs", {{"data/output_0.pb", answer}}, {"input_0.pb"}),
      verify("empty input", {{"data/input_0.pb", ""}, {"data/output_0.pb", answer}}, {"input_0.pb", "empty"}),
      verify("cut short", {{"data/input_0.pb", right.substr(0, 70)}, {"data/output_0.pb", answer}}, {"input_0.pb"}),
      verify("shape", {{"data/input_0.pb", tensor_file("x", ones({32}))}, {"data/output_0.pb", answer}},
             {"'x'", "f32[32]", "f32[1,4,8]"}),
      verify("shape of the answer",
             {{"data/input_0.pb", right}, {"data/output_0.pb", tensor_file("y", ones({4, 8}))}},
             {"output_0.pb", "'y'", "f32[4,8]", "f32[1,4,8]"}),
      verify("too many answers",
             {{"data/input_0.pb", right}, {"data/output_0.pb", answer}, {"data/output_1.pb", answer}},
             {"has 2 files", "the model has 1"}),
      with("different", {{"data/input_0.pb", right}, {"data/output_0.pb", answer}}, "verify m.onnx --data data",
           {"m.onnx", "differs", "--rtol"}),
  };
  for (const Case& wrong : cases) expect_refused(wrong);
}

}  // namespace
}  // namespace cryolite::cli::test
