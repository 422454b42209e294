#pragma once
#include <fmt/format.h>

#include <string>
#include <vector>

/// Groups that GPU schedules are tried on: small, of every strategy, with extents of 1, primes and ranks 0 to 6.
namespace cryolite::schedule::test {

struct GroupCase {
  std::string name;
  std::string text;
};

inline constexpr const char* channels_last = "@[0,2,3,1]";

struct ConvCase {
  int n = 1, ci = 8, y = 9, x = 9, co = 16, kernel = 3, stride = 1, pad = 1, group = 1, dilation = 1;
  bool is_channels_last = true;
};

/// Conv, Add of a residual, Relu.
inline std::string conv_text(const std::string& name, const ConvCase& c) {
  const auto out = [&](int in) { return (in + 2 * c.pad - (c.dilation * (c.kernel - 1) + 1)) / c.stride + 1; };
  const std::string layout = c.is_channels_last ? channels_last : "";
  const std::string type = fmt::format("f32[{},{},{},{}] {}", c.n, c.co, out(c.y), out(c.x), layout);
  return fmt::format(R"(graph {} (x: f32[{},{},{},{}] {}, w: f32[{},{},{},{}] @[2,3,1,0], b: f32[{}], q: {}) -> (y) {{
  conv1: c: {} = Conv(x, w, b) {{pads=[{},{},{},{}], strides=[{},{}], dilations=[{},{}], group={}}}
  add1: s: {} = Add(c, q)
  relu1: y: {} = Relu(s)
}})",
                     name, c.n, c.ci, c.y, c.x, layout, c.co, c.ci / c.group, c.kernel, c.kernel, c.co, type, type,
                     c.pad, c.pad, c.pad, c.pad, c.stride, c.stride, c.dilation, c.dilation, c.group, type, type);
}

/// One node between inputs x, (z,) and y.
inline std::string node_text(const std::string& name, const std::string& inputs, const std::string& output,
                             const std::string& call) {
  return fmt::format("graph {} ({}) -> (y) {{\n  node1: y: {} = {}\n}}", name, inputs, output, call);
}

inline std::vector<GroupCase> convolution_cases() {
  const std::vector<std::pair<std::string, ConvCase>> cases{
      {"conv_3x3", {.ci = 16, .y = 14, .x = 14, .co = 32}},
      {"conv_3x3_stride_2", {.n = 2, .ci = 16, .y = 13, .x = 13, .co = 32, .stride = 2}},
      {"conv_chunks", {.ci = 96, .y = 7, .x = 7, .co = 40}},
      {"conv_stem", {.ci = 3, .y = 30, .x = 30, .kernel = 7, .stride = 2, .pad = 3}},
      {"conv_1x1", {.ci = 32, .y = 14, .x = 14, .co = 24, .kernel = 1, .pad = 0}},
      {"conv_1x1_stride_2", {.ci = 32, .y = 14, .x = 14, .co = 24, .kernel = 1, .stride = 2, .pad = 0}},
      {"conv_one", {.ci = 1, .y = 1, .x = 1, .co = 1, .kernel = 1, .pad = 0}},
      {"conv_primes", {.ci = 7, .y = 11, .x = 5, .co = 13}},
      {"conv_point", {.ci = 5, .y = 1, .x = 1, .co = 3}},
      {"conv_flat", {.ci = 6, .y = 1, .x = 37, .co = 10}},
      {"conv_255", {.ci = 24, .y = 5, .x = 5, .co = 255, .kernel = 1, .pad = 0}},
      {"conv_dilated", {.y = 15, .x = 15, .co = 10, .pad = 2, .dilation = 2}},
      {"conv_row_major", {.ci = 12, .is_channels_last = false}},
      {"conv_valid", {.y = 15, .x = 11, .pad = 0}},
      {"conv_whole", {.ci = 64, .y = 7, .x = 7, .co = 32, .kernel = 7, .pad = 0}},
      {"conv_depthwise", {.ci = 32, .co = 32, .group = 32}},
      {"conv_grouped", {.ci = 32, .co = 48, .kernel = 5, .pad = 2, .group = 2}},
      {"conv_small_groups", {.ci = 12, .co = 18, .group = 6}},
      {"conv_groups", {.ci = 24, .co = 48, .kernel = 1, .pad = 0, .group = 3}},
  };
  std::vector<GroupCase> groups;
  for (const auto& [name, conv] : cases) groups.push_back({name, conv_text(name, conv)});
  return groups;
}

