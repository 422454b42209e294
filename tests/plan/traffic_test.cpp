#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/plan/numbers.h"

/// Bytes that a plan promises are those that its kernels load and store at their inputs and outputs, every address
/// once, counted while they run: on every pattern of fusion.
namespace cryolite::plan {
namespace {

struct Pattern {
  const char* name;
  const char* text;
  size_t most_kernels;  ///< so that what is counted is a fused kernel
};

void PrintTo(const Pattern& pattern, std::ostream* out) { *out << pattern.name; }

const Pattern patterns[] = {
    {"conv_bias_relu", R"(graph g (x: f32[1,16,28,28], w: f32[32,16,3,3], b: f32[32]) -> (y) {
       conv: c: f32[1,32,28,28] = Conv(x, w, b) {kernel_shape=[3,3], pads=[1,1,1,1]}
       relu: y: f32[1,32,28,28] = Relu(c)
     })", 1},
    {"residual_add", R"(graph g (x: f32[1,16,28,28], w: f32[16,16,3,3]) -> (y) {
       conv: c: f32[1,16,28,28] = Conv(x, w) {kernel_shape=[3,3], pads=[1,1,1,1]}
       add: s: f32[1,16,28,28] = Add(c, x)
       relu: y: f32[1,16,28,28] = Relu(s)
     })", 1},
    {"skip", R"(graph g (x: f32[1,16,28,28], w1: f32[16,16,3,3], w2: f32[16,16,3,3]) -> (y) {
       conv: c: f32[1,16,28,28] = Conv(x, w1) {kernel_shape=[3,3], pads=[1,1,1,1]}
       relu: r: f32[1,16,28,28] = Relu(c)
       conv2: d: f32[1,16,28,28] = Conv(r, w2) {kernel_shape=[3,3], pads=[1,1,1,1]}
       add: y: f32[1,16,28,28] = Add(d, c)
     })", 2},
    {"cheap_shared", R"(graph g (x: f32[64,256]) -> (y, z) {
       scale: s: f32[64,256] = Mul(x, x)
       exp: y: f32[64,256] = Exp(s)
       tanh: z: f32[64,256] = Tanh(s)
     })", 2},
    {"qkv", R"(graph g (x: f32[64,96], wq: f32[96,64], wk: f32[96,64], wv: f32[96,64]) -> (q, k, v) {
       mq: q: f32[64,64] = MatMul(x, wq)
       mk: k: f32[64,64] = MatMul(x, wk)
       mv: v: f32[64,64] = MatMul(x, wv)
     })", 3},
    {"inception", R"(graph g (x: f32[1,32,14,14], w1: f32[16,32,1,1], w2: f32[32,32,1,1]) -> (y) {
       left: a: f32[1,16,14,14] = Conv(x, w1) {kernel_shape=[1,1]}
       right: b: f32[1,32,14,14] = Conv(x, w2) {kernel_shape=[1,1]}
       join: y: f32[1,48,14,14] = Concat(a, b) {axis=1}
     })", 2},
    {"conv_pool", R"(graph g (x: f32[1,8,32,32], w: f32[16,8,3,3]) -> (y) {
       conv: c: f32[1,16,32,32] = Conv(x, w) {kernel_shape=[3,3], pads=[1,1,1,1]}
       relu: r: f32[1,16,32,32] = Relu(c)
       pool: y: f32[1,16,16,16] = MaxPool(r) {kernel_shape=[2,2], strides=[2,2]}
     })", 2},
    {"depthwise_pointwise", R"(graph g (x: f32[1,32,14,14], w1: f32[32,1,3,3], w2: f32[64,32,1,1]) -> (y) {
       depthwise: d: f32[1,32,14,14] = Conv(x, w1) {kernel_shape=[3,3], pads=[1,1,1,1], group=32}
       relu: r: f32[1,32,14,14] = Relu(d)
       pointwise: y: f32[1,64,14,14] = Conv(r, w2) {kernel_shape=[1,1]}
     })", 2},
    {"softmax", R"(graph g (x: f32[64,200]) -> (y) { soft: y: f32[64,200] = Softmax(x) {axis=-1} })", 1},
    {"layer_norm", R"(graph g (x: f32[64,128], scale: f32[128], shift: f32[128]) -> (y) {
       norm: y: f32[64,128] = LayerNormalization(x, scale, shift) {axis=-1, epsilon=1e-05}
     })", 1},
    {"attention", R"(graph g (q: f32[64,32], k: f32[32,64], v: f32[64,32]) -> (y) {
       scores: s: f32[64,64] = MatMul(q, k)
       soft: p: f32[64,64] = Softmax(s) {axis=-1}
       mix: y: f32[64,32] = MatMul(p, v)
     })", 3},
    {"reduction_prologue", R"(graph g (x: f32[64,256]) -> (y) {
       const axes: i64[1] = {1}
       square: a: f32[64,256] = Mul(x, x)
       sum: s: f32[64,1] = ReduceSum(a, axes) {keepdims=1}
       root: y: f32[64,1] = Sqrt(s)
     })", 1},
    {"broadcast", R"(graph g (x: f32[64,256], row: f32[256], column: f32[64,1]) -> (y) {
       add: a: f32[64,256] = Add(x, row)
       mul: m: f32[64,256] = Mul(a, column)
       exp: y: f32[64,256] = Exp(m)
     })", 1},
    {"injective_chain", R"(graph g (x: f32[1,64,40,40]) -> (y) {
       a1: a: f32[1,64,40,40] = Exp(x)
       b1: b: f32[1,64,40,40] = Neg(a)
       c1: y: f32[1,64,40,40] = Tanh(b)
     })", 1},
};

