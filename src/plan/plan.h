#pragma once
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cost/cost.h"
#include "device/device.h"
#include "graph/graph.h"
#include "schedule/strategy.h"

namespace cryolite::plan {

enum class Place { Inline, ComputeAt, ComputeRoot, Extern };
std::string_view name_of(Place place);  ///< "inline", "compute_at", "compute_root", "extern"

/// Where a node of a group is computed.
struct Placement {
  graph::NodeId node = 0;
  Place place = Place::ComputeRoot;
  std::string at;        ///< "pool1.x_outer": Func and loop of a compute_at; else empty
  double recompute = 1;  ///< how often an element is computed, on average
};

/// Nodes that become one kernel.
struct Group {
  int id = 0;
  std::vector<graph::NodeId> nodes;    ///< in the graph's order
  graph::NodeId anchor = 0;
  std::string strategy;                ///< schedule::strategy_of, or "extern"
  std::vector<graph::ValueId> inputs;  ///< read from memory: activations, weights; no compile-time constants
  std::vector<graph::ValueId> outputs;
  std::vector<Placement> placements;   ///< one a node
  cost::Cost cost;
  bool is_extern() const { return strategy == "extern"; }
};

/// What was decided on an edge of the graph, by which rule, with the numbers.
struct Decision {
  std::string producer, consumer;  ///< node names
  bool fused = false;
  std::string rule;
  std::string why;
  /// Predicted seconds of the kernels that the edge concerns: as decided, and with the producer's result stored instead
  /// of kept inside of them, or the reverse; infinity where no schedule makes that, or where nothing was priced.
  double as_is_seconds = std::numeric_limits<double>::infinity();
  double otherwise_seconds = std::numeric_limits<double>::infinity();
};

/// Where a value lies at run time.
struct Home {
  enum class Kind {
    Inside,   ///< never in memory: lives inside a kernel, or is compile-time data
    Input,    ///< the caller's buffer `index`
    Output,   ///< the caller's buffer `index`
    Weight,   ///< constant data, packed in the value's layout
    Arena,    ///< at `offset` bytes of the context's arena
  };
  Kind kind = Kind::Inside;
  int index = -1;
  int64_t offset = 0;            ///< bytes, of element 0, from the start of the buffer or arena
  graph::ValueId root = -1;      ///< the value whose memory this one is a view of; itself where it is none
};

struct Plan {
  std::string model, device, planner;
  graph::Graph graph;            ///< simplified, every value with its layout (strides set for views)
  std::vector<Group> groups;     ///< in the order in which they run
  std::vector<Home> homes;       ///< by value
  std::vector<Decision> decisions;
  int64_t arena_bytes = 0;
  cost::Total unfused, fused;
  schedule::Machine machine;
};

struct Options {
  std::string planner = "optimal";  ///< "none" (one kernel a node), "greedy" (the seed's rules), "optimal"
  schedule::Machine machine;
  std::string model_name;
  std::set<std::string> stored;     ///< names of nodes whose results are to be stored, whatever the prices say
};

/// Plans a simplified graph whose types are all fixed. `original` is the graph before rewriting, for the
/// figures "unfused". Throws Error (node) where a type is not fixed or an operator is not known.
Plan make_plan(const graph::Graph& simplified, const graph::Graph& original, const device::Device& device,
               const Options& options);

/// A group as a graph of its own, values with their layouts: what is lowered, printed and hashed.
/// Its inputs and outputs stand in the order of group.inputs and group.outputs.
graph::Graph graph_of(const Plan& plan, const Group& group);

/// What the plan calls a group: the name of its last node.
std::string name_of(const Plan& plan, const Group& group);

/// The default schedule of a group, its Funcs named as in graph_of. Precondition: not an extern stage.
schedule::GroupSchedule schedule_of(const Plan& plan, const Group& group);

/// Whether a constant becomes part of the kernel's code instead of one of its inputs.
bool is_compile_time(const graph::Value& value);

}  // namespace cryolite::plan
