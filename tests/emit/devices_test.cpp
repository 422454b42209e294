#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.h"
#include "emit/evaluate.h"
#include "emit/load_model.h"
#include "tests/emit/support.h"

namespace cryolite::emit {
namespace {

using test::graph_with_weights;

// Several kernels, a view into a concatenated value, a value read twice.
const char graph_text[] =
    R"(graph device (x: f32[1,6,10,10], w1: f32[8,6,3,3], wb1: f32[8], w2: f32[4,8,1,1], w3: f32[5,12,3,3]) -> (y) {
  conv1: a: f32[1,8,10,10] = Conv(x, w1, wb1) {kernel_shape=[3,3], pads=[1,1,1,1], strides=[1,1]}
  relu1: b: f32[1,8,10,10] = Relu(a)
  conv2: c: f32[1,4,10,10] = Conv(b, w2) {kernel_shape=[1,1]}
  join: d: f32[1,12,10,10] = Concat(b, c) {axis=1}
  conv3: e: f32[1,5,8,8] = Conv(d, w3) {kernel_shape=[3,3]}
  pool: y: f32[1,5,4,4] = MaxPool(e) {kernel_shape=[2,2], strides=[2,2]}
})";

/// Runs on the device; skips where this machine has none.
void runs_on(const std::string& target) {
  const graph::Graph graph = graph_with_weights(graph_text);
  const auto inputs = test::random_inputs(graph), others = test::random_inputs(graph, 7);
  for (const char* planner : {"greedy", "none"}) {
    const TemporaryFolder folder;
    test::compile(test::planned(graph, target, planner), test::options_for("device", folder.path(), target));
    try {
      LoadedModel model(folder.path(), "device", 1);
      EXPECT_LT(test::largest_difference(model.run(inputs)[0], evaluate(graph, inputs)[0]), 1e-4) << planner;
      EXPECT_LT(test::largest_difference(model.run(others)[0], evaluate(graph, others)[0]), 1e-4) << planner;
    } catch (const Error& error) {
      const std::string what = error.what();
      const bool is_absent = what.find("no ") != std::string::npos && what.find("install") != std::string::npos;
      if (!is_absent) throw;
      GTEST_SKIP() << what;
    }
  }
}

TEST(Devices, RunsOnOpenCl) { runs_on("opencl"); }
TEST(Devices, RunsOnVulkan) { runs_on("vulkan"); }

TEST(Devices, CompilesForCudaAndSaysWhenThereIsNoGpu) {
  const graph::Graph graph = graph_with_weights(graph_text);
  const TemporaryFolder folder;
  const plan::Plan plan = test::planned(graph, "cuda");
  const auto groups = compile_model(plan, test::schedules_of(plan), test::options_for("device", folder.path(), "cuda"));
  for (const CompiledGroup& group : groups)
    if (!group.symbol.empty()) EXPECT_NE(read_file(group.ptx).find(".visible .entry"), std::string::npos);
  EXPECT_NE(read_file(folder.file("device.ptx")).find(".visible .entry"), std::string::npos);
  try {
    LoadedModel model(folder.path(), "device", 1);
    const auto inputs = test::random_inputs(graph);
    EXPECT_LT(test::largest_difference(model.run(inputs)[0], evaluate(graph, inputs)[0]), 1e-4);
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("CUDA driver"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace cryolite::emit