inline std::vector<GroupCase> matrix_cases() {
  const auto product = [](const char* name, const char* a, const char* b, const char* y) {
    return GroupCase{name, node_text(name, fmt::format("a: f32{}, b: f32{}", a, b), fmt::format("f32{}", y), "MatMul(a, b)")};
  };
  const auto gemm = [](const char* name, const char* a, const char* b, const char* y, const char* layout) {
    return GroupCase{name, node_text(name, fmt::format("a: f32{}, b: f32{} {}", a, b, layout), fmt::format("f32{}", y),
                                     "Gemm(a, b, _) {transB=1}")};
  };
  return {product("matmul", "[64,96]", "[96,80]", "[64,80]"),
          product("matmul_one", "[1,1]", "[1,1]", "[1,1]"),
          product("matmul_batch", "[3,17,20]", "[3,20,31]", "[3,17,31]"),
          product("matmul_broadcast", "[3,17,20]", "[1,20,31]", "[3,17,31]"),
          product("matmul_shared_right", "[2,3,17,20]", "[20,31]", "[2,3,17,31]"),
          product("matmul_row", "[1,512]", "[512,100]", "[1,100]"),
          product("matmul_column", "[100,64]", "[64,1]", "[100,1]"),
          gemm("gemm_transposed", "[33,96]", "[80,96]", "[33,80]", ""),
          gemm("gemm_packed", "[17,96]", "[80,96]", "[17,80]", "@[1,0]")};
}

inline std::vector<GroupCase> reduction_cases() {
  const auto reduce = [](const char* name, const char* x, const char* y, const char* call) {
    return GroupCase{name, node_text(name, fmt::format("x: f32{}", x), fmt::format("f32{}", y), call)};
  };
  const auto along = [](const char* name, const char* x, const char* y, const char* op, int axis, int keep) {
    return GroupCase{name, fmt::format("graph {} (x: f32{}) -> (y) {{\n  const a: i64[1] = {{{}}}\n"
                                       "  node1: y: f32{} = {}(x, a) {{keepdims={}}}\n}}",
                                       name, x, axis, y, op, keep)};
  };
  return {
      along("reduce_rows", "[3,100]", "[3]", "ReduceSum", 1, 0),
      along("reduce_columns", "[300,10]", "[1,10]", "ReduceMean", 0, 1),
      reduce("reduce_all", "[5,6,7]", "[1,1,1]", "ReduceMax(x) {keepdims=1}"),
      reduce("reduce_to_scalar", "[5,6,7]", "[]", "ReduceSum(x) {keepdims=0}"),
      along("reduce_long", "[2,5000]", "[2,1]", "ReduceSum", 1, 1),
      reduce("global_pool", "[1,64,7,7] @[0,2,3,1]", "[1,64,1,1] @[0,2,3,1]", "GlobalAveragePool(x)"),
      reduce("global_pool_row_major", "[2,64,7,7]", "[2,64,1,1]", "GlobalAveragePool(x)"),
      reduce("softmax_one_row", "[1,1000]", "[1,1000]", "Softmax(x) {axis=1}"),
      reduce("softmax_rows", "[7,33]", "[7,33]", "Softmax(x) {axis=1}"),
      reduce("softmax_of_one", "[4,1]", "[4,1]", "Softmax(x) {axis=1}"),
      reduce("softmax_rank_1", "[37]", "[37]", "Softmax(x) {axis=0}"),
      reduce("softmax_channels", "[1,10,5,6] @[0,2,3,1]", "[1,10,5,6] @[0,2,3,1]", "Softmax(x) {axis=1}"),
      reduce("softmax_outer", "[2,10,5,6]", "[2,10,5,6]", "Softmax(x) {axis=1}"),
      reduce("log_softmax", "[3,50]", "[3,50]", "LogSoftmax(x) {axis=1}"),
      reduce("max_pool", "[1,32,15,15] @[0,2,3,1]", "[1,32,8,8] @[0,2,3,1]",
             "MaxPool(x) {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]}"),
      reduce("average_pool", "[1,3,13,13]", "[1,3,7,7]",
             "AveragePool(x) {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]}"),
      reduce("lrn", "[1,12,5,5] @[0,2,3,1]", "[1,12,5,5] @[0,2,3,1]", "LRN(x) {size=5}"),
  };
}

