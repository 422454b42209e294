#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "emit/evaluate.h"
#include "graph/text.h"

/// Running one operator written in the text form, and comparing tensors.
namespace cryolite::ops {

struct Tolerance {
  double relative = 1e-3, absolute = 1e-7;
};

/// Empty where equal within the tolerance; else the first element that differs. NaNs and infinities must
/// agree.
inline std::string difference(const graph::Tensor& got, const graph::Tensor& wanted,
                              Tolerance tolerance = {}) {
  if (got.type.element != wanted.type.element) return "another element type";
  if (got.type.dims != wanted.type.dims) return "another shape";
  if (!graph::is_float(got.type.element)) {
    const auto a = got.as_integers(), b = wanted.as_integers();
    for (size_t i = 0; i < a.size(); ++i)
      if (a[i] != b[i])
        return "element " + std::to_string(i) + ": " + std::to_string(a[i]) + " instead of " +
               std::to_string(b[i]);
    return "";
  }
  const auto a = got.as_doubles(), b = wanted.as_doubles();
  for (size_t i = 0; i < a.size(); ++i) {
    const bool both_nan = std::isnan(a[i]) && std::isnan(b[i]);
    const bool close =
        a[i] == b[i] || std::abs(a[i] - b[i]) <= tolerance.absolute + tolerance.relative * std::abs(b[i]);
    if (!both_nan && !close)
      return "element " + std::to_string(i) + ": " + std::to_string(a[i]) + " instead of " +
             std::to_string(b[i]);
  }
  return "";
}

/// The outputs of a graph in text form whose operands are all constants.
inline std::vector<graph::Tensor> evaluate_text(const std::string& text) {
  return emit::evaluate(graph::parse_text(text), {});
}

}  // namespace cryolite::ops
