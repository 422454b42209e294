"""One engine's turn, in a process of its own; uses only numpy, onnx and the engine.

peer.py list                             names of the engines that this Python has
peer.py prepare FOLDER MODEL [DIM=N...]  FOLDER/model.onnx and inputs.npz (seeded, floats in [0, 1), others 1)
peer.py count FOLDER                     prints {"kernels", "bytes"} of onnxruntime's optimised graph
peer.py ENGINE FOLDER THREADS RUNS       prints {"min_ms", "difference"}; onnxruntime's outputs are kept in FOLDER
"""
import importlib.util
import json
import os
import subprocess
import sys
import time

MODULES = {"onnxruntime": "onnxruntime", "OpenVINO": "openvino", "MNN": "MNN"}
WARM_UP = 3


# What onnxruntime lists among its kernels though no element moves.
RENAMING = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout", "Shape"}


def fix_dims(values, dims):
    for value in values:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param in dims:
                dim.dim_value = dims[dim.dim_param]  # dim_param goes: both are one field


def prepare(folder, path, dims):
    """Peers get the model at its best: weights that are no inputs, else onnxruntime folds none of them, and opset 17
    where it was under 13, whose Softmax MNN reads wrongly."""
    import numpy
    import onnx
    from onnx import version_converter
    model = onnx.load(path)
    if any(entry.domain in ("", "ai.onnx") and entry.version < 13 for entry in model.opset_import):
        try:
            model = version_converter.convert_version(model, 17)
        except Exception as error:  # then as it is
            print(f"{path} stays at its opset: {error}", file=sys.stderr)
    weights = {initializer.name for initializer in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in weights]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    fix_dims(inputs, dims)
    model.ir_version = max(model.ir_version, 4)
    onnx.save(model, os.path.join(folder, "model.onnx"))
    random, feeds = numpy.random.default_rng(0), {}
    for value in inputs:
        tensor = value.type.tensor_type
        shape = [dim.dim_value for dim in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        feeds[value.name] = (random.random(shape) if dtype.kind == "f" else numpy.ones(shape)).astype(dtype)
    numpy.savez(os.path.join(folder, "inputs.npz"), **feeds)


def load_onnxruntime(folder, feeds, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 3
    session = onnxruntime.InferenceSession(f"{folder}/model.onnx", options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, feeds)


def count(folder):
    """A kernel reads its inputs once and writes its outputs once: sizes are those of the profile of a run."""
    import numpy
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.enable_profiling, options.profile_file_prefix, options.log_severity_level = True, f"{folder}/profile", 3
    options.add_session_config_entry("session.disable_prepacking", "1")  # the profile does not count packed weights
    session = onnxruntime.InferenceSession(f"{folder}/model.onnx", options, providers=["CPUExecutionProvider"])
    session.run(None, dict(numpy.load(os.path.join(folder, "inputs.npz"))))
    kernels = []
    with open(session.end_profiling()) as file:
        for event in json.load(file):
            if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
                if event["args"]["op_name"] not in RENAMING:
                    kernels.append(event["args"])
    sizes = ("activation_size", "parameter_size", "output_size")
    print(json.dumps({"kernels": len(kernels), "bytes": sum(int(args[size]) for args in kernels for size in sizes)}))


def load_openvino(folder, feeds, threads):
    import openvino
    model = openvino.Core().compile_model(f"{folder}/model.onnx", "CPU", {
        "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"})
    request = model.create_infer_request()
    for name, array in feeds.items():
        request.set_tensor(name, openvino.Tensor(array, shared_memory=True))

    def once():
        request.infer()
        return [request.get_output_tensor(i).data for i in range(len(model.outputs))]
    return once


def load_mnn(folder, feeds, threads):
    import MNN
    import numpy
    import onnx
    converter = os.path.join(os.path.dirname(sys.executable), "mnnconvert")
    subprocess.run([converter, "-f", "ONNX", "--modelFile", f"{folder}/model.onnx", "--MNNModel", f"{folder}/model.mnn",
                    "--bizCode", "x"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    runtime = MNN.nn.create_runtime_manager(({"backend": "CPU", "numThread": threads, "precision": "high"},))
    names = [output.name for output in onnx.load(f"{folder}/model.onnx").graph.output]
    net = MNN.nn.load_module_from_file(f"{folder}/model.mnn", list(feeds), names, runtime_manager=runtime)
    variables = []
    for array in feeds.values():
        is_integer = array.dtype.kind in "iub"
        kind, dtype = (MNN.expr.int, numpy.int32) if is_integer else (MNN.expr.float, numpy.float32)
        variables.append(MNN.expr.placeholder(array.shape, MNN.expr.NCHW, kind))
        variables[-1].write(array.astype(dtype))
    return lambda: [MNN.expr.convert(output, MNN.expr.NCHW).read() for output in net.forward(variables)]


LOADERS = {"onnxruntime": load_onnxruntime, "OpenVINO": load_openvino, "MNN": load_mnn}


def difference_from_reference(folder, name, outputs):
    """Greatest difference from onnxruntime over its greatest value; 0 where there is nothing to compare with."""
    import numpy
    path = os.path.join(folder, "reference.npz")
    if name == "onnxruntime":
        numpy.savez(path, *outputs)
    if not os.path.exists(path):
        return 0.0
    worst = 0.0
    for expected, got in zip(numpy.load(path).values(), outputs):
        if expected.size != got.size:
            return float("inf")
        expected, got = expected.astype(float).ravel(), got.astype(float).ravel()
        worst = max(worst, abs(expected - got).max(initial=0) / abs(expected).max(initial=1e-30))
    return float(worst)


def take_turn(name, folder, threads, runs):
    import numpy
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what an engine prints is no reply
    feeds = dict(numpy.load(os.path.join(folder, "inputs.npz")))
    once = LOADERS[name](folder, feeds, threads)
    outputs = [numpy.array(output) for output in once()]
    times = []
    for _ in range(WARM_UP + runs):
        start = time.perf_counter()
        once()
        times.append((time.perf_counter() - start) * 1e3)
    reply = {"min_ms": min(times[WARM_UP:]), "difference": difference_from_reference(folder, name, outputs)}
    print(json.dumps(reply), file=replies, flush=True)


def main():
    if sys.argv[1] == "list":
        print(*[name for name, module in MODULES.items() if importlib.util.find_spec(module)])
    elif sys.argv[1] == "prepare":
        prepare(sys.argv[2], sys.argv[3], {name: int(n) for name, n in (dim.rsplit("=", 1) for dim in sys.argv[4:])})
    elif sys.argv[1] == "count":
        count(sys.argv[2])
    else:
        take_turn(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))


if __name__ == "__main__":
    main()
