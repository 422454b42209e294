#include "plan/choice.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <random>

#include "tests/plan/summary.h"

namespace cryolite::plan {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

/// Random networks on images of one size, so that every kind of edge occurs: chains, values with several readers,
/// reductions whose results are broadcast, convolutions, pools of windows that only touch and of such that overlap.
class RandomNetwork {
 public:
  RandomNetwork(unsigned seed, int nodes) : random_(seed) {
    graph_.name = "random";
    images_.push_back(add_value("x", {1, 8, 16, 16}));
    graph_.inputs.push_back(images_[0]);
    for (int n = 0; n < nodes; ++n) add_node(n);
    const graph::Uses uses = graph::uses_of(graph_);
    for (ValueId id = 0; id < static_cast<ValueId>(graph_.values.size()); ++id)
      if (uses.producer[id] != graph::absent && (uses.consumers[id].empty() || pick(12) == 0)) graph_.outputs.push_back(id);
  }
  Graph graph() && { return std::move(graph_); }

 private:
  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  /// Mostly recent values, so that graphs are deep.
  ValueId image() { return images_[std::max(0, static_cast<int>(images_.size()) - 1 - pick(4))]; }

  ValueId add_value(const std::string& name, std::vector<graph::Dim> dims) {
    return graph_.add_value({name, {graph::ElementType::Float32, std::move(dims)}, {}, {}});
  }

  void add_node(int n) {
    const std::string name = "n" + std::to_string(n);
    const auto result = [&](std::vector<graph::Dim> dims) { return add_value("v" + std::to_string(n), std::move(dims)); };
    switch (pick(7)) {
      case 0: case 1: return keep(name, "Exp", {image()}, result({1, 8, 16, 16}), {});
      case 2: case 3: return keep(name, "Add", {image(), image()}, result({1, 8, 16, 16}), {});
      case 4: {
        const ValueId weights = add_value("w" + std::to_string(n), {8, 8, 3, 3});
        graph_.inputs.push_back(weights);
        return keep(name, "Conv", {image(), weights}, result({1, 8, 16, 16}), {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
      }
      case 5: {
        const ValueId from = image(), mean = result({1, 8, 1, 1});
        graph_.add_node({name, "GlobalAveragePool", {from}, {mean}, {}});
        return keep(name + "_mul", "Mul", {from, mean}, add_value("m" + std::to_string(n), {1, 8, 16, 16}), {});
      }
      default: {
        const ValueId pooled = result({1, 8, 8, 8}), grown = add_value("g" + std::to_string(n), {1, 8, 16, 16});
        graph_.add_node({name, "MaxPool", {image()}, {pooled},
                         {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}}});
        const ValueId other = add_value("h" + std::to_string(n), {1, 8, 8, 8});
        graph_.add_node({name + "_relu", "Relu", {pooled}, {other}, {}});
        graph_.add_node({name + "_exp", "Exp", {image()}, {grown}, {}});
        images_.push_back(grown);
      }
    }
  }

  void keep(const std::string& name, const std::string& op_type, std::vector<ValueId> inputs, ValueId output,
            std::map<std::string, graph::Attribute> attributes) {
    graph_.add_node({name, op_type, std::move(inputs), {output}, std::move(attributes)});
    images_.push_back(output);
  }

  std::mt19937 random_;
  Graph graph_;
  std::vector<ValueId> images_;
};

struct Space {
  Graph graph;
  graph::Uses uses;
  Views views;
  FusionRules rules;
  device::Device device = round_device();
  Pricer pricer;

  explicit Space(Graph network)
      : graph(std::move(network)), uses(graph::uses_of(graph)), views(no_views(graph)),
        rules(graph, uses, views, schedule::Machine{}), pricer(rules, device) {}

