#include "emit/compile_model.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "emit/evaluate.h"
#include "emit/load_model.h"
#include "tests/emit/support.h"

namespace cryolite::emit {
namespace {

using graph::Tensor;
using test::compile;
using test::graph_with_weights;
using test::options_for;
using test::planned;

const char conv_relu[] = R"(graph conv_relu (x: f32[1,5,9,11], w: f32[7,5,3,3], wb: f32[7]) -> (y) {
  conv: c: f32[1,7,9,11] = Conv(x, w, wb) {kernel_shape=[3,3], pads=[1,1,1,1], strides=[1,1]}
  relu: y: f32[1,7,9,11] = Relu(c)
})";

const char chain[] = R"(graph chain (x: f32[1,5,8,8], w1: f32[24,5,3,3], wb1: f32[24], w2: f32[3,24,1,1]) -> (y) {
  conv1: a: f32[1,24,8,8] = Conv(x, w1, wb1) {kernel_shape=[3,3], pads=[1,1,1,1], strides=[1,1]}
  relu1: b: f32[1,24,8,8] = Relu(a)
  pool1: p: f32[1,24,4,4] = MaxPool(b) {kernel_shape=[2,2], strides=[2,2]}
  conv2: q: f32[1,3,4,4] = Conv(p, w2) {kernel_shape=[1,1]}
  soft: y: f32[1,3,4,4] = Softmax(q) {axis=1}
})";

/// Conv 3x3 with pads 1 and stride 1, then ReLU, in plain loops and double precision.
std::vector<double> plain_conv_relu(const Tensor& x, const Tensor& w, const Tensor& b) {
  const int in = 5, out = 7, height = 9, width = 11;
  std::vector<double> y(out * height * width);
  for (int o = 0; o < out; ++o)
    for (int i = 0; i < height; ++i)
      for (int j = 0; j < width; ++j) {
        double sum = b.as<float>()[o];
        for (int c = 0; c < in; ++c)
          for (int dy = 0; dy < 3; ++dy)
            for (int dx = 0; dx < 3; ++dx) {
              const int r = i + dy - 1, s = j + dx - 1;
              if (r < 0 || r >= height || s < 0 || s >= width) continue;
              sum += double(x.as<float>()[(c * height + r) * width + s]) * w.as<float>()[((o * in + c) * 3 + dy) * 3 + dx];
            }
        y[(o * height + i) * width + j] = std::max(sum, 0.0);
      }
  return y;
}

TEST(CompileModel, RunsConvolutionAndReluAsPlainLoopsDo) {
  const graph::Graph graph = graph_with_weights(conv_relu);
  const auto inputs = test::random_inputs(graph);
  const auto expected = plain_conv_relu(inputs[0], *graph.values[1].constant, *graph.values[2].constant);
  for (const char* planner : {"greedy", "none"}) {
    const TemporaryFolder folder;
    compile(planned(graph, "host", planner), options_for("conv_relu", folder.path()));
    for (int threads : {1, 3}) {
      LoadedModel model(folder.path(), "conv_relu", threads);
      for (int run = 0; run < 2; ++run) {
        const auto actual = model.run(inputs)[0].as_doubles();
        for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-5) << planner << i;
      }
    }
  }
}

TEST(CompileModel, ChainsKernelsThroughTheArena) {
  const graph::Graph graph = graph_with_weights(chain);
  const auto inputs = test::random_inputs(graph);
  const auto expected = evaluate(graph, inputs);
  for (const char* planner : {"greedy", "none"}) {
    const TemporaryFolder folder;
    const plan::Plan plan = planned(graph, "host", planner);
    EXPECT_GT(plan.groups.size(), 1u);
    compile(plan, options_for("chain", folder.path()));
    LoadedModel model(folder.path(), "chain", 2);
    EXPECT_LT(test::largest_difference(model.run(inputs)[0], expected[0]), 1e-5) << planner;
    for (double milliseconds : model.time_steps(inputs, 1, 3, plan.groups.size())) EXPECT_GT(milliseconds, 0);
  }
}

TEST(CompileModel, MapsWeightsFromAFile) {
  const graph::Graph graph = graph_with_weights(chain);
  const TemporaryFolder folder;
  CompileOptions options = options_for("chain", folder.path());
  options.embeds_weights = false;
  compile(planned(graph), options);
  const auto inputs = test::random_inputs(graph);
  EXPECT_LT(test::largest_difference(LoadedModel(folder.path(), "chain", 1).run(inputs)[0],
                                     evaluate(graph, inputs)[0]),
            1e-5);
  std::filesystem::resize_file(folder.file("chain.weights"), 100);
  EXPECT_THROW(LoadedModel(folder.path(), "chain", 1), Error);
}

