#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "ops/families.h"
#include "ops/functions.h"
#include "ops/pointwise.h"

/// Arithmetic of two or more operands with ONNX's broadcasting.
namespace cryolite::ops {
namespace {

using graph::Graph;
using graph::Node;
using Halide::Expr;

/// Sums and products with a large constant, as written in the model: were (1 - mask) * -3.4e38 and what it is added to
/// shared out anew, as the compiler may do with others, they would overflow, or swallow the small terms.
Expr as_written(const Expr& result, const Expr& a, const Expr& b) {
  constexpr double large = 128;
  const auto is_large = [](const Expr& operand) {
    const auto number = Halide::Internal::as_const_float(operand);
    return number && std::abs(*number) > large;
  };
  return result.type().is_float() && (is_large(a) || is_large(b)) ? Halide::strict_float(result) : result;
}

Expr sum_of(Expr a, Expr b) { return as_written(a + b, a, b); }
Expr difference_of(Expr a, Expr b) { return as_written(a - b, a, b); }
Expr product_of(Expr a, Expr b) { return as_written(a * b, a, b); }

/// A divisor that no machine traps on: 0, and -1 (the lowest number divided by it overflows), become 1.
Expr safe_divisor(const Expr& b) {
  const Expr one = constant_like(b, 1);
  const Expr is_zero = b == constant_like(b, 0);
  return Halide::select(b.type().is_int() ? is_zero || b == constant_like(b, -1) : is_zero, one, b);
}

/// Integers: truncated towards zero as ONNX has it (Halide's own / rounds down); x / 0 is 0.
Expr quotient_of(Expr a, Expr b) {
  if (a.type().is_float()) return as_written(a / b, a, b);
  const Expr quotient = Halide::div_round_to_zero(a, safe_divisor(b));
  const Expr zero = constant_like(a, 0);
  if (a.type().is_uint()) return Halide::select(b == zero, zero, quotient);
  return Halide::select(b == zero, zero, b == constant_like(b, -1), zero - a, quotient);
}

/// The remainder with the dividend's sign, C's fmod. float32: exact where |a / b| < 2^28.
Expr remainder_of(Expr a, Expr b) {
  const Expr zero = constant_like(a, 0);
  if (a.type() == Halide::Float(64))
    return Halide::Internal::Call::make(a.type(), "fmod", {a, b}, Halide::Internal::Call::PureExtern);
  if (a.type().is_float()) {
    const Expr dividend = Halide::cast<double>(a), divisor = Halide::cast<double>(b);
    const Expr rest = Halide::cast(a.type(), dividend - Halide::trunc(dividend / divisor) * divisor);
    return Halide::select(Halide::strict_float(Halide::abs(a) < Halide::abs(b)), a, rest);
  }
  const Expr rest = Halide::mod_round_to_zero(a, safe_divisor(b));
  if (a.type().is_uint()) return Halide::select(b == zero, zero, rest);
  return Halide::select(b == zero || b == constant_like(b, -1), zero, rest);
}

/// The remainder with the divisor's sign, Python's %.
Expr modulus_of(Expr a, Expr b) {
  const Expr rest = remainder_of(a, b);
  if (a.type().is_uint()) return rest;
  const Expr zero = constant_like(a, 0);
  return Halide::select(rest != zero && (rest < zero) != (b < zero), rest + b, rest);
}

void modulo(Builder& build) {
  const bool as_c = graph::int_attribute(build.node(), "fmod", 0) != 0;
  as_c ? binary<remainder_of>(build) : binary<modulus_of>(build);
}

/// A NaN on either side is the result, as in numpy.
Expr larger_of(Expr a, Expr b) {
  if (!a.type().is_float()) return Halide::max(a, b);
  return Halide::select(Halide::strict_float(a > b) || is_not_a_number(a), a, b);
}
Expr smaller_of(Expr a, Expr b) {
  if (!a.type().is_float()) return Halide::min(a, b);
  return Halide::select(Halide::strict_float(a < b) || is_not_a_number(a), a, b);
}

/// All inputs folded from the left.
template <Expr (*function)(Expr, Expr)>
Expr folded(Builder& build, const Index& at) {
  Expr result = widened(build.read_broadcast(0, at));
  for (size_t i = 1; i < build.node().inputs.size(); ++i)
    result = function(result, widened(build.read_broadcast(i, at)));
  return result;
}
template <Expr (*function)(Expr, Expr)>
void variadic(Builder& build) {
  build.define(0, [&](const Index& at) { return folded<function>(build, at); });
}

void mean(Builder& build) {
  build.define(0, [&](const Index& at) {
    const Expr sum = folded<sum_of>(build, at);
    return sum * constant_like(sum, 1.0 / static_cast<double>(build.node().inputs.size()));
  });
}

/// base^exponent by squaring; negative exponents of integers give what truncation leaves of the fraction.
Expr integer_power(const Expr& base, const Expr& exponent) {
  const Halide::Type wide = Halide::UInt(64);
  Expr left = Halide::cast<int64_t>(exponent), result = Halide::cast(wide, 1);
  Expr square = Halide::cast(wide, Halide::cast<int64_t>(base));
  for (int bit = 0; bit < 6; ++bit) {  // a 64-bit number overflows at 2^64
    result = Halide::select(((left >> bit) & 1) == 1, result * square, result);
    square = square * square;
  }
  const Expr number = Halide::cast(base.type(), result);
  const Expr one = constant_like(base, 1);
  if (base.type().is_uint())
    return Halide::select(left < 0, Halide::select(base == one, one, base - base), number);
  const Expr of_minus_one = Halide::select((left & 1) == 1, -one, one);
  const Expr is_unit = base == one || base == -one;
  const Expr fraction = Halide::select(base == one, one, is_unit, of_minus_one, constant_like(base, 0));
  return Halide::select(left < 0, fraction, number);
}

/// The exponent where it is one number known at compile time.
std::optional<double> constant_exponent(const Builder& build) {
  const graph::Tensor* tensor = build.graph().constant_input(build.node(), 1);
  if (!tensor || tensor->type.elements() != 1) return std::nullopt;
  return tensor->as_doubles()[0];
}

Expr power_of(const Expr& base, const Expr& exponent, std::optional<double> known) {
  if (!base.type().is_float()) {
    if (!exponent.type().is_float()) return integer_power(base, exponent);
    return Halide::pow(Halide::cast<double>(base), Halide::cast<double>(exponent));
  }
  if (known == 0.5) return Halide::sqrt(base);
  if (known == -0.5) return constant_like(base, 1) / Halide::sqrt(base);
  if (known == 2.0) return base * base;
  if (known == 3.0) return base * base * base;
  if (known == 1.0) return base;
  if (known == -1.0) return constant_like(base, 1) / base;
  return Halide::pow(base, Halide::cast(base.type(), exponent));
}

void power(Builder& build) {
  const auto known = constant_exponent(build);
  build.define(0, [&](const Index& at) {
    return power_of(widened(build.read_broadcast(0, at)), widened(build.read_broadcast(1, at)), known);
  });
}

int64_t shared_flops(const Graph& graph, const Node& node) {
  const int64_t folds = std::max<int64_t>(1, static_cast<int64_t>(node.inputs.size()) - 1);
  return folds * graph.output_type(node).elements();
}

void check_operands(const Graph& graph, const Node& node) {
  require_inputs(node, node.inputs.size());
  for (size_t i = 1; i < node.inputs.size(); ++i)
    require_element(graph, node, i, {graph.input_type(node, 0).element});
}
void check_two(const Graph& graph, const Node& node) {
  require_inputs(node, 2);
  check_operands(graph, node);
}
void check_any_two(const Graph&, const Node& node) { require_inputs(node, 2); }
void check_mean(const Graph& graph, const Node& node) {
  require_float(graph, node, 0);
  check_operands(graph, node);
}

Operator arithmetic(std::string_view name, void (*check)(const Graph&, const Node&),
                    void (*algorithm)(Builder&), int64_t (*flops)(const Graph&, const Node&) = shared_flops) {
  return {name, Category::Broadcast, Kernel::Pointwise, pointwise_access, flops, check, algorithm};
}

}  // namespace

std::span<const Operator> arithmetic_operators() {
  static const Operator rows[] = {
      arithmetic("Add", check_two, binary<sum_of>),
      arithmetic("Sub", check_two, binary<difference_of>),
      arithmetic("Mul", check_two, binary<product_of>),
      arithmetic("Div", check_two, binary<quotient_of>),
      arithmetic("Mod", check_two, modulo, flops_an_output<4>),
      arithmetic("Pow", check_any_two, power, flops_an_output<40>),
      arithmetic("Min", check_operands, variadic<smaller_of>),
      arithmetic("Max", check_operands, variadic<larger_of>),
      arithmetic("Sum", check_operands, variadic<sum_of>),
      arithmetic("Mean", check_mean, mean),
  };
  return rows;
}

}  // namespace cryolite::ops
