#include "lower/lowered_group.h"
#include "tests/schedule/support.h"

/// Hand-written schedules: those that are right keep the results, those that are wrong are refused with their line.
namespace cryolite::schedule::test {
namespace {

const std::string group_text = R"(graph g (x: f32[1,4,10,13] @[0,2,3,1], w: f32[20,4,3,3] @[0,2,3,1|0:8]) -> (relu) {
  conv: conv: f32[1,20,10,13] @[0,2,3,1] = Conv(x, w) {pads=[1,1,1,1]}
  relu: relu: f32[1,20,10,13] @[0,2,3,1] = Relu(conv)
})";

void apply_to_group(const std::string& lines) {
  lower::LoweredGroup lowered = lower::lower(graph::parse_text(group_text));
  apply(parse_text("group g\n" + lines, "wrong.schedule").at(0), lowered);
}

std::string refusal(const std::string& lines) {
  try {
    apply_to_group(lines);
  } catch (const Error& error) {
    return error.what();
  }
  return "no refusal";
}

void expect_refused(const std::string& lines, int line, const std::string& reason) {
  const std::string said = refusal(lines);
  EXPECT_NE(said.find("wrong.schedule"), std::string::npos) << lines << "→ " << said;
  EXPECT_NE(said.find("line " + std::to_string(line) + ":"), std::string::npos) << lines << "→ " << said;
  EXPECT_NE(said.find(reason), std::string::npos) << lines << "→ " << said;
}

void expect_same_results(const std::string& lines) {
  SCOPED_TRACE(lines);
  const graph::Graph group = graph::parse_text(group_text);
  const auto inputs = emit::test::random_inputs(group);
  const auto expected = emit::run_group(group, inputs);
  const GroupSchedule schedule = parse_text("group g\n" + lines, "file").at(0);
  const auto got = emit::run_group(group, inputs, &schedule);
  EXPECT_LE(emit::test::largest_difference(got.at(0), expected.at(0)), 1e-5);
}

void expect_no_result(const std::string& lines) {
  SCOPED_TRACE(lines);
  const graph::Graph group = graph::parse_text(group_text);
  const GroupSchedule schedule = parse_text("group g\n" + lines, "file").at(0);
  EXPECT_THROW(emit::run_group(group, emit::test::random_inputs(group), &schedule), Error);
}