TEST(CompileModel, SharesOneKernelBetweenEqualGroups) {
  const graph::Graph graph = graph_with_weights(
      R"(graph twice (x: f32[1,8,6,6], w1: f32[8,8,3,3], w2: f32[8,8,3,3], w3: f32[8,8,3,3]) -> (y) {
        first: a: f32[1,8,6,6] = Conv(x, w1) {kernel_shape=[3,3], pads=[1,1,1,1]}
        second: b: f32[1,8,6,6] = Conv(a, w2) {kernel_shape=[3,3], pads=[1,1,1,1]}
        third: c: f32[1,8,6,6] = Conv(b, w3) {kernel_shape=[3,3], pads=[1,1,1,1]}
        last: y: f32[1,8,6,6] = Conv(c, w1) {kernel_shape=[3,3], pads=[1,1,1,1]}
      })");
  const TemporaryFolder folder;
  const plan::Plan plan = planned(graph);
  const auto groups = compile_model(plan, test::schedules_of(plan), options_for("twice", folder.path()));
  int kernels = 0;
  std::string second, third;
  for (const CompiledGroup& group : groups) {
    const std::string name = plan::name_of(plan, plan.groups[group.id]);
    if (name == "second") second = group.symbol;
    if (name == "third") third = group.symbol;
    kernels += !group.symbol.empty();
  }
  EXPECT_GE(kernels, 4);
  EXPECT_FALSE(second.empty());
  EXPECT_EQ(second, third);
  const auto inputs = test::random_inputs(graph);
  EXPECT_LT(test::largest_difference(LoadedModel(folder.path(), "twice", 1).run(inputs)[0],
                                     evaluate(graph, inputs)[0]),
            1e-4);
}

TEST(CompileModel, RunsExternStagesBetweenKernels) {
  const graph::Graph graph = graph_with_weights(R"(graph top (x: f32[3,20], w: f32[20]) -> (v, i) {
    const k: i64[1] = {4}
    add: a: f32[3,20] = Add(x, w)
    top: t: f32[3,4], i: i64[3,4] = TopK(a, k) {axis=1, largest=1, sorted=1}
    neg: v: f32[3,4] = Neg(t)
  })");
  const auto inputs = test::random_inputs(graph);
  for (const char* target : {"host", "opencl"}) {
    const TemporaryFolder folder;
    compile(planned(graph, target), options_for("top", folder.path(), target));
    const auto results = LoadedModel(folder.path(), "top", 1).run(inputs);
    const auto values = results[0].as_doubles(), indices = results[1].as_doubles();
    for (int row = 0; row < 3; ++row) {
      std::vector<std::pair<double, int>> sums;
      for (int column = 0; column < 20; ++column)
        sums.emplace_back(-(inputs[0].as<float>()[row * 20 + column] + graph.values[1].constant->as<float>()[column]),
                          column);
      std::sort(sums.begin(), sums.end());
      for (int place = 0; place < 4; ++place) {
        EXPECT_FLOAT_EQ(values[row * 4 + place], sums[place].first) << target;
        EXPECT_EQ(indices[row * 4 + place], sums[place].second) << target;
      }
    }
  }
}

TEST(CompileModel, LeavesNothingBehindAsideOfItsFiles) {
  const graph::Graph graph = graph_with_weights(conv_relu);
  const TemporaryFolder folder;
  CompileOptions options = options_for("conv_relu", folder.path());
  options.plan_json = "{}";
  compile(planned(graph), options);
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    files.push_back(entry.path().filename());
  std::sort(files.begin(), files.end());
  EXPECT_EQ(files, (std::vector<std::string>{"conv_relu.h", "conv_relu.plan.json", "conv_relu.schedule",
                                             "libconv_relu.a"}));
}

std::string message_of(const plan::Plan& plan, const CompileOptions& options) {
  try {
    compile(plan, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(CompileModel, RefusesWhatItCannotDo) {
  const plan::Plan plan = planned(graph_with_weights(conv_relu));
  const TemporaryFolder folder;
  write_file(folder.file("file"), "");
  EXPECT_NE(message_of(plan, options_for("m", folder.file("file"))).find("cannot be written"), std::string::npos);
  EXPECT_NE(message_of(plan, options_for("1 2", folder.path())).find("model's name"), std::string::npos);
  EXPECT_NE(message_of(plan, options_for("m", folder.path(), "z80")).find("no target"), std::string::npos);
  ::setenv("CRYOLITE_CC", "/no/such/compiler", 1);
  EXPECT_NE(message_of(plan, options_for("m", folder.path())).find("CRYOLITE_CC"), std::string::npos);
  ::unsetenv("CRYOLITE_CC");
}

TEST(CompileModel, NamesTheNodesOfAKernelWhoseCompilerDies) {
  const plan::Plan plan = planned(graph_with_weights(conv_relu));
  const TemporaryFolder folder, cache;
  CompileOptions options = options_for("m", folder.path());
  options.cache = cache.path();
  for (const auto& [script, said] : {std::pair{"kill -SEGV $$", "killed by signal 11"},
                                     std::pair{"echo it is broken; exit 3", "ended with code 3: it is broken"},
                                     std::pair{"exec sleep 60", "did not end within 1 s"},
                                     std::pair{"exit 0", "ended with code 0"}}) {
    options.compiler = folder.file("compiler");
    options.timeout = std::chrono::seconds(1);
    write_file(options.compiler, std::string("#!/bin/sh\n") + script + "\n");
    std::filesystem::permissions(options.compiler, std::filesystem::perms::owner_all);
    const std::string message = message_of(plan, options);
    EXPECT_NE(message.find("nodes conv, relu"), std::string::npos) << message;
    EXPECT_NE(message.find(said), std::string::npos) << message;
    EXPECT_FALSE(std::filesystem::exists(folder.file("libm.a")));
  }
}

}  // namespace
}  // namespace cryolite::emit
