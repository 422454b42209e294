#pragma once
#include <string>
#include <vector>

#include "plan/plan.h"

namespace cryolite::report {

/// What reports say of a kernel beside what the plan has of it.
struct KernelRow {
  const plan::Group* group = nullptr;
  std::string nodes;   ///< "conv1+relu1+pool1"
  std::string why;     ///< the rules that joined its nodes, or, of one node, those that left it alone
  cost::Total before;  ///< its nodes of the simplified graph, each a kernel of its own
  int64_t bytes_saved() const { return before.bytes - group->cost.bytes(); }
};

/// One a group, in running order.
std::vector<KernelRow> kernel_rows(const plan::Plan& plan, const device::Device& device);

}  // namespace cryolite::report
