#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "graph/text.h"
#include "simplify/simplify.h"

/// Golden texts: a graph before, the same graph simplified.
namespace cryolite::simplify {

/// Computes nothing: only what needs no arithmetic is folded.
inline std::vector<graph::Tensor> no_evaluation(const graph::Graph&) { throw Error("not here"); }

inline std::string simplified(const std::string& text, const Evaluate& evaluate = no_evaluation) {
  return "\n" + graph::to_text(simplify(graph::parse_text(text), evaluate));
}

/// The graph must come out as it went in.
inline void expect_unchanged(const std::string& text) { EXPECT_EQ(simplified(text), text); }

}  // namespace cryolite::simplify
