#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "device/device.h"
#include "emit/load_model.h"
#include "onnx/tensor_file.h"
#include "tools/cli/build.h"
#include "tools/cli/commands.h"
#include "tools/cli/compare.h"
#include "tools/cli/feed.h"
#include "tools/cli/measure.h"
#include "tools/cli/session.h"

namespace cryolite::cli {
namespace {

namespace fs = std::filesystem;
using graph::Tensor;

struct RunOptions {
  ModelOptions model;
  std::string input, output;
  int threads = 0;
};

void run_model(const RunOptions& options) {
  PlannedModel planned = plan_model(options.model);
  const auto inputs = inputs_of_npz(options.input, planned.plan.graph);
  Session session(std::move(planned), options.model, options.threads);
  const auto outputs = session.model.run(inputs);
  std::vector<onnx::NamedTensor> named;
  for (size_t i = 0; i < outputs.size(); ++i) named.push_back({session.model.outputs()[i].name, outputs[i]});
  onnx::write_npz(options.output, named);
}

struct VerifyOptions {
  ModelOptions model;
  std::string data;
  double rtol = 1e-3, atol = 1e-6;
  int threads = 0;
};

void verify_model(const VerifyOptions& options) {
  std::string data = options.data;
  if (data.empty()) data = (fs::absolute(options.model.model).parent_path() / "test_data_set_0").string();
  PlannedModel planned = plan_model(options.model);
  const TestData set = read_test_data(data, planned.plan.graph);
  Session session(std::move(planned), options.model, options.threads);
  const auto outputs = session.model.run(set.inputs);
  std::string first_bad;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Comparison result = compare(outputs[i], set.outputs[i], options.rtol, options.atol);
    const std::string& name = session.model.outputs()[i].name;
    fmt::print("{}: {} ({} elements, largest difference {:.3g}, relative to the largest value {:.3g})\n", name,
               result.equal ? "equal" : "different", set.outputs[i].type.elements(), result.largest_absolute,
               result.largest_relative);
    if (!result.equal && first_bad.empty()) first_bad = name + result.first_bad;
  }
  if (!first_bad.empty())
    throw Error(fmt::format("differs from the expected outputs, first at {}", first_bad), {.file = options.model.model},
                fmt::format("tolerances are --rtol {} --atol {}", options.rtol, options.atol));
}

struct BenchOptions {
  ModelOptions model;
  std::string json, input;
  int threads = 1, runs = 20, warm_up = 3;
  bool kernels = false, measure = false;
};

/// A kernel with the least of its measured times, beside what the plan's device was predicted to take.
struct KernelTime {
  const plan::Group* group;
  std::string name;      ///< of its last node
  double milliseconds;
  double share_of_peak;  ///< of the multiply-adds that so many threads reach

