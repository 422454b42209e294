#include "tools/cli/session.h"

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <random>

#include "base/error.h"

namespace cryolite::cli {
namespace {

namespace fs = std::filesystem;

std::vector<emit::CompiledGroup> build(const PlannedModel& planned, const std::string& folder,
                                       const std::string& target) {
  BuildOptions options;
  options.folder = folder;
  options.name = "model";
  options.target = target;
  options.weights = "file";
  return build_model(planned, options);
}

graph::Tensor made_up(const graph::TensorType& type, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(0, 1);
  std::string bytes(static_cast<size_t>(type.bytes()), '\0');
  const int64_t count = type.elements(), size = size_of(type.element);
  for (int64_t i = 0; i < count; ++i) {
    char* at = bytes.data() + i * size;
    if (type.element == graph::ElementType::Float32) {
      const float value = uniform(random);
      std::memcpy(at, &value, sizeof value);
    } else if (type.element == graph::ElementType::Float64) {
      const double value = uniform(random);
      std::memcpy(at, &value, sizeof value);
    } else if (!graph::is_float(type.element)) {
      *at = 1;
    }
  }
  return graph::Tensor::of_bytes(type, std::move(bytes));
}

}  // namespace

ScratchFolder::ScratchFolder() {
  std::string pattern = (fs::temp_directory_path() / "cryolite-XXXXXX").string();
  if (!::mkdtemp(pattern.data()))
    throw Error("cannot be made", {.file = pattern}, "check that the folder for temporary files is writable");
  path = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

Session::Session(PlannedModel made, const ModelOptions& options, int threads)
    : planned(std::move(made)), groups(build(planned, folder.path, options.target)),
      model(folder.path, "model", threads) {}

std::vector<const plan::Group*> Session::steps() const {
  std::vector<const plan::Group*> running;
  for (const plan::Group& group : planned.plan.groups)
    if (group.is_extern() || !groups.at(group.id).symbol.empty()) running.push_back(&group);
  return running;
}

std::vector<graph::Tensor> made_up_inputs(const graph::Graph& graph) {
  std::vector<graph::Tensor> inputs;
  for (graph::ValueId id : graph.inputs)
    inputs.push_back(made_up(graph.value(id).type, static_cast<unsigned>(inputs.size())));
  return inputs;
}

}  // namespace cryolite::cli
