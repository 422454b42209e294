#include "report/text.h"

#include <gtest/gtest.h>

namespace cryolite::report {
namespace {

TEST(Text, MarkupIsEscaped) {
  EXPECT_EQ(xml_text("a<b>&'\"</script>"), "a&lt;b&gt;&amp;&#39;&quot;&lt;/script&gt;");
  EXPECT_EQ(dot_text("say \"hi\\\" & &lt;"), "say \\\"hi\\\\\\\" &amp; &amp;lt;");
}

TEST(Text, ControlCharactersBecomePictures) {
  EXPECT_EQ(clean_text("a\nb\x1b[31m\x7f"), "a␊b␛[31m␡");
  EXPECT_EQ(clean_text(std::string_view("a\0b", 3)), "a␀b");
}

TEST(Text, BrokenBytesAndCharactersThatXmlHasNotAreReplaced) {
  EXPECT_EQ(clean_text("\xff\xc3"), "\uFFFD\uFFFD");
  EXPECT_EQ(clean_text("\xc0\xaf"), "\uFFFD\uFFFD");      // overlong
  EXPECT_EQ(clean_text("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");  // half of a UTF-16 pair
  EXPECT_EQ(clean_text("\xef\xbf\xbf\xc2\x9b"), "\uFFFD\uFFFD");  // U+FFFF, U+009B
  EXPECT_EQ(clean_text("a\u202Eb"), "a\uFFFDb");           // turns the direction of writing
  EXPECT_EQ(clean_text("Größe 卷积 😀"), "Größe 卷积 😀");
}

TEST(Text, TheMiddleOfLongNamesIsLeftOut) {
  EXPECT_EQ(shortened("layer1/conv", 11), "layer1/conv");
  EXPECT_EQ(shortened("layer1/block2/conv3", 11), "layer…conv3");
  EXPECT_EQ(shortened("卷积卷积卷积", 5), "卷积…卷积");
}

TEST(Text, NumbersHaveThreeDigits) {
  EXPECT_EQ(short_number(0.12345), "0.123");
  EXPECT_EQ(short_number(3.14159), "3.14");
  EXPECT_EQ(short_number(98.123), "98.1");
  EXPECT_EQ(short_number(1234.5), "1234");
  EXPECT_EQ(bytes_text(96), "96 B");
  EXPECT_EQ(bytes_text(-1500), "-1.5 kB");
  EXPECT_EQ(bytes_text(12'500'000), "12.5 MB");
  EXPECT_EQ(time_text(0.0123), "12.3 ms");
}

}  // namespace
}  // namespace cryolite::report
