#include "emit/inspect.h"

#include <algorithm>

namespace cryolite::emit {
namespace {

using namespace Halide::Internal;
using Halide::Expr;
using Halide::MemoryType;

/// Halide puts smaller allocations of known size on the stack unless a schedule says otherwise; bytes.
constexpr int64_t largest_on_stack = 16 * 1024;

int64_t constant_or(const Expr& expr, int64_t fallback) {
  const auto value = as_const_int(simplify(expr));
  return value ? *value : fallback;
}

/// Walks one function. Names are bound to the intervals they can take, so that sizes which vary by loop
/// iteration get an upper bound.
class Walk : public IRVisitor {
 public:
  Walk(KernelInfo& info, bool in_parallel) : info_(info), in_parallel_(in_parallel) {}

 private:
  using IRVisitor::visit;

  void visit(const LetStmt* let) override {
    let->value.accept(this);
    const ScopedBinding<Halide::Internal::Interval> bind(scope_, let->name, find_constant_bounds(let->value, scope_));
    let->body.accept(this);
  }

  void visit(const For* loop) override {
    loop->min.accept(this);
    loop->extent.accept(this);
    const auto low = find_constant_bounds(loop->min, scope_);
    const auto high = find_constant_bounds(simplify(loop->min + loop->extent - 1), scope_);
    const ScopedBinding<Halide::Internal::Interval> bind(scope_, loop->name,
                                                         Halide::Internal::Interval(low.min, high.max));
    const bool outer = in_parallel_;
    in_parallel_ = in_parallel_ || loop->for_type == ForType::Parallel;
    loop->body.accept(this);
    in_parallel_ = outer;
  }

  void visit(const Allocate* allocation) override {
    note(*allocation);
    IRVisitor::visit(allocation);
  }

  void note(const Allocate& allocation) {
    const bool is_heap = allocation.memory_type == MemoryType::Heap;
    if (allocation.new_expr.defined() || (!is_heap && allocation.memory_type != MemoryType::Auto)) return;
    int64_t elements = 1;
    bool is_constant = true;
    for (const Expr& extent : allocation.extents) {
      is_constant = is_constant && as_const_int(simplify(extent));
      const auto bounds = find_constant_bounds(extent, scope_);
      const int64_t most = bounds.has_upper_bound() ? constant_or(bounds.max, 0) : 0;
      if (most <= 0) return;  // not bounded: the runtime keeps such blocks from the first run on
      elements *= most;
    }
    const int64_t bytes = (elements + allocation.padding) * allocation.type.bytes();
    if (!is_heap && is_constant && bytes <= largest_on_stack) return;
    info_.scratch.push_back({bytes, in_parallel_});
  }

  void visit(const Call* call) override {
    if (call->name == "halide_copy_to_host") info_.touches_host = true;
    if (call->name.starts_with("halide_") && call->name.ends_with("_run")) note_launch(*call);
    IRVisitor::visit(call);
  }

  /// halide_API_run(module state, kernel name, 3 block counts, 3 thread counts, shared bytes, …)
  void note_launch(const Call& call) {
    DeviceKernel kernel;
    size_t first = 0;
    for (size_t a = 0; a < call.args.size() && first == 0; ++a)
      if (const auto* name = call.args[a].as<StringImm>()) {
        kernel.name = name->value;
        first = a + 1;
      }
    if (first == 0 || first + 7 > call.args.size()) return;
    for (int d = 0; d < 3; ++d) {
      kernel.blocks[d] = constant_or(call.args[first + d], 0);
      kernel.threads[d] = constant_or(call.args[first + 3 + d], 0);
    }
    kernel.shared_bytes = constant_or(call.args[first + 6], 0);
    info_.device_kernels.push_back(kernel);
  }

  KernelInfo& info_;
  bool in_parallel_;
  Scope<Halide::Internal::Interval> scope_;
};

}  // namespace

KernelInfo inspect(const Halide::Module& module, const std::string& symbol) {
  KernelInfo info;
  for (const LoweredFunc& function : module.functions()) {
    // Bodies of parallel loops have become functions of their own.
    const bool is_entry = function.name == symbol;
    Walk walk(info, !is_entry);
    function.body.accept(&walk);
  }
  return info;
}

}  // namespace cryolite::emit
