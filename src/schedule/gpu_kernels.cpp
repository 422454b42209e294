#include "schedule/gpu_kernels.h"

#include <algorithm>
#include <set>

#include "schedule/gpu_reads.h"

/// conv_sum ──► conv ──► relu ──► y (output)       one kernel: y at root, conv_sum in its threads
///
/// x_max ──► x_sum ──► y                           one kernel: y at root, x_max and x_sum once a row
///   └──────────────────┘
///
/// conv_sum ──► conv ──► pool_max ──► y            one kernel where the windows only touch: conv_sum once a block;
///                                                 two kernels where they overlap: conv is stored
///
/// depthwise_sum ──► relu ──► pointwise_a ──► pointwise_sum ──► y
///                                                 one kernel: pointwise_a is filled chunk by chunk, and the
///                                                 depthwise_sum of an element by the thread that fills it
///
/// scores_sum ──► scores ──┬──► y_max, y_sum ──► values_a ──► values_sum ──► values
///                         └───────────────────────┘
///                                                 one kernel: the block's rows of scores are held in shared memory
///
/// Every reduction looks at its readers. Are all of them in one kernel, and do they read it at their own position
/// (or at their row's, or in windows that touch), it is computed there, or held in shared memory; else the value it
/// belongs to becomes a kernel of its own.
namespace cryolite::schedule::gpu {
namespace {

// Output channels of a group of a convolution that make it worth a tile.
constexpr int64_t least_shared_columns = 8;
// Shared memory that a kernel with held rows needs beside them: chunks of operands, sums, partial results.
constexpr int64_t bytes_beside_held = 8 << 10;
constexpr int64_t bytes_of_element = 4;

class Cutter {
 public:
  Cutter(const graph::Graph& graph, const lower::LoweredGroup& group, const Machine& machine)
      : graph_(graph), group_(group), machine_(machine), node_of_(group.stages.size(), 0) {
    for (const ops::Stage& stage : group.stages) {
      StageInfo info;
      info.stage = &stage;
      info.axes = axes_of(stage);
      info.updates = updates_of(stage);
      stages_.push_back(std::move(info));
    }
    for (size_t n = 0; n < group.nodes.size(); ++n)
      for (int stage : group.nodes[n].stages) node_of_[stage] = static_cast<int>(n);
    direct_ = direct_reads(stages_);
    order_ = producers_first(direct_);
    roots_.insert(group.outputs.begin(), group.outputs.end());
    for (int i = 0; i < count(); ++i)
      if (is_operand(i) && is_contraction(graph_, graph_node_of(i))) staged_.insert(i);
  }

  Kernels run() {
    while (!place_all()) {
    }
    Kernels result{stages_, {}};
    for (int i : order_)
      if (roots_.count(i)) result.kernels.push_back(kernel_of(i));
    return result;
  }

 private:
  int count() const { return static_cast<int>(stages_.size()); }

  /// Gives every stage its role; false where the cut has changed on the way.
  bool place_all() {
    for (int i = 0; i < count(); ++i) {
      StageInfo& info = stages_[i];
      info.role = roots_.count(i) ? Role::Root : Role::Inline;
      info.kernel = roots_.count(i) ? i : -1;
      info.host = -1;
    }
    look_through_inlined();
    for (size_t i = order_.size(); i-- > 0;)
      if (!place_one(order_[i])) return false;
    return separate_rows_from_threads() && leave_tiles_alone() && keep_to_strategies();
  }

  bool place_one(int i) {
    if (stages_[i].role == Role::Root || !is_read(i)) return true;
    if (staged_.count(i)) {
      if (!reads_reductions(i) || stage(i)) return true;
      staged_.erase(i);
      return false;
    }
    if (held_.count(i)) {
      if (hold(i)) return true;
      give_up_holding(i);
      return false;
    }
    if (!stages_[i].reduces() || place(i) || hold(i)) return true;
    if (const int buffer = buffer_for(i); buffer >= 0) held_.insert(buffer);
    else roots_.insert(storable(i));
    return false;
  }

  /// Whether a stage ends the looking through inlined ones.
  bool is_computed(int i) const {
    return stages_[i].role == Role::Root || stages_[i].reduces() || staged_.count(i) || held_.count(i);
  }

