#include "schedule/gpu_kernels.h"

#include <algorithm>
#include <map>
#include <set>

/// conv_sum ──► conv ──► relu ──► y (output)       one kernel: y at root, conv_sum in its threads
///
/// x_max ──► x_sum ──► y                           one kernel: y at root, x_max and x_sum once a row
///   └──────────────────┘
///
/// conv_sum ──► conv ──► pool_max ──► y            one kernel where the windows only touch: conv_sum once a block;
///                                                 two kernels where they overlap: conv is stored
///
/// Every reduction looks at its readers. Are all of them in one kernel, and do they read it at their own position
/// (or at their row's, or in windows that touch), it is computed there; else the value it belongs to becomes a
/// kernel of its own.
namespace cryolite::schedule::gpu {
namespace {

using Halide::Expr;
using Halide::Internal::Call;
using Halide::Internal::Definition;
using Halide::Internal::Function;
using Halide::Internal::Variable;

class Calls : public Halide::Internal::IRVisitor {
 public:
  std::vector<const Call*> found;

 private:
  using IRVisitor::visit;
  void visit(const Call* op) override {
    if (op->call_type == Call::Halide || op->call_type == Call::Image) found.push_back(op);
    IRVisitor::visit(op);
  }
};

std::vector<Expr> expressions_of(const Definition& definition) {
  std::vector<Expr> all = definition.values();
  all.insert(all.end(), definition.args().begin(), definition.args().end());
  return all;
}

std::vector<Definition> definitions_of(const Function& function) {
  std::vector<Definition> all{function.definition()};
  for (const Definition& update : function.updates()) all.push_back(update);
  return all;
}

// Output channels of a group of a convolution that make it worth a tile.
constexpr int64_t least_shared_columns = 8;

/// What decides the index at which one axis of a Func is read.
enum class At {
  Own,    ///< the reader's loop of the same name
  Fixed,  ///< a constant, and the axis has extent 1: the same place for all readers
  Other,
};

/// One entry for each axis of the Func read, innermost first.
using Pattern = std::vector<At>;

Pattern pattern_of(const Call& call, const std::vector<Axis>& read, const std::vector<Axis>& reader) {
  Pattern pattern;
  for (size_t i = 0; i < call.args.size(); ++i) {
    const auto* variable = call.args[i].as<Variable>();
    const bool is_loop = variable && std::any_of(reader.begin(), reader.end(),
                                                 [&](const Axis& axis) { return axis.name == variable->name; });
    if (is_loop && variable->name == read[i].name) pattern.push_back(At::Own);
    else if (read[i].extent <= 1 && Halide::Internal::is_const(call.args[i])) pattern.push_back(At::Fixed);
    else pattern.push_back(At::Other);
  }
  return pattern;
}

/// The pattern in which a reader reads `deep` through `middle`, which is inlined into it.
Pattern composed(const Pattern& to_middle, const std::vector<Axis>& middle, const Pattern& to_deep,
                 const std::vector<Axis>& deep) {
  Pattern pattern = to_deep;
  for (size_t i = 0; i < deep.size(); ++i) {
    if (to_deep[i] != At::Own) continue;
    for (size_t m = 0; m < middle.size(); ++m)
      if (middle[m].name == deep[i].name) pattern[i] = to_middle[m];
    if (pattern[i] == At::Fixed && deep[i].extent > 1) pattern[i] = At::Other;
  }
  return pattern;
}

Reading reading_of(const Pattern& pattern, const std::vector<Axis>& read, const std::vector<Axis>& reader) {
  std::set<std::string> left;
  for (const Axis& axis : reader)
    if (axis.extent > 1) left.insert(axis.name);
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == At::Other) return Reading::Other;
    if (pattern[i] == At::Own) left.erase(read[i].name);
  }
  return left.empty() ? Reading::Same : Reading::Row;
}

std::vector<Axis> axes_of(const ops::Stage& stage) {
  const auto extents = graph::storage_extents(stage.laid.layout, stage.extents);
  std::vector<Axis> axes;
  if (stage.laid.layout.block_axis >= 0) axes.push_back({stage.laid.vars[0].name(), stage.laid.layout.block});
  for (size_t d = 0; d < extents.size(); ++d)
    axes.push_back({stage.laid.vars[axes.size()].name(), extents[extents.size() - 1 - d]});
  return axes;
}

