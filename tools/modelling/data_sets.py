"""Data sets as ONNX keeps those of its own tests, and onnxruntime's outputs for them."""
import os


def as_proto(value, info):
    """A value in the protobuf message that ONNX's tests keep a graph input or output of this declaration in."""
    from onnx import TensorProto, numpy_helper
    if isinstance(value, TensorProto):
        return value
    kind = info.type.WhichOneof("value")
    convert = {"map_type": numpy_helper.from_dict, "sequence_type": numpy_helper.from_list,
               "optional_type": numpy_helper.from_optional}.get(kind, numpy_helper.from_array)
    return convert(value, info.name)


def write_data_set(folder, index, graph, feeds, results):
    """Writes one data set; feeds and results are values in the order of the graph's inputs and outputs."""
    path = os.path.join(folder, f"test_data_set_{index}")
    os.makedirs(path)
    for kind, infos, values in (("input", graph.input, feeds), ("output", graph.output, results)):
        for position, (info, value) in enumerate(zip(infos, values)):
            with open(os.path.join(path, f"{kind}_{position}.pb"), "wb") as file:
                file.write(as_proto(value, info).SerializeToString())


def reference(path, feeds, extra_output=None):
    """onnxruntime's outputs, in the model's order; with extra_output that value instead."""
    import numpy
    import onnx
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    model = path
    if extra_output:
        proto = onnx.load(path)
        del proto.graph.output[:]
        proto.graph.output.append(onnx.helper.make_empty_tensor_value_info(extra_output))
        model = proto.SerializeToString()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return [numpy.asarray(value) for value in session.run(None, feeds)]


def without_initializers(graph):
    """The inputs of a graph that a caller feeds (old models list their weights among the inputs)."""
    weights = {initializer.name for initializer in graph.initializer}
    return [info for info in graph.input if info.name not in weights]
