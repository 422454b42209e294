#include <algorithm>
#include <map>
#include <optional>

#include "graph/elements.h"
#include "plan/passes.h"

/// The arena: every stored value that is neither the caller's nor a weight gets bytes of one block, and two values
/// share bytes where no kernel needs both. Largest first, each at the lowest place that is free during its life
/// (greedy by size, as Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020).
namespace cryolite::plan {
namespace {

using graph::ValueId;

constexpr int64_t alignment = 512;  // bytes: the most that OpenCL and Vulkan devices ask of a part of a buffer

struct Life {
  ValueId value;
  int64_t bytes;
  int first, last;  // groups during which it is needed
  int64_t offset = 0;
};

ValueId root_of(const Views& views, ValueId id) {
  while (views.parent[id] != id) id = views.parent[id];
  return id;
}

int64_t offset_of(const Views& views, ValueId id) {
  int64_t offset = 0;
  for (; views.parent[id] != id; id = views.parent[id]) offset += views.offset[id];
  return offset;
}

std::vector<Life> lives_of(const Plan& plan, const Views& views) {
  std::map<ValueId, Life> lives;
  for (const Group& group : plan.groups) {
    for (const auto* list : {&group.inputs, &group.outputs})
      for (ValueId id : *list) {
        const ValueId root = root_of(views, id);
        if (plan.homes[root].kind != Home::Kind::Arena) continue;
        const graph::Value& value = plan.graph.value(root);
        const int64_t bytes = graph::storage_span(value.layout, value.type.extents()) * size_of(value.type.element);
        auto [life, is_new] = lives.try_emplace(root, Life{root, bytes, group.id, group.id, 0});
        life->second.last = group.id;
      }
  }
  std::vector<Life> sorted;
  for (const auto& [root, life] : lives) sorted.push_back(life);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Life& a, const Life& b) { return a.bytes > b.bytes; });
  return sorted;
}

int64_t pack(std::vector<Life>& lives) {
  int64_t size = 0;
  std::vector<const Life*> placed;
  for (Life& life : lives) {
    std::vector<const Life*> rivals;
    for (const Life* other : placed)
      if (other->first <= life.last && life.first <= other->last) rivals.push_back(other);
    std::sort(rivals.begin(), rivals.end(), [](auto* a, auto* b) { return a->offset < b->offset; });
    int64_t offset = 0;
    for (const Life* rival : rivals) {
      if (offset + life.bytes <= rival->offset) break;
      offset = std::max(offset, (rival->offset + rival->bytes + alignment - 1) / alignment * alignment);
    }
    life.offset = offset;
    size = std::max(size, offset + life.bytes);
    placed.push_back(&life);
  }
  return (size + alignment - 1) / alignment * alignment;
}

void place_roots(Plan& plan, const Views& views) {
  plan.homes.assign(plan.graph.values.size(), {});
  for (size_t i = 0; i < plan.graph.inputs.size(); ++i)
    plan.homes[plan.graph.inputs[i]] = {Home::Kind::Input, static_cast<int>(i), 0, plan.graph.inputs[i]};
  for (const Group& group : plan.groups) {
    for (ValueId id : group.inputs)
      if (plan.graph.value(id).constant) plan.homes[id] = {Home::Kind::Weight, -1, 0, id};
    for (ValueId id : group.outputs) {
      const ValueId root = root_of(views, id);
      plan.homes[root] = {Home::Kind::Arena, -1, 0, root};
    }
  }
  for (size_t i = 0; i < plan.graph.outputs.size(); ++i) {
    const ValueId root = root_of(views, plan.graph.outputs[i]);
    plan.homes[root] = {Home::Kind::Output, static_cast<int>(i), 0, root};
  }
}

}  // namespace

void assign_memory(Plan& plan, const Views& views) {
  place_roots(plan, views);
  std::vector<Life> lives = lives_of(plan, views);
  plan.arena_bytes = pack(lives);
  for (const Life& life : lives) plan.homes[life.value].offset = life.offset;
  for (ValueId id = 0; id < static_cast<ValueId>(plan.graph.values.size()); ++id) {
    const ValueId root = root_of(views, id);
    if (root == id || plan.homes[root].kind == Home::Kind::Inside) continue;
    plan.homes[id] = plan.homes[root];
    plan.homes[id].offset += offset_of(views, id) * size_of(plan.graph.value(id).type.element);
  }
}

}  // namespace cryolite::plan
