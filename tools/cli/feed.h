#pragma once
#include <string>
#include <vector>

#include "graph/graph.h"

/// What a model is fed with. All is checked here, before anything is compiled.
namespace cryolite::cli {

/// The arrays of an .npz that are named as the model's inputs, in the model's order. Throws Error (file, value)
/// where one is missing or not of the input's type.
std::vector<graph::Tensor> inputs_of_npz(const std::string& file, const graph::Graph& model);

struct TestData {
  std::vector<graph::Tensor> inputs, outputs;
};

/// A folder laid out as ONNX's test data: input_N.pb and output_N.pb. Inputs are matched by name where all names fit,
/// otherwise by position, as ONNX's own runner does. Throws Error (file, value) as above.
TestData read_test_data(const std::string& folder, const graph::Graph& model);

}  // namespace cryolite::cli
