#pragma once
#include <utility>
#include <vector>

#include "schedule/gpu_kernels.h"

/// Which elements of other Funcs a Func reads, as far as kernels are cut by it.
namespace cryolite::schedule::gpu {

using Edges = std::vector<std::pair<int, Pattern>>;

/// The pattern in which a reader reads `deep` through `middle`, which is inlined into it.
Pattern composed(const Pattern& to_middle, const std::vector<Axis>& middle, const Pattern& to_deep,
                 const std::vector<Axis>& deep);
Reading reading_of(const Pattern& pattern, const std::vector<Axis>& read, const std::vector<Axis>& reader);
/// Keeps the worst of what is known of each axis.
void add_edge(Edges& edges, int producer, const Pattern& pattern);
/// What each stage calls itself.
std::vector<Edges> direct_reads(const std::vector<StageInfo>& stages);
/// All stages, those that are read before those that read them.
std::vector<int> producers_first(const std::vector<Edges>& reads);

/// The storage axes of a stage, innermost first.
std::vector<Axis> axes_of(const ops::Stage& stage);
/// The reduction loops of each update of a stage, r.x first.
std::vector<std::vector<Axis>> updates_of(const ops::Stage& stage);

}  // namespace cryolite::schedule::gpu
