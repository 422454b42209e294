#include "runtime/extern_ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "graph/tensor_type.h"

namespace cryolite {
namespace {

using Extents = std::vector<int64_t>;

Extents dense_strides(const Extents& extents) {
  Extents strides(extents.size(), 1);
  for (size_t axis = extents.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * extents[axis];
  return strides;
}

template <class T>
struct Result {
  int status = 0;
  std::vector<T> values;
  std::vector<int64_t> indices;
};

template <class T>
Result<T> top_k(std::vector<T> data, cryolite_type type, const Extents& extents, int64_t axis, int64_t k,
                bool largest, Extents strides = {}) {
  if (strides.empty()) strides = dense_strides(extents);
  Extents kept = extents;
  kept[axis] = k;
  const Extents kept_strides = dense_strides(kept);
  int64_t count = 1;
  for (int64_t extent : kept) count *= extent;
  Result<T> result{0, std::vector<T>(count), std::vector<int64_t>(count)};
  const int rank = static_cast<int>(extents.size());
  const cryolite_tensor in{data.data(), type, rank, extents.data(), strides.data()};
  cryolite_tensor out[] = {{result.values.data(), type, rank, kept.data(), kept_strides.data()},
                           {result.indices.data(), CRYOLITE_INT64, rank, kept.data(), kept_strides.data()}};
  const int64_t params[] = {axis, largest, 1};
  result.status = cryolite_extern_topk(&in, 1, out, 2, params, 3);
  return result;
}

TEST(TopK, SortsAndPrefersTheLowerIndex) {
  const auto largest = top_k<float>({3, 1, 3, 2, 3}, CRYOLITE_FLOAT32, {5}, 0, 4, true);
  EXPECT_EQ(largest.values, (std::vector<float>{3, 3, 3, 2}));
  EXPECT_EQ(largest.indices, (Extents{0, 2, 4, 3}));
  const auto smallest = top_k<float>({3, 1, 3, 1, 3}, CRYOLITE_FLOAT32, {5}, 0, 3, false);
  EXPECT_EQ(smallest.values, (std::vector<float>{1, 1, 3}));
  EXPECT_EQ(smallest.indices, (Extents{1, 3, 0}));
}

TEST(TopK, TakesAnAxisThatIsNotTheLast) {
  const auto result = top_k<int32_t>({1, 6, 5, 2, 3, 4}, CRYOLITE_INT32, {3, 2}, 0, 2, true);
  EXPECT_EQ(result.values, (std::vector<int32_t>{5, 6, 3, 4}));
  EXPECT_EQ(result.indices, (Extents{1, 0, 2, 2}));
}

TEST(TopK, ReadsThroughStrides) {
  const auto result = top_k<int32_t>({1, 6, 5, 2, 3, 4}, CRYOLITE_INT32, {2, 3}, 1, 1, true, {1, 2});
  EXPECT_EQ(result.values, (std::vector<int32_t>{5, 6}));
  EXPECT_EQ(result.indices, (Extents{1, 0}));
}

TEST(TopK, OrdersSignsZerosAndNaNs) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  const auto result =
      top_k<float>({-0.0f, -1, 0.0f, infinity, nan, -infinity, 1e-40f}, CRYOLITE_FLOAT32, {7}, 0, 7, true);
  EXPECT_EQ(result.indices, (Extents{4, 3, 6, 0, 2, 1, 5}));
}

TEST(TopK, OrdersSixtyFourBitIntegersExactly) {
  const int64_t big = int64_t{1} << 60;
  const auto result = top_k<int64_t>({big, big + 1, -big, big - 1}, CRYOLITE_INT64, {4}, 0, 4, true);
  EXPECT_EQ(result.indices, (Extents{1, 0, 3, 2}));
  const auto unsigned_result = top_k<uint64_t>({1, ~uint64_t{0}, 2}, CRYOLITE_UINT64, {3}, 0, 3, true);
  EXPECT_EQ(unsigned_result.indices, (Extents{1, 2, 0}));
}

TEST(TopK, AgreesWithSortingOnManyElements) {
  std::vector<int32_t> data(5000);
  uint32_t state = 1;
  for (int32_t& each : data) each = static_cast<int32_t>((state = state * 1664525u + 1013904223u) >> 20);
  std::vector<int64_t> order(data.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return data[a] > data[b]; });
  order.resize(700);
  EXPECT_EQ(top_k(data, CRYOLITE_INT32, {5000}, 0, 700, true).indices, order);
}

TEST(TopK, RefusesWhatDoesNotFit) {
  EXPECT_EQ(top_k<float>({1, 2}, CRYOLITE_FLOAT32, {2}, 0, 3, true).status, -1);
  EXPECT_EQ(top_k<float>({1, 2}, CRYOLITE_UNDEFINED, {2}, 0, 1, true).status, -1);
  EXPECT_EQ(top_k<float>({1, 2}, CRYOLITE_FLOAT32, {2}, 0, 0, true).status, 0);
}

TEST(TensorTypes, AreThoseOfTheCompiler) {
  EXPECT_EQ(static_cast<int>(graph::ElementType::Undefined), CRYOLITE_UNDEFINED);
  EXPECT_EQ(static_cast<int>(graph::ElementType::Float32), CRYOLITE_FLOAT32);
  EXPECT_EQ(static_cast<int>(graph::ElementType::BFloat16), CRYOLITE_BFLOAT16);
  EXPECT_EQ(static_cast<int>(graph::ElementType::Int64), CRYOLITE_INT64);
  EXPECT_EQ(static_cast<int>(graph::ElementType::Bool), CRYOLITE_BOOL);
}

}  // namespace
}  // namespace cryolite
