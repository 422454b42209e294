#include <fmt/format.h>

#include "report/kernel_rows.h"
#include "report/report.h"
#include "report/text.h"

namespace cryolite::report {
namespace {

constexpr size_t nodes_width = 36, why_width = 36;  // characters

std::string kernel_line(const KernelRow& row) {
  const cost::Cost& cost = row.group->cost;
  const std::string intensity =
      fmt::format("{:>6} -> {:<6}", short_number(row.before.intensity()), short_number(cost.intensity()));
  return fmt::format("{:>4}  {:<{}}  {:<16}  {:<{}}  {:>9}  {:>9}  {:>9}  {}  {:>8}  {}\n", row.group->id,
                     shortened(row.nodes, nodes_width), nodes_width, shortened(row.group->strategy, 16),
                     shortened(row.why, why_width), why_width, flops_text(cost.flops), bytes_text(cost.bytes()),
                     bytes_text(row.bytes_saved()), intensity, short_number(cost.seconds * 1e6), cost.bound_by);
}

std::string total_line(const char* name, const cost::Total& t) {
  return fmt::format("{:<10} {:>8}  {:>12}  {:>12}  {:>10}  {:>13}\n", name, t.kernels, flops_text(t.flops),
                     bytes_text(t.bytes), short_number(t.intensity()), short_number(t.seconds * 1e6));
}

}  // namespace

std::string to_table(const plan::Plan& plan, const device::Device& device) {
  std::string text =
      fmt::format("{} on {}, planner {}\n", clean_text(plan.model), clean_text(plan.device), plan.planner);
  text += "saved: bytes to and from memory that its nodes would take as kernels of their own; times are predicted\n\n";
  text +=
      fmt::format("{:>4}  {:<{}}  {:<16}  {:<{}}  {:>9}  {:>9}  {:>9}  {:>9}         {:>8}  {}\n", "id", "nodes",
                  nodes_width, "strategy", "why", why_width, "flops", "bytes", "saved", "flops/byte", "us", "bound by");
  for (const KernelRow& row : kernel_rows(plan, device)) text += kernel_line(row);
  text += fmt::format("\n{:<10} {:>8}  {:>12}  {:>12}  {:>10}  {:>13}\n", "", "kernels", "flops", "bytes", "flops/byte",
                      "predicted us");
  text += total_line("unfused", plan.unfused) + total_line("fused", plan.fused);
  text += fmt::format("arena      {}\n", bytes_text(plan.arena_bytes));
  return text;
}

}  // namespace cryolite::report
