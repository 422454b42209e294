#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "plan/plan.h"

/// One file an output; all are pure functions of the plan, but to_graph_svg, which runs Graphviz.
namespace cryolite::report {

/// What was measured of a kernel's code after it was emitted (GPU targets).
struct Resources {
  int registers = 0;
  int64_t spill_bytes = 0;
  double occupancy = 0;  ///< resident threads as a share of what a multiprocessor can hold
};
/// By group id; groups that are missing print as null.
using GroupResources = std::map<int, Resources>;

/// The plan as JSON; the form is part of the product's contract (README, "plan --json").
nlohmann::json to_json(const plan::Plan& plan, const GroupResources& resources = {});
/// The same as text; bytes of names that are no UTF-8 are replaced.
std::string to_json_text(const plan::Plan& plan, const GroupResources& resources = {});

/// The plan as a table for a person: one row a kernel, then the totals before and after.
std::string to_table(const plan::Plan& plan, const device::Device& device);

/// Every decision that touches a node, or an edge given as "PRODUCER->CONSUMER", one a line.
/// Throws Error where no node is called so.
std::string explanation(const plan::Plan& plan, const std::string& node_or_edge);

/// The planned graph in Graphviz's language, a cluster a kernel. A node that several kernels compute stands in each.
std::string to_dot(const plan::Plan& plan);
/// The same, drawn by Graphviz. Throws Error (remedy) where its program `dot` is missing or fails.
std::string to_graph_svg(const plan::Plan& plan);

/// Each kernel as a dot, log-log: flops a byte against predicted flops a second, below the device's roofs; before (one
/// kernel a node of `original`, the graph before rewriting) and after.
std::string to_roofline_svg(const plan::Plan& plan, const graph::Graph& original, const device::Device& device);

/// The arena: which bytes each value takes, and during which kernels.
std::string to_memory_svg(const plan::Plan& plan);

/// All of it on one page that needs no other file: well-formed as XML too.
std::string to_html(const plan::Plan& plan, const graph::Graph& original, const device::Device& device,
                    const GroupResources& resources = {});

}  // namespace cryolite::report
