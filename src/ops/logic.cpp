#include <fmt/format.h>

#include "base/error.h"
#include "ops/families.h"
#include "ops/functions.h"
#include "ops/pointwise.h"

/// Comparisons, logic, bits and choices. A bool is a byte of 0 or 1.
namespace cryolite::ops {
namespace {

using graph::ElementType;
using graph::Graph;
using graph::Node;
using Halide::Expr;

Expr are_equal(Expr a, Expr b) { return a == b; }
Expr is_greater(Expr a, Expr b) { return a > b; }
Expr is_less(Expr a, Expr b) { return a < b; }
Expr is_at_least(Expr a, Expr b) { return a >= b; }
Expr is_at_most(Expr a, Expr b) { return a <= b; }
Expr both(Expr a, Expr b) { return a & b; }
Expr either(Expr a, Expr b) { return a | b; }
Expr one_of(Expr a, Expr b) { return a ^ b; }
Expr inverse(Expr x) { return x == constant_like(x, 0); }

void is_nan(Builder& build) {
  build.define(0, [&](const Index& at) { return is_not_a_number(build.read(0, at)); });
}

/// Shifting by the width or more leaves nothing but the sign, and a negative shift counts as such a one (as
/// numpy has it); the machine's shift would leave what it likes.
Expr shifted(const Expr& a, const Expr& b, bool left) {
  const Halide::Type counted = b.type().with_code(halide_type_uint);
  const Expr count = Halide::cast(counted, b), last = constant_like(count, a.type().bits() - 1);
  const Expr inside = Halide::min(count, last);
  if (!left && a.type().is_int()) return a >> inside;
  return Halide::select(count <= last, left ? a << inside : a >> inside, constant_like(a, 0));
}
Expr shifted_left(Expr a, Expr b) { return shifted(a, b, true); }
Expr shifted_right(Expr a, Expr b) { return shifted(a, b, false); }

void bit_shift(Builder& build) {
  const bool left = graph::string_attribute(build.node(), "direction", "LEFT") == "LEFT";
  left ? binary<shifted_left>(build) : binary<shifted_right>(build);
}

void is_inf(Builder& build) {
  const bool positive = graph::int_attribute(build.node(), "detect_positive", 1) != 0;
  const bool negative = graph::int_attribute(build.node(), "detect_negative", 1) != 0;
  build.define(0, [&](const Index& at) {
    const Expr x = build.read(0, at);
    const Halide::Type bits = Halide::Int(x.type().bits());
    const Expr is_negative = Halide::reinterpret(bits, x) < Halide::Internal::make_zero(bits);
    return is_infinite(x) && ((is_negative && negative) || (!is_negative && positive));
  });
}

void where(Builder& build) {
  build.define(0, [&](const Index& at) {
    const Expr condition = build.read_broadcast(0, at);
    return Halide::select(condition != constant_like(condition, 0), build.read_broadcast(1, at),
                          build.read_broadcast(2, at));
  });
}

void require_alike(const Graph& graph, const Node& node, size_t first) {
  require_inputs(node, first + 2);
  require_element(graph, node, first + 1, {graph.input_type(node, first).element});
}
void check_alike(const Graph& graph, const Node& node) { require_alike(graph, node, 0); }
void check_bools(const Graph& graph, const Node& node) {
  for (size_t i = 0; i < node.inputs.size(); ++i) require_element(graph, node, i, {ElementType::Bool});
}
void check_integers(const Graph& graph, const Node& node) {
  using enum ElementType;
  require_element(graph, node, 0, {Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64});
  require_alike(graph, node, 0);
}
void check_shift(const Graph& graph, const Node& node) {
  check_integers(graph, node);
  const std::string direction = graph::string_attribute(node, "direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    throw Error(fmt::format("BitShift's direction is \"{}\"", direction), {.node = node.name},
                "use LEFT or RIGHT");
}
void check_where(const Graph& graph, const Node& node) {
  require_element(graph, node, 0, {ElementType::Bool});
  require_alike(graph, node, 1);
}

Operator row(std::string_view name, void (*check)(const Graph&, const Node&), void (*algorithm)(Builder&),
             Category category = Category::Broadcast) {
  return {name, category, Kernel::Pointwise, pointwise_access, flops_an_output<1>, check, algorithm};
}

}  // namespace

std::span<const Operator> logic_operators() {
  static const Operator rows[] = {
      row("Equal", check_alike, binary<are_equal>),
      row("Greater", check_alike, binary<is_greater>),
      row("Less", check_alike, binary<is_less>),
      row("GreaterOrEqual", check_alike, binary<is_at_least>),
      row("LessOrEqual", check_alike, binary<is_at_most>),
      row("And", check_bools, binary<both>),
      row("Or", check_bools, binary<either>),
      row("Xor", check_bools, binary<one_of>),
      row("Not", check_bools, unary<inverse>, Category::Injective),
      row("BitwiseAnd", check_integers, binary<both>),
      row("BitwiseOr", check_integers, binary<either>),
      row("BitwiseXor", check_integers, binary<one_of>),
      row("BitShift", check_shift, bit_shift),
      row("IsNaN", check_float_input, is_nan, Category::Injective),
      row("IsInf", check_float_input, is_inf, Category::Injective),
      row("Where", check_where, where),
  };
  return rows;
}

}  // namespace cryolite::ops
