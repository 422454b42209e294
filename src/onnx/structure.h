#pragma once
#include <onnx/onnx_pb.h>

#include <string>
#include <unordered_set>

/// What is asked of a file's graph before anything is computed with it. All faults are Errors that name the
/// node.
namespace cryolite::onnx {

/// Gives every node a name of its own: the file's, or optype_N where that is empty; a name met again gets a
/// number.
void name_nodes(::onnx::GraphProto& graph);

/// Sorts the nodes topologically. Throws Error where a value is written twice, read but never written, or
/// depends on itself.
void sort_nodes(::onnx::GraphProto& graph);

/// The version of ONNX's own operator set that the model asks for. Throws Error where it is missing or newer
/// than this library knows.
int opset_of(const ::onnx::ModelProto& model);

/// Checks every node against the operator set: known domain and operator, inputs, outputs and attributes as
/// its schema says, no subgraphs left.
void check_nodes(const ::onnx::ModelProto& model);

/// Throws Error where an input or output of the graph is not a tensor of a supported element type.
void check_interface(const ::onnx::GraphProto& graph);

/// Names that the node reads: its inputs, and what its subgraphs take from outside.
std::unordered_set<std::string> names_read(const ::onnx::NodeProto& node);

}  // namespace cryolite::onnx