int64_t extent_of(const Halide::Internal::ReductionVariable& variable) {
  const Expr extent = Halide::Internal::simplify(variable.extent);
  const auto constant = Halide::Internal::as_const_int(extent);
  return constant ? *constant : 1;
}

std::vector<std::vector<Axis>> updates_of(const ops::Stage& stage) {
  std::vector<std::vector<Axis>> updates;
  const Function function = stage.laid.func.function();
  for (size_t u = 0; u < function.updates().size(); ++u) {
    std::vector<Axis> axes;
    const auto& variables = function.update(static_cast<int>(u)).schedule().rvars();
    const auto& names = stage.updates.at(u).rvars;
    for (size_t d = 0; d < variables.size() && d < names.size(); ++d)
      axes.push_back({names[d].first, extent_of(variables[d])});
    updates.push_back(std::move(axes));
  }
  return updates;
}

using Edges = std::vector<std::pair<int, Pattern>>;

/// Keeps the worst of what is known of each axis.
void add_edge(Edges& edges, int producer, const Pattern& pattern) {
  for (auto& [known, worst] : edges)
    if (known == producer) {
      for (size_t i = 0; i < worst.size(); ++i) worst[i] = std::max(worst[i], pattern[i]);
      return;
    }
  edges.emplace_back(producer, pattern);
}

/// What each stage calls itself.
std::vector<Edges> direct_reads(const std::vector<StageInfo>& stages) {
  std::map<std::string, int> index;
  for (size_t i = 0; i < stages.size(); ++i) index[stages[i].stage->laid.func.name()] = static_cast<int>(i);
  std::vector<Edges> reads(stages.size());
  for (size_t i = 0; i < stages.size(); ++i) {
    for (const Definition& definition : definitions_of(stages[i].stage->laid.func.function()))
      for (const Expr& expression : expressions_of(definition)) {
        Calls calls;
        expression.accept(&calls);
        for (const Call* call : calls.found) {
          const auto callee = index.find(call->name);
          if (callee == index.end() || callee->second == static_cast<int>(i)) continue;
          add_edge(reads[i], callee->second, pattern_of(*call, stages[callee->second].axes, stages[i].axes));
        }
      }
  }
  return reads;
}

class Cutter {
 public:
  Cutter(const graph::Graph& graph, const lower::LoweredGroup& group) : graph_(graph), group_(group) {
    for (const ops::Stage& stage : group.stages) {
      StageInfo info;
      info.stage = &stage;
      info.axes = axes_of(stage);
      info.updates = updates_of(stage);
      stages_.push_back(std::move(info));
    }
    direct_ = direct_reads(stages_);
    roots_.insert(group.outputs.begin(), group.outputs.end());
  }

  Kernels run() {
    while (!place_all()) {
    }
    Kernels result{stages_, {}};
    for (int root : roots_) result.kernels.push_back(kernel_of(root));
    return result;
  }

 private:
  /// Gives every stage its role; false where a new root was found on the way.
  bool place_all() {
    for (int i = 0; i < static_cast<int>(stages_.size()); ++i) {
      StageInfo& info = stages_[i];
      info.role = roots_.count(i) ? Role::Root : Role::Inline;
      info.kernel = roots_.count(i) ? i : -1;
    }
    look_through_inlined();
    for (int i = static_cast<int>(stages_.size()) - 1; i >= 0; --i) {
      StageInfo& info = stages_[i];
      if (info.role == Role::Root || !info.reduces() || !is_read(i)) continue;
      if (!place(i)) {
        roots_.insert(storable(i));
        return false;
      }
    }
    return separate_rows_from_threads() && leave_tiles_alone();
  }

  /// What stages read of those that are computed, directly or through inlined ones.
  void look_through_inlined() {
    std::vector<Edges> edges(stages_.size());
    for (int i = 0; i < static_cast<int>(stages_.size()); ++i) {
      for (const auto& [middle, pattern] : direct_[i]) {
        if (stages_[middle].role == Role::Root || stages_[middle].reduces()) {
          add_edge(edges[i], middle, pattern);
          continue;
        }
        for (const auto& [deep, inner] : edges[middle])
          add_edge(edges[i], deep, composed(pattern, stages_[middle].axes, inner, stages_[deep].axes));
      }
      stages_[i].reads.clear();
      for (const auto& [producer, pattern] : edges[i])
        stages_[i].reads.emplace_back(producer, reading_of(pattern, stages_[producer].axes, stages_[i].axes));
    }
  }

