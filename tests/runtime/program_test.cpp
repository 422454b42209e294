#include <gtest/gtest.h>

#include <filesystem>

#include "base/subprocess.h"
#include "emit/evaluate.h"
#include "emit/toolchain.h"
#include "tests/emit/support.h"

/// Programs of users: C or C++ source, linked with archives, run as processes of their own.
namespace cryolite::emit {
namespace {

using test::graph_with_weights;
using test::options_for;
using test::planned;

const char first_text[] =
    R"(graph first (x: f32[1,6,12,12], w1: f32[40,6,3,3], wb1: f32[40], w2: f32[4,40,3,3]) -> (y, z) {
  conv1: a: f32[1,40,12,12] = Conv(x, w1, wb1) {kernel_shape=[3,3], pads=[1,1,1,1], strides=[1,1]}
  relu1: b: f32[1,40,12,12] = Relu(a)
  pool1: p: f32[1,40,6,6] = MaxPool(b) {kernel_shape=[2,2], strides=[2,2]}
  conv2: y: f32[1,4,6,6] = Conv(p, w2) {kernel_shape=[3,3], pads=[1,1,1,1]}
  soft: z: f32[1,4,6,6] = Softmax(y) {axis=1}
})";

const char second_text[] = R"(graph second (x: f32[3,50], w1: f32[50,20], "float": f32[1]) -> (y) {
  product: a: f32[3,20] = MatMul(x, w1)
  scaled: b: f32[3,20] = Mul(a, "float")
  tanh: y: f32[3,20] = Tanh(b)
})";

/// A folder with both models compiled, and programs beside them.
struct Workshop {
  TemporaryFolder folder;
  graph::Graph first = graph_with_weights(first_text), second = graph_with_weights(second_text);

  explicit Workshop(bool embeds_weights = true) {
    for (const graph::Graph* graph : {&first, &second}) {
      CompileOptions options = options_for(graph->name, folder.path());
      options.embeds_weights = embeds_weights;
      test::compile(planned(*graph), options);
    }
  }

  /// Writes the inputs and the expected outputs of a model as raw files: first_x0, first_y0, first_y1…
  void write_data(const graph::Graph& graph) const {
    const auto inputs = test::random_inputs(graph);
    const auto outputs = evaluate(graph, inputs);
    for (size_t i = 0; i < inputs.size(); ++i)
      write_file(folder.file(graph.name + "_x" + std::to_string(i)), *inputs[i].bytes);
    for (size_t i = 0; i < outputs.size(); ++i)
      write_file(folder.file(graph.name + "_y" + std::to_string(i)), *outputs[i].bytes);
  }

  Finished build_and_run(const std::string& source, const std::string& language = "c",
                         const std::vector<std::string>& libraries = {}) const {
    const std::string file = folder.file("program." + language), program = folder.file("program");
    write_file(file, source);
    std::vector<std::string> words =
        language == "c" ? std::vector<std::string>{c_compiler(), "-std=c11"}
                        : std::vector<std::string>{"c++", "-std=c++20"};
    for (const char* word : {"-Wall", "-Wextra", "-Werror", "-O1", "-D_GNU_SOURCE", "-I"}) words.push_back(word);
    for (const std::string& word : {folder.path(), file, std::string("-o"), program, "-L" + folder.path()})
      words.push_back(word);
    words.insert(words.end(), libraries.begin(), libraries.end());
    for (const char* word : {"-lfirst", "-lsecond", "-lpthread", "-ldl", "-lm"}) words.push_back(word);
    const Finished built = run({words});
    EXPECT_TRUE(built.is_well()) << built.output;
    return run({{program, folder.path()}, std::chrono::seconds(60)});
  }
};

// What every program below begins with: reading a raw file, and comparing with one.
const char helpers[] = R"(
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__attribute__((unused)) static float* load(const char* folder, const char* name, size_t count) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  float* data = (float*)malloc(count * sizeof *data);
  FILE* file = fopen(path, "rb");
  if (!data || !file || fread(data, sizeof *data, count, file) != count) exit(90);
  fclose(file);
  return data;
}
__attribute__((unused)) static int differ(const float* a, const float* b, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (!(fabsf(a[i] - b[i]) <= 1e-4f)) return 1;
  return 0;
}
)";