inline std::vector<GroupCase> pointwise_cases() {
  std::vector<GroupCase> groups;
  const std::vector<std::pair<std::string, std::string>> shapes{{"scalar", "[]"},    {"one", "[1]"},
                                                                {"matrix", "[3,5]"}, {"rank_5", "[2,3,1,2,30]"},
                                                                {"rank_6", "[2,3,1,2,3,5]"}, {"maps", "[1,32,20,20]"}};
  for (const auto& [name, shape] : shapes)
    groups.push_back({name, fmt::format(R"(graph {0} (a: f32{1}, b: f32{1}) -> (y) {{
  add1: s: f32{1} = Add(a, b)
  relu1: y: f32{1} = Relu(s)
}})",
                                        name, shape)});
  return groups;
}

/// Several nodes, several outputs, views.
inline std::vector<GroupCase> joined_cases() {
  return {
      {"two_outputs", R"(graph two_outputs (a: f32[3,40], b: f32[3,40]) -> (s, y) {
  add1: s: f32[3,40] = Add(a, b)
  relu1: y: f32[3,40] = Relu(s)
})"},
      {"conv_and_relu_out", R"(graph conv_and_relu_out (x: f32[1,8,9,9] @[0,2,3,1], w: f32[16,8,3,3] @[2,3,1,0]) -> (c, y) {
  conv1: c: f32[1,16,9,9] @[0,2,3,1] = Conv(x, w, _) {pads=[1,1,1,1]}
  relu1: y: f32[1,16,9,9] @[0,2,3,1] = Relu(c)
})"},
      {"conv_pool", R"(graph conv_pool (x: f32[1,8,10,10] @[0,2,3,1], w: f32[16,8,3,3] @[2,3,1,0]) -> (y) {
  conv1: c: f32[1,16,10,10] @[0,2,3,1] = Conv(x, w, _) {pads=[1,1,1,1]}
  relu1: r: f32[1,16,10,10] @[0,2,3,1] = Relu(c)
  pool1: y: f32[1,16,5,5] @[0,2,3,1] = MaxPool(r) {kernel_shape=[2,2], strides=[2,2]}
})"},
      {"conv_overlapping_pool", R"(graph conv_overlapping_pool (x: f32[1,8,11,11] @[0,2,3,1], w: f32[16,8,3,3] @[2,3,1,0]) -> (y) {
  conv1: c: f32[1,16,11,11] @[0,2,3,1] = Conv(x, w, _) {pads=[1,1,1,1]}
  pool1: y: f32[1,16,6,6] @[0,2,3,1] = MaxPool(c) {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]}
})"},
      {"matmul_softmax", R"(graph matmul_softmax (a: f32[9,20], b: f32[20,33]) -> (y) {
  matmul1: c: f32[9,33] = MatMul(a, b)
  softmax1: y: f32[9,33] = Softmax(c) {axis=1}
})"},
      {"layer_norm", R"(graph layer_norm (x: f32[6,48], s: f32[48], b: f32[48]) -> (y) {
  norm1: y: f32[6,48] = LayerNormalization(x, s, b) {axis=-1}
})"},
      {"conv_into_view", R"(graph conv_into_view (x: f32[1,16,9,9] @[0,2,3,1]/(2592,288,32,1), w: f32[16,16,3,3] @[2,3,1,0]) -> (y) {
  conv1: y: f32[1,16,9,9] @[0,2,3,1]/(2592,288,32,1) = Conv(x, w, _) {pads=[1,1,1,1]}
})"},
      {"transposed_conv", R"(graph transposed_conv (x: f32[1,8,5,5] @[0,2,3,1], w: f32[8,12,3,3] @[2,3,0,1]) -> (y) {
  node1: y: f32[1,12,11,11] @[0,2,3,1] = ConvTranspose(x, w, _) {strides=[2,2]}
})"},
      {"turned", R"(graph turned (x: f32[1,24,6,5]) -> (y) {
  relu1: y: f32[1,24,6,5] @[0,2,3,1] = Relu(x)
})"},
  };
}