  bool is_placed(int i) const { return stages_[i].role != Role::Inline; }

  bool is_read(int i) const {
    for (const StageInfo& reader : stages_)
      for (const auto& [producer, reading] : reader.reads)
        if (producer == i && (reader.role == Role::Root || reader.reduces())) return true;
    return false;
  }

  /// A role for a reduction that fits all of its readers, which have theirs.
  bool place(int i) {
    int kernel = -1;
    Role role = Role::Thread;
    for (int r = 0; r < static_cast<int>(stages_.size()); ++r) {
      const StageInfo& reader = stages_[r];
      if (!is_placed(r)) continue;
      for (const auto& [producer, reading] : reader.reads) {
        if (producer != i) continue;
        if (kernel >= 0 && kernel != reader.kernel) return false;
        kernel = reader.kernel;
        const bool is_root_reader = reader.role == Role::Root && !reader.reduces();
        if (reading == Reading::Other && may_be_tile(i, r)) {
          role = Role::Tile;
          continue;
        }
        if (reading == Reading::Other || (!is_root_reader && reader.role == Role::Root)) return false;
        if (reader.role == Role::Row || (is_root_reader && reading == Reading::Row)) role = Role::Row;
        if (reader.role == Role::Thread && reading != Reading::Same) return false;
        if (reader.role == Role::Tile) return false;
      }
    }
    if (role == Role::Row && read_by_thread(i)) return false;
    stages_[i].role = role;
    stages_[i].kernel = kernel;
    return true;
  }

  const graph::Node& graph_node_of(int i) const {
    for (const auto& node : group_.nodes)
      if (std::find(node.stages.begin(), node.stages.end(), i) != node.stages.end())
        for (const graph::Node& candidate : graph_.nodes)
          if (candidate.name == node.name) return candidate;
    return graph_.nodes.front();
  }

  /// A contraction that one pool alone reads, in windows that touch.
  bool may_be_tile(int i, int reader) const {
    if (stages_[reader].role != Role::Thread || stages_[reader].updates.size() != 1) return false;
    for (int r = 0; r < static_cast<int>(stages_.size()); ++r)
      if (r != reader && is_placed(r))
        for (const auto& [producer, reading] : stages_[r].reads)
          if (producer == i) return false;
    const graph::Node& node = graph_node_of(i);
    return node.op_type == "Conv" && is_contraction(graph_, node) && is_associative(*stages_[i].stage) &&
           !touching_windows(graph_, graph_node_of(reader)).empty();
  }

  /// A kernel around a tile has nothing else in it but the pool.
  bool leave_tiles_alone() {
    for (int i = 0; i < static_cast<int>(stages_.size()); ++i) {
      if (stages_[i].role != Role::Tile) continue;
      int others = 0;
      for (const StageInfo& other : stages_) others += other.kernel == stages_[i].kernel && other.role != Role::Root;
      if (others != 2) {
        roots_.insert(storable(i));
        return false;
      }
    }
    return true;
  }

  bool read_by_thread(int i) const {
    for (const StageInfo& reader : stages_)
      if (reader.role == Role::Thread)
        for (const auto& [producer, reading] : reader.reads)
          if (producer == i) return true;
    return false;
  }

  /// What to store in place of a reduction: the value of its node, if that is neither stored yet nor the
  /// reduction itself.
  int storable(int i) const {
    for (const auto& node : group_.nodes) {
      if (std::find(node.stages.begin(), node.stages.end(), i) == node.stages.end()) continue;
      const int value = node.stages.back();
      if (value != i && !roots_.count(value) && !stages_[value].reduces()) return value;
    }
    return i;
  }

  /// A kernel is built either around rows or around threads.
  bool separate_rows_from_threads() {
    for (int i = 0; i < static_cast<int>(stages_.size()); ++i) {
      if (stages_[i].role != Role::Thread) continue;
      for (const StageInfo& other : stages_)
        if (other.role == Role::Row && other.kernel == stages_[i].kernel) {
          roots_.insert(storable(i));
          return false;
        }
    }
    return true;
  }

