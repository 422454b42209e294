#include <fmt/format.h>
#include <hwloc.h>
#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <functional>
#include <mutex>
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

/// Seconds that this thread has run for: what other programs take of the machine meanwhile does not count.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Units a second of all cores together, each doing `units` of work at once with the others; the best of `repeats`.
double best_rate(int cores, int repeats, double units, const std::function<void(int)>& work) {
  std::vector<double> least(cores, 1e9);
  const auto measure = [&](int core) {
    for (int i = 0; i < repeats; ++i) {
      const double start = thread_seconds();
      work(core);
      least[core] = std::min(least[core], thread_seconds() - start);
    }
  };
  std::vector<std::thread> threads;
  for (int core = 1; core < cores; ++core) threads.emplace_back(measure, core);
  measure(0);
  for (std::thread& thread : threads) thread.join();
  double rate = 0;
  for (double seconds : least) rate += units / seconds;
  return rate;
}

// Twelve independent chains hide the latency of a multiply-add (4 to 5 cycles, two a cycle) in any x86 since 2013.
constexpr int chains = 12;
constexpr int64_t rounds = 400'000;

__attribute__((target("avx512f"))) float multiply_adds_512() {
  __m512 sum[chains];
  for (auto& s : sum) s = _mm512_set1_ps(1.f);
  const __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
  for (int64_t i = 0; i < rounds; ++i)
#pragma GCC unroll 12
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
#pragma GCC unroll 12
    for (auto& s : sum) s = _mm256_fmadd_ps(s, a, b);
  float total = 0;
  for (auto& s : sum) total += s[0];
  return total;
}

float multiply_adds_scalar() {
  float sum[chains];
  std::fill(sum, sum + chains, 1.f);
  for (int64_t i = 0; i < rounds; ++i)
#pragma GCC unroll 12
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
  const double flops = 2.0 * lanes * chains * rounds;
  return {best_rate(cores, 12, flops, [&](int core) { sink[core] = loop(); }), std::max(lanes, 4) * 4};
}

/// Sum of a buffer, eight vectors at a time so that loads and not additions are the limit.
template <class Lanes>
[[gnu::always_inline]] inline float read_all(const std::vector<float>& data, int passes) {
  constexpr size_t width = sizeof(Lanes) / sizeof(float), step = 8 * width;
  Lanes sum[8] = {};
  for (int pass = 0; pass < passes; ++pass) {
    for (size_t i = 0; i + step <= data.size(); i += step)
#pragma GCC unroll 8
      for (size_t lane = 0; lane < 8; ++lane) sum[lane] += *reinterpret_cast<const Lanes*>(&data[i + lane * width]);
    asm volatile("" ::: "memory");  // each pass reads anew
  }
  float total = 0;
  for (const Lanes& s : sum) total += s[0];
  return total;
}
typedef float Lanes128 __attribute__((vector_size(16), aligned(4)));
typedef float Lanes256 __attribute__((vector_size(32), aligned(4)));
typedef float Lanes512 __attribute__((vector_size(64), aligned(4)));
__attribute__((target("avx512f"))) float read_512(const std::vector<float>& data, int passes) {
  return read_all<Lanes512>(data, passes);
}
__attribute__((target("avx2"))) float read_256(const std::vector<float>& data, int passes) {
  return read_all<Lanes256>(data, passes);
}
float read_128(const std::vector<float>& data, int passes) { return read_all<Lanes128>(data, passes); }

double measure_read_rate(int cores, int64_t bytes_per_core) {
  float (*read)(const std::vector<float>&, int) = read_128;
  if (__builtin_cpu_supports("avx2")) read = read_256;
  if (__builtin_cpu_supports("avx512f")) read = read_512;
  const int passes = static_cast<int>(std::max<int64_t>(1, (64 << 20) / bytes_per_core));
  const std::vector<std::vector<float>> data(cores, std::vector<float>(bytes_per_core / 4, 1.f));
  std::vector<float> sink(cores);
  return best_rate(cores, 6, static_cast<double>(bytes_per_core) * passes,
                   [&](int core) { sink[core] = read(data[core], passes); });
}

/// Seconds from handing work to a sleeping thread until its answer is back: what a parallel loop costs at least.
double measure_launch() {
  std::mutex mutex;
  std::condition_variable changed;
  int asked = 0, answered = 0;
  bool done = false;
  std::thread worker([&] {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return done || asked > answered; });
      if (done) return;
      answered = asked;
      changed.notify_all();
    }
  });
  const double seconds = least_seconds(200, [&] {
    std::unique_lock lock(mutex);
    ++asked;
    changed.notify_all();
    changed.wait(lock, [&] { return answered == asked; });
  });
  {
    std::scoped_lock lock(mutex);
    done = true;
  }
  changed.notify_all();
  worker.join();
  return seconds;
}

struct Caches {
  int cores;
  std::vector<MemoryLevel> levels;
  std::string processor;  ///< see processor_of_host
};

std::string info_of(hwloc_obj_t package, const char* name) {
  const char* info = package ? hwloc_obj_get_info_by_name(package, name) : nullptr;
  return info ? info : "unknown";
}

Caches probe_caches() {
  hwloc_topology_t topology;
  hwloc_topology_init(&topology);
  hwloc_topology_load(topology);
  Caches caches{std::max(1, hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE)), {}, ""};
  const hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
  caches.processor = fmt::format("{} family {} model {} stepping {}, {} cores", info_of(package, "CPUVendor"),
                                 info_of(package, "CPUFamilyNumber"), info_of(package, "CPUModelNumber"),
                                 info_of(package, "CPUStepping"), caches.cores);
  const std::pair<hwloc_obj_type_t, const char*> types[] = {
      {HWLOC_OBJ_L1CACHE, "l1"}, {HWLOC_OBJ_L2CACHE, "l2"}, {HWLOC_OBJ_L3CACHE, "l3"}};
  for (const auto& [type, name] : types) {
    const int count = hwloc_get_nbobjs_by_type(topology, type);
    if (count <= 0) continue;
    const hwloc_obj_t cache = hwloc_get_obj_by_type(topology, type, 0);
    caches.levels.push_back({name, static_cast<int64_t>(cache->attr->cache.size), 0, count});
    caches.processor += fmt::format(", {} {}", name, caches.levels.back().bytes);
  }
  hwloc_topology_destroy(topology);
  return caches;
}

}  // namespace

std::string processor_of_host() { return probe_caches().processor; }

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
  host.launch_seconds = measure_launch();
  host.processor = caches.processor;
  host.source = "measured on this machine by `cryolite device host --refresh`";
  return host;
}

}  // namespace cryolite::device
