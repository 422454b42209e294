#pragma once
#include <onnx/onnx_pb.h>

#include "onnx/import.h"

namespace cryolite::onnx {

/// import_model for a model in memory; `folder` holds its external data.
graph::Graph import_proto(::onnx::ModelProto model, const std::string& folder,
                          const ImportOptions& options = {});

}  // namespace cryolite::onnx
