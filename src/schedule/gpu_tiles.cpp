#include "schedule/gpu_tiles.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace cryolite::schedule::gpu {
namespace {

// Candidates, and what a thread of 64 registers holds without spilling, measured with ptxas for sm_80 and sm_90.
constexpr std::array column_registers{1, 2, 4, 8};
constexpr std::array row_registers{1, 2, 3, 4, 5, 6, 7, 8};
constexpr std::array line_registers{1, 2, 3, 4};
constexpr std::array column_threads{1, 2, 4, 8, 16, 32};
constexpr std::array row_threads{1, 2, 3, 4, 5, 6, 7, 8, 14, 16};
constexpr std::array line_threads{1, 2, 3, 4, 7, 8};
constexpr int64_t most_accumulators = 24;
constexpr int64_t most_registers = 44;  // of the 64, for accumulators and loaded operands
constexpr int64_t most_loads = 12;      // in flight: beyond, ptxas hoists so many that it spills
constexpr int64_t most_threads = 256;
constexpr std::array chunks{32, 16, 8, 4, 2, 1};
constexpr int64_t least_chunk = 8;  // fewer steps between two barriers do not pay
constexpr std::array unrolls{4, 2, 1};
constexpr int64_t staging_bytes = 28 << 10;  // of a block: eight blocks a multiprocessor
constexpr int64_t bytes_of_element = 4;

// Cycles of an H100 or A100, from their manuals; only ratios matter here.
constexpr double schedulers_per_multiprocessor = 4;
constexpr double load_latency = 80;       // between a shared-memory hit and an L2 hit
constexpr double resident_warps = 8;      // a scheduler, at 64 registers a thread
constexpr double l2_bytes_per_cycle = 24;  // a multiprocessor
constexpr double barrier_cycles = 60;
constexpr double cycles_of_term = 2;   // a multiplication and, of several elements side by side, some loads
constexpr double cycles_of_held = 60;  // two exponentials, partial results

int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t patch_elements(const Contraction& c, const Tile& t) {
  const int64_t rows = (t.rows() - 1) * c.row_stride + c.row_span;
  const int64_t lines = (t.lines() - 1) * c.line_stride + c.line_span;
  return rows * lines;
}

/// Held elements, and a partial result of each thread where rows are reduced.
int64_t held_bytes(const Contraction& c, const Tile& t) {
  return c.held > 0 ? (c.held * t.rows() + 2 * t.threads()) * bytes_of_element : 0;
}

/// The largest chunk whose operands fit; 0 where none does that is worth the barriers.
int64_t best_chunk(const Contraction& c, Tile tile, const std::vector<int64_t>& divisors, const Machine& machine) {
  for (int64_t divisor : divisors) {
    tile.chunk = divisor;
    const bool is_worth = divisor >= std::min(least_chunk, divisors.front());
    if (is_worth && shared_bytes(c, tile) - held_bytes(c, tile) <= staging_bytes &&
        shared_bytes(c, tile) <= machine.shared_memory_bytes)
      return divisor;
  }
  return 0;
}

int64_t best_unroll(const Contraction& c, const Tile& t) {
  const int64_t steps = c.stages_rows || c.stages_columns ? t.chunk : c.depth;
  const int64_t operands = t.row_registers * t.line_registers + t.column_registers;
  for (int64_t unroll : unrolls)
    if (steps % unroll == 0 && unroll * operands <= most_loads &&
        t.accumulators() + unroll * operands <= most_registers)
      return unroll;
  return 1;
}

int64_t column_loads(const Contraction& c, const Tile& t) {
  if (c.vectorizes && t.column_registers % 4 == 0) return t.column_registers / 4;
  if (c.vectorizes && t.column_registers % 2 == 0) return t.column_registers / 2;
  return t.column_registers;
}

/// Cycles until the last block is done: steps of a warp wait for their loads, unless other warps fill the gap.
double predicted_cycles(const Contraction& c, const Tile& t, const Machine& machine) {
  const double blocks = static_cast<double>(divided_up(c.columns, t.columns()) * divided_up(c.rows, t.rows()) *
                                            divided_up(c.lines, t.lines()) * c.rest);
  const double warps_per_block = static_cast<double>(divided_up(t.threads(), 32));
  const double blocks_per_multiprocessor = std::ceil(blocks / machine.multiprocessors);
  const double warps = std::max(1.0, blocks_per_multiprocessor * warps_per_block / schedulers_per_multiprocessor);
  const double resident = std::min(warps, resident_warps);
  const double step = static_cast<double>(t.accumulators() + t.row_registers * t.line_registers + column_loads(c, t)) +
                      2.0 / static_cast<double>(t.unroll);
  const double waiting = load_latency / static_cast<double>(t.unroll);
  const double steps = static_cast<double>(c.depth * c.taps);
  double cycles = steps * (warps / resident) * std::max(waiting + step, step * resident);
  if (c.stages_rows || c.stages_columns) {
    const double filled = (6.0 + cycles_of_term * c.fill_terms) * patch_elements(c, t);
    const double copies = (filled + 6.0 * (c.stages_columns ? t.columns() * c.taps : 0)) * t.chunk / t.threads();
    const double chunk = 2 * barrier_cycles + load_latency + copies + 3.0 * t.accumulators();
    cycles += static_cast<double>(c.depth / t.chunk) * (warps / resident) * std::max(chunk, (copies + 3.0 * t.accumulators()) * resident);
  }
  const double held = (cycles_of_held + cycles_of_term * c.held_terms) * c.held * t.rows() / t.threads();
  cycles += held * (warps / resident) * resident;
  const double bytes = blocks * bytes_of_element *
                       (c.depth * (patch_elements(c, t) + static_cast<double>(t.columns() * c.taps)) +
                        static_cast<double>(c.held * c.held_terms));
  const double transfer = bytes / (l2_bytes_per_cycle * machine.multiprocessors);
  return std::max(cycles, transfer) + 0.25 * std::min(cycles, transfer);
}

bool fits(const Contraction& c, const Tile& t, const Machine& machine) {
  return t.accumulators() <= most_accumulators && t.threads() <= most_threads && t.columns() <= c.columns &&
         t.rows() <= c.rows && t.lines() <= c.lines && t.rows() % c.row_multiple == 0 &&
         t.lines() % c.line_multiple == 0 && (c.groups == 1 || c.columns / c.groups % t.columns() == 0) &&
         shared_bytes(c, t) <= machine.shared_memory_bytes;
}

std::vector<int64_t> chunk_sizes(int64_t depth) {
  std::vector<int64_t> sizes;
  for (int64_t limit : chunks) {
    const int64_t size = largest_divisor(depth, limit);
    if (sizes.empty() || sizes.back() != size) sizes.push_back(size);
  }
  return sizes;
}

void fix(const Parameters& parameters, const char* name, int64_t& value, int64_t limit) {
  if (auto found = parameters.find(name); found != parameters.end())
    value = std::clamp<int64_t>(found->second, 1, std::max<int64_t>(1, limit));
}

void apply_parameters(const Contraction& c, const Parameters& parameters, Tile& tile) {
  fix(parameters, "column_registers", tile.column_registers, c.columns);
  fix(parameters, "row_registers", tile.row_registers, c.rows);
  fix(parameters, "line_registers", tile.line_registers, c.lines);
  fix(parameters, "column_threads", tile.column_threads, c.columns / tile.column_registers);
  fix(parameters, "row_threads", tile.row_threads, c.rows / tile.row_registers);
  fix(parameters, "line_threads", tile.line_threads, c.lines / tile.line_registers);
  int64_t chunk = tile.chunk;
  fix(parameters, "chunk", chunk, c.depth);
  tile.chunk = largest_divisor(c.depth, chunk);
  int64_t unroll = tile.unroll;
  fix(parameters, "unroll", unroll, tile.chunk);
  tile.unroll = largest_divisor(tile.chunk, unroll);
}

}  // namespace