/// The instrument itself: of a slice only what is read counts, and each address once.
TEST(Traffic, CountsEachAddressThatIsTouchedOnce) {
  const graph::Graph graph = graph::parse_text(R"(graph g (x: f32[64,4]) -> (y) {
    const starts: i64[1] = {8}
    const ends: i64[1] = {24}
    const axes: i64[1] = {0}
    cut: a: f32[16,4] = Slice(x, starts, ends, axes)
    twice: y: f32[16,4] = Mul(a, a)
  })");
  emit::Traffic traffic;
  emit::run_group(graph, {random_tensor(graph.value(graph.inputs[0]).type, 1)}, nullptr, "host", &traffic);
  EXPECT_EQ(traffic.bytes_read, 16 * 4 * 4);
  EXPECT_EQ(traffic.bytes_written, 16 * 4 * 4);
}

class TrafficOf : public testing::TestWithParam<Pattern> {};

TEST_P(TrafficOf, KernelsIsWhatThePlanPromises) {
  const graph::Graph graph = with_weights(GetParam().text);
  const Plan plan = plan_of(graph);
  EXPECT_LE(plan.groups.size(), GetParam().most_kernels) << kernels(plan);
  std::vector<graph::Tensor> inputs;
  for (graph::ValueId id : graph.inputs) inputs.push_back(random_tensor(graph.value(id).type, static_cast<unsigned>(id)));
  std::map<int, emit::Traffic> counted;
  emit::run_plan(plan, inputs, "host", &counted);
  ASSERT_EQ(counted.size(), plan.groups.size());
  for (const Group& group : plan.groups) {
    const emit::Traffic& traffic = counted.at(group.id);
    EXPECT_EQ(traffic.bytes_written, group.cost.bytes_written) << name_of(plan, group);
    EXPECT_LE(std::abs(traffic.bytes_read - group.cost.bytes_read), group.cost.bytes_read / 50)
        << name_of(plan, group) << ": " << traffic.bytes_read << " counted, " << group.cost.bytes_read << " promised";
  }
}

INSTANTIATE_TEST_SUITE_P(Patterns, TrafficOf, testing::ValuesIn(patterns),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace cryolite::plan
