#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace cryolite::onnx {

/// The opset that every imported graph speaks.
inline constexpr int target_opset = 28;

struct ImportOptions {
  /// Symbol of an input's axis → extent (`--dim name=value`). An axis without a symbol is named INPUT.AXIS.
  std::map<std::string, int64_t> dims;
  /// Whether types are inferred beyond what the file declares.
  bool infer = true;
  /// Operators that ONNX defines as functions stay whole where this says so, and are expanded where it does
  /// not. Empty: all stay whole.
  std::function<bool(std::string_view op_type)> known_operator;
};

/// Reads an ONNX file: checks it, inlines its functions and constant conditions, converts it to
/// `target_opset`, and infers types. Constants (Constant nodes, initializers, external data) become
/// Value::constant without being copied. Node names are the file's, or optype_N where empty (N counts the
/// nodes of the file). Throws Error (file, node, what, remedy) for everything that is wrong with the file.
graph::Graph import_model(const std::string& path, const ImportOptions& options = {});

/// Throws Error naming the first value whose extents are not all numbers, and the --dim options that would
/// settle it. Call after simplification: extents that shapes of constants decide are known only then.
void require_fixed_types(const graph::Graph& graph);

}  // namespace cryolite::onnx
