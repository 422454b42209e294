#include "report/report.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.h"
#include "report/kernel_rows.h"
#include "tests/plan/summary.h"

namespace cryolite::report {
namespace {

/// One kernel: squares, their sum, and what follows.
plan::Plan chain_and_reduction() {
  return plan::plan_text(R"(graph model (x: f32[64,256]) -> (y) {
    const axes: i64[1] = {1}
    double: a: f32[64,256] = Mul(x, x) {}
    sum: s: f32[64,1] = ReduceSum(a, axes) {keepdims=1}
    root: r: f32[64,1] = Sqrt(s) {}
    out: y: f32[64,1] = Neg(r) {}
  })");
}

TEST(Table, SaysWhatEachKernelSavesAndWhy) {
  const plan::Plan plan = chain_and_reduction();
  const std::string table = to_table(plan, plan::round_device());
  ASSERT_EQ(plan.groups.size(), 1u);
  const KernelRow row = kernel_rows(plan, plan::round_device()).at(0);
  // Before: 64 KiB are read, written and read again; sums are written once, read and written twice (256 B each).
  EXPECT_EQ(row.bytes_saved(), 2 * 64 * 256 * 4 + 4 * 64 * 4 + 8);
  EXPECT_NE(table.find("double+sum+root+out"), std::string::npos) << table;
  EXPECT_NE(table.find("prologue"), std::string::npos) << table;
  EXPECT_NE(table.find("epilogue"), std::string::npos) << table;
}

TEST(Dot, AKernelIsACluster) {
  const std::string dot = to_dot(chain_and_reduction());
  EXPECT_NE(dot.find("subgraph cluster_k0"), std::string::npos) << dot;
  EXPECT_NE(dot.find("k0_n0 -> k0_n1"), std::string::npos) << dot;
}

TEST(Dot, EveryResultOfAKernelIsASource) {
  plan::Plan plan = plan::plan_text(R"(graph model (x: f32[64,256]) -> (y, z) {
    exp: a: f32[64,256] = Exp(x) {}
    neg: y: f32[64,256] = Neg(a) {}
    abs: z: f32[64,256] = Abs(y) {}
  })");
  for (const plan::Group& group : plan.groups)
    for (graph::ValueId result : group.outputs) {
      const graph::NodeId producer = graph::uses_of(plan.graph).producer[result];
      const std::string edge = fmt::format("k{}_n{} -> output", group.id, producer);
      EXPECT_NE(to_dot(plan).find(edge), std::string::npos) << to_dot(plan);
    }
}

TEST(Json, BrokenNamesDoNotStopIt) {
  plan::Plan plan = chain_and_reduction();
  plan.graph.nodes[0].name = "\xff";
  EXPECT_NE(to_json_text(plan).find("\uFFFD"), std::string::npos);
}

TEST(GraphPicture, AMissingGraphvizIsOneClearError) {
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nonexistent", 1);
  std::string said;
  try {
    to_graph_svg(chain_and_reduction());
  } catch (const Error& error) {
    said = error.what();
  }
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_NE(said.find("'dot' was not found"), std::string::npos) << said;
  EXPECT_NE(said.find("install Debian's package graphviz"), std::string::npos) << said;
  EXPECT_EQ(said.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace cryolite::report