  double gflops() const { return 1e-6 * static_cast<double>(group->cost.flops) / milliseconds; }
  double gigabytes() const { return 1e-6 * static_cast<double>(group->cost.bytes()) / milliseconds; }
};

std::vector<KernelTime> kernel_times(Session& session, const BenchOptions& options, const std::vector<Tensor>& inputs) {
  const std::vector<const plan::Group*> steps = session.steps();
  const auto times = session.model.time_steps(inputs, options.warm_up, options.runs, steps.size());
  const device::Device device = device::load(options.model.device.empty() ? "host" : options.model.device);
  const double peak = device.flops_per_second * std::min(1.0, static_cast<double>(options.threads) / device.cores);
  std::vector<KernelTime> rows;
  for (size_t s = 0; s < steps.size(); ++s) {
    rows.push_back({steps[s], plan::name_of(session.planned.plan, *steps[s]), times[s], 0});
    rows.back().share_of_peak = rows.back().gflops() * 1e9 / peak;
  }
  return rows;
}

nlohmann::json to_json(const std::vector<KernelTime>& rows, double total) {
  nlohmann::json list = nlohmann::json::array();
  for (const KernelTime& row : rows) {
    const cost::Cost& cost = row.group->cost;
    list.push_back({{"id", row.group->id}, {"name", row.name}, {"strategy", row.group->strategy},
                    {"ms", row.milliseconds}, {"predicted_ms", 1e3 * cost.seconds}, {"bound_by", cost.bound_by},
                    {"flops", cost.flops}, {"bytes", cost.bytes()}, {"gflops", row.gflops()},
                    {"share_of_peak", row.share_of_peak}, {"gb_per_s", row.gigabytes()}});
  }
  return {{"kernels", list}, {"sum_ms", total}};
}

void print_kernel_times(const std::vector<KernelTime>& rows, const std::string& json) {
  double total = 0;
  for (const KernelTime& row : rows) total += row.milliseconds;
  if (!json.empty()) return write_text(json, to_json(rows, total).dump() + "\n");
  fmt::print("{:>4}  {:<36} {:<14} {:>9} {:>7} {:>9} {:>10} {:>9} {:>8} {:>7} {:>7}\n", "id", "last node", "strategy",
             "ms", "of all", "predicted", "Mflop", "kB", "GFLOP/s", "of peak", "GB/s");
  for (const KernelTime& row : rows) {
    const cost::Cost& cost = row.group->cost;
    fmt::print("{:>4}  {:<36.36} {:<14} {:>9.4f} {:>6.1f}% {:>9.4f} {:>10.3f} {:>9.1f} {:>8.1f} {:>6.1f}% {:>7.1f}\n",
               row.group->id, row.name, row.group->strategy, row.milliseconds, 100 * row.milliseconds / total,
               1e3 * cost.seconds, 1e-6 * static_cast<double>(cost.flops), 1e-3 * static_cast<double>(cost.bytes()),
               row.gflops(), 100 * row.share_of_peak, row.gigabytes());
  }
  fmt::print("sum of the least times: {:.3f} ms\n", total);
}

void bench_model(const BenchOptions& options) {
  PlannedModel planned = options.measure ? measured_plan(options.model, options.threads) : plan_model(options.model);
  const graph::Graph& graph = planned.plan.graph;
  std::vector<Tensor> inputs;
  if (!options.input.empty())
    inputs = inputs_of_npz(options.input, graph);
  else
    inputs = made_up_inputs(graph);
  Session session(std::move(planned), options.model, options.threads);
  if (options.kernels) return print_kernel_times(kernel_times(session, options, inputs), options.json);
  std::vector<double> times = session.model.time(inputs, options.warm_up, options.runs);
  std::sort(times.begin(), times.end());
  const double least = times.front(), median = times[times.size() / 2];
  if (!options.json.empty()) {
    write_text(options.json, nlohmann::json{{"min_ms", least}, {"median_ms", median}, {"threads", options.threads},
                                            {"runs", options.runs}}.dump() + "\n");
    return;
  }
  fmt::print("{}: least {:.3f} ms, median {:.3f} ms ({} runs, {} threads)\n", session.planned.plan.model, least, median,
             options.runs, options.threads);
}

}  // namespace

void add_run(CLI::App& app) {
  auto* command = app.add_subcommand("run", "Run a model on arrays of an .npz file");
  auto options = std::make_shared<RunOptions>();
  add_model_options(*command, options->model);
  command->add_option("--input", options->input, "an .npz with one array an input, named alike")->required();
  command->add_option("--output", options->output, "the .npz to write")->required();
  command->add_option("--threads", options->threads, "0: one a core")->capture_default_str()
      ->check(CLI::Range(0, 1024));
  command->footer("Example: cryolite run resnet50.onnx --input image.npz --output scores.npz");
  command->callback([options] { run_model(*options); });
}

void add_verify(CLI::App& app) {
  auto* command = app.add_subcommand("verify", "Compare a model's outputs with expected ones");
  auto options = std::make_shared<VerifyOptions>();
  add_model_options(*command, options->model);
  command->add_option("--data", options->data,
                      "folder with input_N.pb and output_N.pb; default: test_data_set_0 beside the model");
  command->add_option("--rtol", options->rtol, "relative tolerance")->capture_default_str();
  command->add_option("--atol", options->atol, "absolute tolerance")->capture_default_str();
  command->add_option("--threads", options->threads, "0: one a core")->capture_default_str()
      ->check(CLI::Range(0, 1024));
  command->footer("Example: cryolite verify squeezenet/model.onnx --rtol 1e-3 --atol 1e-6");
  command->callback([options] { verify_model(*options); });
}

void add_bench(CLI::App& app) {
  auto* command = app.add_subcommand("bench", "Time a model");
  auto options = std::make_shared<BenchOptions>();
  add_model_options(*command, options->model);
  command->add_option("--threads", options->threads, "worker threads, the caller's included")
      ->capture_default_str()->check(CLI::Range(1, 1024));
  command->add_option("--runs", options->runs, "timed runs")->capture_default_str()->check(CLI::Range(1, 1000000));
  command->add_option("--warm-up", options->warm_up, "runs before these")->capture_default_str()
      ->check(CLI::Range(0, 1000000));
  command->add_option("--input", options->input, "an .npz of inputs; default: seeded random numbers");
  command->add_option("--json", options->json, "write the figures as JSON to this file (- is standard output)");
  command->add_flag("--kernels", options->kernels, "time each kernel: least, predicted, GFLOP/s, GB/s");
  command->add_flag("--measure", options->measure, "first cut kernels that measure slower than their parts (see compile)");
  command->footer("Example: cryolite bench resnet50.onnx --threads 2 --json -");
  command->callback([options] { bench_model(*options); });
}

}  // namespace cryolite::cli
