#include "schedule/gpu_reads.h"

#include <algorithm>
#include <map>
#include <set>

namespace cryolite::schedule::gpu {
namespace {

using Halide::Expr;
using Halide::Internal::Call;
using Halide::Internal::Definition;
using Halide::Internal::Function;
using Halide::Internal::Variable;

/// Calls of Funcs and images in an expression, and whether it depends on anything but loops of a Func.
class Visitor : public Halide::Internal::IRVisitor {
 public:
  std::vector<const Call*> calls;
  std::vector<const Variable*> variables;

 private:
  using IRVisitor::visit;
  void visit(const Call* op) override {
    if (op->call_type == Call::Halide || op->call_type == Call::Image) calls.push_back(op);
    IRVisitor::visit(op);
  }
  void visit(const Variable* op) override { variables.push_back(op); }
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

bool is_loop_of(const Variable& variable, const std::vector<Axis>& axes) {
  return std::any_of(axes.begin(), axes.end(), [&](const Axis& axis) { return axis.name == variable.name; });
}

At at_of(const Expr& index, const Axis& read, const std::vector<Axis>& reader) {
  const auto* variable = index.as<Variable>();
  if (variable && variable->name == read.name && is_loop_of(*variable, reader)) return At::Own;
  if (read.extent <= 1 && Halide::Internal::is_const(index)) return At::Fixed;
  Visitor visitor;
  index.accept(&visitor);
  const bool is_of_position =
      visitor.calls.empty() && std::all_of(visitor.variables.begin(), visitor.variables.end(),
                                           [&](const Variable* each) { return is_loop_of(*each, reader); });
  return is_of_position ? At::Single : At::Other;
}

Pattern pattern_of(const Call& call, const std::vector<Axis>& read, const std::vector<Axis>& reader) {
  Pattern pattern;
  for (size_t i = 0; i < call.args.size(); ++i) pattern.push_back(at_of(call.args[i], read[i], reader));
  return pattern;
}

bool has_equal_indices(const Call& a, const Call& b) {
  for (size_t i = 0; i < a.args.size(); ++i)
    if (!Halide::Internal::equal(a.args[i], b.args[i])) return false;
  return true;
}

int64_t extent_of(const Halide::Internal::ReductionVariable& variable) {
  const Expr extent = Halide::Internal::simplify(variable.extent);
  const auto constant = Halide::Internal::as_const_int(extent);
  return constant ? *constant : 1;
}

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

Pattern composed(const Pattern& to_middle, const std::vector<Axis>& middle, const Pattern& to_deep,
                 const std::vector<Axis>& deep) {
  const bool middle_moves = std::count(to_middle.begin(), to_middle.end(), At::Other) > 0;
  Pattern pattern = to_deep;
  for (size_t i = 0; i < deep.size(); ++i) {
    if (to_deep[i] == At::Single && middle_moves) pattern[i] = At::Other;
    if (to_deep[i] != At::Own) continue;
    for (size_t m = 0; m < middle.size(); ++m)
      if (middle[m].name == deep[i].name) pattern[i] = to_middle[m];
    if (pattern[i] == At::Fixed && deep[i].extent > 1) pattern[i] = At::Single;
  }
  return pattern;
}

Reading reading_of(const Pattern& pattern, const std::vector<Axis>& read, const std::vector<Axis>& reader) {
  const At worst = pattern.empty() ? At::Own : *std::max_element(pattern.begin(), pattern.end());
  if (worst == At::Other) return Reading::Other;
  if (worst == At::Single) return Reading::Single;
  std::set<std::string> left;
  for (const Axis& axis : reader)
    if (axis.extent > 1) left.insert(axis.name);
  for (size_t i = 0; i < pattern.size(); ++i)
    if (pattern[i] == At::Own) left.erase(read[i].name);
  return left.empty() ? Reading::Same : Reading::Row;
}

void add_edge(Edges& edges, int producer, const Pattern& pattern) {
  for (auto& [known, worst] : edges)
    if (known == producer) {
      const bool is_single = std::count(pattern.begin(), pattern.end(), At::Single) > 0;
      for (size_t i = 0; i < worst.size(); ++i) {
        worst[i] = std::max(worst[i], pattern[i]);
        if (is_single && pattern[i] != At::Own) worst[i] = At::Other;  // perhaps not the same one
      }
      return;
    }
  edges.emplace_back(producer, pattern);
}

std::vector<Edges> direct_reads(const std::vector<StageInfo>& stages) {
  std::map<std::string, int> index;
  for (size_t i = 0; i < stages.size(); ++i) index[stages[i].stage->laid.func.name()] = static_cast<int>(i);
  std::vector<Edges> reads(stages.size());
  for (size_t i = 0; i < stages.size(); ++i) {
    std::vector<const Call*> seen;
    for (const Definition& definition : definitions_of(stages[i].stage->laid.func.function()))
      for (const Expr& expression : expressions_of(definition)) {
        Visitor visitor;
        expression.accept(&visitor);
        for (const Call* call : visitor.calls) {
          const auto callee = index.find(call->name);
          if (callee == index.end() || callee->second == static_cast<int>(i)) continue;
          const bool is_repeated = std::any_of(seen.begin(), seen.end(), [&](const Call* other) {
            return other->name == call->name && has_equal_indices(*other, *call);
          });
          if (is_repeated) continue;
          seen.push_back(call);
          add_edge(reads[i], callee->second, pattern_of(*call, stages[callee->second].axes, stages[i].axes));
        }
      }
  }
  return reads;
}

std::vector<int> producers_first(const std::vector<Edges>& reads) {
  std::vector<int> order;
  std::vector<bool> is_done(reads.size(), false);
  const auto visit = [&](auto&& self, int stage) -> void {
    if (is_done[stage]) return;
    is_done[stage] = true;
    for (const auto& [producer, pattern] : reads[stage]) self(self, producer);
    order.push_back(stage);
  };
  for (int stage = 0; stage < static_cast<int>(reads.size()); ++stage) visit(visit, stage);
  return order;
}

std::vector<Axis> axes_of(const ops::Stage& stage) {
  const auto extents = graph::storage_extents(stage.laid.layout, stage.extents);
  std::vector<Axis> axes;
  if (stage.laid.layout.block_axis >= 0) axes.push_back({stage.laid.vars[0].name(), stage.laid.layout.block});
  for (size_t d = 0; d < extents.size(); ++d)
    axes.push_back({stage.laid.vars[axes.size()].name(), extents[extents.size() - 1 - d]});
  return axes;
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
    Visitor visitor;
    value.accept(&visitor);
    for (const Call* call : visitor.calls) {
      if (call->name == function.name() || call->args.empty()) continue;
      for (const auto& variable : function.update(0).schedule().rvars())
        if (Halide::Internal::expr_uses_var(call->args[0], variable.var)) return true;
    }
  }
  return false;
}

}  // namespace cryolite::schedule::gpu
