#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "emit/evaluate.h"
#include "graph/text.h"
#include "ops/operator.h"

/// Feeding a graph in text form, and comparing with numbers.
namespace cryolite::ops {

/// Small whole numbers that repeat with no short period: sums of products are exact in float32.
inline std::vector<float> pattern(int64_t count, int64_t step = 7) {
  std::vector<float> numbers(count);
  for (int64_t i = 0; i < count; ++i) numbers[i] = static_cast<float>((i * step + i / 5) % 11 - 5);
  return numbers;
}

inline int64_t product(const std::vector<int64_t>& extents) {
  int64_t all = 1;
  for (int64_t extent : extents) all *= extent;
  return all;
}

inline graph::Tensor tensor_of(const std::vector<float>& numbers, const std::vector<int64_t>& extents) {
  return graph::Tensor::of_floats(numbers, {extents.begin(), extents.end()});
}

/// The outputs of a graph in text form, as doubles.
inline std::vector<std::vector<double>> numbers_of(const std::string& text,
                                                   const std::vector<graph::Tensor>& inputs = {}) {
  std::vector<std::vector<double>> outputs;
  for (const graph::Tensor& tensor : emit::evaluate(graph::parse_text(text), inputs))
    outputs.push_back(tensor.as_doubles());
  return outputs;
}

/// The float32 inputs of a graph, filled with pattern().
inline std::vector<graph::Tensor> patterns_for(const std::string& text) {
  const graph::Graph graph = graph::parse_text(text);
  std::vector<graph::Tensor> tensors;
  for (graph::ValueId id : graph.inputs) {
    const auto extents = graph.value(id).type.extents();
    tensors.push_back(tensor_of(pattern(product(extents)), extents));
  }
  return tensors;
}

/// Every number within `tolerance`, relative above 1 and absolute below; NaNs and infinities must agree.
inline void expect_close(const std::vector<double>& got, const std::vector<double>& wanted,
                         double tolerance = 1e-5) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(wanted[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << "element " << i << " is " << got[i];
    } else if (got[i] != wanted[i]) {
      EXPECT_NEAR(got[i], wanted[i], tolerance * std::max(1.0, std::abs(wanted[i]))) << "element " << i;
    }
  }
}

/// The fault that checking the first node gives; empty where there is none. It must name the node and a
/// remedy.
inline std::string fault_of(const std::string& inputs, const std::string& node) {
  const graph::Graph group = graph::parse_text("graph g (" + inputs + ") -> (y) {\n node1: " + node + "\n}");
  try {
    require(group, group.nodes[0]);
  } catch (const Error& error) {
    EXPECT_EQ(error.where().node, "node1");
    EXPECT_FALSE(error.remedy().empty()) << error.what();
    return error.message();
  }
  return "";
}

}  // namespace cryolite::ops
