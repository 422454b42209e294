#include "plan/kernel_form.h"

#include <algorithm>
#include <bit>
#include <set>

/// A kernel has one result, the last of its nodes. Around its anchor, the reduction or contraction whose loops it is
/// built around, lie three kinds of pointwise nodes:
///
///     x ──► prologue ──► ANCHOR ──► epilogue ──► result
///                 z ──► side ─────────┘
///
/// The epilogue walks the anchor's result at the same index; a prologue is computed where the anchor reads it.
/// Two anchors meet where the first can be computed at a tile of the second: see chain_recompute.
namespace cryolite::plan {

using graph::NodeId;
using ops::Kernel;

namespace {

// Halide inlines by substitution, and its code grows with every input of a kernel: beyond these a kernel takes
// minutes to compile or spills, and saves nothing more.
constexpr size_t largest_group = 48;
constexpr size_t most_inputs = 24;
constexpr size_t most_anchors = 8;
// Elements: up to it, waking more threads takes longer than walking the row.
constexpr int64_t longest_single_row = 60'000;

KernelForm impossible(const char* why) { return {KernelForm::Verdict::Impossible, why, graph::absent, {}}; }
int64_t rows_before(const std::vector<graph::Dim>& dims, int axis) {
  int64_t rows = 1;
  for (int a = 0; a < axis; ++a) rows *= dims[a].extent;
  return rows;
}


}  // namespace

/// The nodes of a kernel with what each has to do with the anchors.
struct FusionRules::Members {
  std::span<const NodeId> nodes;
  std::vector<NodeId> anchors;     ///< ascending
  std::vector<unsigned> behind;    ///< by member: bit i is set where it depends on anchor i (or is it)