  /// What stages read of those that are computed, directly or through inlined ones.
  void look_through_inlined() {
    std::vector<Edges> edges(stages_.size());
    for (int i : order_) {
      for (const auto& [middle, pattern] : direct_[i]) {
        if (is_computed(middle)) {
          add_edge(edges[i], middle, pattern);
          continue;
        }
        for (const auto& [deep, inner] : edges[middle])
          add_edge(edges[i], deep, composed(pattern, stages_[middle].axes, inner, stages_[deep].axes));
      }
      stages_[i].reads.clear();
      for (const auto& [producer, pattern] : edges[i])
        stages_[i].reads.push_back({producer, pattern, reading_of(pattern, stages_[producer].axes, stages_[i].axes)});
    }
  }

  bool is_placed(int i) const { return stages_[i].role != Role::Inline; }

  bool is_read(int i) const {
    for (int r = 0; r < count(); ++r)
      for (const Read& read : stages_[r].reads)
        if (read.producer == i && is_computed(r)) return true;
    return false;
  }

  bool reads_reductions(int i) const {
    return std::any_of(stages_[i].reads.begin(), stages_[i].reads.end(),
                       [&](const Read& read) { return stages_[read.producer].role != Role::Root; });
  }

  struct Reader {
    int stage = 0;
    Reading reading = Reading::Same;
  };
  std::vector<Reader> readers_of(int i) const {
    std::vector<Reader> readers;
    for (int r = 0; r < count(); ++r)
      if (is_placed(r))
        for (const Read& read : stages_[r].reads)
          if (read.producer == i) readers.push_back({r, read.reading});
    return readers;
  }

  /// The kernel that all readers are in; -1 where there is none.
  int kernel_of_readers(const std::vector<Reader>& readers) const {
    for (const Reader& reader : readers)
      if (stages_[reader.stage].kernel != stages_[readers[0].stage].kernel) return -1;
    return readers.empty() ? -1 : stages_[readers[0].stage].kernel;
  }

  /// A role for a reduction that fits all of its readers, which have theirs.
  bool place(int i) {
    const auto readers = readers_of(i);
    const int kernel = kernel_of_readers(readers);
    if (kernel < 0) return false;
    if (const int host = filling_host(readers); host >= 0) {
      give_role(i, Role::Thread, kernel, host);
      return true;
    }
    Role role = Role::Thread;
    for (const auto& [r, reading] : readers) {
      const StageInfo& reader = stages_[r];
      const bool is_root_reader = reader.role == Role::Root && !reader.reduces();
      if (reading == Reading::Other && may_be_tile(i, r)) {
        role = Role::Tile;
        continue;
      }
      if (reading == Reading::Other || reading == Reading::Single) return false;
      if (!is_root_reader && reader.role == Role::Root) return false;
      if (reader.role == Role::Staged || reader.role == Role::Held || reader.role == Role::Tile) return false;
      if (reader.role == Role::Row || (is_root_reader && reading == Reading::Row)) role = Role::Row;
      if (reader.role == Role::Thread && (reading != Reading::Same || reader.host != kernel)) return false;
    }
    if (role == Role::Row && read_by_thread(i)) return false;
    give_role(i, role, kernel, role == Role::Thread ? kernel : -1);
    return true;
  }

  void give_role(int i, Role role, int kernel, int host) {
    stages_[i].role = role;
    stages_[i].kernel = kernel;
    stages_[i].host = host;
  }

  /// The only reader, if it fills shared memory and needs one element for each of its own.
  int filling_host(const std::vector<Reader>& readers) const {
    if (readers.size() != 1 || readers[0].reading == Reading::Other || readers[0].reading == Reading::Row) return -1;
    const StageInfo& reader = stages_[readers[0].stage];
    const bool fills = (reader.role == Role::Staged || reader.role == Role::Held) && !reader.reduces();
    return fills ? readers[0].stage : -1;
  }

  /// The data operand of the kernel's contraction, whose sums are in the root's threads.
  bool stage(int i) {
    const auto readers = readers_of(i);
    if (readers.size() != 1) return false;
    const StageInfo& sum = stages_[readers[0].stage];
    if (sum.role != Role::Thread || sum.host != sum.kernel) return false;
    if (stages_[sum.kernel].stage->axes != sum.stage->axes) return false;
    if (!sum.name().ends_with("_sum") || !is_associative(*sum.stage)) return false;
    give_role(i, Role::Staged, sum.kernel, -1);
    return true;
  }

  /// Shared memory for all that a block reads of it, where that fills the operand of a contraction.
  bool hold(int i) {
    const auto readers = readers_of(i);
    const int kernel = kernel_of_readers(readers);
    if (kernel < 0) return false;
    for (const auto& [r, reading] : readers) {
      const StageInfo& reader = stages_[r];
      if (reader.role != Role::Staged && reader.role != Role::Held) return false;
      if (stages_[i].reduces() && reading != Reading::Same && reading != Reading::Row) return false;
    }
    if (stages_[i].reduces() && is_contraction(graph_, graph_node_of(i))) return false;
    give_role(i, Role::Held, kernel, -1);
    return true;
  }

