"""Writes affine.onnx and peak.onnx: two models small enough to check by hand. usage: make_models.py FOLDER"""
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


def save(name, nodes, inputs, outputs, weights):
    declare = lambda tensors: [helper.make_tensor_value_info(key, TensorProto.FLOAT, shape) for key, shape in tensors]
    graph = helper.make_graph(nodes, name, declare(inputs), declare(outputs),
                              [numpy_helper.from_array(numpy.array(value, numpy.float32), key) for key, value in weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, f"{sys.argv[1]}/{name}.onnx")


# y = relu(x W + b)
save("affine", [helper.make_node("Gemm", ["x", "w", "b"], ["sum"]), helper.make_node("Relu", ["sum"], ["y"])],
     [("x", ["batch", 4])], [("y", ["batch", 3])],
     [("w", [[1, 0, -1], [0, 2, 0], [3, 0, 0], [0, 0, -4]]), ("b", [10, 20, 30])])

# 3x3 convolution of ones, padded, then the largest of each 2x2
save("peak", [helper.make_node("Conv", ["image", "kernel"], ["sums"], pads=[1, 1, 1, 1]),
              helper.make_node("MaxPool", ["sums"], ["peaks"], kernel_shape=[2, 2], strides=[2, 2])],
     [("image", [1, 1, 4, 4])], [("peaks", [1, 1, 2, 2])], [("kernel", numpy.ones((1, 1, 3, 3)))])
