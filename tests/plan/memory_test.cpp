#include <gtest/gtest.h>

#include "graph/elements.h"
#include "tests/plan/summary.h"

namespace cryolite::plan {
namespace {

/// Values whose lives overlap may not share a byte; returns the first pair that does.
std::string overlap(const Plan& plan) {
  struct Life { int first = 1 << 30, last = -1; };
  std::map<graph::ValueId, Life> lives;
  for (const Group& group : plan.groups)
    for (const auto* list : {&group.inputs, &group.outputs})
      for (graph::ValueId id : *list) {
        const Home& home = plan.homes[id];
        if (home.kind != Home::Kind::Arena) continue;
        Life& life = lives[home.root];
        life.first = std::min(life.first, group.id);
        life.last = std::max(life.last, group.id);
      }
  const auto end_of = [&](graph::ValueId id) {
    const graph::Value& value = plan.graph.value(id);
    return plan.homes[id].offset +
           graph::storage_span(value.layout, value.type.extents()) * size_of(value.type.element);
  };
  for (const auto& [a, life_a] : lives) {
    if (end_of(a) > plan.arena_bytes) return plan.graph.value(a).name + " leaves the arena";
    for (const auto& [b, life_b] : lives) {
      if (a >= b || life_a.last < life_b.first || life_b.last < life_a.first) continue;
      if (plan.homes[a].offset < end_of(b) && plan.homes[b].offset < end_of(a))
        return plan.graph.value(a).name + " meets " + plan.graph.value(b).name;
    }
  }
  return "";
}

TEST(Memory, ChainOfKernelsUsesTwoSlots) {
  const Plan plan = plan_text(R"(graph chain (x: f32[64,256]) -> (y) {
    a1: a: f32[64,256] = Exp(x) {}
    b1: b: f32[64,256] = Neg(a) {}
    c1: c: f32[64,256] = Abs(b) {}
    d1: d: f32[64,256] = Neg(c) {}
    e1: y: f32[64,256] = Exp(d) {}
  })", "none");
  EXPECT_EQ(overlap(plan), "");
  EXPECT_EQ(plan.arena_bytes, 2 * 4 * 64 * 256);
}

TEST(Memory, ValueOfASkipConnectionOutlivesTheBranch) {
  const Plan plan = plan_text(R"(graph skip (x: f32[64,256]) -> (y) {
    a1: a: f32[64,256] = Exp(x) {}
    b1: b: f32[64,256] = Neg(a) {}
    c1: c: f32[64,256] = Abs(b) {}
    d1: y: f32[64,256] = Add(a, c) {}
  })", "none");
  EXPECT_EQ(overlap(plan), "");
  EXPECT_EQ(plan.arena_bytes, 3 * 4 * 64 * 256);
}

TEST(Memory, SlicesOfAConcatLieInItsBuffer) {
  const Plan plan = plan_text(R"(graph join (x: f32[4,8]) -> (y) {
    a1: a: f32[4,8] = Exp(x) {}
    b1: b: f32[4,8] = Neg(x) {}
    j1: c: f32[4,16] = Concat(a, b) {axis=1}
    d1: y: f32[4,16] = Exp(c) {}
  })", "none");
  const auto id = [&](const std::string& name) {
    for (size_t i = 0; i < plan.graph.values.size(); ++i)
      if (plan.graph.values[i].name == name) return static_cast<graph::ValueId>(i);
    return graph::absent;
  };
  EXPECT_EQ(plan.homes[id("a")].root, id("c"));
  EXPECT_EQ(plan.homes[id("b")].offset - plan.homes[id("c")].offset, 8 * 4);
  EXPECT_EQ(plan.graph.value(id("b")).layout.strides, (std::vector<int64_t>{16, 1}));
}

}  // namespace
}  // namespace cryolite::plan
