#pragma once
#include <map>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "plan/plan.h"

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

/// The plan as a table for a person: one row a kernel, then the totals before and after.
std::string to_table(const plan::Plan& plan);

/// Every decision that touches a node, or an edge given as "PRODUCER->CONSUMER", one a line.
/// Throws Error where no node is called so.
std::string explanation(const plan::Plan& plan, const std::string& node_or_edge);

}  // namespace cryolite::report
