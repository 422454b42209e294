#include <gtest/gtest.h>

#include <map>

#include "tests/simplify/rewrites.h"

namespace cryolite::simplify {
namespace {

/// Adds float constants, element by element; refuses every other operator. Counts its calls.
struct Adder {
  int& calls;

  std::vector<graph::Tensor> operator()(const graph::Graph& graph) const {
    ++calls;
    std::vector<graph::Tensor> results;
    std::map<graph::ValueId, std::vector<float>> known;
    for (graph::ValueId id = 0; id < static_cast<graph::ValueId>(graph.values.size()); ++id)
      if (graph.value(id).constant) {
        const std::vector<double> elements = graph.value(id).constant->as_doubles();
        known[id].assign(elements.begin(), elements.end());
      }
    for (const graph::Node& node : graph.nodes) {
      if (node.op_type != "Add") throw Error("cannot be computed", {.node = node.name});
      std::vector<float> sum = known.at(node.inputs[0]);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += known.at(node.inputs[1]).at(i);
      known[node.outputs[0]] = sum;
    }
    for (const graph::ValueId id : graph.outputs)
      results.push_back(graph::Tensor::of_floats(known.at(id), graph.value(id).type.dims));
    return results;
  }
};

std::string folded_text(const std::string& text, const Evaluate& evaluate = no_evaluation) {
  return "\n" + graph::to_text(fold_constants(graph::parse_text(text), evaluate));
}

TEST(Fold, AWholeConstantPartInOneEvaluation) {
  int calls = 0;
  EXPECT_EQ(folded_text(R"(
graph g (x: f32[2]) -> (y) {
  const a: f32[2] = {1, 2}
  const b: f32[2] = {10, 20}
  one: p: f32[2] = Add(a, b)
  two: q: f32[2] = Add(p, a)
  three: y: f32[2] = Mul(x, q)
}
)",
                        Adder{calls}),
            R"(
graph g (x: f32[2]) -> (y) {
  const q: f32[2] = {12, 24}
  three: y: f32[2] = Mul(x, q)
}
)");
  EXPECT_EQ(calls, 1);
}

TEST(Fold, WhatTheEvaluatorRefusesStays) {
  int calls = 0;
  EXPECT_EQ(folded_text(R"(
graph g (x: f32[2]) -> (y, z) {
  const a: f32[2] = {1, 2}
  one: p: f32[2] = Add(a, a)
  sort: q: f32[2], i: i64[2] = Unique(p)
  two: y: f32[2] = Mul(x, q)
  three: z: f32[2] = Mul(x, p)
}
)",
                        Adder{calls}),
            R"(
graph g (x: f32[2]) -> (y, z) {
  const p: f32[2] = {2, 4}
  sort: q: f32[2], i: i64[2] = Unique(p)
  two: y: f32[2] = Mul(x, q)
  three: z: f32[2] = Mul(x, p)
}
)");
}

TEST(Fold, ShapeArithmeticNeedsNoEvaluation) {
  EXPECT_EQ(folded_text(R"(
graph g (x: f32[2,3,4], z: f32[n,3]) -> (y, w) {
  const zero: i64[1] = {0}
  const rest: i64[1] = {-1}
  shape: s: i64[3] = Shape(x)
  first: f: i64[1] = Gather(s, zero)
  both: t: i64[2] = Concat(f, rest) {axis=0}
  view: y: f32[?,?] = Reshape(x, t)
  symbolic: w: i64[2] = Shape(z)
}
)"),
            R"(
graph g (x: f32[2,3,4], z: f32[n,3]) -> (y, w) {
  const t: i64[2] = {2, -1}
  view: y: f32[2,12] = Reshape(x, t)
  symbolic: w: i64[2] = Shape(z)
}
)");
}

