#include <fmt/format.h>

#include "tests/schedule/support.h"

/// Every strategy but the convolutions, at awkward sizes, against the unscheduled algorithm.
namespace cryolite::schedule::test {
namespace {

TEST(CpuGemm, MatrixTimesWeights) {
  for (int rows : {1, 2, 7, 30})
    for (int columns : {1, 10, 16, 100, 128})
      expect_schedules_keep_results(fmt::format(
          R"(graph g (x: f32[{0},37], w: f32[37,{1}], wb: f32[{1}]) -> (y) {{
  gemm: c: f32[{0},{1}] = Gemm(x, w, wb)
  relu: y: f32[{0},{1}] = Relu(c)
}})", rows, columns));
}

TEST(CpuGemm, TransposedOperands) {
  for (const char* b : {"w", "v"})
    expect_schedules_keep_results(fmt::format(
        R"(graph g (x: f32[5,37], w: f32[100,37], v: f32[100,37], c: f32[100]) -> (y) {{
  gemm: y: f32[5,100] = Gemm(x, {}, c) {{transB=1, alpha=0.5, beta=2.0}}
}})", b));
  expect_schedules_keep_results(R"(graph g (x: f32[37,5], w: f32[37,100], wc: f32[5,1]) -> (y) {
  gemm: y: f32[5,100] = Gemm(x, w, wc) {transA=1}
})");
}

TEST(CpuGemm, BatchedAndBroadcast) {
  expect_schedules_keep_results(R"(graph g (x: f32[2,3,9,20], v: f32[2,3,20,17], w: f32[20,40]) -> (y, z) {
  both: y: f32[2,3,9,17] = MatMul(x, v)
  one: z: f32[2,3,9,40] = MatMul(x, w)
})");
  expect_schedules_keep_results(R"(graph g (x: f32[20], a: f32[9,20], b: f32[20,7]) -> (y, z, s) {
  left: y: f32[7] = MatMul(x, b)
  right: z: f32[9] = MatMul(a, x)
  dot: s: f32[] = MatMul(x, x)
})");
}

TEST(CpuGemm, EpilogueWithAnotherResult) {
  expect_schedules_keep_results(R"(graph g (x: f32[9,20], w: f32[20,50], r: f32[9,50], wb: f32[50]) -> (y) {
  product: p: f32[9,50] = MatMul(x, w)
  bias: q: f32[9,50] = Add(p, wb)
  gelu: s: f32[9,50] = Gelu(q)
  add: y: f32[9,50] = Add(s, r)
})");
}

TEST(CpuPool, WindowsOfEveryKind) {
  for (int channels : {1, 3, 16, 40})
    expect_schedules_keep_results(fmt::format(
        R"(graph g (x: f32[2,{0},13,14], w: f32[{0},{0},1,1]) -> (y, z, a, m) {{
  conv: c: f32[2,{0},13,14] = Conv(x, w)
  max: y: f32[2,{0},6,7] = MaxPool(c) {{kernel_shape=[3,3], strides=[2,2], pads=[0,0,0,1]}}
  average: z: f32[2,{0},13,14] = AveragePool(c) {{kernel_shape=[3,3], pads=[1,1,1,1]}}
  global: a: f32[2,{0},1,1] = GlobalAveragePool(c)
  most: m: f32[2,{0},1,1] = GlobalMaxPool(c)
}})", channels));
}

TEST(CpuPool, WithPlaces) {
  expect_schedules_keep_results(R"(graph g (x: f32[1,5,8,8]) -> (y, i) {
  pool: y: f32[1,5,4,4], p: i64[1,5,4,4] = MaxPool(x) {kernel_shape=[2,2], strides=[2,2]}
  cast: i: f32[1,5,4,4] = Cast(p) {to=1}
})");
}

TEST(CpuPointwise, ChainsAndBroadcasts) {
  for (const std::string& shape : {std::string("1"), std::string("3"), std::string("70"), std::string("5,7"),
                                   std::string("2,3,33"), std::string("1,4,9,20"), std::string("2,1,2,3,17")})
    expect_schedules_keep_results(fmt::format(
        R"(graph g (x: f32[{0}], z: f32[{0}], s: f32[1]) -> (y) {{
  mul: a: f32[{0}] = Mul(x, s)
  sigmoid: b: f32[{0}] = Sigmoid(a)
  add: c: f32[{0}] = Add(b, z)
  tanh: y: f32[{0}] = Tanh(c)
}})", shape));
}

TEST(CpuPointwise, Scalars) {
  expect_schedules_keep_results("graph g (x: f32[]) -> (y) {\n  exp: y: f32[] = Exp(x)\n}");
}

