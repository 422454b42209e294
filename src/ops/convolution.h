#pragma once
#include <Halide.h>

#include <cstdint>
#include <vector>

#include "ops/builder.h"

/// What Conv and ConvTranspose share.
namespace cryolite::ops {

namespace convolution_inputs {
inline constexpr size_t data = 0, weights = 1, bias = 2;
}

/// Spatial extents of the weights.
std::vector<int64_t> kernel_of(const graph::Graph& graph, const graph::Node& node);
/// The input channel that channel `r` of a group's inputs is, for output channel `c`. Plain where there is
/// one group, or one channel a group, so that Halide has little to simplify.
Halide::Expr input_channel(Halide::Expr c, Halide::Expr r, int64_t groups, int64_t group_outputs,
                           int64_t group_inputs);
/// The bias of an output channel, where the node has one.
Halide::Expr bias_or_zero(const Builder& build, Halide::Expr c, Halide::Type type);

/// Throws Error where `given` channels (or "elements of bias") are not the expected number.
void require_channels(const graph::Node& node, int64_t expected, int64_t given, const char* what);
/// Types and ranks of data, weights and output, kernel_shape and group; returns the number of groups.
int64_t check_convolution_operands(const graph::Graph& graph, const graph::Node& node);
void check_bias(const graph::Graph& graph, const graph::Node& node, int64_t channels);

}  // namespace cryolite::ops
