"""Kernels and bytes of each model: node by node, as onnxruntime runs it, and as Cryolite plans it.

All three are counted alike: a kernel reads each of its inputs once and writes each of its outputs once. What only renames
elements (Reshape and its kind) is no kernel. onnxruntime's figures are of its own optimised graph, from its profile of a run.

  tools/bench fusion
  tools/bench fusion --check minilm.onnx --dim batch_size=1 --dim sequence_length=128
                     (exits 1 where Cryolite has not the fewest kernels and bytes of the three, or where the geometric
                      mean of bytes fused / unfused is over --most)
"""
import json
import math
import os
import subprocess
import tempfile

from benching.common import CRYOLITE, PYTHON, Fault, call_json, conditions, label, model_path, print_table, verdict, write_json
from benching.correlation import DEFAULT

PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peer.py")


def add_options(parser):
    parser.add_argument("models", nargs="*", metavar="MODEL", default=DEFAULT)
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=NUMBER", help="fixes a free dimension")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--most", type=float, default=0.6, help="most bytes fused / unfused; 0.6 where not given")


def of_onnxruntime(model, dims):
    with tempfile.TemporaryDirectory() as folder:
        for words in (["prepare", folder, model, *dims], ["count", folder]):
            done = subprocess.run([PYTHON, PEER, *words], capture_output=True, text=True)
            if done.returncode:
                raise Fault(f"onnxruntime: {(done.stderr.strip().splitlines() or ['no word'])[-1]}")
        return json.loads(done.stdout)


def counted(name, options):
    model = model_path(name)
    fixed = [word for dim in options.dim for word in ("--dim", dim)]
    plan = call_json([CRYOLITE, "plan", model, "--json", "-", *fixed])
    of = lambda part: {"kernels": part["kernels"], "bytes": part["bytes"]}
    return {"model": label(model), "unfused": of(plan["unfused"]), "onnxruntime": of_onnxruntime(model, options.dim),
            "fused": of(plan["fused"])}


def run(options):
    rows = [counted(name, options) for name in options.models]
    cells = lambda row, who: [row[who]["kernels"], f"{row[who]['bytes'] / 1e6:.1f}"]
    print_table(["model", "unfused kernels", "MB", "onnxruntime kernels", "MB", "Cryolite kernels", "MB", "bytes fused / unfused"],
                [[row["model"], *cells(row, "unfused"), *cells(row, "onnxruntime"), *cells(row, "fused"),
                  f"{row['fused']['bytes'] / row['unfused']['bytes']:.2f}"] for row in rows])
    share = math.exp(sum(math.log(row["fused"]["bytes"] / row["unfused"]["bytes"]) for row in rows) / len(rows))
    print(f"\nbytes fused / unfused, geometric mean: {share:.3f}\n{conditions()}")
    write_json(options.json, {"rows": rows, "share": share})
    return check(rows, share, options.most) if options.check else 0


def check(rows, share, most):
    lost = [f"{row['model']}, {what}: {row['fused'][what]} against {row[other][what]} ({other})" for row in rows
            for what in ("kernels", "bytes") for other in ("unfused", "onnxruntime") if row["fused"][what] >= row[other][what]]
    few = verdict(not lost, "; ".join(lost) or "Cryolite has the fewest kernels and bytes on every model")
    return max(few, verdict(share <= most, f"bytes fused / unfused {share:.3f}, at most {most:g}"))
