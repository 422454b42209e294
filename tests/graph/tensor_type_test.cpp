#include "graph/tensor_type.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "graph/half.h"

namespace cryolite::graph {
namespace {

TEST(TensorType, CountsElementsAndBytes) {
  const TensorType type{ElementType::Float16, {2, 3, 4}};
  EXPECT_EQ(type.elements(), 24);
  EXPECT_EQ(type.bytes(), 48);
  EXPECT_EQ((TensorType{ElementType::Float32, {}}.elements()), 1);
  EXPECT_EQ((TensorType{ElementType::Float32, {0, 7}}.elements()), 0);
}

TEST(TensorType, RefusesShapesThat64BitsCannotCount) {
  const int64_t huge = int64_t{1} << 40;
  EXPECT_THROW((TensorType{ElementType::Float32, {huge, huge}}.elements()), Error);
  EXPECT_THROW((TensorType{ElementType::Float32, {0, huge, huge}}.elements()), Error);
}

TEST(TensorType, IsFixedOnlyWithEveryExtent) {
  EXPECT_TRUE((TensorType{ElementType::Float32, {1, 2}}.is_fixed()));
  EXPECT_FALSE((TensorType{ElementType::Float32, {1, Dim::symbolic("n")}}.is_fixed()));
  EXPECT_FALSE((TensorType{ElementType::Float32, {}, false}.is_fixed()));
  EXPECT_FALSE((TensorType{ElementType::Undefined, {}}.is_fixed()));
}

TEST(Layout, ChannelsLastStoresChannelsInnermost) {
  const Layout layout = channels_last(4);
  EXPECT_EQ(layout.order, (std::vector<int>{0, 2, 3, 1}));
  EXPECT_EQ(storage_extents(layout, {1, 16, 28, 30}), (std::vector<int64_t>{1, 28, 30, 16}));
  EXPECT_EQ(storage_strides(layout, {1, 16, 28, 30}), (std::vector<int64_t>{13440, 480, 16, 1}));
  EXPECT_FALSE(layout.is_row_major());
  EXPECT_TRUE(Layout{}.is_row_major());
}

TEST(Layout, BlocksAreStoredInnermostAndPadded) {
  const Layout layout{.order = {0, 1, 2}, .block_axis = 1, .block = 8};
  EXPECT_EQ(storage_extents(layout, {2, 20, 5}), (std::vector<int64_t>{2, 3, 5, 8}));
  EXPECT_EQ(storage_strides(layout, {2, 20, 5}), (std::vector<int64_t>{120, 40, 8, 1}));
}

TEST(Tensor, ReadsEveryElementType) {
  EXPECT_EQ(Tensor::of_integers({-1, 5}).as_integers(), (std::vector<int64_t>{-1, 5}));
  EXPECT_EQ(Tensor::of_floats({0.5f, -2}, {2}).as_doubles(), (std::vector<double>{0.5, -2}));
  const Tensor halves = Tensor::of_bytes({ElementType::Float16, {2}}, std::string("\x00\x3c\x00\xc0", 4));
  EXPECT_EQ(halves.as_doubles(), (std::vector<double>{1, -2}));
  const Tensor small = Tensor::of_bytes({ElementType::Int8, {2}}, "\xff\x7f");
  EXPECT_EQ(small.as_integers(), (std::vector<int64_t>{-1, 127}));
  EXPECT_THROW(halves.as_integers(), Error);
}

TEST(Half, EveryPatternSurvivesTheWayThroughFloat) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    if (!std::isnan(half_to_float(half))) {
      ASSERT_EQ(float_to_half(half_to_float(half)), half);
    }
    if (!std::isnan(bfloat16_to_float(half))) {
      ASSERT_EQ(float_to_bfloat16(bfloat16_to_float(half)), half);
    }
  }
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(float_to_half(1.0f + 1.0f / 2048), 0x3c00);  // a tie: down to even
  EXPECT_EQ(float_to_half(1.0f + 3.0f / 2048), 0x3c02);  // a tie: up to even
  EXPECT_EQ(float_to_half(65519.0f), 0x7bff);
  EXPECT_EQ(float_to_half(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_half(std::ldexp(1.0f, -25)), 0x0000);
  EXPECT_EQ(float_to_half(std::ldexp(1.5f, -25)), 0x0001);
  EXPECT_EQ(float_to_half(-std::numeric_limits<float>::infinity()), 0xfc00);
  EXPECT_TRUE(std::isnan(half_to_float(float_to_half(NAN))));
  EXPECT_EQ(float_to_bfloat16(1.0f + 1.0f / 256), 0x3f80);
  EXPECT_EQ(float_to_bfloat16(1.0f + 3.0f / 256), 0x3f82);
}

}  // namespace
}  // namespace cryolite::graph
