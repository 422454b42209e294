#include <Halide.h>

namespace {

using namespace Halide;

/// Convolution, ReLU and 2x2 max-pool with stride 2 in one loop nest: of the convolution only a patch exists at a time.
///
///     input    float, by c, x, y, n: the image with its border, 2 X + K - 1 pixels wide for X outputs
///     filter   float, by output channel, input channel, x, y
///     output   float, by c, x, y, n
class ConvReluPool : public Generator<ConvReluPool> {
 public:
  // CPU: vectors of channels, and pooled pixels of a tile: the sums of a tile are 4 * vectors * pixels registers.
  GeneratorParam<int> vectors{"vectors", 1};
  GeneratorParam<int> pixels{"pixels", 2};
  // GPU: threads of a block over channels and pooled pixels.
  GeneratorParam<int> thread_channels{"thread_channels", 8};
  GeneratorParam<int> thread_pixels{"thread_pixels", 4};

  Input<Buffer<float, 4>> input{"input"};
  Input<Buffer<float, 4>> filter{"filter"};
  Output<Buffer<float, 4>> output{"output"};

  void generate() {
    // Algorithm
    window_ = RDom(0, filter.dim(1).extent(), 0, filter.dim(2).extent(), 0, filter.dim(3).extent(), "window");
    sum_(c, x, y, n) = 0.f;
    sum_(c, x, y, n) += filter(c, window_.x, window_.y, window_.z) * input(window_.x, x + window_.y, y + window_.z, n);
    relu_(c, x, y, n) = max(sum_(c, x, y, n), 0.f);
    const Expr left = max(relu_(c, 2 * x, 2 * y, n), relu_(c, 2 * x, 2 * y + 1, n));
    const Expr right = max(relu_(c, 2 * x + 1, 2 * y, n), relu_(c, 2 * x + 1, 2 * y + 1, n));
    output(c, x, y, n) = max(left, right);
  }

  void schedule() {
    if (get_target().has_gpu_feature())
      schedule_gpu();
    else
      schedule_cpu();
  }

 private:
  Var c{"c"}, x{"x"}, y{"y"}, n{"n"}, ci{"ci"}, xi{"xi"}, row{"row"};
  Func sum_{"sum"}, relu_{"relu"};
  RDom window_;

  void schedule_cpu() {
    // The last tiles overlap those before: at least vectors * lanes channels and `pixels` pixels a row.
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
    // A patch of 2 rows by 2 * pixels columns of sums in registers; ReLU is inlined into the pool.
    sum_.compute_at(output, c).vectorize(c, lanes).unroll(c).unroll(x).unroll(y);
    sum_.update()
        .reorder(c, x, y, window_.x, window_.y, window_.z, n)
        .vectorize(c, lanes)
        .unroll(c)
        .unroll(x)
        .unroll(y);
  }

  void schedule_gpu() {
    output.compute_root()
        .fuse(y, n, row)
        .split(c, c, ci, thread_channels, TailStrategy::GuardWithIf)
        .split(x, x, xi, thread_pixels, TailStrategy::GuardWithIf)
        .reorder(ci, xi, c, x, row)
        .gpu_threads(ci, xi)
        .gpu_blocks(c, x, row);
    // Each thread keeps the 2x2 sums of its own output in registers.
    sum_.compute_at(output, ci).unroll(x).unroll(y);
    sum_.update().reorder(x, y, window_.x, window_.y, window_.z, c, n).unroll(x).unroll(y);
  }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(ConvReluPool, conv_relu_pool)
