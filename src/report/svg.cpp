#include "report/svg.h"

#include <fmt/format.h>

#include "report/text.h"

namespace cryolite::report::svg {
namespace {

std::string titled(std::string_view shape, std::string_view title) {
  const std::string name(shape.substr(1, shape.find(' ') - 1));
  if (title.empty()) return fmt::format("{}/>\n", shape);
  return fmt::format("{}><title>{}</title></{}>\n", shape, xml_text(title), name);
}

}  // namespace

std::string document(std::string_view own_class, double width, double height, std::string_view style,
                     std::string_view body) {
  std::string rules;
  for (size_t at = 0, end; (end = style.find('}', at)) != std::string_view::npos; at = end + 1)
    rules += fmt::format(".{} {}", own_class, style.substr(at, end + 1 - at));
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{0}\" width=\"{1:.0f}\" height=\"{2:.0f}\" "
      "viewBox=\"0 0 {1:.0f} {2:.0f}\">\n<style>{3}</style>\n<rect width=\"{1:.0f}\" height=\"{2:.0f}\" "
      "fill=\"white\"/>\n{4}</svg>\n",
      own_class, width, height, rules, body);
}

std::string text(double x, double y, std::string_view classes, std::string_view words, double degrees) {
  const std::string turn =
      degrees == 0 ? "" : fmt::format(" transform=\"rotate({:.1f} {:.1f} {:.1f})\"", degrees, x, y);
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\"{}>{}</text>\n", x, y, classes, turn,
                     xml_text(words));
}

std::string line(double x1, double y1, double x2, double y2, std::string_view classes) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1, x2, y2,
                     classes);
}

std::string rectangle(double x, double y, double width, double height, std::string_view attributes,
                      std::string_view title) {
  return titled(fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" {}", x, y, width,
                            height, attributes),
                title);
}

std::string circle(double x, double y, double radius, std::string_view attributes, std::string_view title) {
  return titled(fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" {}", x, y, radius, attributes), title);
}

}  // namespace cryolite::report::svg
