#pragma once
#include <onnx/onnx_pb.h>

#include "onnx/constants.h"

namespace cryolite::onnx {

/// Replaces every If whose condition is a constant by the branch that it takes. Loop, Scan and other Ifs are
/// left.
void inline_constant_conditions(::onnx::GraphProto& graph, const Constants& constants);

}  // namespace cryolite::onnx
