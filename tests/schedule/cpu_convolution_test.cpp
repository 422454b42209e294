#include <fmt/format.h>

#include "tests/schedule/support.h"

/// Convolutions of every kind and awkward size, scheduled for several machines, against the unscheduled algorithm.
namespace cryolite::schedule::test {
namespace {

struct ConvCase {
  int batch = 1, inputs = 8, height = 9, width = 13, outputs = 32, kernel = 3, stride = 1, pad = 1, groups = 1;
  std::string after = "relu: y: {type} = Relu(c)";
};

std::string conv_text(const ConvCase& c) {
  const int height = (c.height + 2 * c.pad - c.kernel) / c.stride + 1;
  const int width = (c.width + 2 * c.pad - c.kernel) / c.stride + 1;
  const std::string type = fmt::format("f32[{},{},{},{}]", c.batch, c.outputs, height, width);
  std::string after = c.after;
  for (size_t at; (at = after.find("{type}")) != std::string::npos;) after.replace(at, 6, type);
  // Pointwise nodes around keep the input and the output of the convolution in its own layout, not the caller's.
  return fmt::format(R"(graph g (x: f32[{0},{1},{2},{3}], residual: {4}, w: f32[{5},{6},{7},{7}], wb: f32[{5}]) -> (out) {{
  before: i: f32[{0},{1},{2},{3}] = MaxPool(x) {{kernel_shape=[1,1]}}
  conv: c: {4} = Conv(i, w, wb) {{pads=[{8},{8},{8},{8}], strides=[{9},{9}], group={10}}}
  {11}
  last: out: {4} = MaxPool(y) {{kernel_shape=[1,1]}}
}})",
                     c.batch, c.inputs, c.height, c.width, type, c.outputs, c.inputs / c.groups, c.kernel, c.pad,
                     c.stride, c.groups, after);
}

TEST(CpuConvolution, Outputs) {
  for (int outputs : {1, 3, 16, 24, 40, 58, 64, 96, 100}) expect_schedules_keep_results(conv_text({.outputs = outputs}));
}

TEST(CpuConvolution, Rows) {
  for (int width : {1, 2, 7, 14, 27, 28, 55})
    expect_schedules_keep_results(conv_text({.height = 3, .width = width, .outputs = 32}));
}

TEST(CpuConvolution, Kernels) {
  expect_schedules_keep_results(conv_text({.inputs = 24, .kernel = 1, .pad = 0}));
  expect_schedules_keep_results(conv_text({.inputs = 24, .kernel = 1, .stride = 2, .pad = 0}));
  expect_schedules_keep_results(conv_text({.kernel = 3, .stride = 2, .pad = 1}));
  expect_schedules_keep_results(conv_text({.inputs = 3, .height = 23, .width = 31, .kernel = 7, .stride = 2, .pad = 3}));
  expect_schedules_keep_results(conv_text({.kernel = 5, .stride = 3, .pad = 0}));
}

TEST(CpuConvolution, Batches) { expect_schedules_keep_results(conv_text({.batch = 3, .outputs = 40})); }

TEST(CpuConvolution, LargeWeightsGoOverChannelBlocks) {
  expect_schedules_keep_results(conv_text({.inputs = 96, .height = 4, .width = 7, .outputs = 192}), 1e-4);
}

TEST(CpuConvolution, Groups) {
  for (int per_group : {1, 3, 4, 20, 32})
    expect_schedules_keep_results(conv_text({.inputs = 8, .outputs = 4 * per_group, .groups = 4}));
}

TEST(CpuConvolution, Depthwise) {
  for (int channels : {1, 3, 16, 24, 40, 58, 64})
    for (int stride : {1, 2})
      expect_schedules_keep_results(
          conv_text({.inputs = channels, .outputs = channels, .stride = stride, .groups = channels}));
  expect_schedules_keep_results(conv_text({.inputs = 12, .outputs = 24, .groups = 12}));
}

TEST(CpuConvolution, Epilogues) {
  for (const std::string& after : {
           std::string("add: a: {type} = Add(c, residual)\n  relu: y: {type} = Relu(a)"),
           std::string("sigmoid: s: {type} = Sigmoid(c)\n  swish: y: {type} = Mul(c, s)"),
           std::string("exp: e: {type} = Exp(residual)\n  mul: m: {type} = Mul(c, e)\n  add: y: {type} = Add(m, c)"),
       }) {
    ConvCase c{.outputs = 40};
    c.after = after;
    expect_schedules_keep_results(conv_text(c));
  }
}

TEST(CpuConvolution, WritesRowMajorAndReadsRowMajor) {
  for (int outputs : {5, 16, 40})
    expect_schedules_keep_results(fmt::format(
        R"(graph g (x: f32[2,3,9,11], w: f32[{0},3,3,3]) -> (y) {{
  conv: c: f32[2,{0},9,11] = Conv(x, w) {{pads=[1,1,1,1]}}
  relu: y: f32[2,{0},9,11] = Relu(c)
}})", outputs));
}

