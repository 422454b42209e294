#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "report/kernel_rows.h"
#include "report/report.h"
#include "report/text.h"

namespace cryolite::report {
namespace {

constexpr const char* style = R"(
body{font:14px/1.45 system-ui,Helvetica,Arial,sans-serif;color:#24292f;max-width:1280px;margin:24px auto;padding:0 16px}
h1{font-size:24px;margin:0 0 4px}h2{font-size:18px;margin:36px 0 8px}p{margin:4px 0 10px;color:#57606a}
table{border-collapse:collapse;font-size:13px}th{text-align:left;background:#f6f8fa;position:sticky;top:0}
th,td{padding:3px 10px;border-bottom:1px solid #e3e7eb;vertical-align:top}td.n,th.n{text-align:right;white-space:nowrap;
font-variant-numeric:tabular-nums}td.name{max-width:330px;overflow-wrap:anywhere}.scroll{overflow:auto;max-height:640px;
border:1px solid #d8dee4;border-radius:6px}.scroll.tall{max-height:900px}.yes{color:#1a7f37}.no{color:#9a3412}
.key span{display:inline-block;padding:0 8px;margin-right:6px;border:1px solid #5b6671;border-radius:4px;font-size:12px}
nav a{margin-right:14px})";

/// A table row of cells; those of `numbers` stand right.
struct Row {
  std::string html = "<tr>";
  Row& words(std::string_view text, std::string_view classes = "name") {
    html += fmt::format("<td class=\"{}\">{}</td>", classes, xml_text(text));
    return *this;
  }
  Row& number(std::string_view text) { return words(text, "n"); }
  std::string end() const { return html + "</tr>\n"; }
};

/// Heads that begin with ">" stand over numbers.
std::string table(const std::vector<std::string_view>& heads, const std::string& rows) {
  std::string html = "<table><thead><tr>";
  for (std::string_view head : heads) {
    const bool is_number = head.starts_with('>');
    html += fmt::format("<th{}>{}</th>", is_number ? " class=\"n\"" : "", xml_text(head.substr(is_number)));
  }
  return html + "</tr></thead><tbody>\n" + rows + "</tbody></table>\n";
}

std::string section(std::string_view id, std::string_view title, std::string_view note, std::string_view content) {
  return fmt::format("<h2 id=\"{}\">{}</h2>\n<p>{}</p>\n{}", id, xml_text(title), xml_text(note), content);
}

std::string scrolled(std::string_view content, bool is_tall = false) {
  return fmt::format("<div class=\"scroll{}\">{}</div>\n", is_tall ? " tall" : "", content);
}

std::string price_text(double seconds) { return std::isfinite(seconds) ? short_number(seconds * 1e6) : "–"; }

std::string summary(const plan::Plan& plan) {
  const auto row = [](const char* name, const cost::Total& t) {
    return Row()
        .words(name)
        .number(std::to_string(t.kernels))
        .number(flops_text(t.flops))
        .number(bytes_text(t.bytes))
        .number(short_number(t.intensity()))
        .number(short_number(t.seconds * 1e6))
        .end();
  };
  const auto share = [](double after, double before) {
    return before > 0 ? fmt::format("{:.2f}x", after / before) : "–";
  };
  const cost::Total &before = plan.unfused, &after = plan.fused;
  const std::string shares = Row()
                                 .words("after / before")
                                 .number(share(after.kernels, before.kernels))
                                 .number(share(static_cast<double>(after.flops), static_cast<double>(before.flops)))
                                 .number(share(static_cast<double>(after.bytes), static_cast<double>(before.bytes)))
                                 .number(share(after.intensity(), before.intensity()))
                                 .number(share(after.seconds, before.seconds))
                                 .end();
  return table({"", ">kernels", ">flops", ">bytes", ">flops/byte", ">predicted us"},
               row("before, one kernel a node", before) + row("after, the plan", after) + shares);
}

std::string kernels(const plan::Plan& plan, const device::Device& device, const GroupResources& resources) {
  std::vector<std::string_view> heads{">kernel", "nodes",         "strategy", "why",
                                      ">flops",  ">bytes",        ">saved",   ">flops/byte before",
                                      ">after",  ">predicted us", "bound by"};
  if (!resources.empty()) heads.insert(heads.end(), {">registers", ">spilled", ">occupancy"});
  std::string rows;
  for (const KernelRow& kernel : kernel_rows(plan, device)) {
    const cost::Cost& cost = kernel.group->cost;
    Row row;
    row.number(std::to_string(kernel.group->id))
        .words(kernel.nodes)
        .words(kernel.group->strategy, "")
        .words(kernel.why, "")
        .number(flops_text(cost.flops))
        .number(bytes_text(cost.bytes()))
        .number(bytes_text(kernel.bytes_saved()))
        .number(short_number(kernel.before.intensity()))
        .number(short_number(cost.intensity()))
        .number(short_number(cost.seconds * 1e6))
        .words(cost.bound_by, "");
    if (const auto found = resources.find(kernel.group->id); found != resources.end())
      row.number(std::to_string(found->second.registers))
          .number(bytes_text(found->second.spill_bytes))
          .number(fmt::format("{:.0f}%", 100 * found->second.occupancy));
    else if (!resources.empty())
      row.number("–").number("–").number("–");
    rows += row.end();
  }
  return table(heads, rows);
}

std::string decisions(const plan::Plan& plan) {
  std::string rows;
  for (const plan::Decision& d : plan.decisions)
    rows += Row()
                .words(d.producer)
                .words(d.consumer)
                .words(d.fused ? "fused" : "apart", d.fused ? "yes" : "no")
                .words(d.rule, "")
                .number(price_text(d.as_is_seconds))
                .number(price_text(d.otherwise_seconds))
                .words(d.why, "")
                .end();
  return table({"producer", "consumer", "decided", "rule", ">us as it is", ">us otherwise", "why"}, rows);
}

std::string placements(const plan::Plan& plan) {
  std::string rows;
  for (const plan::Group& group : plan.groups)
    for (const plan::Placement& p : group.placements)
      rows += Row()
                  .number(std::to_string(group.id))
                  .words(plan.graph.nodes[p.node].name)
                  .words(plan.graph.nodes[p.node].op_type, "")
                  .words(plan::name_of(p.place), "")
                  .words(p.at)
                  .number(fmt::format("{:.2f}x", p.recompute))
                  .end();
  return table({">kernel", "node", "operator", "place", "at", ">computed"}, rows);
}

/// The drawing without what stands before its root element, which may not stand inside of a page.
std::string graph_picture(const plan::Plan& plan) {
  try {
    const std::string svg = to_graph_svg(plan);
    return scrolled(svg.substr(svg.find("<svg")), true);
  } catch (const Error& error) {
    return fmt::format("<p>No drawing: {}.</p>\n", xml_text(error.what()));
  }
}

constexpr const char* graph_key =
    "<p class=\"key\"><span style=\"background:#dcefd8\">injective</span><span "
    "style=\"background:#fdf1c7\">broadcast</span>"
    "<span style=\"background:#d3e3f8\">reduction</span><span style=\"background:#f8d4d0\">opaque</span>"
    "<span style=\"border-style:dashed\">outside a kernel: a view; inside: recomputed</span></p>\n";

}  // namespace

std::string to_html(const plan::Plan& plan, const graph::Graph& original, const device::Device& device,
                    const GroupResources& resources) {
  const std::string title = fmt::format("{} on {}: the plan", xml_text(plan.model), xml_text(plan.device));
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\"><head><meta charset=\"utf-8\"/>"
      "<meta name=\"viewport\" content=\"width=device-width\"/><title>{0}</title><style>{1}</style></head>\n<body>\n"
      "<h1>{0}</h1>\n<p>Cryolite, planner {2}. Times are predicted for {3}.</p>\n<nav>",
      title, style, xml_text(plan.planner), xml_text(plan.device));
  const auto link = [&](const char* id, const char* words) {
    page += fmt::format("<a href=\"#{}\">{}</a>", id, words);
  };
  link("kernels", "Kernels"), link("roofline", "Roofline"), link("graph", "Graph"), link("memory", "Memory");
  link("decisions", "Decisions"), link("placements", "Placements");
  page += "</nav>\n" + section("summary", "Summary",
                               "Bytes are those to and from memory, every input and output of a kernel once.",
                               summary(plan));
  page += section("kernels", "Kernels",
                  "Saved: bytes that its nodes would move as kernels of their own. Why: the rules that joined them, or "
                  "left one alone.",
                  scrolled(kernels(plan, device, resources)));
  page +=
      section("roofline", "Roofline", "Point at a dot to read its kernel.", to_roofline_svg(plan, original, device));
  page += section("graph", "Graph",
                  "A frame is a kernel; thin edges stay inside of it, thick ones go through memory. The node with the "
                  "bold border gives the loops.",
                  graph_key + graph_picture(plan));
  page += section("memory", "Memory", "Which bytes of the arena each value takes, and during which kernels.",
                  to_memory_svg(plan));
  page += section("decisions", "Decisions",
                  "Both prices are of the kernels that the edge concerns: as decided, and with the producer's result "
                  "stored instead of kept inside, or the reverse. – : no schedule makes that kernel.",
                  scrolled(decisions(plan)));
  page += section("placements", "Placements", "Where each node is computed, and how often an element is, on average.",
                  scrolled(placements(plan)));
  return page + "</body></html>\n";
}

}  // namespace cryolite::report