TEST(Program, LinksTwoModelsIntoOneProgramInC) {
  const Workshop workshop;
  workshop.write_data(workshop.first);
  workshop.write_data(workshop.second);
  const Finished finished = workshop.build_and_run(std::string(R"(
#include "first.h"
#include "second.h"
)") + helpers + R"(
int main(int argc, char** argv) {
  (void)argc;
  float* x = load(argv[1], "first_x0", 864);
  float* y = load(argv[1], "first_y0", 144);
  float* z = load(argv[1], "first_y1", 144);
  float* x2 = load(argv[1], "second_x0", 150);
  float* factor = load(argv[1], "second_x1", 1);
  float* y2 = load(argv[1], "second_y0", 60);
  static float got_y[144], got_z[144], got_y2[60];
  first_context* first;
  second_context* second;
  if (first_create(&first, 2, NULL) != 0 || second_create(&second, 1, NULL) != 0) return 1;
  if (strcmp(first_inputs[0].name, "x") != 0 || first_inputs[0].rank != 4 || first_inputs[0].extents[1] != 6) return 2;
  if (first_outputs[1].bytes != 576 || first_outputs[1].element != CRYOLITE_FLOAT32 || first_output_count != 2) return 3;
  for (int repeat = 0; repeat < 3; ++repeat) {
    const void* inputs[] = {x};
    void* outputs[] = {got_y, got_z};
    if (first_run(first, inputs, outputs) != 0) return 4;
    if (second_infer(second, x2, factor, got_y2) != 0) return 5;
    if (differ(got_y, y, 144) || differ(got_z, z, 144)) return 6;
    if (differ(got_y2, y2, 60)) return 7;
  }
  if (first_error(first)[0] != 0) return 8;
  first_destroy(first);
  second_destroy(second);
  return 0;
}
)");
  EXPECT_TRUE(finished.is_well()) << finished.describe() << finished.output;
}

TEST(Program, WrapsAModelInCpp) {
  const Workshop workshop;
  workshop.write_data(workshop.first);
  const Finished finished = workshop.build_and_run(std::string(R"(
#include <vector>
#include "first.h"
#include "second.h"
)") + helpers + R"(
int main(int, char** argv) {
  const float* x = load(argv[1], "first_x0", 864);
  const float* y = load(argv[1], "first_y0", 144);
  std::vector<float> input(x, x + 864), got_y(144), got_z(144);
  first::Model one(1);
  first::Model model = std::move(one);
  model.run(input, got_y, got_z);
  if (differ(got_y.data(), y, 144)) return 1;
  try {
    model.run(input, got_y, std::span<float>(got_z).first(3));
    return 2;
  } catch (const std::invalid_argument& error) {
    if (std::string(error.what()) != "z has 3 elements instead of 144") return 3;
  }
  try {
    first::Model wrong(-1);
    return 4;
  } catch (const std::runtime_error& error) {
    if (std::string(error.what()).find("threads") == std::string::npos) return 5;
  }
  return 0;
}
)", "cpp");
  EXPECT_TRUE(finished.is_well()) << finished.describe() << finished.output;
}

TEST(Program, AllocatesNothingAfterCreate) {
  const Workshop workshop;
  workshop.write_data(workshop.first);
  // A kernel that asks for 64 KiB in each of its threads, and for 256 KiB outside of them.
  const graph::Graph third = graph::parse_text(R"(graph third (x: f32[4,64,256]) -> (y) {
    exp: a: f32[4,64,256] = Exp(x)
    neg: b: f32[4,64,256] = Neg(a)
    sum: y: f32[4,64,256] = Add(b, b)
  })");
  const plan::Plan plan = planned(third);
  ASSERT_EQ(plan.groups.size(), 1u);
  compile_model(plan, schedule::parse_text("group sum\nsum.parallel(n)\nneg.compute_at(sum, n).store_in(Heap)\n"
                                           "exp.compute_root().parallel(n)\n", "schedule"),
                options_for("third", workshop.folder.path()));
  const Finished finished = workshop.build_and_run(std::string(R"(
#include <dlfcn.h>
#include <sys/mman.h>
#include "first.h"
#include "third.h"
)") + helpers + R"(
extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
static volatile int counts, count;
void* malloc(size_t n) { if (counts) ++count; return __libc_malloc(n); }
void* calloc(size_t n, size_t m) { if (counts) ++count; return __libc_calloc(n, m); }
void* realloc(void* p, size_t n) { if (counts) ++count; return __libc_realloc(p, n); }
void* aligned_alloc(size_t a, size_t n) { if (counts) ++count; return __libc_memalign(a, n); }
void* memalign(size_t a, size_t n) { if (counts) ++count; return __libc_memalign(a, n); }
int posix_memalign(void** p, size_t a, size_t n) { if (counts) ++count; *p = __libc_memalign(a, n); return 0; }
void* mmap(void* a, size_t n, int p, int f, int d, off_t o) {
  if (counts) ++count;
  static void* (*real)(void*, size_t, int, int, int, off_t);
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, "mmap");
  return real(a, n, p, f, d, o);
}
int main(int argc, char** argv) {
  (void)argc;
  float* x = load(argv[1], "first_x0", 864);
  static float y[144], z[144];
  for (int threads = 1; threads <= 3; ++threads) {
    first_context* context;
    counts = 1;
    if (first_create(&context, threads, NULL) != 0) return 1;
    if (count == 0) return 2; /* the hooks do count */
    count = 0;
    for (int repeat = 0; repeat < 20; ++repeat)
      if (first_infer(context, x, y, z) != 0) return 3;
    counts = 0;
    if (count != 0) { printf("%d allocations with %d threads\n", count, threads); return 4; }
    first_destroy(context);
    static float in[65536], out[65536];
    for (int i = 0; i < 65536; ++i) in[i] = (float)(i % 7) * 0.25f;
    third_context* third;
    if (third_create(&third, threads, NULL) != 0) return 5;
    count = 0;
    counts = 1;
    for (int repeat = 0; repeat < 20; ++repeat)
      if (third_infer(third, in, out) != 0) return 6;
    counts = 0;
    if (count != 0) { printf("%d allocations with %d threads\n", count, threads); return 7; }
    for (int i = 0; i < 65536; ++i)
      if (!(fabsf(out[i] + 2 * expf(in[i])) < 1e-4f)) return 8;
    third_destroy(third);
  }
  return 0;
}
)", "c", {"-lthird"});
  EXPECT_TRUE(finished.is_well()) << finished.describe() << finished.output;
}

TEST(Program, RunsContextsInSeveralThreadsAtOnce) {
  const Workshop workshop;
  workshop.write_data(workshop.first);
  const Finished finished = workshop.build_and_run(std::string(R"(
#include <pthread.h>
#include "first.h"
)") + helpers + R"(
static float *x, *expected_y, *expected_z;
static void* work(void* argument) {
  const int threads = *(int*)argument;
  first_context* context;
  if (first_create(&context, threads, NULL) != 0) return "create";
  for (int repeat = 0; repeat < 50; ++repeat) {
    float y[144] = {0}, z[144] = {0};
    if (first_infer(context, x, y, z) != 0) return "infer";
    if (differ(y, expected_y, 144) || differ(z, expected_z, 144)) return "numbers";
  }
  first_destroy(context);
  return NULL;
}
int main(int argc, char** argv) {
  (void)argc;
  x = load(argv[1], "first_x0", 864);
  expected_y = load(argv[1], "first_y0", 144);
  expected_z = load(argv[1], "first_y1", 144);
  pthread_t thread[6];
  int threads[6] = {1, 2, 3, 1, 4, 2};
  for (int t = 0; t < 6; ++t)
    if (pthread_create(&thread[t], NULL, work, &threads[t]) != 0) return 1;
  for (int t = 0; t < 6; ++t) {
    void* fault;
    pthread_join(thread[t], &fault);
    if (fault) { printf("%s\n", (const char*)fault); return 2; }
  }
  return 0;
}
)");
  EXPECT_TRUE(finished.is_well()) << finished.describe() << finished.output;
}

TEST(Program, ReportsFaultsAsCodesWithText) {
  const Workshop workshop(false);
  write_file(workshop.folder.file("random.weights"), std::string(500, 'r'));
  const std::string good = read_file(workshop.folder.file("first.weights"));
  write_file(workshop.folder.file("short.weights"), good.substr(0, good.size() - 10));
  const Finished finished = workshop.build_and_run(std::string(R"(
#include "first.h"
#include "second.h"
)") + helpers + R"(
static int fails(const char* folder, const char* name, const char* text) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  first_context* context = (first_context*)1;
  if (first_create(&context, 1, path) == 0 || context != NULL) return 0;
  if (strstr(first_error(NULL), text) && strstr(first_error(NULL), name)) return 1;
  printf("%s\n", first_error(NULL));
  return 0;
}
int main(int argc, char** argv) {
  (void)argc;
  if (!fails(argv[1], "missing.weights", "cannot be read")) return 1;
  if (!fails(argv[1], "random.weights", "is not a weights file")) return 2;
  if (!fails(argv[1], "second.weights", "of another model")) return 3;
  if (!fails(argv[1], "short.weights", "cut off")) return 4;
  if (first_create(NULL, 1, NULL) == 0) return 5;
  first_context* context;
  if (first_create(&context, 5000, NULL) == 0 || !strstr(first_error(NULL), "5000 threads")) return 6;
  char path[512];
  snprintf(path, sizeof path, "%s/first.weights", argv[1]);
  if (first_create(&context, 1, path) != 0) return 7;
  const void* inputs[] = {NULL};
  static float y[144], z[144], x[864];
  void* outputs[] = {y, z};
  if (first_run(context, inputs, outputs) == 0 || !strstr(first_error(context), "input 'x' is a null pointer")) return 8;
  if (first_run(context, NULL, outputs) == 0 || first_run(NULL, inputs, outputs) == 0) return 9;
  inputs[0] = x;
  if (first_run(context, inputs, outputs) != 0 || first_error(context)[0] != 0) return 10;
  first_destroy(context);
  first_destroy(NULL);
  return 0;
}
)");
  EXPECT_TRUE(finished.is_well()) << finished.describe() << finished.output;
}

}  // namespace
}  // namespace cryolite::emit
