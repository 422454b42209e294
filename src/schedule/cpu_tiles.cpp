#include <algorithm>

#include "schedule/cpu_parts.h"

/// Register tiles. A step of the inner loop loads `columns` weights, broadcasts `rows` inputs one by one, and does
/// columns x rows multiply-adds into as many accumulators: they must fit the register file with room for the
/// loads. On a core with 32 registers of 16 floats (AVX-512; AMD Zen 5, December 2026) 32 columns x 14 rows reach
/// 266 GFLOP/s, 32 x 4: 225, 16 x 14: 240, 64 x 6: 248; two multiply-add pipes of latency 4 need 8 accumulators.
namespace cryolite::schedule::cpu {
namespace {

/// Widths tried, in vectors, with what share of the peak they reach at best.
struct Width {
  int64_t vectors;
  double share;
};
constexpr Width widths[] = {{2, 1.0}, {1, 0.93}, {3, 0.97}, {4, 0.93}};
// Addresses this many bytes apart share a set of the nearest cache, which holds 8 of them (12 on some cores): one way is
// left for the weights that stream through. 1x1 convolutions of 1,024 channels lose a quarter of their speed beyond.
constexpr int64_t set_stride = 4096, ways_for_rows = 7;
constexpr int64_t rows_of_one_wide = 128;  // columns where there is one row only: 8 chains of AVX-512

int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

int64_t most_rows_at(int64_t stride) { return stride % set_stride == 0 ? ways_for_rows : most_tile_rows; }

int64_t most_rows_of(const graph::Graph& graph, const graph::Node& product) {
  const auto rows = graph.input_type(product, 0).extents();
  const bool are_columns = graph::int_attribute(product, "transA", 0) != 0;
  return rows.empty() || are_columns ? most_tile_rows : most_rows_at(rows.back() * 4);
}

int64_t tile_rows(int64_t columns, int64_t rows, const Machine& machine, int64_t most) {
  const int64_t vectors = std::max<int64_t>(1, divided_up(columns, machine.vector_bytes / 4));
  const int64_t fitting = std::clamp<int64_t>((machine.vector_registers - vectors - 1) / vectors, 1, most);
  return std::max<int64_t>(1, divided_up(rows, divided_up(rows, fitting)));
}

int64_t packed_block(int64_t columns, int64_t rows, const Machine& machine, int64_t most) {
  const int64_t lanes = machine.vector_bytes / 4;
  if (columns <= lanes) return columns;
  if (rows == 1) return columns % rows_of_one_wide == 0 ? rows_of_one_wide : std::min(columns, 4 * lanes);
  double best = 0;
  int64_t block = lanes;
  for (const auto& [vectors, share] : widths) {
    const int64_t width = vectors * lanes;
    const int64_t used_rows = tile_rows(width, rows, machine, most);
    const double filled = static_cast<double>(columns) / (divided_up(columns, width) * width);
    const double hidden = std::min(1.0, vectors * used_rows / 8.0);
    if (filled * share * hidden > best * 1.001) best = filled * share * hidden, block = width;
  }
  return std::min(block, columns);
}

}  // namespace cryolite::schedule::cpu
