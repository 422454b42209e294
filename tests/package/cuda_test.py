"""A small network with one of each strategy: its CUDA archive links, ptxas takes it, nothing spills. usage: cuda_test.py"""
import os
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def network():
    random, constants, node = numpy.random.default_rng(0), [], helper.make_node

    def weights(name, *shape):
        constants.append(numpy_helper.from_array(random.standard_normal(shape).astype(numpy.float32) / 8, name))
        return name

    constants.append(numpy_helper.from_array(numpy.array([1, 64, 48], numpy.int64), "rows"))
    nodes = [
        node("Conv", ["x", weights("w1", 16, 3, 3, 3), weights("b1", 16)], ["c1"], pads=[1] * 4),
        node("Relu", ["c1"], ["r1"]),
        node("MaxPool", ["r1"], ["p1"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["p1", weights("w2", 16, 1, 3, 3)], ["c2"], pads=[1] * 4, group=16),
        node("Relu", ["c2"], ["r2"]),
        node("Conv", ["r2", weights("w3", 40, 16, 1, 1)], ["c3"]),
        node("Concat", ["c3", "c3s"], ["j"], axis=1),
        node("MaxPool", ["j"], ["p2"], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4),
        node("Reshape", ["p2", "rows"], ["s"]),
        node("MatMul", ["s", weights("wq", 48, 32)], ["q"]),
        node("MatMul", ["s", weights("wk", 48, 32)], ["k"]),
        node("MatMul", ["s", weights("wv", 48, 32)], ["v"]),
        node("Transpose", ["k"], ["t"], perm=[0, 2, 1]),
        node("MatMul", ["q", "t"], ["scores"]),
        node("Softmax", ["scores"], ["p"], axis=-1),
        node("MatMul", ["p", "v"], ["a"]),
        node("LayerNormalization", ["a", weights("g", 32), weights("b", 32)], ["n"], axis=-1),
        node("ReduceMean", ["n"], ["m"], axes=[1], keepdims=0),
        node("Gemm", ["m", weights("wg", 32, 10)], ["y"]),
    ]
    nodes.insert(6, node("Sigmoid", ["c3h"], ["c3s"]))
    nodes.insert(6, node("Conv", ["p1", weights("w4", 8, 16, 1, 1)], ["c3h"]))
    graph = helper.make_graph(nodes, "all", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 32, 32])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


with tempfile.TemporaryDirectory() as folder:
    model = os.path.join(folder, "all.onnx")
    onnx.save(network(), model)
    sys.exit(subprocess.run([os.path.join(ROOT, "tools/cuda"), model]).returncode)