  static Views no_views(const Graph& graph) {
    Views views;
    for (ValueId id = 0; id < static_cast<ValueId>(graph.values.size()); ++id) views.parent.push_back(id);
    views.offset.assign(graph.values.size(), 0);
    views.is_view_node.assign(graph.nodes.size(), false);
    return views;
  }
};

double least_of_all(Space& space) {
  std::vector<NodeId> free;
  for (NodeId n = 0; n < static_cast<NodeId>(space.graph.nodes.size()); ++n)
    if (!space.rules.facts()[n].must_be_stored) free.push_back(n);
  double least = std::numeric_limits<double>::infinity();
  for (unsigned bits = 0; bits < 1u << free.size(); ++bits) {
    Stored stored(space.graph.nodes.size(), true);
    for (size_t i = 0; i < free.size(); ++i) stored[free[i]] = (bits >> i & 1u) != 0;
    least = std::min(least, space.pricer.seconds_of(stored));
  }
  return least;
}

TEST(Choice, CheapestEqualsExhaustiveSearch) {
  int shared = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    Space space(RandomNetwork(seed, 4 + static_cast<int>(seed % 5)).graph());
    if (space.graph.nodes.size() > 12) continue;
    const Stored best = cheapest(space.pricer, 4096);
    EXPECT_NEAR(space.pricer.seconds_of(best) * 1e6, least_of_all(space) * 1e6, 1e-6) << "seed " << seed;
    for (NodeId n = 0; n < static_cast<NodeId>(best.size()); ++n)
      shared += !best[n] && space.rules.facts()[n].consumers.size() > 1;
  }
  EXPECT_GT(shared, 20) << "too few values with several readers were recomputed to say anything";
}

TEST(Choice, CheapestIsNeverPredictedSlowerThanTheRules) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    Space space(RandomNetwork(1000 + seed, 30).graph());
    const double by_rules = space.pricer.seconds_of(greedy(space.pricer));
    EXPECT_LE(space.pricer.seconds_of(cheapest(space.pricer, 4096)), by_rules * (1 + 1e-12)) << "seed " << seed;
    EXPECT_LE(by_rules, space.pricer.seconds_of(Stored(space.graph.nodes.size(), true)) * (1 + 1e-12)) << "seed " << seed;
  }
}

TEST(Choice, EveryKernelOfAChoiceIsOne) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    Space space(RandomNetwork(2000 + seed, 25).graph());
    const Partition partition = partition_of(space.rules, cheapest(space.pricer, 256));
    for (const Partition::Members& members : partition.groups) {
      EXPECT_EQ(space.rules.form_of(members.nodes).verdict, KernelForm::Verdict::Kernel);
      EXPECT_NE(members.anchor, graph::absent);
    }
  }
}

TEST(Choice, TurningABitPricesWhatChanges) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    Space space(RandomNetwork(3000 + seed, 10).graph());
    const Stored stored = cheapest(space.pricer, 4096);
    const double total = space.pricer.seconds_of(stored);
    for (NodeId n = 0; n < static_cast<NodeId>(stored.size()); ++n) {
      if (space.rules.facts()[n].must_be_stored) continue;
      Stored other = stored;
      other[n] = !other[n];
      const Alternative alternative = turn(space.pricer, stored, n);
      const double turned = space.pricer.seconds_of(other);
      if (std::isinf(turned))
        EXPECT_TRUE(std::isinf(alternative.turned)) << "seed " << seed << " node " << n;
      else
        EXPECT_NEAR((alternative.turned - alternative.as_is) * 1e6, (turned - total) * 1e6, 1e-6)
            << "seed " << seed << " node " << n;
    }
  }
}

TEST(Choice, TenThousandNodesArePlannedInSeconds) {
  Space space(RandomNetwork(7, 7000).graph());
  const auto start = std::chrono::steady_clock::now();
  const Stored stored = cheapest(space.pricer, 20);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_LE(space.pricer.seconds_of(stored), space.pricer.seconds_of(Stored(stored.size(), true)));
  EXPECT_LT(seconds, 20) << "for " << stored.size() << " nodes; a quiet machine takes a fraction of it";
}

}  // namespace
}  // namespace cryolite::plan
