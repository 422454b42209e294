#include <algorithm>
#include <map>

#include "plan/choice.h"

/// Nodes are visited in running order. A state says which nodes before this one are not stored and may still be read:
/// all else about the past is settled, and of two ways to the same state the cheaper one wins. Where everything is
/// stored there is one state only, so that regions between such places cost no more together than apart.
namespace cryolite::plan {
namespace {

using graph::NodeId;

/// Nodes not stored that are still of concern, ascending: the closures of those that later nodes read.
using Open = std::vector<NodeId>;

struct Path {
  double seconds = 0;
  int step = -1;  ///< index into the trail: the last decision that led here
};
using States = std::map<Open, Path>;

struct Step {
  NodeId node;
  bool stored;
  int before;
};

bool contains(const Open& open, NodeId node) { return std::binary_search(open.begin(), open.end(), node); }

/// `node` and all in `open` that it needs.
std::vector<NodeId> closure_in(const std::vector<NodeFacts>& facts, const Open& open, NodeId node) {
  std::vector<NodeId> nodes{node};
  for (size_t i = 0; i < nodes.size(); ++i)
    for (NodeId producer : facts[nodes[i]].producers)
      if (contains(open, producer) && std::find(nodes.begin(), nodes.end(), producer) == nodes.end())
        nodes.push_back(producer);
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

/// What of `open` is of concern after node `done`: closures of nodes with a reader still to come.
Open settled(const std::vector<NodeFacts>& facts, const Open& open, NodeId done) {
  Open kept;
  for (size_t i = open.size(); i-- > 0;) {
    const auto& consumers = facts[open[i]].consumers;
    const bool is_needed = std::any_of(consumers.begin(), consumers.end(), [&](NodeId consumer) {
      return consumer > done || std::find(kept.begin(), kept.end(), consumer) != kept.end();
    });
    if (is_needed) kept.push_back(open[i]);
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

class Search {
 public:
  Search(Pricer& pricer, size_t beam) : pricer_(pricer), facts_(pricer.rules().facts()), beam_(beam) {}

  Stored run() {
    States states{{{}, {}}};
    for (NodeId node = 0; node < static_cast<NodeId>(facts_.size()); ++node) {
      if (facts_[node].is_view) continue;
      States next;
      for (const auto& [open, path] : states) visit(node, open, path, next);
      states = cut(std::move(next), node);
    }
    return read_back(states.begin()->second);
  }

 private:
  void visit(NodeId node, const Open& open, const Path& path, States& next) {
    const std::vector<NodeId> kernel = closure_in(facts_, open, node);
    const Pricer::Price& price = pricer_.price_of(kernel);
    if (price.verdict == KernelForm::Verdict::Impossible) return;
    if (price.verdict == KernelForm::Verdict::Kernel)
      reach(next, settled(facts_, open, node), path.seconds + price.seconds, {node, true, path.step});
    if (facts_[node].must_be_stored) return;
    Open grown = open;
    grown.push_back(node);
    reach(next, settled(facts_, grown, node), path.seconds, {node, false, path.step});
  }

  void reach(States& next, Open open, double seconds, const Step& step) {
    const auto [state, is_new] = next.try_emplace(std::move(open));
    if (!is_new && state->second.seconds <= seconds) return;
    state->second = {seconds, static_cast<int>(trail_.size())};
    trail_.push_back(step);
  }

  /// States that have left work for later look cheap: they are compared with what they have open priced as one
  /// kernel for each node that is still to be read.
  double estimate(const Open& open, const Path& path, NodeId done) {
    double seconds = path.seconds;
    for (NodeId node : open) {
      const auto& consumers = facts_[node].consumers;
      if (std::none_of(consumers.begin(), consumers.end(), [&](NodeId consumer) { return consumer > done; })) continue;
      const Pricer::Price& price = pricer_.price_of(closure_in(facts_, open, node));
      if (price.verdict == KernelForm::Verdict::Kernel) seconds += price.seconds;
    }
    return seconds;
  }

  States cut(States states, NodeId done) {
    if (states.size() <= beam_) return states;
    std::vector<std::pair<double, States::iterator>> ranked;
    for (auto state = states.begin(); state != states.end(); ++state)
      ranked.emplace_back(estimate(state->first, state->second, done), state);
    std::nth_element(ranked.begin(), ranked.begin() + static_cast<long>(beam_), ranked.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t i = beam_; i < ranked.size(); ++i)
      if (!ranked[i].second->first.empty()) states.erase(ranked[i].second);  // a way on is never lost
    return states;
  }

  Stored read_back(const Path& path) const {
    Stored stored(facts_.size(), true);
    for (int step = path.step; step >= 0; step = trail_[step].before) stored[trail_[step].node] = trail_[step].stored;
    return stored;
  }

  Pricer& pricer_;
  const std::vector<NodeFacts>& facts_;
  size_t beam_;
  std::vector<Step> trail_;
};

}  // namespace

Stored cheapest(Pricer& pricer, size_t beam) { return Search(pricer, beam).run(); }

}  // namespace cryolite::plan