  /// The value to hold for a contraction that several stages of a kernel read: its node's.
  int buffer_for(int i) const {
    const auto readers = readers_of(i);
    if (readers.empty() || !is_contraction(graph_, graph_node_of(i))) return -1;
    if (stages_[readers[0].stage].role == Role::Thread) return -1;
    const int buffer = storable(i);
    return buffer == i || held_.count(buffer) || refused_.count(buffer) ? -1 : buffer;
  }

  void give_up_holding(int i) {
    held_.erase(i);
    refused_.insert(i);
  }

  const graph::Node& graph_node_of(int i) const {
    for (const graph::Node& candidate : graph_.nodes)
      if (candidate.name == group_.nodes[node_of_[i]].name) return candidate;
    return graph_.nodes.front();
  }

  /// The copy of a node's data input, which a schedule can place.
  bool is_operand(int i) const {
    const std::string& name = stages_[i].name();
    return !stages_[i].reduces() && i != group_.nodes[node_of_[i]].stages.back() &&
           (name.ends_with("_padded") || name.ends_with("_a"));
  }

  /// A contraction that one pool alone reads, in windows that touch.
  bool may_be_tile(int i, int reader) const {
    if (stages_[reader].role != Role::Thread || stages_[reader].updates.size() != 1) return false;
    if (readers_of(i).size() != 1) return false;
    const graph::Node& node = graph_node_of(i);
    return node.op_type == "Conv" && is_contraction(graph_, node) && is_associative(*stages_[i].stage) &&
           !touching_windows(graph_, graph_node_of(reader)).empty();
  }

  /// A kernel around a tile has nothing else in it but the pool.
  bool leave_tiles_alone() {
    for (int i = 0; i < count(); ++i) {
      if (stages_[i].role != Role::Tile) continue;
      int others = 0;
      for (const StageInfo& other : stages_)
        others += other.kernel == stages_[i].kernel && other.role != Role::Root;
      if (others != 2) {
        roots_.insert(storable(i));
        return false;
      }
    }
    return true;
  }

  bool read_by_thread(int i) const {
    for (const StageInfo& reader : stages_)
      if (reader.role == Role::Thread)
        for (const Read& read : reader.reads)
          if (read.producer == i) return true;
    return false;
  }

  /// What to store in place of a reduction: the value of its node, if that is neither stored yet nor the
  /// reduction itself.
  int storable(int i) const {
    const int value = group_.nodes[node_of_[i]].stages.back();
    return value != i && !roots_.count(value) && !stages_[value].reduces() ? value : i;
  }

  /// A kernel is built either around rows or around threads.
  bool separate_rows_from_threads() {
    for (int i = 0; i < count(); ++i) {
      if (stages_[i].role != Role::Thread || stages_[i].host != stages_[i].kernel) continue;
      for (const StageInfo& other : stages_)
        if (other.role == Role::Row && other.kernel == stages_[i].kernel) {
          roots_.insert(storable(i));
          return false;
        }
    }
    return true;
  }

  /// Around a staged operand there is one contraction; what is held fits into shared memory, and reductions are so
  /// only for the rows of a matrix product.
  bool keep_to_strategies() {
    for (int root : roots_) {
      const Kernel kernel = kernel_of(root);
      if (kernel.held.empty() && !kernel.staged) continue;
      const bool is_alone = kernel.threads.size() == 1 && kernel.rows.empty() && !kernel.tile;
      if (is_alone && kernel.staged && rows_fit(kernel)) continue;
      if (!kernel.held.empty()) {
        const int last = kernel.held.back();
        if (held_.count(last)) give_up_holding(last);
        roots_.insert(storable(last));
      } else {
        staged_.erase(*kernel.staged);
      }
      return false;
    }
    return true;
  }

  bool rows_fit(const Kernel& kernel) const {
    if (kernel.held.empty()) return true;
    if (graph_node_of(kernel.threads[0]).op_type == "Conv") return false;
    for (int held : kernel.held)
      if (stages_[held].stage->laid.func.type().bytes() > bytes_of_element) return false;
    const auto elements = held_elements_of_row(stages_, kernel);
    return elements && *elements * bytes_of_element + bytes_beside_held <= machine_.shared_memory_bytes;
  }

