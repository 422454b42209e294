#pragma once
#include <gtest/gtest.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include <string>

#include "graph/text.h"
#include "onnx/import_proto.h"

/// Small models written in ONNX's own text form.
namespace cryolite::onnx {

/// A model of the given opset; `graph` is "name (inputs) => (outputs) { nodes }".
inline ::onnx::ModelProto model_of(int opset, const std::string& graph) {
  ::onnx::ModelProto model;
  const std::string text = "<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) + "]>\n" + graph;
  const auto status = ::onnx::OnnxParser::Parse(model, text.c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage() << "\n" << text;
  return model;
}

/// The text of the graph that a model becomes.
inline std::string imported(int opset, const std::string& graph, const ImportOptions& options = {}) {
  return "\n" + graph::to_text(import_proto(model_of(opset, graph), "", options));
}

}  // namespace cryolite::onnx
