#include <map>
#include <set>

#include "ops/builder.h"
#include "plan/plan.h"

namespace cryolite::plan {
namespace {

using graph::Graph;
using graph::ValueId;

/// Names of a group's own graph: values are called as the node that computes them, so that the Funcs of a
/// schedule carry the names that the plan shows; all distinct as identifiers of code.
class Names {
 public:
  std::string unique(const std::string& wished) {
    std::string name = wished;
    for (int n = 2; !taken_.insert(ops::identifier(name)).second; ++n) name = wished + "_" + std::to_string(n);
    return name;
  }

 private:
  std::set<std::string> taken_;
};

}  // namespace

Graph graph_of(const Plan& plan, const Group& group) {
  Graph own;
  own.name = plan.graph.nodes[group.nodes.back()].name;
  Names names;
  std::map<ValueId, ValueId> renumbered;
  const auto add = [&](ValueId id, const std::string& name) {
    graph::Value value = plan.graph.value(id);
    value.name = names.unique(name);
    if (value.constant && !is_compile_time(value)) value.constant.reset();
    return renumbered[id] = own.add_value(std::move(value));
  };
  std::vector<graph::Node> nodes;
  for (graph::NodeId n : group.nodes) {
    graph::Node node = plan.graph.nodes[n];
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == graph::absent) continue;
      add(node.outputs[i], i == 0 ? node.name : node.name + "_" + std::to_string(i));
    }
    nodes.push_back(std::move(node));
  }
  for (graph::Node& node : nodes) {
    for (ValueId& id : node.inputs) {
      if (id == graph::absent) continue;
      const auto known = renumbered.find(id);
      id = known != renumbered.end() ? known->second : add(id, plan.graph.value(id).name);
    }
    for (ValueId& id : node.outputs)
      if (id != graph::absent) id = renumbered.at(id);
    own.nodes.push_back(std::move(node));
  }
  for (ValueId id : group.inputs) own.inputs.push_back(renumbered.at(id));
  for (ValueId id : group.outputs) own.outputs.push_back(renumbered.at(id));
  return own;
}

}  // namespace cryolite::plan
