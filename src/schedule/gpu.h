#pragma once
#include "schedule/strategy.h"

/// Strategies for CUDA, OpenCL and Vulkan: blocks over tiles of the output, threads inside, accumulators in
/// registers.
namespace cryolite::schedule::gpu {

/// The layout in which constant weights are read best: output channels (columns) innermost, so that the threads
/// of a warp read neighbours. Row-major for what is not the weights of a convolution or a matrix product.
graph::Layout weight_layout(const graph::Graph& graph, const graph::Node& anchor, size_t input,
                            const Machine& machine);

/// The default schedule of a group: legal for any shapes, within 48 KiB of shared memory a block.
/// Parameters: column_registers, row_registers, line_registers, column_threads, row_threads, line_threads, chunk
/// (contractions; see gpu_tiles.h), threads (of a block, elsewhere), vector (elements of a thread, elsewhere).
GroupSchedule make_schedule(const GroupView& view, const Machine& machine, const Parameters& parameters);

/// How often a kernel around a pair of convolutions computes each element of the first; negative where
/// `make_schedule` makes no one kernel of the pair.
double chain_recompute(const graph::Graph& graph, const graph::Node& first, const graph::Node& second,
                       const Machine& machine);

/// Why `make_schedule` makes no one kernel of a contraction, reductions of its rows and another contraction that reads
/// them; nullptr where it does.
const char* why_no_attention(const graph::Graph& graph, const graph::Node& scores, const Machine& machine);
/// How often such a kernel computes each score.
double attention_recompute(const graph::Graph& graph, const graph::Node& scores, const graph::Node& values,
                           const Machine& machine);

}  // namespace cryolite::schedule::gpu
