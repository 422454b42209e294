#pragma once
#include <string>
#include <string_view>

#include "graph/graph.h"

/// The text form that tests and `cryolite plan` read, and that group keys are made of:
///
///   graph conv_relu (x: f32[1,16,28,28], batch: f32[n,4]) -> (y) {
///     const w: f32[32,16,3,3] @[0,2,3,1|0:16] = base64"…"
///     const b: f32[2] = {1, -0.5}
///     conv1: c: f32[1,32,28,28] = Conv(x, w, _) {pads=[1,1,1,1], group=1, auto_pad="NOTSET"}
///     relu1: y: f32[1,32,28,28] @[0,2,3,1] = Relu(c)
///   }
///
/// `@[order|block_axis:block]/(strides)` is the layout, left out where row-major and dense; `_` an absent
/// input or output; names that are not plain (letters, digits, _ . / -) stand in "quotes". An extent is a number, a
/// symbol (f32[n,4]), both (f32[n=3,4]) or ? where nothing is known; f32[*] has no known rank. `#` starts a comment.
/// Attribute values: 1, 0.5, "text", [1,2], floats[1.0], strings["a"], f32[2] = {1, 2}, graph … {…}.
namespace cryolite::graph {

struct PrintOptions {
  /// Constants of more elements than this print as `= …` (which does not parse). -1: all in full.
  int64_t elide_constants_over = -1;
};

std::string to_text(const Graph& graph, const PrintOptions& options = {});
/// Throws Error with the line and column where the text is wrong; `file` names it in the message.
Graph parse_text(std::string_view text, const std::string& file = "<text>");

}  // namespace cryolite::graph
