#include "emit/load_model.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>

#include "base/error.h"
#include "base/files.h"
#include "emit/toolchain.h"
#include "runtime/cryolite_description.h"

namespace cryolite::emit {
namespace {

using graph::Tensor;
using Description = LoadedModel::Description;

std::vector<Description> descriptions(const cryolite_description* tensor) {
  std::vector<Description> list;
  for (; tensor->name; ++tensor) {
    graph::TensorType type;
    type.element = static_cast<graph::ElementType>(tensor->element);
    for (int axis = 0; axis < tensor->rank; ++axis) type.dims.push_back(tensor->extents[axis]);
    list.push_back({tensor->name, type});
  }
  return list;
}

void check(const std::vector<Description>& wanted, const std::vector<Tensor>& given) {
  if (wanted.size() != given.size())
    throw Error(fmt::format("{} inputs are given, the model has {}", given.size(), wanted.size()));
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].type.element == given[i].type.element && wanted[i].type.extents() == given[i].type.extents())
      continue;
    throw Error(fmt::format("is fed with {} elements of {}, it takes {} of {}", given[i].type.elements(),
                            name_of(given[i].type.element), wanted[i].type.elements(),
                            name_of(wanted[i].type.element)),
                {.value = wanted[i].name}, "feed the model's shape and element type");
  }
}

}  // namespace

struct LoadedModel::State {
  TemporaryFolder folder;
  void* library = nullptr;
  void* context = nullptr;
  int (*create)(void**, int, const char*) = nullptr;
  int (*run)(void*, const void* const*, void* const*) = nullptr;
  int (*run_timed)(void*, const void* const*, void* const*, int64_t*) = nullptr;
  void (*destroy)(void*) = nullptr;
  const char* (*error)(const void*) = nullptr;
  std::vector<Description> inputs, outputs;

  ~State() {
    if (context) destroy(context);
    // The library stays mapped: Halide's pool of threads, once started, keeps running inside it.
  }

  template <class Symbol>
  void find(Symbol& symbol, const std::string& name) {
    symbol = reinterpret_cast<Symbol>(::dlsym(library, name.c_str()));
    if (!symbol) throw Error(fmt::format("the library has no symbol {}", name));
  }
};

LoadedModel::LoadedModel(const std::string& folder, const std::string& name, int threads)
    : state_(std::make_unique<State>()) {
  const std::string library = state_->folder.file("lib" + name + ".so");
  link_shared(fmt::format("{}/lib{}.a", folder, name), library);
  state_->library = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!state_->library) throw Error(fmt::format("the linked model cannot be loaded: {}", ::dlerror()));
  state_->find(state_->create, name + "_create");
  state_->find(state_->run, name + "_run");
  state_->find(state_->run_timed, "cryolite_run_timed");
  state_->find(state_->destroy, name + "_destroy");
  state_->find(state_->error, name + "_error");
  const cryolite_description* tensors = nullptr;
  state_->find(tensors, name + "_inputs");
  state_->inputs = descriptions(tensors);
  state_->find(tensors, name + "_outputs");
  state_->outputs = descriptions(tensors);
  const std::string weights = fmt::format("{}/{}.weights", folder, name);
  if (state_->create(&state_->context, threads, weights.c_str()) != 0)
    throw Error(state_->error(nullptr));
}

LoadedModel::~LoadedModel() = default;
LoadedModel::LoadedModel(LoadedModel&&) noexcept = default;
LoadedModel& LoadedModel::operator=(LoadedModel&&) noexcept = default;

const std::vector<Description>& LoadedModel::inputs() const { return state_->inputs; }
const std::vector<Description>& LoadedModel::outputs() const { return state_->outputs; }

namespace {

struct Pointers {
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  std::vector<std::string> results;

  Pointers(const std::vector<Tensor>& tensors, const std::vector<Description>& described) {
    for (const Tensor& tensor : tensors) inputs.push_back(tensor.bytes->data());
    for (const Description& output : described) results.emplace_back(output.type.bytes(), '\0');
    for (std::string& result : results) outputs.push_back(result.data());
  }
};

}  // namespace

std::vector<Tensor> LoadedModel::run(const std::vector<Tensor>& inputs) {
  check(state_->inputs, inputs);
  Pointers pointers(inputs, state_->outputs);
  if (state_->run(state_->context, pointers.inputs.data(), pointers.outputs.data()) != 0)
    throw Error(state_->error(state_->context));
  std::vector<Tensor> results;
  for (size_t i = 0; i < pointers.results.size(); ++i)
    results.push_back(Tensor::of_bytes(state_->outputs[i].type, std::move(pointers.results[i])));
  return results;
}

std::vector<double> LoadedModel::time(const std::vector<Tensor>& inputs, int warm_up, int repetitions) {
  check(state_->inputs, inputs);
  Pointers pointers(inputs, state_->outputs);
  std::vector<double> milliseconds;
  for (int i = -warm_up; i < repetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    if (state_->run(state_->context, pointers.inputs.data(), pointers.outputs.data()) != 0)
      throw Error(state_->error(state_->context));
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
    if (i >= 0) milliseconds.push_back(taken.count());
  }
  return milliseconds;
}

std::vector<double> LoadedModel::time_steps(const std::vector<Tensor>& inputs, int warm_up, int repetitions,
                                            size_t steps) {
  check(state_->inputs, inputs);
  Pointers pointers(inputs, state_->outputs);
  std::vector<int64_t> taken(steps);
  std::vector<double> least(steps, std::numeric_limits<double>::infinity());
  for (int i = -warm_up; i < repetitions; ++i) {
    if (state_->run_timed(state_->context, pointers.inputs.data(), pointers.outputs.data(), taken.data()) != 0)
      throw Error(state_->error(state_->context));
    for (size_t s = 0; i >= 0 && s < steps; ++s) least[s] = std::min(least[s], static_cast<double>(taken[s]) * 1e-6);
  }
  return least;
}

}  // namespace cryolite::emit