  Kernel kernel_of(int root) const {
    Kernel kernel;
    kernel.root = root;
    for (int i : order_) {
      if (stages_[i].kernel != root) continue;
      if (stages_[i].role == Role::Thread && stages_[i].host == root) kernel.threads.push_back(i);
      if (stages_[i].role == Role::Row) kernel.rows.push_back(i);
      if (stages_[i].role == Role::Tile) kernel.tile = i;
      if (stages_[i].role == Role::Staged) kernel.staged = i;
      if (stages_[i].role == Role::Held) kernel.held.push_back(i);
    }
    return kernel;
  }

  const graph::Graph& graph_;
  const lower::LoweredGroup& group_;
  const Machine& machine_;
  std::vector<StageInfo> stages_;
  std::vector<int> node_of_;  ///< by stage: index of its node in the group
  std::vector<Edges> direct_;
  std::vector<int> order_;    ///< producers first
  std::set<int> roots_;
  std::set<int> staged_;   ///< operands that may be filled chunk by chunk
  std::set<int> held_;     ///< values that are held in shared memory, and not reductions themselves
  std::set<int> refused_;  ///< those for which there was no place
};

}  // namespace

int64_t StageInfo::elements() const {
  int64_t product = 1;
  for (const Axis& axis : axes) product *= axis.extent;
  return product;
}

int64_t StageInfo::terms() const {
  int64_t product = 1;
  if (!updates.empty())
    for (const Axis& axis : updates[0]) product *= axis.extent;
  return product;
}

Kernels kernels_of(const graph::Graph& graph, const lower::LoweredGroup& group, const Machine& machine) {
  return Cutter(graph, group, machine).run();
}

std::optional<std::string> depth_axis(const std::vector<StageInfo>& stages, const Kernel& kernel) {
  const StageInfo& staged = stages[*kernel.staged];
  std::optional<std::string> depth;
  for (const Read& read : stages[kernel.threads[0]].reads)
    for (size_t i = 0; read.producer == *kernel.staged && i < read.pattern.size(); ++i) {
      if (read.pattern[i] == At::Own || read.pattern[i] == At::Fixed) continue;
      if (depth || read.pattern[i] != At::Other) return std::nullopt;
      depth = staged.axes[i].name;
    }
  return depth;
}

std::optional<int64_t> held_elements_of_row(const std::vector<StageInfo>& stages, const Kernel& kernel) {
  const auto depth = depth_axis(stages, kernel);
  if (!depth) return std::nullopt;
  std::vector<int> readers = kernel.held;
  readers.push_back(*kernel.staged);
  int64_t elements = 0;
  for (int held : kernel.held) {
    int64_t row = 1;
    for (const Axis& axis : stages[held].axes)
      if (axis.name == *depth) row *= axis.extent;
    elements += row;
    for (int reader : readers)
      for (const Read& read : stages[reader].reads)
        for (size_t i = 0; read.producer == held && i < read.pattern.size(); ++i)
          if (read.pattern[i] > At::Fixed && stages[held].axes[i].name != *depth) return std::nullopt;
  }
  return elements;
}

std::vector<int64_t> touching_windows(const graph::Graph& graph, const graph::Node& pool) {
  if (pool.op_type != "MaxPool" && pool.op_type != "AveragePool") return {};
  if (pool.outputs.size() > 1 && pool.outputs[1] != graph::absent) return {};
  const auto in = graph.input_type(pool, 0).extents(), out = graph.output_type(pool).extents();
  const auto kernel = graph::ints_attribute(pool, "kernel_shape");
  auto strides = graph::ints_attribute(pool, "strides", std::vector<int64_t>(kernel.size(), 1));
  const auto is_over = [](int64_t limit) { return [limit](int64_t value) { return value > limit; }; };
  const auto pads = graph::ints_attribute(pool, "pads"), dilations = graph::ints_attribute(pool, "dilations");
  if (std::any_of(pads.begin(), pads.end(), is_over(0)) || std::any_of(dilations.begin(), dilations.end(), is_over(1)))
    return {};
  for (size_t axis = 0; axis < kernel.size(); ++axis)
    if (kernel[axis] != strides[axis] || out[2 + axis] * strides[axis] > in[2 + axis]) return {};
  std::reverse(strides.begin(), strides.end());
  return strides;
}

bool is_contraction(const graph::Graph& graph, const graph::Node& node) {
  if (node.op_type == "MatMul" || node.op_type == "Gemm") return true;
  if (node.op_type != "Conv") return false;
  const int64_t groups = graph::int_attribute(node, "group", 1);
  const int64_t columns = graph.input_type(node, 1).extents()[0] / groups;
  return groups == 1 || columns % least_shared_columns == 0;
}

}  // namespace cryolite::schedule::gpu
