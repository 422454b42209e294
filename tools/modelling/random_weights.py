"""Random weights for networks that come with constant ones."""
from modelling.data_sets import reference, without_initializers


def parameter_roles(graph):
    """Parameter -> weight, scale, shift, mean or variance, by how the graph uses it, through reshapes too."""
    producer = {output: node for node in graph.node for output in node.output}
    parameters = {initializer.name for initializer in graph.initializer}
    parameters |= {node.output[0] for node in graph.node if node.op_type == "ConstantOfShape"}

    def origin(value):
        while value not in parameters and value in producer and producer[value].op_type in ("Unsqueeze", "Reshape"):
            value = producer[value].input[0]
        return value

    roles = {}
    for node in graph.node:
        named = {"Conv": ["", "weight", "shift"], "Gemm": ["", "weight", "shift"],
                 "BatchNormalization": ["", "scale", "shift", "mean", "variance"],
                 "Mul": ["scale", "scale"], "Add": ["shift", "shift"]}.get(node.op_type, [])
        for value, role in zip(node.input, named):
            if role and origin(value) in parameters:
                roles[origin(value)] = role
    return roles


def random_parameter(role, shape, random):
    import numpy
    if role == "weight":  # keeps the size of activations through a layer with ReLU
        values = random.standard_normal(shape) * numpy.sqrt(2 / numpy.prod(shape[1:]))
    elif role in ("shift", "mean"):
        values = random.standard_normal(shape) * 0.1
    elif role == "scale":
        values = random.uniform(0.8, 1.2, shape)
    else:
        values = random.uniform(0.5, 1.5, shape)
    return values.astype(numpy.float32)


def randomise(model, random):
    """Gives every parameter of a light model random values of its role, as initializers."""
    import numpy
    from onnx import numpy_helper
    graph = model.graph
    roles = parameter_roles(graph)
    shapes = {initializer.name: numpy_helper.to_array(initializer) for initializer in graph.initializer}
    fresh, kept = [], []
    for node in graph.node:
        if node.op_type == "ConstantOfShape":
            shape = [int(extent) for extent in shapes[node.input[0]]]
            fresh.append((node.output[0], shape))
        else:
            kept.append(node)
    used = {value for node in kept for value in node.input}
    old = []
    for initializer in graph.initializer:
        if initializer.name in roles:
            fresh.append((initializer.name, list(initializer.dims)))
        elif initializer.name in used:
            old.append(initializer)
    made = [numpy_helper.from_array(random_parameter(roles[name], shape, random), name) for name, shape in fresh]
    inputs = [info for info in without_initializers(graph)]
    del graph.node[:], graph.initializer[:], graph.input[:]
    graph.node.extend(kept)
    graph.initializer.extend(old + made)
    graph.input.extend(inputs)
    model.ir_version = max(model.ir_version, 4)  # since then weights need not be inputs


def tame_softmax(model, path, feeds):
    """Scales the last layer so that the scores before softmax deviate by 1: a saturated softmax would hide errors."""
    import numpy
    import onnx
    from onnx import numpy_helper
    graph = model.graph
    producer = {output: node for node in graph.node for output in node.output}
    softmax = producer[graph.output[0].name]
    if softmax.op_type != "Softmax":
        return
    layer = producer[softmax.input[0]]
    while layer.op_type not in ("Conv", "Gemm"):
        layer = producer[layer.input[0]]
    factor = 1 / reference(path, feeds, softmax.input[0])[0].std()
    parameters = {initializer.name: initializer for initializer in graph.initializer}
    for value in layer.input[1:]:
        while value not in parameters:
            value = producer[value].input[0]
        scaled = numpy_helper.to_array(parameters[value]) * numpy.float32(factor)
        parameters[value].CopyFrom(numpy_helper.from_array(scaled, value))
    onnx.save(model, path)