TEST(Fold, FillsAndViewsOfConstants) {
  EXPECT_EQ(folded_text(R"(
graph g (x: f32[3,2]) -> (y) {
  const shape: i64[2] = {2, 3}
  const back: i64[2] = {3, 2}
  fill: a: f32[2,3] = ConstantOfShape(shape) {value=f32[1] = {0.5}}
  view: b: f32[3,2] = Reshape(a, back)
  add: y: f32[3,2] = Add(x, b)
}
)"),
            R"(
graph g (x: f32[3,2]) -> (y) {
  const b: f32[3,2] = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}
  add: y: f32[3,2] = Add(x, b)
}
)");
}

TEST(Fold, MovedElementsNeedNoEvaluation) {
  EXPECT_EQ(folded_text(R"(
graph g (x: f32[1]) -> (t, b, e, r, c, h) {
  const m: i32[2,3] = {1, 2, 3, 4, 5, 6}
  const two: i64[2] = {2, 3}
  const shape: i64[3] = {2, 2, 3}
  const column: i32[2,1] = {7, 8}
  const starts: i64[2] = {-1, 1}
  const ends: i64[2] = {-100, 100}
  const axes: i64[2] = {1, 0}
  const steps: i64[2] = {-2, 1}
  const indices: i64[2,2] = {-1, 0, 1, 1}
  perm: t0: i32[3,2] = Transpose(m)
  grow: b0: i32[2,3] = Expand(column, two)
  more: e0: i32[2,2,3] = Expand(m, shape)
  back: r0: i32[1,2] = Slice(m, starts, ends, axes, steps)
  join: c0: i32[2,4] = Concat(m, column) {axis=1}
  pick: h0: i32[2,2,2] = Gather(m, indices) {axis=1}
  n1: t: i32[3,2] = Identity(t0)
  n2: b: i32[2,3] = Identity(b0)
  n3: e: i32[2,2,3] = Identity(e0)
  n4: r: i32[1,2] = Identity(r0)
  n5: c: i32[2,4] = Identity(c0)
  n6: h: i32[2,2,2] = Identity(h0)
}
)"),
            R"(
graph g (x: f32[1]) -> (t, b, e, r, c, h) {
  const t0: i32[3,2] = {1, 4, 2, 5, 3, 6}
  const b0: i32[2,3] = {7, 7, 7, 8, 8, 8}
  const e0: i32[2,2,3] = {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}
  const r0: i32[1,2] = {6, 4}
  const c0: i32[2,4] = {1, 2, 3, 7, 4, 5, 6, 8}
  const h0: i32[2,2,2] = {3, 1, 2, 2, 6, 4, 5, 5}
  n1: t: i32[3,2] = Identity(t0)
  n2: b: i32[2,3] = Identity(b0)
  n3: e: i32[2,2,3] = Identity(e0)
  n4: r: i32[1,2] = Identity(r0)
  n5: c: i32[2,4] = Identity(c0)
  n6: h: i32[2,2,2] = Identity(h0)
}
)");
}

TEST(Fold, AConstantOutputKeepsAWriter) {
  EXPECT_EQ(folded_text(R"(
graph g (x: f32[2,3]) -> (y) {
  shape: y: i64[2] = Shape(x)
}
)"),
            R"(
graph g (x: f32[2,3]) -> (y) {
  const y_constant: i64[2] = {2, 3}
  shape: y: i64[2] = Identity(y_constant)
}
)");
}

TEST(Fold, RandomNodesStay) {
  const std::string text = R"(
graph g () -> (y) {
  const a: f32[2] = {1, 2}
  noise: y: f32[2] = RandomNormalLike(a)
}
)";
  int calls = 0;
  EXPECT_EQ(folded_text(text, Adder{calls}), text);
  EXPECT_EQ(calls, 0);
}

TEST(Fold, ALargeExpandIsNotStored) {
  const std::string text = R"(
graph g (x: f32[1000,1000]) -> (y) {
  const a: f32[1] = {1}
  const shape: i64[2] = {1000, 1000}
  grow: b: f32[1000,1000] = Expand(a, shape)
  add: y: f32[1000,1000] = Add(x, b)
}
)";
  int calls = 0;
  EXPECT_EQ(folded_text(text, Adder{calls}), text);
}

}  // namespace
}  // namespace cryolite::simplify
