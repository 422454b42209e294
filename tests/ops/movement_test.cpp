#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/ops/evaluate_node.h"

namespace cryolite::ops {
namespace {

using Integers = std::vector<int64_t>;

Integers integers_of(const std::string& text) { return evaluate_text(text).at(0).as_integers(); }

/// X = 0 … 9, sliced with one start, end and step.
Integers sliced(const std::string& start, const std::string& end, const std::string& step, int count) {
  return integers_of("graph g () -> (y) {\n const x: i32[10] = {0,1,2,3,4,5,6,7,8,9}\n const s: i64[1] = {" +
                     start + "}\n const e: i64[1] = {" + end +
                     "}\n const a: i64[1] = {-1}\n const d: i64[1] = {" + step + "}\n n: y: i32[" +
                     std::to_string(count) + "] = Slice(x, s, e, a, d)\n}");
}

TEST(Slice, BackwardsStopsBeforeItsEnd) {
  EXPECT_EQ(sliced("9", "0", "-1", 9), (Integers{9, 8, 7, 6, 5, 4, 3, 2, 1}));
}
TEST(Slice, BackwardsToTheLowestInteger) {
  EXPECT_EQ(sliced("9", "-9223372036854775808", "-1", 10), (Integers{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}));
}
TEST(Slice, ClampsWhatLiesOutside) {
  EXPECT_EQ(sliced("-100", "9223372036854775807", "4", 3), (Integers{0, 4, 8}));
  EXPECT_EQ(sliced("100", "-100", "-4", 3), (Integers{9, 5, 1}));
  EXPECT_EQ(sliced("-3", "-1", "1", 2), (Integers{7, 8}));
}
TEST(Slice, MayBeEmpty) {
  EXPECT_EQ(sliced("5", "2", "1", 0), Integers{});
  EXPECT_EQ(sliced("2", "5", "-1", 0), Integers{});
}
TEST(Slice, RefusesAShapeThatDoesNotFit) { EXPECT_THROW(sliced("0", "4", "1", 5), Error); }

TEST(Concat, SkipsEmptyOperands) {
  EXPECT_EQ(integers_of(R"(graph g () -> (y) {
    const a: i32[2,0] = {}
    const b: i32[2,1] = {1, 2}
    const c: i32[2,2] = {3, 4, 5, 6}
    n: y: i32[2,3] = Concat(a, b, c) {axis=-1}
  })"),
            (Integers{1, 3, 4, 2, 5, 6}));
}
TEST(Concat, OfNothingIsEmpty) {
  EXPECT_EQ(integers_of(R"(graph g () -> (y) {
    const a: i32[0,2] = {}
    const b: i32[0,2] = {}
    n: y: i32[0,2] = Concat(a, b) {axis=0}
  })"),
            Integers{});
}

TEST(Split, GivesUnequalAndEmptyParts) {
  const auto y = evaluate_text(R"(graph g () -> (a, b, c) {
    const x: i32[2,3] = {1, 2, 3, 4, 5, 6}
    const s: i64[3] = {1, 0, 2}
    n: a: i32[2,1], b: i32[2,0], c: i32[2,2] = Split(x, s) {axis=1}
  })");
  EXPECT_EQ(y[0].as_integers(), (Integers{1, 4}));
  EXPECT_EQ(y[1].as_integers(), Integers{});
  EXPECT_EQ(y[2].as_integers(), (Integers{2, 3, 5, 6}));
}

TEST(Reshape, KeepsRowMajorOrder) {
  EXPECT_EQ(integers_of(R"(graph g () -> (y) {
    const x: i32[2,3,1,2] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
    const s: i64[4] = {1, 2, 2, 3}
    n: r: i32[1,2,2,3] = Reshape(x, s)
    t: y: i32[3,2,2,1] = Transpose(r) {perm=[3,2,1,0]}
  })"),
            (Integers{0, 6, 3, 9, 1, 7, 4, 10, 2, 8, 5, 11}));
}
TEST(Reshape, ToAndFromScalars) {
  EXPECT_EQ(integers_of(R"(graph g () -> (y) {
    const x: i32[1,1] = {7}
    const s: i64[0] = {}
    n: r: i32[] = Reshape(x, s)
    const t: i64[3] = {1, 1, 1}
    u: y: i32[1,1,1] = Reshape(r, t)
  })"),
            (Integers{7}));
}

