#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/kernel_rows.h"
#include "report/report.h"
#include "report/svg.h"
#include "report/text.h"

namespace cryolite::report {
namespace {

constexpr double width = 960, height = 620;  // pixels
constexpr double left = 78, right = 940, top = 92, bottom = 500,
                 strip = 572;  // the plot; the row of kernels without flops
constexpr size_t most_labels = 8;
constexpr double list_width = 270;  // pixels

constexpr const char* style =
    "text{font:12px "
    "Helvetica,Arial,sans-serif;fill:#24292f}.title{font-size:16px;font-weight:bold}.small{font-size:11px;"
    "fill:#57606a}.end{text-anchor:end}.middle{text-anchor:middle}.grid{stroke:#e3e7eb}.axis{stroke:#57606a}"
    ".leader{stroke:#8c96a0;stroke-width:.7}.roof{stroke:#24292f;stroke-width:1.8}.before{fill:none;stroke:#c4562a;"
    "stroke-width:1.2;opacity:.75}"
    ".after{fill:#1f6feb;fill-opacity:.55;stroke:#0b3d91}.name{font-size:11px;paint-order:stroke;stroke:white;"
    "stroke-width:3px}";

struct Dot {
  double intensity = 0, flops_per_second = 0, seconds = 0;
  int kernel = -1;   ///< of the plan; -1: before
  std::string name;  ///< short, for a label
  std::string title;
};

Dot dot_of(const cost::Cost& cost, int kernel, const std::string& name) {
  Dot dot;
  dot.intensity = cost.intensity();
  dot.flops_per_second = cost.seconds > 0 ? static_cast<double>(cost.flops) / cost.seconds : 0;
  dot.seconds = cost.seconds;
  dot.kernel = kernel;
  dot.name = shortened(name, 24);
  dot.title =
      fmt::format("{}{}: {} flop, {}, {} flop/byte, predicted {}, bound by {}",
                  kernel < 0 ? "before: " : fmt::format("kernel {}: ", kernel), name, cost.flops,
                  bytes_text(cost.bytes()), short_number(dot.intensity), time_text(cost.seconds), cost.bound_by);
  return dot;
}

std::vector<Dot> dots_before(const graph::Graph& original, const device::Device& device) {
  std::vector<Dot> dots;
  for (graph::NodeId n = 0; n < static_cast<graph::NodeId>(original.nodes.size()); ++n)
    dots.push_back(dot_of(cost::of_node(original, n, device), -1, original.nodes[n].name));
  return dots;
}

std::vector<Dot> dots_after(const plan::Plan& plan, const device::Device& device) {
  std::vector<Dot> dots;
  for (const KernelRow& row : kernel_rows(plan, device))
    dots.push_back(dot_of(row.group->cost, row.group->id, row.nodes));
  return dots;
}

/// A logarithmic axis over whole decades.
struct Axis {
  double first, last;  // exponents of ten
  double start, end;   // pixels
  double at(double value) const {
    const double exponent = std::clamp(std::log10(value), first, last);
    return start + (exponent - first) / (last - first) * (end - start);
  }
  double per_decade() const { return (end - start) / (last - first); }
};

struct Chart {
  Axis x, y;
  double peak;  ///< flops a second
  std::string body;
};

Chart chart_for(const std::vector<Dot>& dots, const device::Device& device) {
  double least_x = 1, most_x = 10, least_y = device.flops_per_second / 10, most_y = device.flops_per_second;
  for (const Dot& dot : dots) {
    if (dot.intensity <= 0 || dot.flops_per_second <= 0) continue;
    least_x = std::min(least_x, dot.intensity);
    most_x = std::max(most_x, dot.intensity);
    least_y = std::min(least_y, dot.flops_per_second);
    most_y = std::max(most_y, dot.flops_per_second);
  }
  if (device.memory_bytes_per_second() > 0)  // the ridge is in the picture
    most_x = std::max(most_x, 2 * device.flops_per_second / device.memory_bytes_per_second());
  return {{std::floor(std::log10(least_x)), std::ceil(std::log10(most_x)), left, right},
          {std::floor(std::log10(least_y)), std::ceil(std::log10(most_y * 1.2)), bottom, top},
          device.flops_per_second,
          ""};
}

std::string decade_text(int exponent) {
  return exponent >= 0 ? fmt::format("{:.0f}", std::pow(10.0, exponent))
                       : fmt::format("{:.{}f}", std::pow(10.0, exponent), -exponent);
}

void draw_axes(Chart& chart) {
  for (int e = static_cast<int>(chart.x.first); e <= static_cast<int>(chart.x.last); ++e) {
    const double x = chart.x.at(std::pow(10.0, e));
    chart.body += svg::line(x, top, x, bottom, "grid") + svg::text(x, bottom + 17, "small middle", decade_text(e));
  }
  for (int e = static_cast<int>(chart.y.first); e <= static_cast<int>(chart.y.last); ++e) {
    const double y = chart.y.at(std::pow(10.0, e));
    chart.body += svg::line(left, y, right, y, "grid") + svg::text(left - 7, y + 4, "small end", decade_text(e - 9));
  }
  chart.body += svg::line(left, bottom, right, bottom, "axis") + svg::line(left, top, left, bottom, "axis");
  chart.body += svg::text((left + right) / 2, bottom + 36, "middle", "arithmetic intensity, flop / byte");
  chart.body += svg::text(20, (top + bottom) / 2, "middle", "GFLOP/s (predicted)", -90);
}

/// Roofs: the peak, and a slope for each level of memory that lies between kernels (the nearest is inside of them).
void draw_roofs(Chart& chart, const device::Device& device) {
  const double peak = device.flops_per_second, peak_y = chart.y.at(peak);
  double nearest = 0;
  for (size_t level = std::min<size_t>(1, device.memory.size() - 1); level < device.memory.size(); ++level) {
    const double rate = device.memory[level].bytes_per_second;
    if (rate <= 0) continue;
    nearest = std::max(nearest, rate);
    const double first = std::max(std::pow(10.0, chart.x.first), std::pow(10.0, chart.y.first) / rate);
    const double ridge = std::min(peak / rate, std::pow(10.0, chart.x.last));
    if (ridge <= first) continue;
    const double x1 = chart.x.at(first), y1 = chart.y.at(first * rate), x2 = chart.x.at(ridge),
                 y2 = chart.y.at(ridge * rate);
    const double degrees = std::atan2(y2 - y1, x2 - x1) * 180 / M_PI;
    chart.body += svg::line(x1, y1, x2, y2, "roof");
    const bool is_first = rate == nearest;  // its name stands above its roof, others below theirs
    const double along = is_first ? 0.04 : 0.1;
    chart.body += svg::text(x1 + (x2 - x1) * along - 5 + (is_first ? 0 : 14),
                            y1 + (y2 - y1) * along - 6 + (is_first ? 0 : 14), "small name",
                            fmt::format("{} {} GB/s", device.memory[level].name, short_number(rate / 1e9)), degrees);
  }
  const double from = nearest > 0 ? chart.x.at(peak / nearest) : left;
  chart.body += svg::line(from, peak_y, right, peak_y, "roof");
  chart.body +=
      svg::text(right - 4, peak_y - 6, "small end name", fmt::format("peak {} GFLOP/s", short_number(peak / 1e9)));
}

double radius_of(const Dot& dot, double total_seconds) {
  return dot.kernel < 0 ? 3.5 : 3 + 9 * std::sqrt(dot.seconds / std::max(total_seconds, 1e-12));
}

struct Box {
  double x1, y1, x2, y2;
  bool meets(const Box& o) const { return x1 < o.x2 && o.x1 < x2 && y1 < o.y2 && o.y1 < y2; }
};

/// Where words of this length may stand beside a dot, nearest first: below it, then above, ever further away.
std::vector<Box> places(double x, double y, double length) {
  std::vector<Box> boxes;
  for (double away = 18; away < 260; away += 15)
    for (double side : {1.0, -1.0})
      for (double shift : {0.0, 0.5, -0.5, 1.0, -1.0})
        boxes.push_back({x - length / 2 + shift * length, y + side * away - 8, x + length / 2 + shift * length,
                         y + side * away + 6});
  return boxes;
}

/// Numbers of the kernels that take longest, beside their dots, and a list of them where rooflines are empty.
void label_dots(Chart& chart, const std::vector<Dot>& all, double total_seconds) {
  const double peak_y = chart.y.at(chart.peak);
  std::vector<Box> taken{{left, peak_y - 4, right, peak_y + 4}};
  std::vector<Dot> after;
  for (const Dot& dot : all) {
    if (dot.intensity <= 0) continue;
    const double x = chart.x.at(dot.intensity), y = chart.y.at(dot.flops_per_second);
    const double r = radius_of(dot, total_seconds) + 1;
    taken.push_back({x - r, y - r, x + r, y + r});
    if (dot.kernel >= 0) after.push_back(dot);
  }
  std::stable_sort(after.begin(), after.end(), [](const Dot& a, const Dot& b) { return a.seconds > b.seconds; });
  after.resize(std::min(after.size(), most_labels));
  double list_y = bottom - 14 - 15 * static_cast<double>(after.size());
  chart.body += svg::text(right - list_width, list_y, "name", "longest kernels, predicted");
  for (const Dot& dot : after) {
    const double x = chart.x.at(dot.intensity), y = chart.y.at(dot.flops_per_second);
    const std::string number = std::to_string(dot.kernel);
    list_y += 15;
    chart.body += svg::text(right - list_width + 20, list_y, "name end", number) +
                  svg::text(right - list_width + 30, list_y, "name", dot.name) +
                  svg::text(right - 6, list_y, "name end", time_text(dot.seconds));
    for (const Box& box : places(x, y, 7.0 * static_cast<double>(number.size()) + 2)) {
      const bool is_free = std::none_of(taken.begin(), taken.end(), [&](const Box& other) { return other.meets(box); });
      if (!is_free || box.x1 < left || box.x2 > right || box.y1 < top || box.y2 > bottom) continue;
      taken.push_back(box);
      const double middle = (box.x1 + box.x2) / 2, edge = box.y1 > y ? box.y1 : box.y2;
      chart.body += svg::line(x, y, middle, edge, "leader") + svg::text(middle, box.y2 - 3, "name middle", number);
      break;
    }
  }
}

/// Dots of kernels with arithmetic in the plot; the others, which only move bytes, in a row below it.
void draw_dots(Chart& chart, const std::vector<Dot>& dots, double seconds, double row_x) {
  int moves = 0;
  for (const Dot& dot : dots) {
    const bool is_after = dot.kernel >= 0;
    const std::string attributes =
        is_after ? fmt::format("class=\"after\" data-kernel=\"{}\"", dot.kernel) : std::string("class=\"before\"");
    const bool is_move = dot.intensity <= 0;
    const double x = is_move ? std::min(row_x + 9.0 * moves++, row_x + 300) : chart.x.at(dot.intensity);
    chart.body += svg::circle(x, is_move ? strip - 4 : chart.y.at(dot.flops_per_second),
                              is_move ? 3.5 : radius_of(dot, seconds), attributes, dot.title);
  }
}

void draw_legend(Chart& chart, const plan::Plan& plan) {
  chart.body +=
      svg::text(left, 26, "title",
                fmt::format("{} on {}: predicted roofline", shortened(plan.model, 40), shortened(plan.device, 40)));
  const auto words = [](const cost::Total& t) {
    return fmt::format("{} kernels, {}, {} flop/byte, predicted {}", t.kernels, bytes_text(t.bytes),
                       short_number(t.intensity()), time_text(t.seconds));
  };
  chart.body += svg::circle(left + 6, 46, 3.5, "class=\"before\"") +
                svg::text(left + 18, 50, "", "before, one kernel a node: " + words(plan.unfused));
  chart.body += svg::circle(left + 6, 67, 6, "class=\"after\"") +
                svg::text(left + 18, 71, "", "after, the plan: " + words(plan.fused) + " (area: share of the time)");
}

}  // namespace

std::string to_roofline_svg(const plan::Plan& plan, const graph::Graph& original, const device::Device& device) {
  const std::vector<Dot> before = dots_before(original, device), after = dots_after(plan, device);
  std::vector<Dot> all = before;
  all.insert(all.end(), after.begin(), after.end());
  Chart chart = chart_for(all, device);
  draw_axes(chart);
  draw_roofs(chart, device);
  draw_legend(chart, plan);
  if (std::any_of(all.begin(), all.end(), [](const Dot& dot) { return dot.intensity <= 0; }))
    chart.body += svg::text(left, strip, "small", "without arithmetic, moves only:");
  draw_dots(chart, after, plan.fused.seconds, left + 520);
  draw_dots(chart, before, plan.fused.seconds, left + 190);  // rings, which leave what they surround to be seen
  label_dots(chart, all, plan.fused.seconds);
  return svg::document("roofline", width, height - 30, style, chart.body);
}

}  // namespace cryolite::report
