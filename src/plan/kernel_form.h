#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/operator.h"
#include "plan/passes.h"

namespace cryolite::plan {

/// What the rules of fusion look at, worked out once a node.
struct NodeFacts {
  ops::Kernel kernel = ops::Kernel::Extern;
  bool is_view = false;         ///< needs no kernel: another way to look at memory
  bool is_elementwise = false;
  bool must_be_stored = false;  ///< a model output, part of another value's memory, read by a view or an opaque node
  int row_axis = -1;            ///< of a reduction of rows: the first of the last axes, all of which it reduces
  int outputs = 0;              ///< how many are not left out
  int shape = 0;                ///< equal numbers: outputs of equal extents
  int64_t elements = 0;         ///< of the first output
  int64_t flops = 0;
  std::vector<graph::ValueId> reads;      ///< distinct inputs that lie in memory (no compile-time constants)
  std::vector<graph::NodeId> producers;   ///< distinct nodes that compute inputs
  std::vector<graph::NodeId> consumers;   ///< distinct nodes that read outputs
};
std::vector<NodeFacts> facts_of(const graph::Graph& graph, const graph::Uses& uses, const Views& views);

/// What a set of nodes would be as one kernel.
struct KernelForm {
  enum class Verdict {
    Kernel,       ///< one kernel, as it is
    Unfinished,   ///< none as it is, but part of larger ones that are
    Impossible,   ///< part of no kernel
  };
  Verdict verdict = Verdict::Kernel;
  const char* why = "";             ///< of what is not a kernel
  graph::NodeId anchor = graph::absent;
  std::vector<double> recompute;    ///< by member: how often each of its elements is computed; empty: once
};

/// The seed's rules, as a judgement on sets of nodes. Pure functions of the graph and the kind of machine.
class FusionRules {
 public:
  /// `stored`: names of nodes whose results must be stored.
  FusionRules(const graph::Graph& graph, const graph::Uses& uses, const Views& views,
              const schedule::Machine& machine, const NodeNames& stored = {});
  /// `nodes` ascending; the last one is the kernel's result, and each of the others is needed for it.
  KernelForm form_of(std::span<const graph::NodeId> nodes) const;
  const std::vector<NodeFacts>& facts() const { return facts_; }
  const graph::Graph& graph() const { return graph_; }

 private:
  struct Members;
  bool walks_rows(const Members& members) const;
  KernelForm with_one_anchor(const Members& members) const;
  KernelForm with_chain(const Members& members) const;
  KernelForm with_rows(const Members& members) const;
  KernelForm with_attention(const Members& members) const;
  bool is_tile_of(const Members& members, graph::NodeId id, graph::NodeId second) const;
  const char* why_no_prologue(graph::NodeId producer, graph::NodeId anchor) const;
  double reads_of(graph::NodeId anchor) const;
  void count_passes(const Members& members, bool keeps_scores, KernelForm& form) const;
  void count_evaluations(const Members& members, KernelForm& form) const;

  const graph::Graph& graph_;
  const graph::Uses& uses_;
  schedule::Machine machine_;
  std::vector<NodeFacts> facts_;
};

/// How often each element of `first` is computed where a tile of it is made for each tile of `second`, which reads
/// it by windows, rows or contraction; negative where no schedule nests the two on this machine.
double chain_recompute(const graph::Graph& graph, const graph::Node& first, const graph::Node& second,
                       const schedule::Machine& machine);

/// Why no schedule keeps whole rows of a contraction near enough that they can be reduced before they leave; nullptr
/// where one does.
const char* why_no_attention(const graph::Graph& graph, const graph::Node& contraction,
                             const schedule::Machine& machine);
/// Why none does where the rows are stored then, not contracted again; nullptr where one does.
const char* why_no_rows_alone(const schedule::Machine& machine);
/// How often each element of those rows is computed where `values` contracts them again (nullptr: nothing does).
double attention_recompute(const graph::Graph& graph, const graph::Node& contraction, const graph::Node* values,
                           const schedule::Machine& machine);

/// Kernels that read the same input and walk the same rows become one of several results, where that is predicted to
/// cost less. Appends a decision for each pair considered.
void join_companions(const FusionRules& rules, const device::Device& device, Partition& partition,
                     std::vector<Decision>& decisions);

}  // namespace cryolite::plan
