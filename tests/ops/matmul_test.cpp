#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/ops/numbers.h"

namespace cryolite::ops {
namespace {

using Numbers = std::vector<double>;

Numbers product_of(const std::string& a, const std::string& b, const std::string& y) {
  const std::string text =
      "graph g (a: " + a + ", b: " + b + ") -> (y) {\n n: y: " + y + " = MatMul(a, b)\n}";
  return numbers_of(text, patterns_for(text))[0];
}

/// a is [batch, m, k], b [batch, k, n]; a batch of 1 is repeated.
Numbers reference(int64_t a_batch, int64_t b_batch, int64_t m, int64_t k, int64_t n) {
  const auto a = pattern(a_batch * m * k), b = pattern(b_batch * k * n);
  Numbers y;
  for (int64_t t = 0; t < std::max(a_batch, b_batch); ++t)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < k; ++l)
          sum += static_cast<double>(a[((a_batch == 1 ? 0 : t) * m + i) * k + l]) *
                 b[((b_batch == 1 ? 0 : t) * k + l) * n + j];
        y.push_back(sum);
      }
  return y;
}

TEST(MatMul, Ranks) {
  EXPECT_EQ(product_of("f32[3,4]", "f32[4,5]", "f32[3,5]"), reference(1, 1, 3, 4, 5));
  EXPECT_EQ(product_of("f32[4]", "f32[4]", "f32[]"), reference(1, 1, 1, 4, 1));
  EXPECT_EQ(product_of("f32[4]", "f32[2,4,3]", "f32[2,3]"), reference(1, 2, 1, 4, 3));
  EXPECT_EQ(product_of("f32[2,3,4]", "f32[4]", "f32[2,3]"), reference(2, 1, 3, 4, 1));
}

TEST(MatMul, BroadcastsBatches) {
  EXPECT_EQ(product_of("f32[1,3,4]", "f32[6,4,2]", "f32[6,3,2]"), reference(1, 6, 3, 4, 2));
  EXPECT_EQ(product_of("f32[2,3,3,4]", "f32[4,5]", "f32[2,3,3,5]"), reference(6, 1, 3, 4, 5));
}

TEST(MatMul, OfIntegersAndOfNothing) {
  EXPECT_EQ(numbers_of(R"(graph g () -> (y) {
    const a: i64[2,2] = {1, 2, 3, 4000000000}
    const b: i64[2,1] = {5, -6}
    n: y: i64[2,1] = MatMul(a, b)
  })")[0],
            (Numbers{-7, 15 - 24000000000.0}));
  EXPECT_EQ(product_of("f32[2,0]", "f32[0,2]", "f32[2,2]"), (Numbers{0, 0, 0, 0}));
  EXPECT_EQ(product_of("f32[0,2]", "f32[2,2]", "f32[0,2]"), Numbers{});
}

TEST(MatMul, SumsHalvesInFloat32) {
  // 1 + 2048 * 2^-11: in float16 the small products would be lost one by one.
  const std::string text = R"(graph g (a: f16[1,2049], b: f16[2049,1]) -> (y) {
    n: y: f16[1,1] = MatMul(a, b)
  })";
  const auto halves = [](uint16_t first, uint16_t rest, std::vector<graph::Dim> dims) {
    std::string bytes(2 * 2049, '\0');
    for (int i = 0; i < 2049; ++i) std::memcpy(&bytes[2 * i], i == 0 ? &first : &rest, 2);
    return graph::Tensor::of_bytes({graph::ElementType::Float16, std::move(dims)}, bytes);
  };
  const uint16_t one = 0x3c00, small = 0x1000;  // 1, 2^-11
  EXPECT_EQ(numbers_of(text, {halves(one, one, {1, 2049}), halves(one, small, {2049, 1})})[0], (Numbers{2}));
}

TEST(Gemm, TransposesScalesAndAdds) {
  struct Case {
    const char *a, *b, *c, *attributes;
  };
  for (const Case& one :
       {Case{"3,5", "5,4", "3,4", "transA=0"}, Case{"5,3", "5,4", "4", "transA=1, beta=0.25"},
        Case{"3,5", "4,5", "3,1", "transB=1, alpha=0.5"},
        Case{"5,3", "4,5", "", "transA=1, transB=1, beta=2.0"},
        Case{"3,5", "5,4", "1,4", "alpha=0.5, beta=0.0"}}) {
    const std::string text = fmt::format(
        "graph g (a: f32[{}], b: f32[{}], c: f32[{}]) -> (y) {{\n n: y: f32[3,4] = Gemm(a, b, c) {{{}}}\n}}",
        one.a, one.b, one.c, one.attributes);
    SCOPED_TRACE(text);
    const graph::Graph graph = graph::parse_text(text);
    const graph::Node& node = graph.nodes[0];
    const bool is_a_turned = graph::int_attribute(node, "transA", 0),
               is_b_turned = graph::int_attribute(node, "transB", 0);
    const auto a = pattern(15), b = pattern(20), c = pattern(12);
    const auto extents = graph.input_type(node, 2).extents();
    const int64_t columns = extents.empty() ? 1 : extents.back(), rows = extents.size() < 2 ? 1 : extents[0];
    Numbers wanted;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 4; ++j) {
        double sum = 0;
        for (int k = 0; k < 5; ++k)
          sum += static_cast<double>(is_a_turned ? a[k * 3 + i] : a[i * 5 + k]) *
                 (is_b_turned ? b[j * 5 + k] : b[k * 4 + j]);
        const int64_t at = (rows == 1 ? 0 : i) * columns + (columns == 1 ? 0 : j);
        wanted.push_back(graph::float_attribute(node, "alpha", 1) * sum +
                         graph::float_attribute(node, "beta", 1) * c[at]);
      }
    EXPECT_EQ(numbers_of(text, patterns_for(text))[0], wanted);
  }
}

TEST(Contractions, RefuseWhatDoesNotFit) {
  EXPECT_EQ(fault_of("a: f32[3,4], b: f32[4,5]", "y: f32[3,5] = MatMul(a, b)"), "");
  EXPECT_NE(fault_of("a: f32[3,4], b: f32[5,4]", "y: f32[3,4] = MatMul(a, b)"), "");
  EXPECT_NE(fault_of("a: f32[2,3,4], b: f32[3,4,5]", "y: f32[3,3,5] = MatMul(a, b)"), "");
  EXPECT_NE(fault_of("a: f32[3,4], b: f64[4,5]", "y: f32[3,5] = MatMul(a, b)"), "");
  EXPECT_NE(fault_of("a: f32[3,4], b: f32[4,5], c: f32[3]", "y: f32[3,5] = Gemm(a, b, c)"), "");
  EXPECT_NE(fault_of("a: i32[3,4], b: i32[4,5]", "y: i32[3,5] = Gemm(a, b) {alpha=0.5}"), "");
  EXPECT_NE(fault_of("a: f32[3,4]", "y: f32[3,5] = MatMul(a)"), "");
}

}  // namespace
}  // namespace cryolite::ops