/// Reductions of reductions that are one kernel all the same.
inline std::vector<GroupCase> chained_cases() {
  return {
      {"depthwise_pointwise", R"(graph depthwise_pointwise (x: f32[1,32,9,9] @[0,2,3,1], w: f32[32,1,3,3] @[2,3,1,0], b: f32[32], v: f32[48,32,1,1] @[2,3,1,0]) -> (y) {
  conv1: c: f32[1,32,9,9] @[0,2,3,1] = Conv(x, w, b) {pads=[1,1,1,1], group=32}
  relu1: r: f32[1,32,9,9] @[0,2,3,1] = Relu(c)
  conv2: d: f32[1,48,9,9] @[0,2,3,1] = Conv(r, v, _)
  relu2: y: f32[1,48,9,9] @[0,2,3,1] = Relu(d)
})"},
      {"depthwise_pointwise_strides", R"(graph depthwise_pointwise_strides (x: f32[2,20,11,11] @[0,2,3,1], w: f32[20,1,5,5] @[2,3,1,0], v: f32[7,20,1,1] @[2,3,1,0]) -> (y) {
  conv1: c: f32[2,20,6,6] @[0,2,3,1] = Conv(x, w, _) {pads=[2,2,2,2], strides=[2,2], group=20}
  conv2: y: f32[2,7,6,6] @[0,2,3,1] = Conv(c, v, _)
})"},
      {"depthwise_pointwise_row_major", R"(graph depthwise_pointwise_row_major (x: f32[1,12,9,9], w: f32[12,1,3,3], v: f32[16,12,1,1]) -> (y) {
  conv1: c: f32[1,12,7,7] = Conv(x, w, _) {group=12}
  relu1: r: f32[1,12,7,7] = Relu(c)
  conv2: y: f32[1,16,7,7] = Conv(r, v, _)
})"},
      {"conv_conv", R"(graph conv_conv (x: f32[1,4,9,9] @[0,2,3,1], w: f32[8,4,3,3] @[2,3,1,0], v: f32[16,8,3,3] @[2,3,1,0]) -> (y) {
  conv1: c: f32[1,8,9,9] @[0,2,3,1] = Conv(x, w, _) {pads=[1,1,1,1]}
  relu1: r: f32[1,8,9,9] @[0,2,3,1] = Relu(c)
  conv2: y: f32[1,16,9,9] @[0,2,3,1] = Conv(r, v, _) {pads=[1,1,1,1]}
})"},
      {"attention", R"(graph attention (q: f32[1,2,18,16], k: f32[1,2,16,18], m: f32[1,1,1,18], v: f32[1,2,18,16]) -> (y) {
  const s: f32[] = {0.25}
  matmul1: a: f32[1,2,18,18] = MatMul(q, k)
  mul1: b: f32[1,2,18,18] = Mul(a, s)
  add1: c: f32[1,2,18,18] = Add(b, m)
  softmax1: p: f32[1,2,18,18] = Softmax(c) {axis=-1}
  matmul2: y: f32[1,2,18,16] = MatMul(p, v)
})"},
      {"attention_of_matrices", R"(graph attention_of_matrices (q: f32[4,32,8], k: f32[4,8,32], v: f32[4,32,8]) -> (y) {
  const s: f32[] = {0.25}
  matmul1: a: f32[4,32,32] = MatMul(q, k)
  mul1: b: f32[4,32,32] = Mul(a, s)
  softmax1: p: f32[4,32,32] = Softmax(b) {axis=-1}
  matmul2: y: f32[4,32,8] = MatMul(p, v)
})"},
      {"attention_of_chunks", R"(graph attention_of_chunks (q: f32[2,70,12], k: f32[2,12,96], v: f32[2,96,40]) -> (y) {
  matmul1: a: f32[2,70,96] = MatMul(q, k)
  softmax1: p: f32[2,70,96] = Softmax(a) {axis=-1}
  matmul2: y: f32[2,70,40] = MatMul(p, v)
})"},
      {"attention_small_operators", R"(graph attention_small_operators (q: f32[2,19,8], k: f32[2,8,19], v: f32[2,19,20], m: bool[19,19]) -> (y) {
  const quarter: f32[] = {0.25}
  const low: f32[] = {-100000}
  const last: i64[1] = {2}
  matmul1: s: f32[2,19,19] = MatMul(q, k)
  mul1: c: f32[2,19,19] = Mul(s, quarter)
  where1: d: f32[2,19,19] = Where(m, c, low)
  max1: a: f32[2,19,1] = ReduceMax(d, last) {keepdims=1}
  sub1: b: f32[2,19,19] = Sub(d, a)
  exp1: e: f32[2,19,19] = Exp(b)
  sum1: t: f32[2,19,1] = ReduceSum(e, last) {keepdims=1}
  div1: p: f32[2,19,19] = Div(e, t)
  matmul2: z: f32[2,19,20] = MatMul(p, v)
  relu1: y: f32[2,19,20] = Relu(z)
})"},
      {"attention_heads_inside", R"(graph attention_heads_inside (q: f32[1,3,7,8] @[0,1,2,3]/(168,8,24,1), k: f32[1,3,8,11] @[0,1,2,3]/(264,8,1,24), v: f32[1,3,11,5] @[0,1,2,3]/(165,5,15,1)) -> (y) {
  matmul1: a: f32[1,3,7,11] = MatMul(q, k)
  softmax1: p: f32[1,3,7,11] = Softmax(a) {axis=3}
  matmul2: y: f32[1,3,7,5] @[0,2,1,3] = MatMul(p, v)
})"},
      {"softmax_matmul", R"(graph softmax_matmul (a: f32[9,20], b: f32[20,33]) -> (y) {
  softmax1: p: f32[9,20] = Softmax(a) {axis=1}
  matmul1: y: f32[9,33] = MatMul(p, b)
})"},
      {"layer_norm_matmul", R"(graph layer_norm_matmul (x: f32[10,48], s: f32[48], b: f32[48], w: f32[48,24]) -> (y) {
  norm1: c: f32[10,48] = LayerNormalization(x, s, b) {axis=-1}
  matmul1: y: f32[10,24] = MatMul(c, w)
})"},
  };
}

