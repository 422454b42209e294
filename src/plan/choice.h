#pragma once
#include <map>
#include <vector>

#include "plan/kernel_form.h"

/// The space in which plans are sought. A plan is one bit a node: is its result stored in memory? What is not stored
/// is computed inside of every kernel that reads it, so each stored node names a kernel: itself and all that it needs
/// that is not stored (its closure). One place for every question of the seed: to fuse an edge is not to store its
/// producer, and with several consumers that is to recompute it in each.
namespace cryolite::plan {

using Stored = std::vector<bool>;  ///< by node

/// The kernel of `node`: its closure, ascending.
std::vector<graph::NodeId> closure_of(const FusionRules& rules, const Stored& stored, graph::NodeId node);

/// Predicted seconds of kernels, each set of nodes priced once.
class Pricer {
 public:
  Pricer(const FusionRules& rules, const device::Device& device);
  struct Price {
    KernelForm::Verdict verdict = KernelForm::Verdict::Kernel;
    double seconds = 0;  ///< of a kernel; infinity where it is none
  };
  /// `nodes` ascending, the last one the result.
  const Price& price_of(const std::vector<graph::NodeId>& nodes);
  /// Seconds of the whole plan; infinity where one of its kernels is impossible.
  double seconds_of(const Stored& stored);
  const FusionRules& rules() const { return rules_; }

 private:
  Price computed(const std::vector<graph::NodeId>& nodes) const;

  const FusionRules& rules_;
  const device::Device& device_;
  std::vector<double> compute_;   ///< by node, seconds of one evaluation
  std::vector<double> kept_;      ///< by node, seconds: data computed in the kernel of a convolution
  std::vector<double> transfer_;  ///< by value, seconds
  std::map<std::vector<graph::NodeId>, Price> known_;
};

/// The cheapest choice of all, by dynamic programming along the running order; states are the unstored nodes that
/// later nodes may still read. Exact as long as no more than `beam` states are alive at a node (every region of up to
/// twelve nodes); beyond, the cheapest are followed.
Stored cheapest(Pricer& pricer, size_t beam);

/// The seed's rules, one after the other: fast, predictable, and no search.
Stored greedy(Pricer& pricer);

Partition partition_of(const FusionRules& rules, const Stored& stored);
Stored stored_of(const FusionRules& rules, const Partition& partition);

/// What the plan would cost with the bit of one node turned: the kernels that it concerns, as they are and as they
/// would be, seconds; `turned` is infinity where no schedule makes those kernels, and `why` says why.
struct Alternative {
  double as_is = 0, turned = 0;
  const char* why = "";
};
Alternative turn(Pricer& pricer, const Stored& stored, graph::NodeId node);

/// Why each edge of the graph is as it is. The plan's groups are those of `stored`.
std::vector<Decision> explain(const Plan& plan, const graph::Uses& uses, Pricer& pricer, const Stored& stored);

}  // namespace cryolite::plan
