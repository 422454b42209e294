#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "graph/elements.h"
#include "report/report.h"
#include "report/svg.h"
#include "report/text.h"

namespace cryolite::report {
namespace {

using graph::ValueId;

constexpr double width = 960, height = 380, left = 78, right = 940, top = 44, bottom = 330;  // pixels

constexpr const char* style =
    "text{font:12px Helvetica,Arial,sans-serif;fill:#24292f}.title{font-size:16px;font-weight:bold}"
    ".small{font-size:11px;fill:#57606a}.end{text-anchor:end}.middle{text-anchor:middle}.axis{stroke:#57606a}.grid{"
    "stroke:#e3e7eb}"
    ".name{font-size:11px;pointer-events:none}";
constexpr const char* fills[] = {"#cfe3fb", "#d9ecd0", "#fbe6c5", "#e4d8f5", "#f8d9d6", "#d0ebeb"};

struct Life {
  ValueId value = graph::absent;
  int first = 0, last = 0;  ///< kernels
  int64_t offset = 0, bytes = 0;
};

std::vector<Life> lives_of(const plan::Plan& plan) {
  std::map<ValueId, Life> lives;
  for (const plan::Group& group : plan.groups)
    for (const auto* list : {&group.inputs, &group.outputs})
      for (ValueId id : *list) {
        if (plan.homes[id].kind != plan::Home::Kind::Arena) continue;
        const ValueId root = plan.homes[id].root;
        const graph::Value& value = plan.graph.value(root);
        const int64_t bytes = graph::storage_span(value.layout, value.type.extents()) * size_of(value.type.element);
        auto [life, is_new] = lives.try_emplace(root, Life{root, group.id, group.id, plan.homes[root].offset, bytes});
        life->second.last = group.id;
      }
  std::vector<Life> list;
  for (const auto& [root, life] : lives) list.push_back(life);
  return list;
}

}  // namespace

std::string to_memory_svg(const plan::Plan& plan) {
  const double kernels = std::max<double>(1, static_cast<double>(plan.groups.size()));
  const double bytes = std::max<double>(1, static_cast<double>(plan.arena_bytes));
  const auto x_of = [&](double kernel) { return left + kernel / kernels * (right - left); };
  const auto y_of = [&](double offset) { return bottom - offset / bytes * (bottom - top); };
  std::string body = svg::text(left, 26, "title",
                               fmt::format("Arena of {}: {}", shortened(plan.model, 40), bytes_text(plan.arena_bytes)));
  for (int quarter = 0; quarter <= 4; ++quarter) {
    const double offset = bytes * quarter / 4;
    body += svg::line(left, y_of(offset), right, y_of(offset), "grid");
    body += svg::text(left - 7, y_of(offset) + 4, "small end", bytes_text(plan.arena_bytes * quarter / 4));
  }
  const int step = std::max(1, static_cast<int>(kernels / 20));
  for (int k = 0; k < static_cast<int>(kernels); k += step)
    body += svg::text(x_of(k + 0.5), bottom + 16, "small middle", std::to_string(k));
  body += svg::text((left + right) / 2, bottom + 36, "middle", "kernel, in running order");
  size_t colour = 0;
  for (const Life& life : lives_of(plan)) {
    const std::string& name = plan.graph.value(life.value).name;
    const double x = x_of(life.first), y = y_of(static_cast<double>(life.offset + life.bytes));
    const double wide = x_of(life.last + 1) - x, tall = y_of(static_cast<double>(life.offset)) - y;
    const std::string attributes =
        fmt::format("fill=\"{}\" stroke=\"#57606a\" stroke-width=\"0.6\" data-value=\"{}\" data-bytes=\"{}\"",
                    fills[colour++ % std::size(fills)], xml_text(name), life.bytes);
    body += svg::rectangle(x, y, wide, tall, attributes,
                           fmt::format("{}: {} at {}, kernels {} to {}", name, bytes_text(life.bytes), life.offset,
                                       life.first, life.last));
    const size_t room = static_cast<size_t>(wide / 6.5);
    if (tall >= 14 && room >= 4) body += svg::text(x + 4, y + tall / 2 + 4, "name", shortened(name, room - 1));
  }
  body += svg::line(left, bottom, right, bottom, "axis");
  return svg::document("memory", width, height, style, body);
}

}  // namespace cryolite::report