  Kernel kernel_of(int root) const {
    Kernel kernel{root, {}, {}, std::nullopt};
    for (int i = 0; i < static_cast<int>(stages_.size()); ++i) {
      if (stages_[i].kernel != root) continue;
      if (stages_[i].role == Role::Thread) kernel.threads.push_back(i);
      if (stages_[i].role == Role::Row) kernel.rows.push_back(i);
      if (stages_[i].role == Role::Tile) kernel.tile = i;
    }
    return kernel;
  }

  const graph::Graph& graph_;
  const lower::LoweredGroup& group_;
  std::vector<StageInfo> stages_;
  std::vector<Edges> direct_;
  std::set<int> roots_;
};

bool is_self(const Expr& expression, const std::string& name) {
  const auto* call = expression.as<Call>();
  return call && call->name == name;
}

template <class Operation>
bool combines_self(const Expr& value, const std::string& name) {
  const auto* operation = value.as<Operation>();
  return operation && (is_self(operation->a, name) != is_self(operation->b, name));
}

}  // namespace

int64_t StageInfo::elements() const {
  int64_t product = 1;
  for (const Axis& axis : axes) product *= axis.extent;
  return product;
}

int64_t StageInfo::terms() const {
  int64_t product = 1;
  if (!updates.empty())
    for (const Axis& axis : updates[0]) product *= axis.extent;
  return product;
}

Kernels kernels_of(const graph::Graph& graph, const lower::LoweredGroup& group) { return Cutter(graph, group).run(); }

std::vector<int64_t> touching_windows(const graph::Graph& graph, const graph::Node& pool) {
  if (pool.op_type != "MaxPool" && pool.op_type != "AveragePool") return {};
  if (pool.outputs.size() > 1 && pool.outputs[1] != graph::absent) return {};
  const auto in = graph.input_type(pool, 0).extents(), out = graph.output_type(pool).extents();
  const auto kernel = graph::ints_attribute(pool, "kernel_shape");
  auto strides = graph::ints_attribute(pool, "strides", std::vector<int64_t>(kernel.size(), 1));
  const auto is_over = [](int64_t limit) { return [limit](int64_t value) { return value > limit; }; };
  const auto pads = graph::ints_attribute(pool, "pads"), dilations = graph::ints_attribute(pool, "dilations");
  if (std::any_of(pads.begin(), pads.end(), is_over(0)) || std::any_of(dilations.begin(), dilations.end(), is_over(1)))
    return {};
  for (size_t axis = 0; axis < kernel.size(); ++axis)
    if (kernel[axis] != strides[axis] || out[2 + axis] * strides[axis] > in[2 + axis]) return {};
  std::reverse(strides.begin(), strides.end());
  return strides;
}

bool is_contraction(const graph::Graph& graph, const graph::Node& node) {
  if (node.op_type == "MatMul" || node.op_type == "Gemm") return true;
  if (node.op_type != "Conv") return false;
  const int64_t groups = graph::int_attribute(node, "group", 1);
  const int64_t columns = graph.input_type(node, 1).extents()[0] / groups;
  return groups == 1 || columns % least_shared_columns == 0;
}

bool is_associative(const ops::Stage& stage) {
  namespace ir = Halide::Internal;
  const Function function = stage.laid.func.function();
  if (function.updates().size() != 1 || function.update(0).values().size() != 1) return false;
  const Expr value = function.update(0).values()[0];
  const std::string& name = function.name();
  return combines_self<ir::Add>(value, name) || combines_self<ir::Mul>(value, name) ||
         combines_self<ir::Min>(value, name) || combines_self<ir::Max>(value, name);
}

std::vector<std::string> kept_loops(const ops::Stage& stage, int update) {
  const Function function = stage.laid.func.function();
  std::vector<std::string> kept;
  const auto& arguments = function.update(update).args();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto* variable = arguments[i].as<Variable>();
    if (variable && variable->name == stage.laid.vars[i].name()) kept.push_back(variable->name);
  }
  return kept;
}

bool reduces_innermost(const ops::Stage& stage) {
  const Function function = stage.laid.func.function();
  if (function.updates().empty()) return false;
  for (const Expr& value : function.update(0).values()) {
    Calls calls;
    value.accept(&calls);
    for (const Call* call : calls.found) {
      if (call->name == function.name() || call->args.empty()) continue;
      for (const auto& variable : function.update(0).schedule().rvars())
        if (Halide::Internal::expr_uses_var(call->args[0], variable.var)) return true;
    }
  }
  return false;
}

}  // namespace cryolite::schedule::gpu
