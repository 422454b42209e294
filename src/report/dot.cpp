#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "ops/operator.h"
#include "report/report.h"
#include "report/text.h"

namespace cryolite::report {
namespace {

using graph::NodeId;
using graph::ValueId;

constexpr size_t name_width = 30;  // characters of a name in the picture; its tooltip has all

const char* fill_of(const graph::Node& node) {
  const ops::Operator* op = ops::find(node.op_type);
  switch (op ? op->category : ops::Category::Opaque) {
    case ops::Category::Injective:
      return "#dcefd8";
    case ops::Category::Broadcast:
      return "#fdf1c7";
    case ops::Category::Reduction:
      return "#d3e3f8";
    case ops::Category::Opaque:
      break;
  }
  return "#f8d4d0";
}

std::string shape_text(const graph::TensorType& type) {
  return type.dims.empty() ? "scalar" : fmt::format("{}", fmt::join(type.extents(), "×"));
}

struct Drawing {
  const plan::Plan& plan;
  const graph::Uses uses;
  std::map<NodeId, int> stored_by;     ///< kernel that writes results of a node to memory
  std::map<NodeId, int> kernels_with;  ///< how many compute a node; none: it is a view
  std::string text;

  explicit Drawing(const plan::Plan& p) : plan(p), uses(graph::uses_of(p.graph)) {
    for (const plan::Group& group : plan.groups) {
      for (ValueId result : group.outputs) stored_by[uses.producer[result]] = group.id;
      for (NodeId node : group.nodes) ++kernels_with[node];
    }
  }

  /// The name of a node's box: a kernel that recomputes it has a box of its own.
  std::string box(NodeId node, int kernel) const { return fmt::format("k{}_n{}", kernel, node); }
  std::string stored_box(NodeId node) const {
    const auto kernel = stored_by.find(node);
    return kernel == stored_by.end() ? fmt::format("view_n{}", node) : box(node, kernel->second);
  }

  void draw_node(const std::string& id, NodeId n, const std::string& extra) {
    const graph::Node& node = plan.graph.nodes[n];
    text += fmt::format("    {} [label=\"{}\\n{}\", tooltip=\"{}\", fillcolor=\"{}\"{}];\n", id, dot_text(node.op_type),
                        dot_text(shortened(node.name, name_width)), dot_text(node.name), fill_of(node), extra);
  }

  void draw_kernel(const plan::Group& group) {
    text +=
        fmt::format("  subgraph cluster_k{} {{\n    label=\"kernel {} · {}\\l{} · predicted {}, bound by {}\\l\";\n",
                    group.id, group.id, dot_text(group.strategy), bytes_text(group.cost.bytes()),
                    time_text(group.cost.seconds), dot_text(group.cost.bound_by));
    for (NodeId node : group.nodes) {
      std::string extra = node == group.anchor ? ", penwidth=2" : "";
      if (kernels_with.at(node) > 1) extra += ", style=\"rounded,filled,dashed\"";  // recomputed in each
      draw_node(box(node, group.id), node, extra);
    }
    text += "  }\n";
  }

  std::string source_of(ValueId value) const {
    const NodeId producer = uses.producer[value];
    return producer == graph::absent ? fmt::format("value{}", value) : stored_box(producer);
  }

  void draw_edge(const std::string& from, const std::string& to, ValueId value, bool in_memory) {
    const graph::Value& v = plan.graph.value(value);
    const std::string label = shape_text(v.type) + "\\n" + bytes_text(v.type.bytes());
    text += fmt::format("  {} -> {} [tooltip=\"{}: {}\"{}];\n", from, to, dot_text(v.name), shape_text(v.type),
                        in_memory ? fmt::format(", label=\" {}\", penwidth=1.6", label) : ", color=\"#9aa5b1\"");
  }

  void draw_edges_into(const std::string& id, NodeId n, const std::set<NodeId>& inside, int kernel) {
    std::set<ValueId> drawn;
    for (ValueId value : plan.graph.nodes[n].inputs) {
      if (value == graph::absent || plan.graph.value(value).constant || !drawn.insert(value).second) continue;
      const NodeId producer = uses.producer[value];
      const bool is_inside = inside.count(producer) > 0;
      draw_edge(is_inside ? box(producer, kernel) : source_of(value), id, value, !is_inside);
    }
  }

  void draw_view(NodeId n) {
    draw_node(stored_box(n), n, ", style=\"rounded,dashed\"");
    draw_edges_into(stored_box(n), n, {}, -1);
  }

  void draw_ends() {
    for (ValueId value : plan.graph.inputs)
      text += fmt::format("  value{} [label=\"{}\", tooltip=\"{}\", shape=ellipse, fillcolor=\"#ececec\"];\n", value,
                          dot_text(shortened(plan.graph.value(value).name, name_width)),
                          dot_text(plan.graph.value(value).name));
    for (size_t i = 0; i < plan.graph.outputs.size(); ++i) {
      const ValueId value = plan.graph.outputs[i];
      text += fmt::format("  output{} [label=\"{}\", tooltip=\"{}\", shape=ellipse, fillcolor=\"#ececec\"];\n", i,
                          dot_text(shortened(plan.graph.value(value).name, name_width)),
                          dot_text(plan.graph.value(value).name));
      draw_edge(source_of(value), fmt::format("output{}", i), value, true);
    }
  }
};

}  // namespace

std::string to_dot(const plan::Plan& plan) {
  Drawing drawing(plan);
  drawing.text = fmt::format("digraph \"{}\" {{\n", dot_text(plan.model));
  drawing.text +=
      "  graph [fontname=\"Helvetica,Arial,sans-serif\", fontsize=9, nodesep=0.25, ranksep=0.35,\n"
      "         style=\"rounded,filled\", fillcolor=\"#f6f8fa\", color=\"#8c96a0\", labeljust=l, bgcolor=white, "
      "tooltip=\" \"];\n"
      "  node [fontname=\"Helvetica,Arial,sans-serif\", fontsize=10, shape=box, style=\"rounded,filled\", height=0.3,\n"
      "        margin=\"0.1,0.05\", color=\"#5b6671\"];\n"
      "  edge [fontname=\"Helvetica,Arial,sans-serif\", fontsize=9, fontcolor=\"#4a5560\", color=\"#33404d\",\n"
      "        arrowsize=0.6];\n";
  for (const plan::Group& group : plan.groups) drawing.draw_kernel(group);
  for (NodeId n = 0; n < static_cast<NodeId>(plan.graph.nodes.size()); ++n)
    if (!drawing.kernels_with.count(n)) drawing.draw_view(n);
  for (const plan::Group& group : plan.groups) {
    const std::set<NodeId> inside(group.nodes.begin(), group.nodes.end());
    for (NodeId node : group.nodes) drawing.draw_edges_into(drawing.box(node, group.id), node, inside, group.id);
  }
  drawing.draw_ends();
  return drawing.text + "}\n";
}

}  // namespace cryolite::report
