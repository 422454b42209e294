#pragma once
#include <Halide.h>

#include <string>
#include <vector>

#include "graph/graph.h"
#include "ops/builder.h"

namespace cryolite::lower {

/// A group as Halide Funcs: what is computed, with no word on how.
struct LoweredGroup {
  struct Node {
    std::string name;           ///< the graph node's
    std::string op_type;
    std::vector<int> stages;    ///< indices into `stages`, in order of definition, outputs last
  };
  std::vector<Halide::ImageParam> inputs;  ///< as graph.inputs: storage axes innermost first, strides set
  std::vector<ops::Stage> stages;          ///< every Func, producers before consumers
  std::vector<int> outputs;                ///< as graph.outputs: indices into `stages`
  std::vector<Node> nodes;

  const ops::Stage* find(const std::string& stage_name) const;
};

/// Lowers a group given as a graph of its own: its inputs are the values that the kernel reads from memory,
/// its outputs those that it writes; its constants become part of the code, so keep them small. Every type
/// must be fixed. Strides, extents and alignments of inputs and outputs are told to Halide.
/// Throws Error (node) for operators without an algorithm.
LoweredGroup lower(const graph::Graph& group);

}  // namespace cryolite::lower
