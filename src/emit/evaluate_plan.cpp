#include "emit/evaluate_plan.h"

#include <map>

#include "emit/evaluate.h"

namespace cryolite::emit {
namespace {

using graph::Tensor;
using graph::ValueId;

struct Runner {
  const plan::Plan& plan;
  const std::string& target;
  std::map<int, Traffic>* traffic;
  graph::Uses uses;
  std::map<ValueId, Tensor> known;

  /// Values of view nodes are computed when they are asked for: no kernel does.
  const Tensor& get(ValueId id) {
    if (const auto found = known.find(id); found != known.end()) return found->second;
    if (plan.graph.value(id).constant) return known[id] = *plan.graph.value(id).constant;
    return known[id] = run_alone(plan.graph.nodes[uses.producer[id]], id);
  }

  Tensor run_alone(const graph::Node& node, ValueId wanted) {
    graph::Graph single;
    graph::Node copy = node;
    std::vector<Tensor> arguments;
    for (ValueId& id : copy.inputs) {
      if (id == graph::absent) continue;
      graph::Value value = plan.graph.value(id);
      value.layout = {};
      if (!value.constant) arguments.push_back(get(id));
      id = single.add_value(value);
      if (!value.constant) single.inputs.push_back(id);
    }
    size_t result = 0;
    for (ValueId& id : copy.outputs) {
      if (id == graph::absent) continue;
      if (id == wanted) result = single.outputs.size();
      graph::Value value = plan.graph.value(id);
      value.layout = {};
      id = single.add_value(value);
      single.outputs.push_back(id);
    }
    single.nodes.push_back(copy);
    return evaluate(single, arguments).at(result);
  }

  void run(const plan::Group& group) {
    if (group.is_extern()) {
      for (ValueId id : group.outputs) known[id] = run_alone(plan.graph.nodes[group.anchor], id);
      return;
    }
    std::vector<Tensor> arguments;
    for (ValueId id : group.inputs) arguments.push_back(get(id));
    const auto schedule = plan::schedule_of(plan, group);
    Traffic* counted = traffic ? &(*traffic)[group.id] : nullptr;
    const auto results = run_group(plan::graph_of(plan, group), arguments, &schedule, target, counted);
    for (size_t i = 0; i < results.size(); ++i) known[group.outputs[i]] = results[i];
  }
};

}  // namespace

std::vector<Tensor> run_plan(const plan::Plan& plan, const std::vector<Tensor>& inputs, const std::string& target,
                             std::map<int, Traffic>* traffic) {
  Runner runner{plan, target, traffic, graph::uses_of(plan.graph), {}};
  for (size_t i = 0; i < plan.graph.inputs.size(); ++i) runner.known[plan.graph.inputs[i]] = inputs.at(i);
  for (const plan::Group& group : plan.groups) runner.run(group);
  std::vector<Tensor> results;
  for (ValueId id : plan.graph.outputs) results.push_back(runner.get(id));
  return results;
}

}  // namespace cryolite::emit
