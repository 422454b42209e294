#include "schedule/gpu_tiles.h"

#include <algorithm>
#include <array>
#include <limits>

namespace cryolite::schedule::gpu {
namespace {

// Candidates. Registers: what a thread of 64 registers holds without spilling, measured with ptxas 12 for sm_80
// and sm_90: 24 accumulators beside the addresses of a staged patch, 28 without one.
constexpr std::array column_registers{1, 2, 4, 8};
constexpr std::array row_registers{1, 2, 3, 4, 5, 6, 7, 8};
constexpr std::array line_registers{1, 2, 3, 4};
constexpr std::array column_threads{1, 2, 4, 8, 16, 32};
constexpr std::array row_threads{1, 2, 3, 4, 5, 6, 7, 8, 14, 16};
constexpr std::array line_threads{1, 2, 3, 4, 7, 8};
constexpr int64_t most_accumulators_staged = 24;
constexpr int64_t most_accumulators_direct = 28;
constexpr int64_t most_threads = 256;
constexpr int64_t wanted_threads_per_multiprocessor = 512;  // enough warps to hide the latency of loads
constexpr int64_t largest_chunk = 32;
constexpr int64_t staging_bytes = 24 << 10;  // of a block: eight blocks a multiprocessor and more
constexpr double shared_bytes_of_accumulator = 4;

int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t patch_elements(const Contraction& c, const Tile& t) {
  const int64_t rows = (t.rows() - 1) * c.row_stride + c.row_span;
  const int64_t lines = (t.lines() - 1) * c.line_stride + c.line_span;
  return rows * lines;
}

int64_t best_chunk(const Contraction& c, Tile tile) {
  for (int64_t limit = largest_chunk; limit > 1; limit /= 2) {
    tile.chunk = largest_divisor(c.depth, limit);
    if (shared_bytes(c, tile) <= staging_bytes) return tile.chunk;
  }
  return 1;
}

/// Thread instructions and bytes, weighed by what a multiprocessor does in a cycle. Lower is better.
double predicted_time(const Contraction& c, const Tile& t, const Machine& machine) {
  const int64_t blocks =
      divided_up(c.columns, t.columns()) * divided_up(c.rows, t.rows()) * divided_up(c.lines, t.lines()) * c.rest;
  const int64_t lanes = divided_up(t.threads(), 32) * 32;
  const int64_t column_loads = c.vectorizes && t.column_registers % 4 == 0   ? t.column_registers / 4
                               : c.vectorizes && t.column_registers % 2 == 0 ? t.column_registers / 2
                                                                             : t.column_registers;
  const double step = static_cast<double>(t.accumulators() + t.row_registers * t.line_registers + column_loads) + 1.5;
  const double steps = static_cast<double>(c.depth * c.taps);
  const double staging = c.stages_rows ? 4.0 * patch_elements(c, t) * c.depth / t.threads() : 0;
  const double instructions = blocks * lanes * (step * steps + staging + 60);
  const double occupied = static_cast<double>(blocks * lanes) /
                          (static_cast<double>(machine.multiprocessors) * wanted_threads_per_multiprocessor);
  const double idle = occupied < 1 ? 1 / occupied : 1;
  const double compute = instructions / 128 * idle;
  const double bytes = blocks * 4.0 * c.depth * (patch_elements(c, t) + static_cast<double>(t.columns() * c.taps));
  const double memory = bytes / 64 * std::min(idle, 4.0);
  return std::max(compute, memory) + 0.25 * std::min(compute, memory);
}

bool fits(const Contraction& c, const Tile& t, const Machine& machine) {
  const int64_t most =
      c.stages_rows || c.stages_columns ? most_accumulators_staged : most_accumulators_direct;
  return t.accumulators() <= most && t.threads() <= most_threads && t.columns() <= c.columns && t.rows() <= c.rows &&
         t.lines() <= c.lines && shared_bytes(c, t) <= machine.shared_memory_bytes;
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
  if (elements > 0) elements += t.columns() * t.rows() * t.lines();
  return static_cast<int64_t>(elements * shared_bytes_of_accumulator);
}

Tile choose_tile(const Contraction& c, const Machine& machine, const Parameters& parameters) {
  Tile best;
  double least = std::numeric_limits<double>::infinity();
  for (int64_t cr : column_registers)
    for (int64_t rr : row_registers)
      for (int64_t lr : line_registers) {
        if (cr > c.columns || rr > c.rows || lr > c.lines) continue;
        for (int64_t ct : column_threads)
          for (int64_t rt : row_threads)
            for (int64_t lt : line_threads) {
              Tile tile{cr, rr, lr, ct, rt, lt, 1};
              if (!fits(c, tile, machine)) continue;
              const double time = predicted_time(c, tile, machine);
              if (time < least) {
                least = time;
                best = tile;
              }
            }
      }
  best.chunk = best_chunk(c, best);
  apply_parameters(c, parameters, best);
  return fits(c, best, machine) ? best : Tile{};
}

}  // namespace cryolite::schedule::gpu
