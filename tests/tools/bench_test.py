"""tools/bench on a model of three nodes: every subcommand says what it should and its --check can fail.
usage: bench_test.py CRYOLITE"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CRYOLITE = sys.argv.pop(1)


def tiny_model(path):
    declare = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 8, 12, 12])
    weights = numpy.random.default_rng(0).standard_normal((8, 8, 3, 3)).astype(numpy.float32)
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], name="conv", pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["a"], ["b"], name="relu"),
             helper.make_node("Softmax", ["b"], ["y"], name="softmax")]
    graph = helper.make_graph(nodes, "tiny", [declare("x")], [declare("y")], [numpy_helper.from_array(weights, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


class Bench(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.model = os.path.join(cls.folder.name, "tiny.onnx")
        tiny_model(cls.model)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def bench(self, *words, code=0):
        """Standard output and the figures of --json."""
        figures = os.path.join(self.folder.name, "figures.json")
        command = [os.path.join(ROOT, "tools/bench"), *words, "--json", figures]
        environment = dict(os.environ, CRYOLITE_BUILD=os.path.dirname(CRYOLITE))
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        with open(figures) as file:
            return done.stdout, json.load(file)

    def test_run_times_both_and_draws_them(self):
        chart = os.path.join(self.folder.name, "chart.svg")
        words = ["run", self.model, "--threads", "1", "--rounds", "1", "--runs", "2"]
        said, figures = self.bench(*words, "--chart", chart, "--check", "0.0001")
        self.assertIn("| tiny ", said)
        row = figures["rows"][0]
        self.assertAlmostEqual(row["ratio_to_onnxruntime"], row["ms"]["onnxruntime"] / row["ms"]["Cryolite"])
        self.assertEqual(row["wrong"], [])
        drawn = "".join(ElementTree.parse(chart).getroot().itertext())
        self.assertIn("tiny, 1 thread", drawn)
        self.assertIn("BROKEN", self.bench(*words, "--check", "100000", code=1)[0])

    def test_ablation_has_a_row_a_planner(self):
        _, figures = self.bench("ablation", self.model, "--rounds", "1", "--runs", "2", "--threads", "1", "--check", "1000")
        self.assertEqual([row["planner"] for row in figures["rows"]], ["none", "greedy", "optimal"])
        none, _, optimal = figures["rows"]
        self.assertEqual(none["kernels"], 3)
        self.assertLess(optimal["bytes"], none["bytes"])

    def test_compile_measures_time_and_memory(self):
        said, figures = self.bench("compile", self.model, "--check")
        row = figures["rows"][0]
        self.assertLess(row["repeated_s"], row["cold_s"])
        self.assertGreater(row["peak_bytes"], 1 << 20)
        self.assertIn("BROKEN", self.bench("compile", self.model, "--repeated", "0.0001", "--check", code=1)[0])

    def test_planner_makes_networks_of_the_sizes_asked_for(self):
        said, figures = self.bench("planner", "--sizes", "10,20", "--check", "--exponent", "100", "--seconds", "100")
        self.assertEqual(figures["residual"]["nodes"], [10, 20])
        self.assertEqual(len(figures["layered"]["seconds"]), 2)

    def test_fusion_counts_all_three_alike(self):
        _, figures = self.bench("fusion", self.model, "--check", "--most", "1")
        row, image, weights = figures["rows"][0], 4 * 8 * 12 * 12, 4 * 8 * 8 * 9
        self.assertEqual(row["unfused"], {"kernels": 3, "bytes": 6 * image + weights})
        # Conv with Relu, Softmax, and what onnxruntime adds to turn data around.
        self.assertIn(row["onnxruntime"]["kernels"], (2, 3, 4))
        self.assertGreaterEqual(row["onnxruntime"]["bytes"], 4 * image + weights)
        self.assertLessEqual(row["fused"]["kernels"], 2)
        self.assertIn("BROKEN", self.bench("fusion", self.model, "--check", "--most", "0.01", code=1)[0])

    def test_correlation_is_over_the_plans_kernels(self):
        _, figures = self.bench("correlation", self.model, "--runs", "2", "--rounds", "1", "--threads", "1")
        self.assertTrue(figures["kernels"])
        self.assertLessEqual(abs(figures["correlation"] if len(figures["kernels"]) > 1 else 0), 1)

    def test_a_missing_model_is_one_line(self):
        done = subprocess.run([os.path.join(ROOT, "tools/bench"), "run", "no/such.onnx"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (1, "bench: no/such.onnx is no file\n"))


if __name__ == "__main__":
    unittest.main()
