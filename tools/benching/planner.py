"""Planning time against the number of nodes: it should grow hardly faster than they do.

  tools/bench planner --check                       (10,000 nodes within 5 s, exponent at most 1.25)
  tools/bench planner --sizes 500,1000,2000

Two kinds of networks, made here: residual blocks of convolutions, and layers of matrix products with normalisations
written in small operators. Time: the least of three runs of `cryolite plan`, reading the model included. Exponent: the slope
of the logarithm of time over that of nodes, over the upper half of the sizes.
"""
import os
import subprocess
import tempfile
import time

from benching.common import CRYOLITE, Fault, conditions, print_table, verdict, write_json

ROUNDS = 3


def add_options(parser):
    parser.add_argument("--sizes", default="1000,2000,5000,10000", help="numbers of nodes")
    parser.add_argument("--seconds", type=float, default=5, help="most that the largest may take")
    parser.add_argument("--exponent", type=float, default=1.25, help="most that time may grow by")
    parser.add_argument("--check", action="store_true", help="exit 1 where a limit is broken")


class Network:
    """Nodes one after the other; weights are shared, so that files stay small."""

    def __init__(self, shape):
        from onnx import TensorProto, helper
        self.helper, self.float = helper, TensorProto.FLOAT
        self.nodes, self.shape = [], shape

    def add(self, op_type, *inputs, **attributes):
        output = f"v{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(op_type, list(inputs), [output], name=f"n{len(self.nodes)}", **attributes))
        return output

    def save(self, path, weights):
        import onnx
        from onnx import numpy_helper
        declare = lambda name: self.helper.make_tensor_value_info(name, self.float, self.shape)
        self.nodes[-1].output[0] = "y"
        graph = self.helper.make_graph(self.nodes, "network", [declare("x")], [declare("y")],
                                       [numpy_helper.from_array(value, name) for name, value in weights.items()])
        onnx.save(self.helper.make_model(graph, opset_imports=[self.helper.make_opsetid("", 17)], ir_version=8), path)


def residual_network(count, path):
    import numpy
    network, value = Network([1, 16, 28, 28]), "x"
    while len(network.nodes) < count:
        branch = network.add("Relu", network.add("Conv", value, "w", "b", pads=[1, 1, 1, 1]))
        branch = network.add("Conv", branch, "w", "b", pads=[1, 1, 1, 1])
        value = network.add("Relu", network.add("Add", branch, value))
    network.save(path, {"w": numpy.full((16, 16, 3, 3), 0.01, numpy.float32), "b": numpy.zeros(16, numpy.float32)})


def layered_network(count, path):
    import numpy
    network, value = Network([64, 128]), "x"
    while len(network.nodes) < count:
        centred = network.add("Sub", value, network.add("ReduceMean", value, axes=[-1]))
        variance = network.add("ReduceMean", network.add("Mul", centred, centred), axes=[-1])
        normal = network.add("Div", centred, network.add("Sqrt", network.add("Add", variance, "epsilon")))
        product = network.add("MatMul", network.add("Mul", normal, "scale"), "w")
        value = network.add("Add", network.add("Mul", product, network.add("Sigmoid", product)), value)
    network.save(path, {"w": numpy.full((128, 128), 0.01, numpy.float32), "scale": numpy.ones(128, numpy.float32),
                        "epsilon": numpy.array(1e-5, numpy.float32)})


NETWORKS = {"residual": residual_network, "layered": layered_network}


def planning_seconds(path):
    least = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        done = subprocess.run([CRYOLITE, "plan", path, "--json", "-"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
        least = min(least, time.perf_counter() - start)
        if done.returncode:
            raise Fault(f"cryolite: {(done.stderr.strip().splitlines() or ['no word'])[-1]}")
    return least


def exponent_of(sizes, seconds):
    import numpy
    upper = len(sizes) // 2 - (len(sizes) < 4)
    return float(numpy.polyfit(numpy.log(sizes[upper:]), numpy.log(seconds[upper:]), 1)[0]) if len(sizes) > 1 else 1.0


def run(options):
    sizes = sorted(map(int, options.sizes.split(",")))
    figures, table, code = {}, [], 0
    with tempfile.TemporaryDirectory() as folder:
        for kind, make in NETWORKS.items():
            seconds = []
            for size in sizes:
                path = os.path.join(folder, f"{kind}.onnx")
                make(size, path)
                seconds.append(planning_seconds(path))
                table.append([kind, size, f"{seconds[-1]:.2f}", f"{seconds[-1] / size * 1e3:.3f}"])
            figures[kind] = {"nodes": sizes, "seconds": seconds, "exponent": exponent_of(sizes, seconds)}
    print_table(["network", "nodes", "seconds", "ms a node"], table)
    print(f"\n{conditions()}")
    write_json(options.json, figures)
    for kind, figure in figures.items() if options.check else []:
        code |= verdict(figure["exponent"] <= options.exponent,
                        f"{kind}: time grows with nodes to the power of {figure['exponent']:.2f}, at most {options.exponent:g}")
        code |= verdict(figure["seconds"][-1] <= options.seconds, f"{kind}: {sizes[-1]} nodes within {options.seconds:g} s")
    return code
