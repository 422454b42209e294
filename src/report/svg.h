#pragma once
#include <string>
#include <string_view>

/// Pieces of SVG as text; coordinates in pixels from the upper left. Text is escaped here, classes are ours.
namespace cryolite::report::svg {

/// The whole picture; `style` is CSS of plain rules, which get the picture's own class before them: many pictures may
/// stand on one page.
std::string document(std::string_view own_class, double width, double height, std::string_view style,
                     std::string_view body);
std::string text(double x, double y, std::string_view classes, std::string_view words, double degrees = 0);
std::string line(double x1, double y1, double x2, double y2, std::string_view classes);
std::string rectangle(double x, double y, double width, double height, std::string_view attributes,
                      std::string_view title = "");
std::string circle(double x, double y, double radius, std::string_view attributes, std::string_view title = "");

}  // namespace cryolite::report::svg
