#include <gtest/gtest.h>

#include "lower/lowered_group.h"
#include "schedule/strategy.h"
#include "tests/ops/evaluate_node.h"

/// Operators with unusual loops (updates in order, indices that are data, several outputs, empty operands)
/// under the schedules that the CPU strategies give them: the same numbers as unscheduled.
namespace cryolite::ops {
namespace {

/// Small integers in every element: sums are exact in any order.
graph::Tensor counting(const graph::TensorType& type) {
  if (graph::is_float(type.element)) {
    std::vector<float> numbers(type.elements());
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i * 7 % 23) - 11;
    return graph::Tensor::of_floats(numbers, type.dims);
  }
  std::vector<int64_t> numbers(type.elements());
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i * 5 % 8) - 4;
  graph::Tensor tensor = graph::Tensor::of_integers(numbers);
  tensor.type.dims = type.dims;
  return tensor;
}

class Scheduled : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(Scheduled, GivesTheSameNumbers) {
  const graph::Graph group = graph::parse_text(GetParam().second);
  std::vector<graph::Tensor> inputs;
  for (graph::ValueId id : group.inputs) inputs.push_back(counting(group.value(id).type));
  const auto plain = emit::run_group(group, inputs);
  const lower::LoweredGroup lowered = lower::lower(group);
  const auto made =
      schedule::make_schedule({group, lowered, group.nodes.back().name}, schedule::machine_of("host"));
  const auto scheduled = emit::run_group(group, inputs, &made);
  ASSERT_EQ(plain.size(), scheduled.size());
  for (size_t i = 0; i < plain.size(); ++i)
    EXPECT_EQ(difference(scheduled[i], plain[i]), "") << schedule::to_text(made);
}

const std::pair<const char*, const char*> cases[] = {
    {"CumSumInner", R"(graph g (x: f32[6,40]) -> (y) {
      const a: i64[] = {1}
      n: y: f32[6,40] = CumSum(x, a) {reverse=1}
    })"},
    {"CumSumOuter", R"(graph g (x: f32[6,40]) -> (y) {
      const a: i64[] = {0}
      n: y: f32[6,40] = CumSum(x, a) {exclusive=1}
    })"},
    {"ScatterElements", R"(graph g (x: f32[8,40], i: i64[3,40], u: f32[3,40]) -> (y) {
      n: y: f32[8,40] = ScatterElements(x, i, u) {axis=0, reduction="add"}
    })"},
    {"ScatterND", R"(graph g (x: f32[8,40], i: i64[3,1], u: f32[3,40]) -> (y) {
      n: y: f32[8,40] = ScatterND(x, i, u)
    })"},
    {"Gather", R"(graph g (x: f32[8,40], i: i64[5]) -> (y) {
      n: y: f32[5,40] = Gather(x, i) {axis=0}
    })"},
    {"GatherInner", R"(graph g (x: f32[5,8], i: i64[40]) -> (y) {
      n: y: f32[5,40] = Gather(x, i) {axis=1}
    })"},
    {"Concat", R"(graph g (a: f32[3,17], b: f32[3,0], c: f32[3,30]) -> (y) {
      n: y: f32[3,47] = Concat(a, b, c) {axis=1}
    })"},
    {"Split", R"(graph g (x: f32[3,47]) -> (a, b) {
      const s: i64[2] = {17, 30}
      n: a: f32[3,17], b: f32[3,30] = Split(x, s) {axis=1}
    })"},
    {"SliceBackwards", R"(graph g (x: f32[3,47]) -> (y) {
      const s: i64[2] = {-1, -1}
      const e: i64[2] = {-9, 0}
      const a: i64[2] = {0, 1}
      const d: i64[2] = {-1, -2}
      n: y: f32[3,23] = Slice(x, s, e, a, d)
    })"},
    {"Transpose", R"(graph g (x: f32[5,6,37]) -> (y) {
      n: y: f32[37,5,6] = Transpose(x) {perm=[2,0,1]}
    })"},
    {"Reshape", R"(graph g (x: f32[5,6,37]) -> (y) {
      const s: i64[2] = {15, 74}
      n: y: f32[15,74] = Reshape(x, s)
    })"},
    {"PadReflect", R"(graph g (x: f32[2,3,9,9]) -> (y) {
      const p: i64[8] = {0, 0, 2, 3, 0, 0, 1, 4}
      n: y: f32[2,3,12,16] = Pad(x, p) {mode="reflect"}
    })"},
    {"ResizeNearest", R"(graph g (x: f32[1,3,7,9]) -> (y) {
      const s: f32[4] = {1, 1, 2, 3}
      n: y: f32[1,3,14,27] = Resize(x, _, s) {mode="nearest"}
    })"},
    {"ResizeLinear", R"(graph g (x: f32[1,3,7,9]) -> (y) {
      const s: f32[4] = {1, 1, 2, 2}
      n: y: f32[1,3,14,18] = Resize(x, _, s) {mode="linear"}
    })"},
    {"ReverseSequence", R"(graph g (x: f32[4,40], n: i64[4]) -> (y) {
      const one: i64[] = {5}
      longer: m: i64[4] = Add(n, one)
      n1: y: f32[4,40] = ReverseSequence(x, m) {batch_axis=0, time_axis=1}
    })"},
    {"Scalar", R"(graph g (x: f32[], y: f32[]) -> (z) {
      n: z: f32[] = Add(x, y)
    })"},
};

INSTANTIATE_TEST_SUITE_P(Operator, Scheduled, testing::ValuesIn(cases),
                         [](const auto& info) { return std::string(info.param.first); });

}  // namespace
}  // namespace cryolite::ops
