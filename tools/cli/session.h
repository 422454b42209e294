#pragma once
#include <string>
#include <vector>

#include "emit/load_model.h"
#include "tools/cli/build.h"

namespace cryolite::cli {

/// A folder of this process, removed when it goes out of scope.
struct ScratchFolder {
  std::string path;
  /// Throws Error where the folder for temporary files is not writable.
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
};

/// A model compiled by the very path that a user's library takes, then loaded.
struct Session {
  PlannedModel planned;
  ScratchFolder folder;
  std::vector<emit::CompiledGroup> groups;
  emit::LoadedModel model;

  Session(PlannedModel planned, const ModelOptions& options, int threads);

  /// The groups that run, one a step of the model.
  std::vector<const plan::Group*> steps() const;
};

/// Seeded numbers, one tensor an input: floats from 0 to 1, integers and booleans 1 (an index is then in range
/// wherever there are two).
std::vector<graph::Tensor> made_up_inputs(const graph::Graph& graph);

}  // namespace cryolite::cli
