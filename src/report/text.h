#pragma once
#include <cstdint>
#include <string>
#include <string_view>

/// Names of a model are anything: they are made fit to print here, once for each language.
namespace cryolite::report {

/// Valid UTF-8 on one line: control characters become their pictures (U+2400…); broken bytes, what XML cannot hold and
/// what would turn the direction of writing become U+FFFD.
std::string clean_text(std::string_view text);
/// clean_text for XML and HTML, inside of elements and of quoted attributes.
std::string xml_text(std::string_view text);
/// clean_text for the inside of a quoted string of Graphviz.
std::string dot_text(std::string_view text);
/// clean_text of at most `width` characters, its middle left out where it has more: ends of names tell them apart.
std::string shortened(std::string_view text, size_t width);

std::string bytes_text(int64_t bytes);    ///< "12.5 MB", "803.4 kB", "96 B"
std::string flops_text(int64_t flops);    ///< "3.9 G", "25.1 M", "1.0 k"
std::string time_text(double seconds);    ///< "12.3 ms", "4.56 us"
std::string short_number(double number);  ///< three digits: "0.125", "3.14", "98.1", "1230"

}  // namespace cryolite::report