TEST(CpuConvolution, PrologueIsComputedWithTheBorder) {
  expect_schedules_keep_results(R"(graph g (x: f32[1,8,9,11], w: f32[24,8,3,3], v: f32[24,8,1,1]) -> (y, z) {
  before: i: f32[1,8,9,11] = Relu(x)
  conv: y: f32[1,24,9,11] = Conv(i, w) {pads=[1,1,1,1]}
  exp: e: f32[1,8,9,11] = Exp(x)
  one: z: f32[1,24,9,11] = Conv(e, v)
})");
}

TEST(CpuConvolution, OneAndThreeSpatialAxes) {
  expect_schedules_keep_results(R"(graph g (x: f32[2,8,19], w: f32[40,8,3]) -> (y) {
  conv: c: f32[2,40,19] = Conv(x, w) {pads=[1,1]}
  relu: y: f32[2,40,19] = Relu(c)
})");
  expect_schedules_keep_results(R"(graph g (x: f32[1,4,5,6,7], w: f32[20,4,3,3,3]) -> (y) {
  conv: c: f32[1,20,5,6,7] = Conv(x, w) {pads=[1,1,1,1,1,1]}
  relu: y: f32[1,20,5,6,7] = Relu(c)
})");
}

TEST(CpuConvolution, WeightsThatAreInputs) {
  expect_schedules_keep_results(R"(graph g (x: f32[1,8,9,11], k: f32[40,8,3,3], b: f32[40]) -> (y) {
  conv: c: f32[1,40,9,11] = Conv(x, k, b) {pads=[1,1,1,1]}
  relu: y: f32[1,40,9,11] = Relu(c)
})");
  expect_schedules_keep_results(R"(graph g (x: f32[1,8,9,11], w: f32[40,8,3,3], b: f32[40]) -> (y) {
  conv: y: f32[1,40,9,11] = Conv(x, w, b) {pads=[1,1,1,1]}
})");
}

TEST(CpuConvolution, WritesIntoASliceOfAConcat) {
  expect_schedules_keep_results(R"(graph g (x: f32[1,8,7,7], w: f32[24,8,1,1], v: f32[16,8,3,3], u: f32[8,40,1,1]) -> (out) {
  left: a: f32[1,24,7,7] = Conv(x, w)
  relu1: b: f32[1,24,7,7] = Relu(a)
  right: c: f32[1,16,7,7] = Conv(x, v) {pads=[1,1,1,1]}
  relu2: d: f32[1,16,7,7] = Relu(c)
  join: j: f32[1,40,7,7] = Concat(b, d) {axis=1}
  after: out: f32[1,8,7,7] = Conv(j, u)
})");
}

TEST(CpuConvolution, Transposed) {
  for (int stride : {1, 2})
    expect_schedules_keep_results(fmt::format(R"(graph g (x: f32[1,8,5,7], w: f32[8,24,3,3], wb: f32[24]) -> (y) {{
  up: c: f32[1,24,{0},{1}] = ConvTranspose(x, w, wb) {{strides=[{2},{2}]}}
  relu: y: f32[1,24,{0},{1}] = Relu(c)
}})", 4 * stride + 3, 6 * stride + 3, stride));
}

TEST(CpuConvolution, PoolOverItsTiles) {
  for (int outputs : {16, 24, 40})
    for (int pooled : {3, 7, 8})
      expect_schedules_keep_results(fmt::format(
          R"(graph g (x: f32[1,6,{1},{1}], w: f32[{0},6,3,3], wb: f32[{0}]) -> (out) {{
  conv: c: f32[1,{0},{1},{1}] = Conv(x, w, wb) {{pads=[1,1,1,1]}}
  relu: r: f32[1,{0},{1},{1}] = Relu(c)
  pool: p: f32[1,{0},{2},{2}] = MaxPool(r) {{kernel_shape=[2,2], strides=[2,2]}}
  after: out: f32[1,{0},{2},{2}] = Sigmoid(p)
}})", outputs, 2 * pooled, pooled));
  expect_schedules_keep_results(R"(graph g (x: f32[1,6,9,9], w: f32[24,6,3,3], v: f32[8,24,1,1]) -> (out) {
  conv: c: f32[1,24,9,9] = Conv(x, w) {pads=[1,1,1,1]}
  pool: p: f32[1,24,3,3] = AveragePool(c) {kernel_shape=[3,3], strides=[3,3]}
  after: out: f32[1,8,3,3] = Conv(p, v)
})");
}

}  // namespace
}  // namespace cryolite::schedule::test
