#include "emit/canonical.h"

#include <fmt/format.h>

#include <set>

#include "lower/lowered_group.h"

namespace cryolite::emit {
namespace {

graph::Graph renamed(graph::Graph graph) {
  graph.name = "group";
  for (size_t v = 0; v < graph.values.size(); ++v) graph.values[v].name = fmt::format("v{}", v);
  for (size_t n = 0; n < graph.nodes.size(); ++n) graph.nodes[n].name = fmt::format("n{}", n);
  for (graph::Value& value : graph.values)
    for (graph::Dim& dim : value.type.dims) dim.symbol.clear();
  return graph;
}

/// The Funcs of both graphs, which correspond one to one, and those that the schedule itself makes.
std::vector<std::pair<std::string, std::string>> func_names(const graph::Graph& from, const graph::Graph& to,
                                                            const schedule::GroupSchedule& schedule) {
  const lower::LoweredGroup before = lower::lower(from), after = lower::lower(to);
  std::vector<std::pair<std::string, std::string>> names;
  std::set<std::string> known;
  for (size_t s = 0; s < before.stages.size(); ++s) {
    names.emplace_back(before.stages[s].name, after.stages[s].name);
    known.insert(before.stages[s].name);
  }
  int made = 0;
  for (const schedule::FuncSchedule& line : schedule.funcs)
    if (known.insert(line.func).second) names.emplace_back(line.func, fmt::format("made{}", made++));
  return names;
}

}  // namespace

CanonicalGroup canonical(const graph::Graph& group, const schedule::GroupSchedule& schedule) {
  CanonicalGroup result;
  result.graph = renamed(group);
  result.schedule = schedule::renamed(schedule, func_names(group, result.graph, schedule));
  result.schedule.group = "group";
  result.schedule.file.clear();
  for (schedule::FuncSchedule& line : result.schedule.funcs) line.line = 0;
  return result;
}

}  // namespace cryolite::emit