int64_t largest_divisor(int64_t n, int64_t limit) {
  for (int64_t d = std::min(n, limit); d > 1; --d)
    if (n % d == 0) return d;
  return 1;
}

int64_t shared_bytes(const Contraction& c, const Tile& t) {
  int64_t elements = 0;
  if (c.stages_rows) elements += patch_elements(c, t) * t.chunk;
  if (c.stages_columns) elements += t.columns() * t.chunk * c.taps;
  if (elements > 0 || c.sums_in_shared) elements += t.columns() * t.rows() * t.lines();
  return elements * bytes_of_element + held_bytes(c, t);
}

Tile choose_tile(const Contraction& c, const Machine& machine, const Parameters& parameters) {
  Tile best;
  double least = std::numeric_limits<double>::infinity();
  const auto sizes = chunk_sizes(c.depth);
  const auto consider = [&](Tile tile) {
    if (!fits(c, tile, machine)) return;
    tile.chunk = best_chunk(c, tile, sizes, machine);
    if (tile.chunk == 0) return;
    tile.unroll = best_unroll(c, tile);
    const double cycles = predicted_cycles(c, tile, machine);
    if (cycles >= least) return;
    least = cycles;
    best = tile;
  };
  for (int64_t cr : column_registers)
    for (int64_t rr : row_registers)
      for (int64_t lr : line_registers) {
        if (cr * rr * lr > most_accumulators) break;
        for (int64_t ct : column_threads) {
          if (cr * ct > c.columns) break;
          for (int64_t rt : row_threads) {
            if (rr * rt > c.rows || ct * rt > most_threads) break;
            for (int64_t lt : line_threads) consider({cr, rr, lr, ct, rt, lt, 1, 1});
          }
        }
      }
  if (least == std::numeric_limits<double>::infinity()) {
    best.row_registers = c.row_multiple;
    best.line_registers = c.line_multiple;
  }
  Tile fixed = best;
  apply_parameters(c, parameters, fixed);
  return fits(c, fixed, machine) ? fixed : best;
}

}  // namespace cryolite::schedule::gpu
