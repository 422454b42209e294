#include <HalideBuffer.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "conv_bias_relu.h"
#include "conv_bias_relu_opencl.h"
#include "conv_relu_pool.h"
#include "conv_relu_pool_opencl.h"
#include "model_relu.h"

namespace {

using Buffer = Halide::Runtime::Buffer<float>;

/// Numbers without a pattern that a wrong index would keep.
void fill(Buffer& buffer, float step) {
  int i = 0;
  buffer.for_each_value([&](float& value) { value = std::sin(step * static_cast<float>(i++)); });
  buffer.set_host_dirty();
}

/// max(bias + the convolution, 0) at one place, in double; input by (c, x, y), filter by (out, in, x, y).
double plain(const Buffer& input, const Buffer& filter, const float* bias, int c, int x, int y) {
  double sum = bias ? bias[c] : 0;
  for (int fy = 0; fy < filter.dim(3).extent(); ++fy)
    for (int fx = 0; fx < filter.dim(2).extent(); ++fx)
      for (int ci = 0; ci < filter.dim(1).extent(); ++ci)
        sum += double(filter(c, ci, fx, fy)) * input(ci, x + fx, y + fy, 0);
  return std::max(sum, 0.0);
}

bool has_opencl() { return ::dlopen("libOpenCL.so.1", RTLD_LAZY) != nullptr; }

template <class Kernel>
void check_conv_bias_relu(Kernel kernel, int channels, int width) {
  Buffer input(5, width + 2, 9, 1), filter(channels, 5, 3, 3), bias(channels), output(channels, width, 7, 1);
  fill(input, 0.37f);
  fill(filter, 0.11f);
  fill(bias, 0.9f);
  ASSERT_EQ(kernel(input, filter, bias, output), 0);
  output.copy_to_host();
  for (int y = 0; y < 7; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c)
        ASSERT_NEAR(output(c, x, y, 0), plain(input, filter, bias.data(), c, x, y), 1e-4) << c << " " << x << " " << y;
}

template <class Kernel>
void check_conv_relu_pool(Kernel kernel, int channels, int width) {
  Buffer input(5, 2 * width + 2, 12, 1), filter(channels, 5, 3, 3), output(channels, width, 5, 1);
  fill(input, 0.23f);
  fill(filter, 0.19f);
  ASSERT_EQ(kernel(input, filter, output), 0);
  output.copy_to_host();
  for (int y = 0; y < 5; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c) {
        double most = 0;
        for (int part = 0; part < 4; ++part)
          most = std::max(most, plain(input, filter, nullptr, c, 2 * x + part % 2, 2 * y + part / 2));
        ASSERT_NEAR(output(c, x, y, 0), most, 1e-4) << c << " " << x << " " << y;
      }
}

TEST(Generators, ConvBiasReluIsThatOfPlainLoops) {
  check_conv_bias_relu(conv_bias_relu, 32, 12);
  check_conv_bias_relu(conv_bias_relu, 37, 11);  // tiles that overlap
}

TEST(Generators, ConvBiasReluRefusesImagesSmallerThanATile) {
  const auto before = halide_set_error_handler([](void*, const char*) {});
  Buffer input(5, 4, 9, 1), filter(37, 5, 3, 3), bias(37), output(37, 2, 7, 1);
  EXPECT_NE(conv_bias_relu(input, filter, bias, output), 0);
  halide_set_error_handler(before);
}

TEST(Generators, ConvReluPoolIsThatOfPlainLoops) {
  check_conv_relu_pool(conv_relu_pool, 32, 6);
  check_conv_relu_pool(conv_relu_pool, 19, 7);
}

TEST(Generators, GpuSchedulesComputeTheSame) {
  if (!has_opencl()) GTEST_SKIP() << "no OpenCL on this machine";
  check_conv_bias_relu(conv_bias_relu_opencl, 32, 16);
  check_conv_bias_relu(conv_bias_relu_opencl, 37, 11);
  check_conv_relu_pool(conv_relu_pool_opencl, 16, 8);
  check_conv_relu_pool(conv_relu_pool_opencl, 19, 7);
}

TEST(Generators, ModelGroupComputesAKernelOfAModel) {
  // All of the model's values are its inputs and outputs, which lie as ONNX has them: row-major.
  constexpr int in = 5, out = 16, height = 9, width = 11;
  Buffer x(width, height, in, 1), w(3, 3, in, out), b(out), y(width, height, out, 1);
  fill(x, 0.31f);
  fill(w, 0.13f);
  fill(b, 0.7f);
  ASSERT_EQ(model_relu(x, w, b, y), 0);
  for (int c = 0; c < out; ++c)
    for (int i = 0; i < height; ++i)
      for (int j = 0; j < width; ++j) {
        double sum = b(c);
        for (int ci = 0; ci < in; ++ci)
          for (int fy = 0; fy < 3; ++fy)
            for (int fx = 0; fx < 3; ++fx) {
              const int row = i + fy - 1, column = j + fx - 1;
              if (row < 0 || row >= height || column < 0 || column >= width) continue;
              sum += double(x(column, row, ci, 0)) * w(fx, fy, ci, c);
            }
        ASSERT_NEAR(y(j, i, c, 0), std::max(sum, 0.0), 1e-4) << c << " " << i << " " << j;
      }
}

}  // namespace
