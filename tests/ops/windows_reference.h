#pragma once
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string>
#include <vector>

#include "tests/ops/numbers.h"

/// Plain loops in double precision over (n, c, z, y, x), to check convolutions against, and inputs for them.
namespace cryolite::ops {

using Three = std::array<int64_t, 3>;  ///< z, y, x

struct WindowCase {
  int64_t batch, inputs, outputs, groups;
  Three in, out, kernel;
  Three strides{1, 1, 1}, dilations{1, 1, 1}, low{0, 0, 0};
  int rank;                                  ///< spatial axes of the node; the others have extent 1
  std::string attributes;                    ///< of the node, beside group
  std::string layout_x, layout_w, layout_y;  ///< of the text form

  std::vector<int64_t> shape(int64_t first, int64_t second, const Three& spatial) const {
    std::vector<int64_t> extents = {first, second};
    extents.insert(extents.end(), spatial.end() - rank, spatial.end());
    return extents;
  }
};

/// Calls visit(n, output channel, input channel, o, k, i) with i = o * stride + k * dilation - low, i inside
/// `in`.
template <class Visit>
void for_each_tap(const WindowCase& c, const Three& in, const Three& out, Visit visit) {
  const int64_t group_outputs = c.outputs / c.groups, group_inputs = c.inputs / c.groups;
  const auto axis = [&](int a, auto&& next) {
    for (int64_t o = 0; o < out[a]; ++o)
      for (int64_t k = 0; k < c.kernel[a]; ++k) {
        const int64_t i = o * c.strides[a] + k * c.dilations[a] - c.low[a];
        if (i >= 0 && i < in[a]) next(o, k, i);
      }
  };
  for (int64_t n = 0; n < c.batch; ++n)
    for (int64_t m = 0; m < c.outputs; ++m)
      for (int64_t r = 0; r < group_inputs; ++r)
        axis(0, [&](int64_t oz, int64_t kz, int64_t iz) {
          axis(1, [&](int64_t oy, int64_t ky, int64_t iy) {
            axis(2, [&](int64_t ox, int64_t kx, int64_t ix) {
              visit(n, m, m / group_outputs * group_inputs + r, Three{oz, oy, ox}, Three{kz, ky, kx},
                    Three{iz, iy, ix});
            });
          });
        });
}

inline int64_t offset(int64_t a, int64_t b, int64_t b_extent, const Three& at, const Three& extents) {
  return (((a * b_extent + b) * extents[0] + at[0]) * extents[1] + at[1]) * extents[2] + at[2];
}

inline std::vector<double> reference_conv(const WindowCase& c, const std::vector<float>& x,
                                          const std::vector<float>& w, const std::vector<float>& bias) {
  const int64_t points = c.out[0] * c.out[1] * c.out[2], group_inputs = c.inputs / c.groups;
  std::vector<double> y(c.batch * c.outputs * points);
  for (size_t i = 0; i < y.size(); ++i) y[i] = bias[static_cast<int64_t>(i) / points % c.outputs];
  for_each_tap(c, c.in, c.out, [&](int64_t n, int64_t m, int64_t channel, Three o, Three k, Three i) {
    y[offset(n, m, c.outputs, o, c.out)] += static_cast<double>(x[offset(n, channel, c.inputs, i, c.in)]) *
                                            w[offset(m, channel % group_inputs, group_inputs, k, c.kernel)];
  });
  return y;
}

/// The form that scatters: every input element is added to the outputs under its window.
inline std::vector<double> reference_conv_transpose(const WindowCase& c, const std::vector<float>& x,
                                                    const std::vector<float>& w,
                                                    const std::vector<float>& bias) {
  const int64_t points = c.out[0] * c.out[1] * c.out[2], group_outputs = c.outputs / c.groups;
  std::vector<double> y(c.batch * c.outputs * points);
  for (size_t i = 0; i < y.size(); ++i) y[i] = bias[static_cast<int64_t>(i) / points % c.outputs];
  for_each_tap(c, c.out, c.in, [&](int64_t n, int64_t m, int64_t channel, Three i, Three k, Three o) {
    y[offset(n, m, c.outputs, o, c.out)] += static_cast<double>(x[offset(n, channel, c.inputs, i, c.in)]) *
                                            w[offset(channel, m % group_outputs, group_outputs, k, c.kernel)];
  });
  return y;
}

/// What the compiler computes for `op_type` (Conv or ConvTranspose) with bias, and the reference for it.
inline void expect_windows(const WindowCase& c, const std::string& op_type) {
  const bool is_transposed = op_type == "ConvTranspose";
  const auto x_shape = c.shape(c.batch, c.inputs, c.in), y_shape = c.shape(c.batch, c.outputs, c.out);
  const auto w_shape = is_transposed ? c.shape(c.inputs, c.outputs / c.groups, c.kernel)
                                     : c.shape(c.outputs, c.inputs / c.groups, c.kernel);
  const auto x = pattern(product(x_shape)), w = pattern(product(w_shape), 3), bias = pattern(c.outputs, 5);
  const std::string text = fmt::format(
      "graph g (x: f32[{}]{}, w: f32[{}]{}, b: f32[{}]) -> (y) {{\n n: y: f32[{}]{} = {}(x, w, b) "
      "{{group={}{}}}\n}}",
      fmt::join(x_shape, ","), c.layout_x, fmt::join(w_shape, ","), c.layout_w, c.outputs,
      fmt::join(y_shape, ","), c.layout_y, op_type, c.groups, c.attributes);
  SCOPED_TRACE(text);
  const auto got = emit::evaluate(
      graph::parse_text(text), {tensor_of(x, x_shape), tensor_of(w, w_shape), tensor_of(bias, {c.outputs})});
  const auto wanted = is_transposed ? reference_conv_transpose(c, x, w, bias) : reference_conv(c, x, w, bias);
  EXPECT_EQ(got.at(0).as_doubles(), wanted);
}

}  // namespace cryolite::ops
