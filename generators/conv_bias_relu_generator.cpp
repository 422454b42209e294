#include <Halide.h>

namespace {

using namespace Halide;

/// Convolution, bias and ReLU in one loop nest, channels innermost.
///
///     input    float, by c, x, y, n: the image with its border, (X - 1) * stride + K pixels wide for X outputs
///     filter   float, by output channel, input channel, x, y
///     bias     float, by output channel
///     output   float, by c, x, y, n
class ConvBiasRelu : public Generator<ConvBiasRelu> {
 public:
  GeneratorParam<int> stride{"stride", 1};
  // CPU: accumulators held in registers, in vectors of channels by pixels: 2 x 6 of AVX2's 16.
  GeneratorParam<int> vectors{"vectors", 2};
  GeneratorParam<int> pixels{"pixels", 6};
  // GPU: threads of a block over channels and pixels, and channels a thread.
  GeneratorParam<int> thread_channels{"thread_channels", 8};
  GeneratorParam<int> thread_pixels{"thread_pixels", 8};
  GeneratorParam<int> channels_per_thread{"channels_per_thread", 4};

  Input<Buffer<float, 4>> input{"input"};
  Input<Buffer<float, 4>> filter{"filter"};
  Input<Buffer<float, 1>> bias{"bias"};
  Output<Buffer<float, 4>> output{"output"};

  void generate() {
    // Algorithm
    window_ = RDom(0, filter.dim(1).extent(), 0, filter.dim(2).extent(), 0, filter.dim(3).extent(), "window");
    sum_(c, x, y, n) = bias(c);
    sum_(c, x, y, n) += filter(c, window_.x, window_.y, window_.z) *
                        input(window_.x, x * stride + window_.y, y * stride + window_.z, n);
    output(c, x, y, n) = max(sum_(c, x, y, n), 0.f);
  }

  void schedule() {
    if (get_target().has_gpu_feature())
      schedule_gpu();
    else
      schedule_cpu();
  }

 private:
  Var c{"c"}, x{"x"}, y{"y"}, n{"n"}, ci{"ci"}, xi{"xi"}, row{"row"}, channel{"channel"};
  Func sum_{"sum"};
  RDom window_;

  void schedule_cpu() {
    // Tiles at the end of a row or of the channels overlap the ones before (ShiftInwards), so the output must have
    // at least vectors * lanes channels and `pixels` pixels a row; smaller ones are refused at run time.
    const int lanes = natural_vector_size<float>();
    output.compute_root()
        .split(c, c, ci, lanes * vectors, TailStrategy::ShiftInwards)
        .split(x, x, xi, pixels, TailStrategy::ShiftInwards)
        .reorder(ci, xi, c, x, y, n)
        .fuse(y, n, row)
        .parallel(row)
        .vectorize(ci, lanes)
        .unroll(ci)
        .unroll(xi);
    // The sums of a tile never leave the registers: each step of the window takes one channel of every pixel, times a
    // vector of filters, into all of them.
    sum_.compute_at(output, c).vectorize(c, lanes).unroll(c).unroll(x);
    sum_.update()
        .reorder(c, x, window_.x, window_.y, window_.z, y, n)
        .vectorize(c, lanes)
        .unroll(c)
        .unroll(x);
  }

  void schedule_gpu() {
    output.compute_root()
        .fuse(y, n, row)
        .split(c, c, ci, thread_channels.value() * channels_per_thread.value(), TailStrategy::GuardWithIf)
        .split(x, x, xi, thread_pixels, TailStrategy::GuardWithIf)
        .split(ci, ci, channel, channels_per_thread)
        .reorder(channel, ci, xi, c, x, row)
        .unroll(channel)
        .gpu_threads(ci, xi)
        .gpu_blocks(c, x, row);
    // Each thread keeps the sums of its own channels in registers.
    sum_.compute_at(output, ci).unroll(c);
    sum_.update().reorder(c, window_.x, window_.y, window_.z, x, y, n).unroll(c);
  }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(ConvBiasRelu, conv_bias_relu)