/// Groups of real networks whose kernels have spilled: too large to run where there is no GPU.
inline std::vector<GroupCase> large_cases() {
  return {
      {"conv_3x3_large", R"(graph conv_3x3_large (x: f32[1,64,56,56] @[0,2,3,1], w: f32[192,64,3,3] @[2,3,1,0], b: f32[192]) -> (y) {
  conv1: c: f32[1,192,56,56] @[0,2,3,1] = Conv(x, w, b) {pads=[1,1,1,1]}
  relu1: y: f32[1,192,56,56] @[0,2,3,1] = Relu(c)
})"},
      {"conv_of_normalized_view", R"(graph conv_of_normalized_view (x: f32[1,96,56,56] @[0,2,3,1]/(802816,14336,256,1), s: f32[1,96,1,1] @[0,2,3,1], o: f32[1,96,1,1] @[0,2,3,1], w: f32[128,96,1,1] @[2,3,1,0], b: f32[128]) -> (y) {
  mul1: m: f32[1,96,56,56] @[0,2,3,1] = Mul(x, s)
  add1: a: f32[1,96,56,56] @[0,2,3,1] = Add(m, o)
  relu1: r: f32[1,96,56,56] @[0,2,3,1] = Relu(a)
  conv1: c: f32[1,128,56,56] @[0,2,3,1] = Conv(r, w, b)
  relu2: y: f32[1,128,56,56] @[0,2,3,1] = Relu(c)
})"},
  };
}

inline std::vector<GroupCase> all_cases() {
  std::vector<GroupCase> all;
  for (const auto& part : {convolution_cases(), matrix_cases(), reduction_cases(), pointwise_cases(), joined_cases(),
                           chained_cases()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace cryolite::schedule::test
