#include "graph/graph.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "graph/text.h"

namespace cryolite::graph {
namespace {

TEST(Graph, TidiedDropsWhatNoOutputNeeds) {
  Graph graph = parse_text(R"(graph g (x: f32[2], unused: f32[3]) -> (y) {
    const a: f32[] = {1}
    const b: f32[] = {2}
    add1: s: f32[2] = Add(x, b)
    dead1: d: f32[2] = Add(x, a)
    relu1: y: f32[2] = Relu(s)
  })");
  EXPECT_EQ(to_text(tidied(graph)), R"(graph g (x: f32[2], unused: f32[3]) -> (y) {
  const b: f32[] = {2}
  add1: s: f32[2] = Add(x, b)
  relu1: y: f32[2] = Relu(s)
}
)");
}

/// c = Relu(b), b = Relu(a), a = Relu(x), the nodes given in reverse.
Graph reversed_chain() {
  Graph graph;
  for (const char* name : {"x", "a", "b", "c"}) graph.add_value({name, {ElementType::Float32, {1}}, {}, {}});
  for (int i = 3; i >= 1; --i) graph.add_node({"n" + std::to_string(i), "Relu", {i - 1}, {i}, {}});
  graph.inputs = {0};
  graph.outputs = {3};
  return graph;
}

TEST(Graph, TidiedSortsNodes) {
  const Graph graph = tidied(reversed_chain());
  ASSERT_EQ(graph.nodes.size(), 3u);
  EXPECT_EQ(graph.nodes[0].name, "n1");
  EXPECT_EQ(graph.nodes[2].name, "n3");
  EXPECT_EQ(graph.value(graph.outputs[0]).name, "c");
}

TEST(Graph, TidiedNamesANodeOnACycle) {
  Graph graph = reversed_chain();
  graph.nodes[2].inputs = {2};  // n1 reads b
  try {
    tidied(graph);
    FAIL() << "a cycle was accepted";
  } catch (const Error& error) {
    EXPECT_TRUE(error.where().node == "n1" || error.where().node == "n2") << error.what();
    EXPECT_NE(std::string(error.what()).find("cycle"), std::string::npos);
  }
}

TEST(Graph, UsesCountsConsumersOnceAndOutputs) {
  const Graph graph = parse_text(R"(graph g (x: f32[2]) -> (s) {
    add1: s: f32[2] = Add(x, x)
    relu1: y: f32[2] = Relu(s)
  })");
  const Uses uses = uses_of(graph);
  EXPECT_EQ(uses.consumers[0], (std::vector<NodeId>{0}));
  EXPECT_EQ(uses.producer[0], absent);
  EXPECT_EQ(uses.producer[1], 0);
  EXPECT_EQ(uses.use_count(1), 2);
}

TEST(Graph, AttributesHaveFallbacksAndKinds) {
  const Graph graph = parse_text(R"(graph g (x: f32[2]) -> (y) {
    n: y: f32[2] = Op(x) {axis=1, alpha=0.5, mode="edge", pads=[0,1]}
  })");
  const Node& node = graph.nodes[0];
  EXPECT_EQ(int_attribute(node, "axis", 7), 1);
  EXPECT_EQ(int_attribute(node, "group", 7), 7);
  EXPECT_EQ(float_attribute(node, "alpha", 1), 0.5f);
  EXPECT_EQ(string_attribute(node, "mode", "constant"), "edge");
  EXPECT_EQ(ints_attribute(node, "pads"), (std::vector<int64_t>{0, 1}));
  EXPECT_TRUE(has_attribute(node, "axis"));
  EXPECT_THROW(float_attribute(node, "axis", 1), Error);
  EXPECT_EQ(normalized_axis(-1, 4, node), 3);
  EXPECT_THROW(normalized_axis(4, 4, node), Error);
}

}  // namespace
}  // namespace cryolite::graph