TEST(CpuPointwise, LargeEnoughForThreads) {
  expect_schedules_keep_results(R"(graph g (x: f32[1,3,301,211], z: f32[3,1,1]) -> (y) {
  add: a: f32[1,3,301,211] = Add(x, z)
  relu: y: f32[1,3,301,211] = Relu(a)
})");
  expect_schedules_keep_results(R"(graph g (x: f32[200003]) -> (y) {
  relu: y: f32[200003] = Relu(x)
})");
}

TEST(CpuPointwise, ValuesReadTwiceByLongExpressions) {
  std::string nodes, last = "x";
  for (int i = 0; i < 24; ++i) {
    nodes += fmt::format("  a{0}: a{0}: f32[5,100] = Sigmoid({1})\n  m{0}: m{0}: f32[5,100] = Mul({1}, a{0})\n", i, last);
    last = fmt::format("m{}", i);
  }
  expect_schedules_keep_results("graph g (x: f32[5,100]) -> (" + last + ") {\n" + nodes + "}");
}

TEST(CpuPointwise, MovesData) {
  expect_schedules_keep_results(R"(graph g (x: f32[2,3,5,40]) -> (t, s, p) {
  turn: t: f32[40,5,3,2] = Transpose(x) {perm=[3,2,1,0]}
  swap: u: f32[2,5,3,40] = Transpose(x) {perm=[0,2,1,3]}
  relu: s: f32[2,5,3,40] = Relu(u)
  even: p: f32[2,3,5,40] = Softplus(x)
})");
}

TEST(CpuReduce, OverEveryAxis) {
  for (const char* axes : {"0", "1", "2", "3", "0,1", "1,2", "2,3", "1,2,3", "0,1,2,3"}) {
    std::string kept;
    const std::string name = axes;
    int count = 1;
    for (char letter : name) count += letter == ',';
    const int extents[] = {2, 3, 20, 37};
    for (int axis = 0; axis < 4; ++axis)
      kept += fmt::format("{}{}", axis ? "," : "", name.find(std::to_string(axis)) != std::string::npos ? 1 : extents[axis]);
    expect_schedules_keep_results(fmt::format(
        R"(graph g (x: f32[2,3,20,37]) -> (y, m) {{
  const axes: i64[{0}] = {{{1}}}
  abs: a: f32[2,3,20,37] = Abs(x)
  sum: b: f32[{2}] = ReduceSum(a, axes)
  log: y: f32[{2}] = Log(b)
  max: m: f32[{2}] = ReduceMax(x, axes)
}})", count, axes, kept), 5e-4);
  }
}

TEST(CpuReduce, LongRowsAndManyRows) {
  expect_schedules_keep_results(R"(graph g (x: f32[3,50001], z: f32[1000,300]) -> (y, s) {
  const axes: i64[1] = {1}
  long: y: f32[3,1] = ReduceMean(x, axes)
  many: s: f32[1000,1] = ReduceSum(z, axes)
})", 1e-3);
}

TEST(CpuReduce, ArgMax) {
  expect_schedules_keep_results(R"(graph g (x: f32[4,30]) -> (y) {
  place: p: i64[4,1] = ArgMax(x) {axis=1}
  cast: y: f32[4,1] = Cast(p) {to=1}
})");
}

TEST(CpuRows, SoftmaxAndNorms) {
  for (int columns : {1, 5, 16, 33, 257})
    expect_schedules_keep_results(fmt::format(
        R"(graph g (x: f32[3,7,{0}], w: f32[{0}], wb: f32[{0}]) -> (y, z, l) {{
  softmax: s: f32[3,7,{0}] = Softmax(x) {{axis=-1}}
  twice: y: f32[3,7,{0}] = Add(s, s)
  norm: z: f32[3,7,{0}] = LayerNormalization(x, w, wb) {{axis=-1}}
  log: l: f32[3,7,{0}] = LogSoftmax(x) {{axis=1}}
}})", columns), 1e-4);
}

TEST(CpuRows, OverChannelsAndInstances) {
  expect_schedules_keep_results(R"(graph g (x: f32[2,24,9,11], w: f32[24,24,1,1], s: f32[24], b: f32[24]) -> (y, z, u) {
  conv: c: f32[2,24,9,11] = Conv(x, w)
  softmax: y: f32[2,24,9,11] = Softmax(c) {axis=1}
  instance: z: f32[2,24,9,11] = InstanceNormalization(c, s, b)
  lrn: u: f32[2,24,9,11] = LRN(c) {size=5}
})", 1e-4);
}

}  // namespace
}  // namespace cryolite::schedule::test
