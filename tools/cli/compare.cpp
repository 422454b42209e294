#include "tools/cli/compare.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace cryolite::cli {
namespace {

std::string index_text(int64_t linear, const std::vector<int64_t>& extents) {
  std::vector<int64_t> index(extents.size());
  for (size_t axis = extents.size(); axis-- > 0;) {
    index[axis] = linear % extents[axis];
    linear /= extents[axis];
  }
  return fmt::format("[{}]", fmt::join(index, ","));
}

}  // namespace

std::string type_text(const graph::TensorType& type) {
  return fmt::format("{}[{}]", graph::name_of(type.element), fmt::join(type.extents(), ","));
}

Comparison compare(const graph::Tensor& got, const graph::Tensor& expected, double rtol, double atol) {
  Comparison result;
  if (got.type.element != expected.type.element || got.type.extents() != expected.type.extents()) {
    result.equal = false;
    result.first_bad = fmt::format(": got {}, expected {}", type_text(got.type), type_text(expected.type));
    result.largest_absolute = result.largest_relative = std::numeric_limits<double>::infinity();
    return result;
  }
  const bool exact = !graph::is_float(expected.type.element);
  const auto a = got.as_doubles(), b = expected.as_doubles();
  const auto extents = expected.type.extents();
  double largest_expected = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    if (std::isfinite(b[i])) largest_expected = std::max(largest_expected, std::fabs(b[i]));
    if ((std::isnan(a[i]) && std::isnan(b[i])) || a[i] == b[i]) continue;
    const double difference = std::isfinite(a[i]) && std::isfinite(b[i]) ? std::fabs(a[i] - b[i])
                                                                        : std::numeric_limits<double>::infinity();
    result.largest_absolute = std::max(result.largest_absolute, difference);
    if (!exact && difference <= atol + rtol * std::fabs(b[i])) continue;
    if (result.equal) result.first_bad = fmt::format("{}: got {}, expected {}", index_text(static_cast<int64_t>(i), extents), a[i], b[i]);
    result.equal = false;
  }
  result.largest_relative = result.largest_absolute / std::max(largest_expected, 1e-30);
  return result;
}

}  // namespace cryolite::cli
