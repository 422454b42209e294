#pragma once
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace cryolite::emit {

/// A compiled model inside this process: the archive linked into a shared library, and one context of it.
class LoadedModel {
 public:
  /// Links FOLDER/libNAME.a and loads it. `weights` is the folder's NAME.weights where there is one.
  /// `threads`: 0 for one a core. Throws Error where it cannot be linked, or its device is not there.
  LoadedModel(const std::string& folder, const std::string& name, int threads);
  ~LoadedModel();
  LoadedModel(LoadedModel&&) noexcept;
  LoadedModel& operator=(LoadedModel&&) noexcept;

  struct Description {
    std::string name;
    graph::TensorType type;
  };
  const std::vector<Description>& inputs() const;
  const std::vector<Description>& outputs() const;

  /// Row-major tensors in the order of inputs() and outputs(). Throws Error where a type differs or a kernel fails.
  std::vector<graph::Tensor> run(const std::vector<graph::Tensor>& inputs);

  /// Milliseconds of each of `repetitions` runs on the same tensors, after `warm_up` more.
  std::vector<double> time(const std::vector<graph::Tensor>& inputs, int warm_up, int repetitions);

  /// Milliseconds of each step (kernel or extern stage, in running order), the least of `repetitions` runs.
  std::vector<double> time_steps(const std::vector<graph::Tensor>& inputs, int warm_up, int repetitions, size_t steps);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cryolite::emit