TEST(Apply, LoopsThatAreRunTogetherMustBeAlike) {
  const auto said = [](const std::string& lines) -> std::string {
    lower::LoweredGroup lowered = lower::lower(graph::parse_text(R"(graph two (x: f32[40,20]) -> (a, b) {
      exp: a: f32[40,20] = Exp(x)
      neg: b: f32[40,20] = Neg(x)
    })"));
    try {
      apply(parse_text("group two\n" + lines, "file").at(0), lowered);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(said("a.split(n, no, ni, 8)\nb.split(n, no, ni, 8).compute_with(a, no)\n"), "");
  EXPECT_NE(said("a.split(n, no, ni, 8)\nb.split(n, no, ni, 4).compute_with(a, no)\n").find("differ"), std::string::npos);
  EXPECT_NE(said("a.split(n, no, ni, 8).parallel(no)\nb.split(n, no, ni, 8).compute_with(a, no)\n").find("differ"), std::string::npos);
  EXPECT_NE(said("b.compute_with(a, nobody)\n").find("no loop 'nobody'"), std::string::npos);
}

TEST(Apply, SchedulesKeepResults) {
  expect_same_results("");
  expect_same_results("relu.vectorize(c, 8).parallel(y)\n");
  expect_same_results("relu.split(x, xo, xi, 4).reorder(xi, c, xo, y).unroll(xi)\nconv_sum.compute_at(relu, xo)\n");
  expect_same_results("relu.split(x, xo, xi, 5, GuardWithIf).fuse(xo, y, chunk).parallel(chunk)\n");
  expect_same_results("relu.split(x, xo, xi, 5, ShiftInwards)\nconv_padded.compute_at(relu, xo).store_in(Stack)\n");
  expect_same_results("relu.tile(x, y, xo, yo, xi, yi, 4, 5).rename(xo, column)\n"
                      "conv_sum.compute_at(relu, column).update(0).reorder(c, x, r.x, r.y, r.z).unroll(r.x, 2)\n");
  expect_same_results("relu.partition(x, Never)\nconv.compute_root()\nconv_padded.compute_root().vectorize(c)\n"
                      "conv_sum.compute_at(conv, y).update(0).reorder(c, x, y, r.x, r.y, r.z)\n");
  expect_same_results("conv_padded.store_at(relu, y).compute_at(relu, x)\nconv.compute_inline()\n");
  expect_same_results("conv_sum.compute_root().update(0).rfactor(r.z, u, parts)\nparts.compute_root().vectorize(c, 4)\n");
}

TEST(Apply, PackedBlocksMayBeComputedWhole) {
  expect_same_results("relu.split(c, block, c_in, 8, GuardWithIf).reorder(c_in, x, block, y).vectorize(c_in)\n"
                      "conv_sum.compute_at(relu, x).bound_extent(c, 8).vectorize(c).update(0).reorder(c, r.x, r.y, r.z).vectorize(c)\n");
}

TEST(Apply, UnknownNamesAreRefused) {
  expect_refused("relu.vectorize(c, 8)\nconv_summ.compute_at(relu, x)\n", 3, "there is no Func 'conv_summ'");
  expect_refused("conv_summ.compute_root()\n", 2, "conv_padded, conv_sum, relu");
  expect_refused("relu.vectorize(k, 8)\n", 2, "relu has no loop 'k'");
  expect_refused("relu.vectorise(c, 8)\n", 2, "'vectorise' is not a call");
  expect_refused("relu.split(x, xo, xi, 4).vectorize(x)\n", 2, "its loops are c, n, xi, xo, y");
  expect_refused("relu.split(x, xo, xi, 4)\n\nconv_sum.compute_at(relu, xx)\n", 4, "relu has no loop 'xx'");
  expect_refused("relu.split(x, xo, xi, 4, Round)\n", 2, "'Round' is not known to split");
  expect_refused("conv_sum.compute_root().store_in(Cache)\n", 2, "'Cache' is not known to store_in");
  expect_refused("conv_sum.compute_root().update(1)\n", 2, "has 1 updates, not an update 1");
  expect_refused("conv_sum.compute_root().unroll(r.x)\n", 2, "has no loop 'r.x'");
  expect_refused("conv_sum.compute_root().bound_extent(channel, 8)\n", 2, "has no axis 'channel'");
}

TEST(Apply, WrongArgumentsAreRefused) {
  expect_refused("relu.split(x, xo, xi)\n", 2, "split");
  expect_refused("relu.split(x, xo, xi, 0)\n", 2, "above zero");
  expect_refused("relu.split(x, xo, xi, -4)\n", 2, "must be a number");
  expect_refused("relu.split(x, xo, xi, factor)\n", 2, "must be a number");
  expect_refused("relu.split(x, xo, xi, 4, Auto, 7)\n", 2, "split");
  expect_refused("relu.vectorize(8)\n", 2, "must be a name");
  expect_refused("relu.vectorize()\n", 2, "vectorize");
  expect_refused("relu.parallel(y, 2, Auto, 3)\n", 2, "parallel");
  expect_refused("relu.reorder()\n", 2, "reorder");
  expect_refused("relu.reorder(c, c)\n", 2, "reorder");
  expect_refused("relu.split(x, y, xi, 4)\n", 2, "has a loop 'y' already");
  expect_refused("relu.fuse(x, x, f)\n", 2, "fuse");
}

TEST(Apply, ImpossibleNestsAreRefused) {
  expect_refused("relu.compute_at(conv, x)\n", 2, "is written to memory");
  expect_refused("conv_sum.compute_at(conv_sum, x)\n", 2, "inside of itself");
}

/// What only the whole nest shows: Halide finds it while it lowers the group, or the code before it writes anything.
TEST(Apply, ImpossibleNestsGiveNoResult) {
  expect_no_result("conv_sum.compute_root()\nconv_padded.compute_at(relu, x)\n");
  expect_no_result("conv_padded.compute_root()\nconv_sum.compute_at(conv_padded, x)\n");
  expect_no_result("conv_sum.compute_at(relu, n).store_at(relu, x)\n");
  expect_no_result("conv_sum.compute_at(conv, x)\n");
}

TEST(Apply, CallsThatCouldChangeResultsGiveNoResult) {
  expect_no_result("relu.split(x, xo, xi, 5, RoundUp)\n");
  expect_no_result("relu.split(x, xo, xi, 16)\n");
  expect_no_result("relu.vectorize(x, 32)\n");
  expect_no_result("conv_sum.compute_root().bound_extent(c, 4)\n");
  expect_refused("conv_sum.compute_root().update(0).parallel(r.x)\n", 2, "parallel");
  expect_refused("conv_sum.compute_root().update(0).reorder(r.y, r.x).vectorize(r.x)\n", 2, "vectorize");
  expect_no_result("relu.bound_extent(c, 24)\n");
}

}  // namespace
}  // namespace cryolite::schedule::test
