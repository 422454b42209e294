#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/error.h"
#include "onnx/import.h"
#include "onnx/tensor_file.h"
#include "ops/operator.h"
#include "tests/ops/evaluate_node.h"

/// ONNX's own node tests: one test here an operator of the table, which runs every node test that holds just
/// this operator. The models come from tools/models; CRYOLITE_MODELS_DIR is the folder that holds node/.
namespace cryolite::ops {
namespace {

namespace fs = std::filesystem;

#ifndef CRYOLITE_MODELS_DIR
#define CRYOLITE_MODELS_DIR ""
#endif

fs::path node_folder() {
  const char* told = std::getenv("CRYOLITE_MODELS_DIR");
  return fs::path(told ? told : CRYOLITE_MODELS_DIR) / "node";
}

/// Parts of names of node tests that are left out, with the reason.
const std::map<std::string, std::string>& excluded() {
  static const std::map<std::string, std::string> reasons{
#include "tests/ops/excluded_node_tests.inc"
  };
  return reasons;
}

/// Inputs that the compiler must know (axes, shapes, …): the tests feed them, so they are made constants.
const std::map<std::string, std::set<size_t>>& compile_time_inputs() {
  static const std::map<std::string, std::set<size_t>> inputs{
      {"Slice", {1, 2, 3, 4}},  {"Pad", {1, 3}},    {"Resize", {1, 2, 3}}, {"Reshape", {1}},
      {"Expand", {1}},          {"Tile", {1}},      {"Squeeze", {1}},      {"Unsqueeze", {1}},
      {"Split", {1}},           {"TopK", {1}},      {"CumSum", {1}},       {"ConstantOfShape", {0}},
      {"Dropout", {1, 2}},      {"OneHot", {1}},    {"Range", {0, 1, 2}},  {"ReduceSum", {1}},
      {"ReduceMean", {1}},      {"ReduceMax", {1}}, {"ReduceMin", {1}},    {"ReduceProd", {1}},
      {"ReduceL1", {1}},        {"ReduceL2", {1}},  {"ReduceLogSum", {1}}, {"ReduceLogSumExp", {1}},
      {"ReduceSumSquare", {1}},
  };
  return inputs;
}

struct Case {
  std::string name;
  std::vector<std::string> operators;
};

::onnx::ModelProto read_model(const fs::path& path) {
  ::onnx::ModelProto model;
  std::ifstream file(path, std::ios::binary);
  model.ParseFromIstream(&file);
  return model;
}

/// Every node test with its operators, in the order of their names.
std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto& entry : fs::directory_iterator(node_folder())) {
    const ::onnx::ModelProto model = read_model(entry.path() / "model.onnx");
    Case one{entry.path().filename().string(), {}};
    for (const auto& node : model.graph().node())
      one.operators.push_back(node.domain().empty() ? node.op_type() : node.domain() + "." + node.op_type());
    cases.push_back(std::move(one));
  }
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.name < b.name; });
  return cases;
}

std::vector<graph::Tensor> tensors(const fs::path& folder, const std::string& prefix) {
  std::vector<graph::Tensor> read;
  for (int i = 0;; ++i) {
    const fs::path path = folder / (prefix + std::to_string(i) + ".pb");
    if (!fs::exists(path)) return read;
    read.push_back(onnx::read_tensor_file(path.string()).tensor);
  }
}

/// Makes initializers of the inputs that must be known; returns the places of those that are left to feed.
std::vector<size_t> fix_inputs(::onnx::ModelProto& model, const fs::path& data) {
  std::set<std::string> known;
  for (const auto& node : model.graph().node()) {
    const auto entry = compile_time_inputs().find(node.op_type());
    if (entry == compile_time_inputs().end()) continue;
    for (size_t i : entry->second)
      if (static_cast<int>(i) < node.input_size()) known.insert(node.input(static_cast<int>(i)));
  }
  ::onnx::GraphProto graph = model.graph();
  std::vector<size_t> left;
  model.mutable_graph()->clear_input();
  for (int i = 0; i < graph.input_size(); ++i) {
    if (!known.count(graph.input(i).name())) {
      *model.mutable_graph()->add_input() = graph.input(i);
      left.push_back(i);
      continue;
    }
    std::ifstream file(data / ("input_" + std::to_string(i) + ".pb"), std::ios::binary);
    auto* initializer = model.mutable_graph()->add_initializer();
    initializer->ParseFromIstream(&file);
    initializer->set_name(graph.input(i).name());
  }
  return left;
}

std::string run_case(const std::string& name) {
  const fs::path folder = node_folder() / name, data = folder / "test_data_set_0";
  ::onnx::ModelProto model = read_model(folder / "model.onnx");
  const auto left = fix_inputs(model, data);
  const fs::path fixed = fs::path(testing::TempDir()) / (name + ".onnx");
  {
    std::ofstream file(fixed, std::ios::binary);
    model.SerializeToOstream(&file);
  }
  const onnx::ImportOptions options{
      .known_operator = [](std::string_view op) { return find(op) != nullptr; }};
  const graph::Graph graph = onnx::import_model(fixed.string(), options);
  fs::remove(fixed);
  const auto inputs = tensors(data, "input_"), wanted = tensors(data, "output_");
  std::vector<graph::Tensor> fed;
  for (size_t i : left) fed.push_back(inputs.at(i));
  const auto got = emit::evaluate(graph, fed);
  if (got.size() != wanted.size()) return "another number of outputs";
  for (size_t i = 0; i < got.size(); ++i)
    if (const std::string found = difference(got[i], wanted[i]); !found.empty())
      return "output " + std::to_string(i) + ": " + found;
  return "";
}

/// The reason why a case is left out; empty where it must pass.
std::string exclusion(const std::string& name) {
  for (const auto& [part, reason] : excluded())
    if (name.find(part) != std::string::npos) return reason;
  return "";
}

void expect_cases(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!exclusion(name).empty()) continue;
    std::string fault;
    try {
      fault = run_case(name);
    } catch (const std::exception& error) {
      fault = error.what();
    }
    EXPECT_EQ(fault, "") << name;
  }
}

class NodeTests : public testing::TestWithParam<std::string> {};

TEST_P(NodeTests, MatchOnnx) {
  if (!fs::is_directory(node_folder())) GTEST_SKIP() << "no ONNX node tests: set CRYOLITE_MODELS_DIR";
  std::vector<std::string> names;
  for (const Case& one : all_cases())
    if (one.operators == std::vector<std::string>{GetParam()}) names.push_back(one.name);
  if (names.empty()) GTEST_SKIP() << "ONNX has no test of this operator alone";
  expect_cases(names);
}

std::vector<std::string> table_names() {
  std::vector<std::string> names;
  for (const Operator& row : table())
    if (row.kernel != Kernel::Extern) names.emplace_back(row.op_type);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Operator, NodeTests, testing::ValuesIn(table_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace cryolite::ops