TEST(Gather, CountsNegativeIndicesFromTheEnd) {
  EXPECT_EQ(integers_of(R"(graph g () -> (y) {
    const x: i32[2,3] = {1, 2, 3, 4, 5, 6}
    const i: i64[2,2] = {-1, 0, 2, -3}
    n: y: i32[2,2,2] = Gather(x, i) {axis=1}
  })"),
            (Integers{3, 1, 3, 1, 6, 4, 6, 4}));
}
TEST(Gather, TakesAScalarIndex) {
  EXPECT_EQ(integers_of(R"(graph g () -> (y) {
    const x: i32[2,3] = {1, 2, 3, 4, 5, 6}
    const i: i64[] = {-1}
    n: y: i32[3] = Gather(x, i)
  })"),
            (Integers{4, 5, 6}));
}

Integers padded(const std::string& mode, const std::string& pads, int count) {
  return integers_of("graph g () -> (y) {\n const x: i32[4] = {1,2,3,4}\n const p: i64[2] = {" + pads +
                     "}\n n: y: i32[" + std::to_string(count) + "] = Pad(x, p) {mode=\"" + mode + "\"}\n}");
}
TEST(Pad, HasFourModes) {
  EXPECT_EQ(padded("constant", "1,2", 7), (Integers{0, 1, 2, 3, 4, 0, 0}));
  EXPECT_EQ(padded("edge", "1,2", 7), (Integers{1, 1, 2, 3, 4, 4, 4}));
  EXPECT_EQ(padded("reflect", "3,2", 9), (Integers{4, 3, 2, 1, 2, 3, 4, 3, 2}));
  EXPECT_EQ(padded("wrap", "1,6", 11), (Integers{4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2}));
}
TEST(Pad, CutsWhereNegative) {
  EXPECT_EQ(padded("constant", "-1,-1", 2), (Integers{2, 3}));
  EXPECT_EQ(padded("constant", "-1,2", 5), (Integers{2, 3, 4, 0, 0}));
}

TEST(CumSum, RunsFromBothEnds) {
  const auto sums = [](const std::string& attributes) {
    return integers_of(
        "graph g () -> (y) {\n const x: i32[2,3] = {1,2,3,4,5,6}\n const a: i64[] = {-1}\n"
        " n: y: i32[2,3] = CumSum(x, a) " +
        attributes + "\n}");
  };
  EXPECT_EQ(sums(""), (Integers{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(sums("{exclusive=1}"), (Integers{0, 1, 3, 0, 4, 9}));
  EXPECT_EQ(sums("{reverse=1}"), (Integers{6, 5, 3, 15, 11, 6}));
  EXPECT_EQ(sums("{exclusive=1, reverse=1}"), (Integers{5, 3, 0, 11, 6, 0}));
}

TEST(ScatterElements, WithoutUpdatesIsACopy) {
  EXPECT_EQ(integers_of(R"(graph g () -> (y) {
    const x: i32[3] = {1, 2, 3}
    const i: i64[0] = {}
    const u: i32[0] = {}
    n: y: i32[3] = ScatterElements(x, i, u)
  })"),
            (Integers{1, 2, 3}));
}

TEST(Resize, EnlargesByAWholeNumber) {
  EXPECT_EQ(integers_of(R"(graph g () -> (y) {
    const x: i32[1,1,1,3] = {1, 2, 3}
    const s: f32[4] = {1, 1, 1, 2}
    n: y: i32[1,1,1,6] = Resize(x, _, s) {mode="nearest"}
  })"),
            (Integers{1, 1, 2, 2, 3, 3}));
}

}  // namespace
}  // namespace cryolite::ops
