#include "tools/cli/feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "onnx/tensor_file.h"
#include "tools/cli/compare.h"

namespace cryolite::cli {
namespace {

using graph::Tensor;

void check_type(const Tensor& tensor, const graph::Value& wanted, const std::string& file) {
  const graph::TensorType &is = tensor.type, &should_be = wanted.type;
  if (is.element == should_be.element && is.extents() == should_be.extents()) return;
  throw Error(fmt::format("the file holds {}, the model has {}", type_text(is), type_text(should_be)),
              {.file = file, .value = wanted.name}, "give the model's shape and element type");
}

const Tensor* named(const std::vector<onnx::NamedTensor>& tensors, const std::string& name) {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const onnx::NamedTensor& t) { return t.name == name; });
  return found == tensors.end() ? nullptr : &found->tensor;
}

std::string numbered(const std::string& folder, const std::string& kind, size_t i) {
  return fmt::format("{}/{}_{}.pb", folder, kind, i);
}

std::vector<onnx::NamedTensor> read_numbered(const std::string& folder, const std::string& kind) {
  std::vector<onnx::NamedTensor> tensors;
  while (std::filesystem::exists(numbered(folder, kind, tensors.size())))
    tensors.push_back(onnx::read_tensor_file(numbered(folder, kind, tensors.size())));
  return tensors;
}

std::vector<Tensor> test_inputs(const std::string& folder, const graph::Graph& model) {
  const auto given = read_numbered(folder, "input");
  if (given.size() < model.inputs.size())
    throw Error(fmt::format("has {} files input_N.pb, the model has {} inputs", given.size(), model.inputs.size()),
                {.file = folder}, fmt::format("give input_0.pb to input_{}.pb", model.inputs.size() - 1));
  const bool by_name = std::all_of(model.inputs.begin(), model.inputs.end(), [&](graph::ValueId id) {
    return named(given, model.value(id).name) != nullptr;
  });
  std::vector<Tensor> inputs;
  for (graph::ValueId id : model.inputs) {
    const graph::Value& wanted = model.value(id);
    inputs.push_back(by_name ? *named(given, wanted.name) : given[inputs.size()].tensor);
    check_type(inputs.back(), wanted, by_name ? folder : numbered(folder, "input", inputs.size() - 1));
  }
  return inputs;
}

}  // namespace

std::vector<Tensor> inputs_of_npz(const std::string& file, const graph::Graph& model) {
  const auto given = onnx::read_npz(file);
  std::vector<Tensor> inputs;
  for (graph::ValueId id : model.inputs) {
    const graph::Value& wanted = model.value(id);
    const Tensor* found = named(given, wanted.name);
    if (!found)
      throw Error("no array of the file has this name", {.file = file, .value = wanted.name},
                  "name the arrays as the model's inputs");
    check_type(*found, wanted, file);
    inputs.push_back(*found);
  }
  return inputs;
}

TestData read_test_data(const std::string& folder, const graph::Graph& model) {
  TestData data;
  const auto expected = read_numbered(folder, "output");
  if (expected.empty())
    throw Error("holds no output_0.pb", {.file = folder}, "give --data a folder laid out as ONNX's test data");
  if (expected.size() != model.outputs.size())
    throw Error(fmt::format("has {} files output_N.pb, the model has {} outputs", expected.size(), model.outputs.size()),
                {.file = folder}, "give the data of this model");
  data.inputs = test_inputs(folder, model);
  for (size_t i = 0; i < expected.size(); ++i) {
    check_type(expected[i].tensor, model.value(model.outputs[i]), numbered(folder, "output", i));
    data.outputs.push_back(expected[i].tensor);
  }
  return data;
}

}  // namespace cryolite::cli
