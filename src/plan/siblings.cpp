#include "plan/siblings.h"

#include <fmt/format.h>

#include "plan/sibling_family.h"

///     x ──► MatMul(wq) ──► Add ──► q            x ──► MatMul([wq wk wv]) ──► Add ──► Split ──► q
///     ├──► MatMul(wk) ───────────► k     →                                            ├─────► k
///     └──► MatMul(wv) ──► Add ──► v                                                   └─────► v
///
/// Split is a view, so that nothing is copied: consumers read their part where the contraction wrote it.
///
/// Of an Inception module, the branch that goes straight into the Concat is put at that end of the merged result
/// where the other parts of the Concat can follow, and both lie in one buffer:
///
///     Concat(s0, b1, b2), s0 = Split(s)[0], the others read before  →  Slice(Concat(s', b1, b2)), s' = [others s0]
namespace cryolite::plan {
namespace {

using graph::Graph;
using graph::Node;
using siblings::Branch;
using siblings::Family;

struct Prices {
  double apart = 0, together = 0;
};

Prices prices_of(const Graph& graph, const Family& family, const device::Device& device) {
  Prices prices;
  double compute = 0;
  int64_t weight_bytes = 0, out_bytes = 0;
  const double read = cost::transfer_seconds(
      cost::bytes_of(graph, graph.nodes[family.branches[0].node].inputs[siblings::data]), device);
  for (const Branch& branch : family.branches) {
    const Node& node = graph.nodes[branch.node];
    const int64_t own_weights = cost::bytes_of(graph, node.inputs[siblings::weights]), own_out = cost::bytes_of(graph, branch.tip);
    const double own = cost::compute_seconds(graph, node, static_cast<double>(cost::flops_of(graph, branch.node)), device);
    prices.apart += cost::kernel_seconds(
        own, read + cost::transfer_seconds(own_weights, device) + cost::transfer_seconds(own_out, device), device);
    compute += own;
    weight_bytes += own_weights;
    out_bytes += own_out;
  }
  prices.together = cost::kernel_seconds(
      compute, read + cost::transfer_seconds(weight_bytes, device) + cost::transfer_seconds(out_bytes, device), device);
  return prices;
}

}  // namespace

Graph merge_siblings(Graph graph, const device::Device& device, std::vector<Decision>& decisions) {
  const size_t count = siblings::families_of(graph).size();
  for (size_t f = 0, done = 0; f < count && done < count; ++done) {
    const graph::Uses uses = graph::uses_of(graph);
    std::vector<Family> families = siblings::families_of(graph);
    if (f >= families.size()) break;
    Family& family = families[f];
    siblings::absorb_epilogues(graph, uses, family);
    const auto arrangement = siblings::arrange(graph, uses, family);
    const Prices prices = prices_of(graph, family, device);
    const bool pays = arrangement && prices.together < prices.apart;
    std::string why = fmt::format("one contraction is predicted to cost {:.3g} us, {} apart {:.3g} us",
                                  prices.together * 1e6, family.branches.size(), prices.apart * 1e6);
    if (!arrangement) why += "; their results would have to be copied to where they are wanted";
    for (size_t b = 1; b < family.branches.size(); ++b)
      decisions.push_back({graph.nodes[family.branches[0].node].name, graph.nodes[family.branches[b].node].name, pays,
                           "horizontal", why});
    if (!pays) {
      ++f;
      continue;
    }
    siblings::join(graph, family, *arrangement);
    graph = graph::tidied(std::move(graph));
  }
  return graph;
}

}  // namespace cryolite::plan
