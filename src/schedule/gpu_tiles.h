#pragma once
#include <cstdint>

#include "schedule/strategy.h"

/// How the outputs of a contraction are cut into blocks of threads and registers.
namespace cryolite::schedule::gpu {

/// What a tile is chosen for. "Columns" are the outputs that share the same inputs (output channels; columns of a
/// matrix product), "rows" and "lines" those that share the same weights (pixels along x and y; rows).
struct Contraction {
  int64_t columns = 1, rows = 1, lines = 1;
  int64_t rest = 1;             ///< blocks that every tile is repeated for: images, batches
  int64_t depth = 1;            ///< extent of r.x: input channels
  int64_t taps = 1;             ///< terms for each channel: the product of the other reduction loops
  int64_t row_stride = 1, line_stride = 1;  ///< input steps of one output step
  int64_t row_span = 1, line_span = 1;      ///< inputs that one output's window covers
  int64_t groups = 1;           ///< columns fall into so many groups of their own inputs; a tile stays in one
  int64_t row_multiple = 1, line_multiple = 1;  ///< a block's tile holds whole windows of so many outputs
  bool sums_in_shared = false;  ///< sums are in shared memory even where no operand is
  bool stages_rows = false;     ///< the row operand is copied to shared memory, chunk by chunk of r.x
  bool stages_columns = false;  ///< so is the column operand
  int64_t fill_terms = 0;       ///< terms of the reductions that an element of the row operand is computed from
  int64_t held = 0;             ///< elements held in shared memory for each row
  int64_t held_terms = 0;       ///< terms of the reductions that each of these is computed from
  bool vectorizes = true;       ///< columns lie side by side in memory
};

/// Outputs of a thread (vector x row x line registers) and threads of a block along each axis.
struct Tile {
  int64_t column_registers = 1, row_registers = 1, line_registers = 1;
  int64_t column_threads = 1, row_threads = 1, line_threads = 1;
  int64_t chunk = 1;   ///< of r.x, held in shared memory at a time
  int64_t unroll = 1;  ///< steps of r.x whose loads are in flight together; divides the chunk

  int64_t columns() const { return column_registers * column_threads; }
  int64_t rows() const { return row_registers * row_threads; }
  int64_t lines() const { return line_registers * line_threads; }
  int64_t threads() const { return column_threads * row_threads * line_threads; }
  int64_t accumulators() const { return column_registers * row_registers * line_registers; }
};

/// Bytes of shared memory that a block of this tile takes, 4-byte elements.
int64_t shared_bytes(const Contraction& contraction, const Tile& tile);

/// The tile of least predicted time that fits the machine; never larger than the outputs along any axis.
/// `parameters` may fix column_registers, row_registers, line_registers, column_threads, row_threads,
/// line_threads, chunk and unroll; where they do not fit, they are ignored.
Tile choose_tile(const Contraction& contraction, const Machine& machine, const Parameters& parameters);

/// The largest divisor of n that is at most `limit` (at least 1).
int64_t largest_divisor(int64_t n, int64_t limit);

}  // namespace cryolite::schedule::gpu
