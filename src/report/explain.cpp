#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "report/report.h"
#include "report/text.h"

namespace cryolite::report {

std::string explanation(const plan::Plan& plan, const std::string& node_or_edge) {
  const size_t arrow = node_or_edge.find("->");
  const std::string from = node_or_edge.substr(0, arrow);
  const std::string to = arrow == std::string::npos ? "" : node_or_edge.substr(arrow + 2);
  std::string text;
  for (const plan::Decision& d : plan.decisions) {
    const bool wanted = to.empty() ? d.producer == from || d.consumer == from : d.producer == from && d.consumer == to;
    if (wanted)
      text += fmt::format("{} -> {}: {} ({}): {}\n", clean_text(d.producer), clean_text(d.consumer),
                          d.fused ? "fused" : "apart", d.rule, d.why);
  }
  if (!text.empty()) return text;
  const bool known = std::any_of(plan.graph.nodes.begin(), plan.graph.nodes.end(),
                                 [&](const graph::Node& node) { return node.name == from; });
  if (known && to.empty()) return fmt::format("{} has no neighbour\n", from);
  throw Error(fmt::format("the plan has no {} '{}'", to.empty() ? "node" : "edge", node_or_edge), {},
              "`cryolite plan` lists the nodes of each kernel");
}

}  // namespace cryolite::report
