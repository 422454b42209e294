#include <hwloc.h>
#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "device/device.h"

/// Measures what the roofline needs of this machine: multiply-adds a second in registers, and bytes a second
/// read from each level of the memory hierarchy. Minima over repeats, since other work only ever slows a run.
namespace cryolite::device {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_of(const std::function<void()>& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double least_seconds(int repeats, const std::function<void()>& work) {
  double least = 1e9;
  for (int i = 0; i < repeats; ++i) least = std::min(least, seconds_of(work));
  return least;
}

/// The same work on every core at once.
void on_all_cores(int cores, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int core = 1; core < cores; ++core) threads.emplace_back(work, core);
  work(0);
  for (std::thread& thread : threads) thread.join();
}

// Twelve independent chains hide the latency of a multiply-add (4 to 5 cycles, two a cycle) in any x86 since 2013.
constexpr int chains = 12;
constexpr int64_t rounds = 400'000;

__attribute__((target("avx512f"))) float multiply_adds_512() {
  __m512 sum[chains];
  for (auto& s : sum) s = _mm512_set1_ps(1.f);
  const __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
  for (int64_t i = 0; i < rounds; ++i)
    for (auto& s : sum) s = _mm512_fmadd_ps(s, a, b);
  float total = 0;
  for (auto& s : sum) total += _mm512_reduce_add_ps(s);
  return total;
}

__attribute__((target("avx2,fma"))) float multiply_adds_256() {
  __m256 sum[chains];
  for (auto& s : sum) s = _mm256_set1_ps(1.f);
  const __m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
  for (int64_t i = 0; i < rounds; ++i)
    for (auto& s : sum) s = _mm256_fmadd_ps(s, a, b);
  float total = 0;
  for (auto& s : sum) total += s[0];
  return total;
}

float multiply_adds_scalar() {
  float sum[chains];
  std::fill(sum, sum + chains, 1.f);
  for (int64_t i = 0; i < rounds; ++i)
    for (float& s : sum) s = s * 0.999f + 0.001f;
  float total = 0;
  for (float s : sum) total += s;
  return total;
}

struct Peak {
  double flops_per_second;
  int vector_bytes;
};

Peak measure_peak(int cores) {
  float (*loop)() = multiply_adds_scalar;
  int lanes = 1;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) loop = multiply_adds_256, lanes = 8;
  if (__builtin_cpu_supports("avx512f")) loop = multiply_adds_512, lanes = 16;
  std::vector<float> sink(cores);
  const double seconds = least_seconds(8, [&] { on_all_cores(cores, [&](int core) { sink[core] = loop(); }); });
  return {2.0 * lanes * chains * rounds * cores / seconds, std::max(lanes, 4) * 4};
}

/// Sum of a buffer, eight vectors at a time so that loads and not additions are the limit.
double read_all(const std::vector<float>& data, int passes) {
  typedef float Lanes __attribute__((vector_size(32), aligned(4)));
  Lanes sum[8] = {};
  for (int pass = 0; pass < passes; ++pass)
    for (size_t i = 0; i + 64 <= data.size(); i += 64)
      for (int lane = 0; lane < 8; ++lane) sum[lane] += *reinterpret_cast<const Lanes*>(&data[i + 8 * lane]);
  double total = 0;
  for (const Lanes& s : sum) total += s[0];
  return total;
}

double measure_read_rate(int cores, int64_t bytes_per_core) {
  const int passes = static_cast<int>(std::max<int64_t>(1, (64 << 20) / bytes_per_core));
  std::vector<std::vector<float>> data(cores, std::vector<float>(bytes_per_core / 4, 1.f));
  std::vector<double> sink(cores);
  const double seconds =
      least_seconds(5, [&] { on_all_cores(cores, [&](int core) { sink[core] = read_all(data[core], passes); }); });
  return static_cast<double>(bytes_per_core) * passes * cores / seconds;
}

struct Caches {
  int cores;
  std::vector<MemoryLevel> levels;
};

Caches probe_caches() {
  hwloc_topology_t topology;
  hwloc_topology_init(&topology);
  hwloc_topology_load(topology);
  Caches caches{std::max(1, hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE)), {}};
  const std::pair<hwloc_obj_type_t, const char*> types[] = {
      {HWLOC_OBJ_L1CACHE, "l1"}, {HWLOC_OBJ_L2CACHE, "l2"}, {HWLOC_OBJ_L3CACHE, "l3"}};
  for (const auto& [type, name] : types) {
    const int count = hwloc_get_nbobjs_by_type(topology, type);
    if (count <= 0) continue;
    const hwloc_obj_t cache = hwloc_get_obj_by_type(topology, type, 0);
    caches.levels.push_back({name, static_cast<int64_t>(cache->attr->cache.size), 0, count});
  }
  hwloc_topology_destroy(topology);
  return caches;
}

}  // namespace

Device measure_host() {
  Caches caches = probe_caches();
  Device host;
  host.name = "host";
  host.cores = caches.cores;
  const Peak peak = measure_peak(caches.cores);
  host.flops_per_second = peak.flops_per_second;
  host.vector_bytes = peak.vector_bytes;
  int64_t largest = 1 << 20;
  for (MemoryLevel& level : caches.levels) {
    const int64_t share = level.bytes * level.instances / caches.cores;
    level.bytes_per_second = measure_read_rate(caches.cores, std::max<int64_t>(share / 2, 4096));
    largest = std::max(largest, share);
    host.memory.push_back(level);
  }
  host.memory.push_back({"memory", 0, measure_read_rate(caches.cores, 4 * largest), 1});
  host.launch_seconds = 3e-6;  // waking a sleeping worker thread, typical of Linux on this class of machine
  host.source = "measured on this machine by `cryolite device host --refresh`";
  return host;
}

}  // namespace cryolite::device