  int position(NodeId node) const {
    const auto found = std::lower_bound(nodes.begin(), nodes.end(), node);
    return found != nodes.end() && *found == node ? static_cast<int>(found - nodes.begin()) : -1;
  }
};

FusionRules::FusionRules(const graph::Graph& graph, const graph::Uses& uses, const Views& views,
                         const schedule::Machine& machine, const NodeNames& stored)
    : graph_(graph), uses_(uses), machine_(machine), facts_(facts_of(graph, uses, views)) {
  for (size_t n = 0; n < facts_.size(); ++n)
    if (stored.count(graph.nodes[n].name)) facts_[n].must_be_stored = true;
}

KernelForm FusionRules::form_of(std::span<const NodeId> nodes) const {
  const NodeId last = nodes.back();
  if (nodes.size() == 1) return {KernelForm::Verdict::Kernel, "", last, {}};
  if (nodes.size() > largest_group) return impossible("the kernel would have too many nodes");
  std::set<graph::ValueId> inputs;
  Members members{nodes, {}, std::vector<unsigned>(nodes.size(), 0)};
  for (size_t i = 0; i < nodes.size(); ++i) {
    const NodeFacts& facts = facts_[nodes[i]];
    if (facts.is_view || facts.kernel == Kernel::Extern) return impossible("an opaque node or a view is a barrier");
    if (facts.outputs != 1 && nodes[i] != last) return impossible("a node of several results ends its kernel");
    if (facts.kernel != Kernel::Pointwise) {
      members.behind[i] |= 1u << members.anchors.size();
      members.anchors.push_back(nodes[i]);
      if (members.anchors.size() > most_anchors) return impossible("no schedule nests so many reductions");
    }
    for (NodeId producer : facts.producers)
      if (const int p = members.position(producer); p >= 0) members.behind[i] |= members.behind[p];
    for (graph::ValueId value : facts.reads)
      if (uses_.producer[value] == graph::absent || members.position(uses_.producer[value]) < 0) inputs.insert(value);
  }
  if (inputs.size() > most_inputs) return impossible("the kernel would have too many inputs");
  if (facts_[last].outputs != 1 && !members.anchors.empty())
    return impossible("a node of several results walks on its own");
  KernelForm form{KernelForm::Verdict::Kernel, "", last, {}};
  const bool are_rows = walks_rows(members);
  const bool is_contraction = !members.anchors.empty() && facts_[members.anchors[0]].kernel == Kernel::Contraction;
  switch (members.anchors.size()) {
    case 0: break;
    case 1: form = are_rows ? with_rows(members) : with_one_anchor(members); break;
    case 2: form = are_rows ? with_rows(members) : is_contraction ? with_attention(members) : with_chain(members); break;
    default: form = are_rows ? with_rows(members) : with_attention(members); break;
  }
  if (form.verdict == KernelForm::Verdict::Kernel) count_evaluations(members, form);
  return form;
}

/// Several reductions of rows, or one whose rows are walked again for the result.
bool FusionRules::walks_rows(const Members& members) const {
  if (members.anchors.empty()) return false;
  for (NodeId anchor : members.anchors)
    if (facts_[anchor].row_axis < 0) return false;
  return members.anchors.size() > 1 || (facts_[members.anchors[0]].kernel == Kernel::Reduce &&
                                        facts_[members.nodes.back()].shape != facts_[members.anchors[0]].shape);
}

KernelForm FusionRules::with_one_anchor(const Members& members) const {
  const NodeId anchor = members.anchors[0];
  const Kernel kernel = facts_[anchor].kernel;
  for (size_t i = 0; i < members.nodes.size(); ++i) {
    const NodeId id = members.nodes[i];
    if (id == anchor) continue;
    const NodeFacts& facts = facts_[id];
    if (members.behind[i] != 0) {  // epilogue
      if (!facts.is_elementwise || facts.shape != facts_[anchor].shape)
        return impossible("the result is walked at other indices than it is computed");
      continue;
    }
    if (kernel != Kernel::Reduce && !facts.is_elementwise)
      return impossible("it moves elements, and the kernel reads each of them more than once");
    if (std::count(facts.consumers.begin(), facts.consumers.end(), anchor) == 0) continue;
    if (const char* why = why_no_prologue(id, anchor)) return impossible(why);
  }
  return {KernelForm::Verdict::Kernel, "", anchor, {}};
}

/// Pointwise work read by an anchor. Windows and contractions read an element many times: convolutions do so through a
/// copy of their data that is computed once a tile, which weights do not have.
const char* FusionRules::why_no_prologue(NodeId producer, NodeId anchor) const {
  switch (facts_[anchor].kernel) {
    case Kernel::Pool:
    case Kernel::Rows:
    case Kernel::Reduce: return nullptr;
    case Kernel::Convolution: {
      const auto& inputs = graph_.nodes[anchor].inputs;
      const graph::ValueId produced = graph_.nodes[producer].outputs[0];
      const bool is_data_only = inputs[0] == produced && std::count(inputs.begin(), inputs.end(), produced) == 1;
      return is_data_only ? nullptr : "weights that are computed would be so for every tile";
    }
    default: return "a contraction reads each element more than once";
  }
}

KernelForm FusionRules::with_chain(const Members& members) const {
  const NodeId first = members.anchors[0], second = members.anchors[1];
  if ((members.behind[members.position(second)] & 1u) == 0)
    return impossible("two reductions that are independent of each other");
  if (chain_recompute(graph_, graph_.nodes[first], graph_.nodes[second], machine_) < 0)
    return impossible("no schedule computes a tile of the one for a tile of the other");
  for (size_t i = 0; i < members.nodes.size(); ++i) {
    const NodeId id = members.nodes[i];
    if (id == second) continue;
    const NodeFacts& facts = facts_[id];
    const bool is_before_second = (members.behind[i] & 2u) == 0;
    const auto is_reader = [&](NodeId consumer) {
      const int c = members.position(consumer);
      return c >= 0 && (consumer == second || (members.behind[c] & 2u) != 0);
    };
    const bool crosses = is_before_second && std::any_of(facts.consumers.begin(), facts.consumers.end(), is_reader);
    if ((members.behind[i] & 1u) != 0 && crosses) {  // the tile itself
      const auto& inputs = graph_.nodes[second].inputs;
      const auto readers = std::count_if(facts.consumers.begin(), facts.consumers.end(), is_reader);
      if (readers != 1 || inputs[0] != graph_.nodes[id].outputs[0] || std::count(inputs.begin(), inputs.end(), inputs[0]) != 1)
        return impossible("the tile is read by more than the second reduction");
    }
    if (id == first) continue;
    if (!facts.is_elementwise) return impossible("it moves elements between the loops of two reductions");
    if (members.behind[i] != 0 && facts.shape != facts_[is_before_second ? first : second].shape)
      return impossible("the result is walked at other indices than it is computed");
    if (members.behind[i] != 0) continue;
    if (std::count(facts.consumers.begin(), facts.consumers.end(), second) > 0)
      return impossible("weights that are computed would be so for every tile");
    if (std::count(facts.consumers.begin(), facts.consumers.end(), first) == 0) continue;
    if (const char* why = why_no_prologue(id, first)) return impossible(why);
  }
  return {KernelForm::Verdict::Kernel, "", facts_[first].flops > facts_[second].flops ? first : second, {}};
}

/// From the result backwards: a pointwise node is evaluated where its readers are; before an anchor, once an element
/// or as often as the anchor passes over it.
void FusionRules::count_evaluations(const Members& members, KernelForm& form) const {
  const bool keeps_scores = members.anchors.size() > 1 && facts_[members.anchors[0]].kernel == Kernel::Contraction;
  if (keeps_scores || walks_rows(members)) return count_passes(members, keeps_scores, form);
  std::vector<double> evaluations(members.nodes.size(), 0);
  form.recompute.assign(members.nodes.size(), 1);
  const double chained = members.anchors.size() == 2
                             ? chain_recompute(graph_, graph_.nodes[members.anchors[0]],
                                               graph_.nodes[members.anchors[1]], machine_)
                             : 1;
  for (size_t i = members.nodes.size(); i-- > 0;) {
    const NodeFacts& facts = facts_[members.nodes[i]];
    const double elements = static_cast<double>(facts.elements);
    double& count = evaluations[i];
    for (NodeId consumer : facts.consumers) {
      const int c = members.position(consumer);
      if (c < 0) continue;
      double reads = evaluations[c];
      if (facts_[consumer].kernel != Kernel::Pointwise)
        reads = elements * reads_of(consumer) * (members.anchors.size() > 1 && consumer == members.anchors[0] ? chained : 1);
      count = std::max(count, reads);
    }
    if (facts.kernel != Kernel::Pointwise || count == 0) {
      const bool is_tile = members.anchors.size() > 1 && members.nodes[i] == members.anchors[0];
      count = elements * (is_tile ? chained : 1);
    }
    form.recompute[i] = elements > 0 ? count / elements : 1;
  }
}

/// Of rows: what is not kept is evaluated anew for each statistic that needs it, and for the result. Schedules keep what
/// is dear, and the scores that a contraction gives.
void FusionRules::count_passes(const Members& members, bool keeps_scores, KernelForm& form) const {
  const graph::Node& reduction = graph_.nodes[members.anchors[keeps_scores ? 1 : 0]];
  const int64_t row_elements = graph_.input_type(reduction, 0).elements();
  std::vector<unsigned> passes(members.nodes.size(), 0);
  form.recompute.assign(members.nodes.size(), 1);
  passes.back() = 1;
  for (size_t i = members.nodes.size(); i-- > 0;) {
    const NodeFacts& facts = facts_[members.nodes[i]];
    for (NodeId consumer : facts.consumers) {
      const int c = members.position(consumer);
      if (c < 0) continue;
      const auto anchor = std::find(members.anchors.begin(), members.anchors.end(), consumer);
      passes[i] |= anchor == members.anchors.end() ? passes[c] : 2u << (anchor - members.anchors.begin());
    }
    if (facts.kernel != Kernel::Pointwise || facts.elements != row_elements) continue;
    const bool is_before_scores = keeps_scores && members.behind[i] <= 1u;
    if (is_before_scores || ops::is_dear(graph_, graph_.nodes[members.nodes[i]])) passes[i] = 1;
    form.recompute[i] = std::popcount(passes[i]);
  }
  if (!keeps_scores) return;
  const NodeId last = members.anchors.back();
  const bool has_values = facts_[last].kernel == Kernel::Contraction;
  const double tiles = attention_recompute(graph_, graph_.nodes[members.anchors[0]],
                                           has_values ? &graph_.nodes[last] : nullptr, machine_);
  for (size_t i = 0; i < members.nodes.size(); ++i)
    if (!has_values || (members.behind[i] >> (members.anchors.size() - 1) & 1u) == 0) form.recompute[i] *= tiles;
}

/// How often an anchor evaluates an element of its data where that is not stored.
double FusionRules::reads_of(NodeId anchor) const {
  switch (facts_[anchor].kernel) {
    case Kernel::Rows: return 2;  // the statistics, then the results
    case Kernel::Pool: {
      double taps = 1;
      for (int64_t extent : graph::ints_attribute(graph_.nodes[anchor], "kernel_shape")) taps *= static_cast<double>(extent);
      const double inputs = static_cast<double>(graph_.input_type(graph_.nodes[anchor], 0).elements());
      return inputs > 0 ? std::max(1.0, taps * static_cast<double>(facts_[anchor].elements) / inputs) : 1;
    }
    default: return 1;
  }
}

/// Reductions of the same rows: each row is worked on as a whole, one statistic after the other, while it is near.
///
///     x ──► mean ──► x - mean ──► squares ──► mean ──► … ──► result, of a row or of its statistics
KernelForm FusionRules::with_rows(const Members& members) const {
  const auto& whole = graph_.input_type(graph_.nodes[members.anchors[0]], 0).dims;
  const int axis = facts_[members.anchors[0]].row_axis;
  std::vector<graph::Dim> statistics = whole;
  std::fill(statistics.begin() + axis, statistics.end(), graph::Dim(1));
  const int64_t elements = graph_.input_type(graph_.nodes[members.anchors[0]], 0).elements();
  if (rows_before(whole, axis) == 1 && elements > longest_single_row)
    return impossible("a single long row is better reduced by all threads");
  for (NodeId id : members.nodes) {
    const NodeFacts& facts = facts_[id];
    const graph::Node& node = graph_.nodes[id];
    const graph::Value& result = graph_.value(node.outputs[0]);
    const bool is_of_rows = result.type.dims == whole || result.type.dims == statistics || facts.elements == 1;
    const bool walks_alike = facts.kernel == Kernel::Pointwise
                                 ? facts.is_elementwise
                                 : facts.row_axis == axis && graph_.input_type(node, 0).dims == whole;
    if (!is_of_rows || !walks_alike) return impossible("two reductions walk other rows");
    if (!result.layout.order.empty()) return impossible("rows do not lie one after the other");
  }
  return {KernelForm::Verdict::Kernel, "", members.anchors.back(), {}};
}

/// A contraction whose rows are reduced, and perhaps contracted again:
///
///     q, k ──► SCORES ──► scale, mask ──► ROW REDUCTIONS ──► … ──► (VALUES ──► epilogue)
KernelForm FusionRules::with_attention(const Members& members) const {
  const auto is_contraction = [&](NodeId id) { return facts_[id].kernel == Kernel::Contraction; };
  const NodeId first = members.anchors.front(), second = members.anchors.back();
  const bool has_second = is_contraction(second);
  const auto reductions = std::span(members.anchors).subspan(1, members.anchors.size() - 1 - has_second);
  if (!is_contraction(first) || reductions.empty() || std::any_of(reductions.begin(), reductions.end(), is_contraction))
    return impossible("no schedule nests these reductions");
  const auto& whole = graph_.output_type(graph_.nodes[first]).dims;
  const int axis = static_cast<int>(whole.size()) - 1;
  if (const char* why = why_no_attention(graph_, graph_.nodes[first], machine_)) return impossible(why);
  std::vector<graph::Dim> statistics = whole;
  statistics[axis] = graph::Dim(1);
  for (size_t i = 0; i < members.nodes.size(); ++i) {
    const NodeId id = members.nodes[i];
    if (id == first) continue;
    const NodeFacts& facts = facts_[id];
    const graph::Node& node = graph_.nodes[id];
    const auto is_read_by = [&](NodeId reader) { return std::count(facts.consumers.begin(), facts.consumers.end(), reader) > 0; };
    const bool is_after_second = has_second && (members.behind[i] >> (members.anchors.size() - 1) & 1u) != 0;
    if (is_read_by(first)) return impossible("a contraction reads each element more than once");
    if (has_second && is_read_by(second) && !is_tile_of(members, id, second))
      return impossible("a contraction reads each element more than once");
    if (id == second && has_second) continue;
    if (facts.kernel != Kernel::Pointwise) {
      if (facts.row_axis != axis || graph_.input_type(node, 0).dims != whole || (members.behind[i] & 1u) == 0)
        return impossible("two reductions walk other rows");
      continue;
    }
    if (!facts.is_elementwise) return impossible("it moves elements between the loops of two reductions");
    if (members.behind[i] == 0) continue;
    const auto& dims = graph_.output_type(node).dims;
    if (is_after_second ? facts.shape != facts_[second].shape : dims != whole && dims != statistics)
      return impossible("the result is walked at other indices than it is computed");
  }
  const char* why = has_second ? nullptr : why_no_rows_alone(machine_);
  return {why ? KernelForm::Verdict::Unfinished : KernelForm::Verdict::Kernel, why ? why : "", first, {}};
}

/// Whether `id` gives the left operand of the second contraction, and nothing else of the kernel reads that.
bool FusionRules::is_tile_of(const Members& members, NodeId id, NodeId second) const {
  const graph::Node& reader = graph_.nodes[second];
  const graph::ValueId value = graph_.nodes[id].outputs[0];
  const auto& dims = graph_.value(value).type.dims;
  if (reader.inputs[0] != value || std::count(reader.inputs.begin(), reader.inputs.end(), value) != 1) return false;
  if (members.behind[members.position(id)] == 0 || dims.size() < 2 || graph::int_attribute(reader, "transA", 0) != 0) return false;
  const auto& result = graph_.output_type(reader).dims;
  if (result.size() != dims.size() || !std::equal(dims.begin(), dims.end() - 1, result.begin())) return false;
  return std::all_of(facts_[id].consumers.begin(), facts_[id].consumers.end(),
                     [&](NodeId consumer) { return consumer == second || members.position(consumer) < 0; });
}

}  // namespace cryolite::plan
