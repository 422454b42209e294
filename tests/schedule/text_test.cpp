#include <gtest/gtest.h>

#include "base/error.h"
#include "schedule/schedule.h"

namespace cryolite::schedule {
namespace {

std::string fault_of(const std::string& text) {
  try {
    parse_text(text, "file.schedule");
  } catch (const Error& error) {
    return error.what();
  }
  return "no fault";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Text, PrintsWhatItReads) {
  const std::string text =
      "group conv1.pool/0\n"
      "pool1.tile(x, y, xo, yo, xi, yi, 8, 8).vectorize(c, 8).parallel(yo)\n"
      "conv1_sum.compute_at(pool1, xo).vectorize(c, 8).update(0).reorder(c, x, r.x, r.y).unroll(x)\n"
      "conv1_padded.compute_root()\n";
  const auto groups = parse_text(text, "file");
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(to_text(groups[0]), text);
  EXPECT_EQ(groups[0].group, "conv1.pool/0");
  EXPECT_EQ(groups[0].funcs[1].directives[3].arguments, (std::vector<Argument>{"c", "x", "r.x", "r.y"}));
}

TEST(Text, SkipsCommentsAndSpaceAndCountsLines) {
  const auto groups = parse_text(
      "# found by hand\n"
      "\n"
      "  group a   # two nodes\n"
      "y.split( x , xo,xi , 8 ) .vectorize(xi)  # vectors\n"
      "group b\n"
      "\n"
      "z.compute_root()",
      "file");
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].group, "a");
  EXPECT_EQ(groups[0].funcs[0].line, 4);
  EXPECT_EQ(to_text(groups[0]), "group a\ny.split(x, xo, xi, 8).vectorize(xi)\n");
  EXPECT_EQ(groups[1].funcs[0].line, 7);
}

TEST(Text, OfNothingIsNoGroup) {
  EXPECT_TRUE(parse_text("", "file").empty());
  EXPECT_TRUE(parse_text("\n  # nothing here\n", "file").empty());
}

TEST(Text, AFuncMayBeNamedGroup) {
  const std::string text = "group group\ngroup.compute_root()\n";
  EXPECT_EQ(to_text(parse_text(text, "file").at(0)), text);
}

TEST(Text, FaultsNameFileLineAndRemedy) {
  const std::string before = "group g\ny.vectorize(c, 8)\n";
  for (const std::string& wrong : {std::string("y vectorize(c)\n"), std::string("y.vectorize(c\n"),
                                   std::string("y.vectorize(c,)\n"), std::string("y.\n"), std::string("y.x(1.5)\n"),
                                   std::string("y.x(c) z\n"), std::string("y\n"), std::string("\x01\x02\n")}) {
    const std::string fault = fault_of(before + wrong);
    EXPECT_TRUE(contains(fault, "file.schedule") && contains(fault, "line 3")) << wrong << " → " << fault;
    EXPECT_TRUE(contains(fault, "write FUNC.call(arguments)")) << fault;
  }
}

TEST(Text, LinesBeforeAGroupAreRefused) {
  const std::string fault = fault_of("# c\ny.vectorize(c, 8)\n");
  EXPECT_TRUE(contains(fault, "line 2") && contains(fault, "before any group")) << fault;
}

TEST(Text, NumbersTooLargeAreRefused) {
  EXPECT_TRUE(contains(fault_of("group g\ny.vectorize(c, 99999999999999999999)\n"), "too large"));
}

TEST(Text, RenamesFuncsAndTheLevelsThatNameThem) {
  const auto group = parse_text("group g\nb.vectorize(x, 8)\na.compute_at(b, x)\n", "file").at(0);
  EXPECT_EQ(to_text(renamed(group, {{"a", "b"}, {"b", "c"}})), "group g\nc.vectorize(x, 8)\nb.compute_at(c, x)\n");
}

}  // namespace
}  // namespace cryolite::schedule
