"""The files of `cryolite plan`, read back by other programs' parsers. usage: files_test.py CRYOLITE"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

CRYOLITE = sys.argv.pop(1)
SVG, HTML = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xhtml}"
HOSTILE = ['</title><script>alert(1)</script>', 'quote"s\'', 'back\\slash\\', '&lt; & &amp;', 'line\nbreak\ttab', "\x1b[31mred",
           "turn\u202eed", 'Größe 卷积 😀', "\\N\\G\\l", "]]><!--", "{record|field}", "%s{}$(x)"]


def save(path, nodes, shape, constants=()):
    declare = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "graph", [declare("x")], [declare("y")],
                              [numpy_helper.from_array(value, name) for name, value in constants])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def hostile_model(path):
    """A chain with a hostile name a node and a value; a softmax in between parts it into kernels."""
    nodes, before = [], "x"
    for i, name in enumerate(HOSTILE):
        after = "y" if i == len(HOSTILE) - 1 else f"v {name}"
        nodes.append(helper.make_node("Softmax" if i % 4 == 3 else "Sigmoid", [before], [after], name=name))
        before = after
    save(path, nodes, [8, 16])


def branches_model(path):
    """Convolutions with two readers of one value, a concatenation and a pool: views, several kernels, an arena."""
    random = numpy.random.default_rng(0)
    weights = [(f"w{i}", random.standard_normal(shape).astype(numpy.float32))
               for i, shape in enumerate([(8, 8, 3, 3), (4, 8, 1, 1), (4, 8, 3, 3)])]
    save(path, [helper.make_node("Conv", ["x", "w0"], ["a"], name="stem", pads=[1, 1, 1, 1]),
                helper.make_node("Relu", ["a"], ["b"], name="relu"),
                helper.make_node("Conv", ["b", "w1"], ["c"], name="left"),
                helper.make_node("Conv", ["b", "w2"], ["d"], name="right", pads=[1, 1, 1, 1]),
                helper.make_node("Concat", ["c", "d"], ["e"], name="join", axis=1),
                helper.make_node("MaxPool", ["e"], ["y"], name="pool", kernel_shape=[3, 3], pads=[1, 1, 1, 1])],
         [1, 8, 16, 16], weights)


def written(name):
    """What a name looks like in a report."""
    name = "".join(chr(0x2400 + ord(c)) if ord(c) < 32 else c for c in name)
    return name.replace("\u202e", "\ufffd")


def all_text(element):
    return "".join(element.itertext())


class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.reports = {}
        for make in (hostile_model, branches_model):
            model = os.path.join(cls.folder.name, make.__name__ + ".onnx")
            make(model)
            files = {kind: f"{model}.{kind}" for kind in ("json", "dot", "svg", "roofline", "html")}
            options = [word for kind, file in files.items() for word in (f"--{kind}", file)]
            done = subprocess.run([CRYOLITE, "plan", model, "--device", "h100", *options], capture_output=True, text=True)
            assert done.returncode == 0 and done.stdout == "", done.stderr + done.stdout
            left = [name for name in os.listdir(cls.folder.name) if name.endswith(".part")]
            assert not left, left
            with open(files["json"]) as file:
                plan = json.load(file)
            cls.reports[make.__name__] = (plan, {kind: ElementTree.parse(files[kind]).getroot()
                                                 for kind in ("svg", "roofline", "html")})

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_graph_has_a_cluster_a_kernel_and_a_box_a_node(self):
        for plan, trees in self.reports.values():
            groups = [g for g in trees["svg"].iter(SVG + "g") if g.get("class") == "cluster"]
            self.assertEqual(len(groups), plan["fused"]["kernels"])
            labels = [all_text(g) for g in groups]
            for group in plan["groups"]:
                self.assertTrue(any(f"kernel {group['id']} · {group['strategy']}" in label for label in labels))
            boxes = [g for g in trees["svg"].iter(SVG + "g") if g.get("class") == "node"]
            self.assertGreaterEqual(len(boxes), sum(len(g["nodes"]) for g in plan["groups"]))

    def test_hostile_names_are_shown_as_they_are(self):
        plan, trees = self.reports["hostile_model"]
        drawn = [e.text for e in trees["svg"].iter(SVG + "text")]
        cells = [all_text(e) for e in trees["html"].iter(HTML + "td")]
        for name in HOSTILE:
            if len(name) <= 30:
                self.assertIn(written(name), drawn)
            self.assertIn(written(name), cells)
        self.assertEqual(list(trees["html"].iter(HTML + "script")), [])

    def test_roofline_has_a_dot_a_kernel_with_the_plans_numbers(self):
        for plan, trees in self.reports.values():
            circles = [c for c in trees["roofline"].iter(SVG + "circle") if c.find(SVG + "title") is not None]
            after = {int(c.get("data-kernel")): c.find(SVG + "title").text for c in circles if c.get("data-kernel")}
            self.assertEqual(sorted(after), [g["id"] for g in plan["groups"]])
            for group in plan["groups"]:
                self.assertIn(f" {group['flops']} flop, ", after[group["id"]])
                self.assertIn("predicted ", after[group["id"]])
            self.assertEqual(len(circles) - len(after), plan["unfused"]["kernels"])

    def test_dots_lie_where_their_numbers_say(self):
        """On a logarithmic axis distances between dots are proportional to differences of logarithms."""
        plan, trees = self.reports["branches_model"]
        at = {int(c.get("data-kernel")): (float(c.get("cx")), float(c.get("cy")))
              for c in trees["roofline"].iter(SVG + "circle") if c.get("data-kernel")}
        groups = [g for g in plan["groups"] if g["flops"]]
        x = [(numpy.log10(g["intensity"]), at[g["id"]][0]) for g in groups]
        y = [(numpy.log10(g["flops"] / g["time_us"]), at[g["id"]][1]) for g in groups]
        for pairs in (x, y):
            logs, pixels = numpy.array(pairs).T
            slope, offset = numpy.polyfit(logs, pixels, 1)
            self.assertLess(abs(slope * logs + offset - pixels).max(), 0.2)

    def test_page_has_the_plans_totals_kernels_and_decisions(self):
        for plan, trees in self.reports.values():
            tables = [[[all_text(cell) for cell in row] for row in table.iter(HTML + "tr")]
                      for table in trees["html"].iter(HTML + "table")]
            summary, kernels, decisions = tables[0], tables[1], tables[2]
            self.assertEqual([summary[1][1], summary[2][1]], [str(plan[k]["kernels"]) for k in ("unfused", "fused")])
            self.assertEqual([row[0] for row in kernels[1:]], [str(g["id"]) for g in plan["groups"]])
            self.assertEqual([row[1] for row in kernels[1:]], [written("+".join(g["nodes"])) for g in plan["groups"]])
            for row, group in zip(kernels[1:], plan["groups"]):
                self.assertLess(abs(float(row[9]) / group["time_us"] - 1), 0.01)
            self.assertEqual([(r[0], r[1], r[2]) for r in decisions[1:]],
                             [(written(d["producer"]), written(d["consumer"]), "fused" if d["fused"] else "apart")
                              for d in plan["decisions"]])
            page = all_text(trees["html"])
            self.assertIn("Times are predicted", page)
            self.assertFalse(re.search(r"(src|href)=\"(?!#)", ElementTree.tostring(trees["html"], "unicode")))

    def test_arena_is_drawn_to_its_size(self):
        plan, trees = self.reports["branches_model"]
        rects = [r for r in trees["html"].iter(SVG + "rect") if r.get("data-bytes")]
        heights = {float(r.get("height")) / int(r.get("data-bytes")) for r in rects}
        self.assertTrue(rects)
        self.assertLess(max(heights) / min(heights), 1.01)
        tallest = max(float(r.get("y")) + float(r.get("height")) for r in rects) - min(float(r.get("y")) for r in rects)
        self.assertLessEqual(tallest / max(heights), plan["arena_bytes"] * 1.01)


if __name__ == "__main__":
    unittest.main()
