#include <fmt/format.h>

#include "base/error.h"
#include "ops/families.h"
#include "ops/functions.h"
#include "ops/pointwise.h"

/// Functions of one element with attributes, or with parameters as inputs.
namespace cryolite::ops {
namespace {

using graph::float_attribute;
using graph::Graph;
using graph::Node;
using Halide::Expr;

Expr relu_of(Expr x) { return Halide::max(x, constant_like(x, 0)); }
Expr sigmoid_of(Expr x) { return logistic(x); }
Expr tanh_of(Expr x) { return hyperbolic_tangent(x); }
Expr softplus_of(Expr x) { return softplus(x); }
Expr softsign_of(Expr x) { return x / (1 + Halide::abs(x)); }

/// x tanh(log(1 + e^x)) = x n / (n + 2), n = e^x (e^x + 2): nothing cancels. From x = 20 it is x.
Expr mish_of(Expr x) {
  const Expr power = Halide::exp(Halide::min(x, constant_like(x, 20)));
  const Expr n = power * (power + 2);
  return x * (n / (n + 2));
}

Expr hard_swish_of(Expr x) {
  const Expr gate = x * constant_like(x, 1.0 / 6) + constant_like(x, 0.5);
  return x * Halide::clamp(gate, constant_like(x, 0), constant_like(x, 1));
}

/// y[i] = function(x[i], attributes)
void with_attributes(Builder& build, Expr (*function)(const Expr&, const Node&)) {
  build.define(0, [&](const Index& at) { return function(widened(build.read(0, at)), build.node()); });
}

Expr parameter(const Expr& x, const Node& node, const char* name, float fallback) {
  return constant_like(x, float_attribute(node, name, fallback));
}

void hard_sigmoid(Builder& build) {
  with_attributes(build, [](const Expr& x, const Node& node) {
    const Expr line = parameter(x, node, "alpha", 0.2f) * x + parameter(x, node, "beta", 0.5f);
    return Halide::clamp(line, constant_like(x, 0), constant_like(x, 1));
  });
}

void leaky_relu(Builder& build) {
  with_attributes(build, [](const Expr& x, const Node& node) {
    return Halide::select(x < 0, parameter(x, node, "alpha", 0.01f) * x, x);
  });
}

void elu(Builder& build) {
  with_attributes(build, [](const Expr& x, const Node& node) {
    return Halide::select(x < 0, parameter(x, node, "alpha", 1.0f) * (exponential(x) - 1), x);
  });
}

void selu(Builder& build) {
  with_attributes(build, [](const Expr& x, const Node& node) {
    const Expr alpha = parameter(x, node, "alpha", 1.67326319217681884765625f);
    const Expr gamma = parameter(x, node, "gamma", 1.05070102214813232421875f);
    return gamma * Halide::select(x > 0, x, alpha * (exponential(x) - 1));
  });
}

void celu(Builder& build) {
  with_attributes(build, [](const Expr& x, const Node& node) {
    const Expr alpha = parameter(x, node, "alpha", 1.0f);
    return Halide::select(x < 0, alpha * (Halide::exp(x / alpha) - 1), x);
  });
}

void thresholded_relu(Builder& build) {
  with_attributes(build, [](const Expr& x, const Node& node) {
    return Halide::select(x > parameter(x, node, "alpha", 1.0f), x, constant_like(x, 0));
  });
}

void shrink(Builder& build) {
  with_attributes(build, [](const Expr& x, const Node& node) {
    const Expr wide = x.type().is_float() ? x : Halide::cast(Halide::Float(64), x);
    const Expr lambda = parameter(wide, node, "lambd", 0.5f), bias = parameter(wide, node, "bias", 0.0f);
    return Halide::select(wide<-lambda, wide + bias, wide> lambda, wide - bias, constant_like(wide, 0));
  });
}

void swish(Builder& build) {
  with_attributes(build, [](const Expr& x, const Node& node) {
    return x * logistic(parameter(x, node, "alpha", 1.0f) * x);
  });
}

void gelu(Builder& build) {
  with_attributes(build, [](const Expr& x, const Node& node) {
    const Expr half = constant_like(x, 0.5);
    if (graph::string_attribute(node, "approximate", "none") == "tanh") {
      const Expr inner = constant_like(x, 0.7978845608028654) * (x + constant_like(x, 0.044715) * x * x * x);
      return half * x * (1 + hyperbolic_tangent(inner));
    }
    return half * x * (1 + error_function(x * constant_like(x, 0.7071067811865476)));
  });
}

void check_gelu(const Graph& graph, const Node& node) {
  require_float(graph, node, 0);
  const std::string form = graph::string_attribute(node, "approximate", "none");
  if (form != "none" && form != "tanh")
    throw Error(fmt::format("Gelu's approximate is \"{}\"", form), {.node = node.name}, "use none or tanh");
}

void prelu(Builder& build) {
  build.define(0, [&](const Index& at) {
    const Expr x = widened(build.read(0, at));
    return Halide::select(x < 0, widened(build.read_broadcast(1, at)) * x, x);
  });
}
void check_prelu(const Graph&, const Node& node) { require_inputs(node, 2); }

/// min(max(x, low), high): where low exceeds high, everything becomes high.
void clip(Builder& build) {
  build.define(0, [&](const Index& at) {
    Expr x = widened(build.read(0, at));
    if (build.has_input(1)) x = Halide::max(x, widened(build.read(1, Index(build.rank(1), 0))));
    if (build.has_input(2)) x = Halide::min(x, widened(build.read(2, Index(build.rank(2), 0))));
    return x;
  });
}

/// As in inference: the data as it is, and a mask of ones.
void dropout(Builder& build) {
  build.define(0, [&](const Index& at) { return build.read(0, at); });
  if (build.has_output(1)) build.define(1, [](const Index&) { return Halide::cast(Halide::UInt(8), 1); });
}
void check_dropout(const Graph& graph, const Node& node) {
  require_inputs(node, 1);
  const auto training = constant_integers(graph, node, 2, "training mode", {0});
  if (training.at(0) != 0)
    throw Error("Dropout in training mode is random", {.node = node.name}, "export the model for inference");
}
AccessMaps dropout_access(const Graph&, const Node& node) {
  AccessMaps maps(node.inputs.size(), AccessMap::Broadcast);
  maps.at(0) = AccessMap::Identity;
  return maps;
}

Operator activation(std::string_view name, int64_t (*flops)(const Graph&, const Node&),
                    void (*algorithm)(Builder&),
                    void (*check)(const Graph&, const Node&) = check_float_input) {
  return {name, Category::Injective, Kernel::Pointwise, pointwise_access, flops, check, algorithm};
}

}  // namespace

std::span<const Operator> activation_operators() {
  static const Operator rows[] = {
      activation("Relu", flops_an_output<1>, unary<relu_of>, check_one_input),
      activation("Sigmoid", flops_an_output<20>, unary<sigmoid_of>),
      activation("Tanh", flops_an_output<20>, unary<tanh_of>),
      activation("Softplus", flops_an_output<40>, unary<softplus_of>),
      activation("Softsign", flops_an_output<3>, unary<softsign_of>),
      activation("Mish", flops_an_output<25>, unary<mish_of>),
      activation("HardSwish", flops_an_output<5>, unary<hard_swish_of>),
      activation("HardSigmoid", flops_an_output<4>, hard_sigmoid),
      activation("LeakyRelu", flops_an_output<2>, leaky_relu),
      activation("Elu", flops_an_output<22>, elu),
      activation("Selu", flops_an_output<23>, selu),
      activation("Celu", flops_an_output<23>, celu),
      activation("ThresholdedRelu", flops_an_output<1>, thresholded_relu),
      activation("Shrink", flops_an_output<3>, shrink, check_one_input),
      activation("Swish", flops_an_output<22>, swish),
      activation("Gelu", flops_an_output<30>, gelu, check_gelu),
      activation("PRelu", flops_an_output<2>, prelu, check_prelu),
      activation("Clip", flops_an_output<2>, clip, check_one_input),
      {"Dropout", Category::Injective, Kernel::Pointwise, dropout_access, no_flops, check_dropout, dropout},
  };
  return rows;
}

}  // namespace cryolite::ops
