#include <gtest/gtest.h>

#include <algorithm>

#include "ops/operator.h"
#include "tests/ops/evaluate_node.h"

namespace cryolite::ops {
namespace {

TEST(Table, IsSortedAndWithoutDoubles) {
  const auto rows = table();
  ASSERT_FALSE(rows.empty());
  for (size_t i = 1; i < rows.size(); ++i) EXPECT_LT(rows[i - 1].op_type, rows[i].op_type);
}

TEST(Table, EveryRowIsWhole) {
  for (const Operator& row : table()) {
    EXPECT_TRUE(row.access && row.flops && row.check) << row.op_type;
    EXPECT_EQ(row.kernel == Kernel::Extern, row.algorithm == nullptr) << row.op_type;
    EXPECT_EQ(row.kernel == Kernel::Extern, row.extern_symbol != nullptr) << row.op_type;
  }
}

TEST(Table, FindsByName) {
  ASSERT_NE(find("Add"), nullptr);
  EXPECT_EQ(find("Add")->category, Category::Broadcast);
  EXPECT_EQ(find("Adder"), nullptr);
  EXPECT_EQ(name_of(find("Relu")->category), "injective");
}

TEST(Elementwise, NeedsOneOperandWalkedAtTheSameIndex) {
  const graph::Graph graph =
      graph::parse_text(R"(graph g (x: f32[2,3], b: f32[3], c: f32[2,1]) -> (y, z, t, e) {
    add: y: f32[2,3] = Add(x, b)
    outer: z: f32[2,3] = Add(c, b)
    turn: t: f32[3,2] = Transpose(x)
    const s: i64[2] = {2, 3}
    wide: e: f32[2,3] = Expand(b, s)
  })");
  EXPECT_TRUE(is_elementwise(graph, graph.nodes[0]));
  EXPECT_FALSE(is_elementwise(graph, graph.nodes[1]));
  EXPECT_FALSE(is_elementwise(graph, graph.nodes[2]));
  EXPECT_FALSE(is_elementwise(graph, graph.nodes[3]));
  EXPECT_EQ(find("Add")->flops(graph, graph.nodes[0]), 6);
}

}  // namespace
}  // namespace cryolite::ops
