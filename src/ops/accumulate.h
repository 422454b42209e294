#pragma once
#include <Halide.h>

#include <vector>

#include "ops/builder.h"

/// What reductions of every family share.
namespace cryolite::ops {

/// The type that sums of elements of `type` are kept in: float32 for 16-bit floats, `type` itself for others.
Halide::Type accumulator_type(Halide::Type type);
/// The element of input `input`, as accumulator_type of its type.
Halide::Expr read_wide(const Builder& build, size_t input, const Index& index);

/// `extents` with 1 at each of `axes`.
std::vector<int64_t> reduced_extents(std::vector<int64_t> extents, const std::vector<int>& axes);
/// `layout` for a value of reduced extents: an axis of extent 1 is not cut into blocks.
graph::Layout reduced_layout(graph::Layout layout, const std::vector<int>& axes);
/// `axes` of input `input`, the one that is innermost in memory first, so that r.x walks it.
std::vector<int> innermost_first(const Builder& build, size_t input, std::vector<int> axes);

/// A stage of reduced extents that holds the sum of `element` (of type `type`) over `axes` of input 0.
/// `element` takes a full index of input 0. Sums of nothing are 0.
LaidFunc sum_stage(Builder& build, const std::string& name, const std::vector<int>& axes, Halide::Type type,
                   const std::function<Halide::Expr(const Index&)>& element);
/// The same for the greatest element; of nothing: the least number of the type.
LaidFunc max_stage(Builder& build, const std::string& name, const std::vector<int>& axes, Halide::Type type,
                   const std::function<Halide::Expr(const Index&)>& element);

/// The index of the element of a stage of reduced extents: 0 on `axes`.
Index reduced(Index index, const std::vector<int>& axes);
/// Product of the extents of `axes`.
int64_t count_of(const std::vector<int64_t>& extents, const std::vector<int>& axes);
bool is_empty(const std::vector<int64_t>& extents);

/// A real number as a constant of a type.
Halide::Expr constant(Halide::Type type, double number);

}  // namespace cryolite::ops
