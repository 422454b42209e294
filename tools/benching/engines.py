"""Times models beside onnxruntime, and beside OpenVINO and MNN where they are installed.

The engines take turns, so that noise hits all alike: in each round each is started anew, warmed up and timed, and the
figures are the least milliseconds over all rounds. All get the same inputs; a peer whose outputs are over 1% off those
of onnxruntime is marked * and never counts as the best. ratio = best peer / Cryolite: above 1 Cryolite is ahead.

  tools/bench run --threads 1,2 --rounds 5 --chart speed.svg
  tools/bench run --python peers/bin/python rand_resnet50     (a Python with openvino and MNN beside numpy and onnx)
  tools/bench run --check 0.8 rand_resnet50 rand_squeezenet   (exits 1 where onnxruntime / Cryolite is below it)
"""
import json
import os
import subprocess
import sys
import tempfile

import benching.chart
from benching.common import PYTHON, Fault, conditions, cryolite_ms, label, model_path, print_table, write_json, write_aside

DEFAULT = ["rand_squeezenet", "rand_resnet50", "rand_shufflenet", "rand_densenet121", "rand_inception_v1"]
PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peer.py")


def add_options(parser):
    parser.add_argument("models", nargs="*", metavar="MODEL", default=DEFAULT)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=20, help="timed runs a round")
    parser.add_argument("--python", default=PYTHON, help="the Python that has the peers")
    parser.add_argument("--chart", metavar="FILE.svg", help="also draw the figures as bars")
    parser.add_argument("--check", type=float, metavar="RATIO", help="least onnxruntime / Cryolite")


def installed_peers(python):
    done = subprocess.run([python, PEER, "list"], capture_output=True, text=True)
    if done.returncode:
        raise Fault(f"{python} cannot run: {(done.stderr.strip().splitlines() or ['no word'])[-1]}")
    return done.stdout.split()


def peer_turn(python, name, folder, threads, runs):
    """Milliseconds, and the greatest relative difference from onnxruntime; None where the engine fails."""
    done = subprocess.run([python, PEER, name, folder, str(threads), str(runs)], capture_output=True, text=True)
    if done.returncode:
        print(f"bench: {name} fails: {(done.stderr.strip().splitlines() or ['no word'])[-1][:160]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.strip().splitlines()[-1])


def measured(model, threads, peers, options):
    """{engine: least ms}, and the set of engines that are wrong."""
    times, wrong, failed = {}, set(), set()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([options.python, PEER, "prepare", folder, model], check=True)
        for _ in range(options.rounds):
            for name in peers:
                turn = None if name in failed else peer_turn(options.python, name, folder, threads, options.runs)
                if turn is None:
                    failed.add(name)
                    continue
                times.setdefault(name, []).append(turn["min_ms"])
                if turn["difference"] > 1e-2:
                    wrong.add(name)
            inputs = os.path.join(folder, "inputs.npz")
            times.setdefault("Cryolite", []).append(cryolite_ms(model, threads, options.runs, "--input", inputs))
    return {name: min(all_times) for name, all_times in times.items()}, wrong


def run(options):
    peers = installed_peers(options.python)
    rows, table = [], []
    for name in options.models:
        model = model_path(name)
        for threads in map(int, options.threads.split(",")):
            least, wrong = measured(model, threads, peers, options)
            right = [least[peer] for peer in peers if peer in least and peer not in wrong]
            row = {"model": label(model), "threads": threads, "ms": least, "wrong": sorted(wrong)}
            row["ratio"] = min(right) / least["Cryolite"] if right else None
            row["ratio_to_onnxruntime"] = least["onnxruntime"] / least["Cryolite"] if "onnxruntime" in least else None
            rows.append(row)
            cells = [f"{least[peer]:.2f}{'*' * (peer in wrong)}" if peer in least else "–" for peer in [*peers, "Cryolite"]]
            table.append([row["model"], threads, *cells, f"{row['ratio']:.2f}" if right else "–"])
            print(f"{row['model']}, {threads} threads: {least}", file=sys.stderr, flush=True)
    print_table(["model", "threads", *[f"{peer} ms" for peer in [*peers, "Cryolite"]], "ratio"], table)
    print(f"\n{conditions()}")
    write_json(options.json, {"rows": rows})
    if options.chart:
        write_aside(options.chart, benching.chart.bars(rows, [*peers, "Cryolite"], conditions()))
    return check(rows, options.check)


def check(rows, least_ratio):
    if least_ratio is None:
        return 0
    slow = [f"{row['model']} at {row['threads']} threads: {row['ratio_to_onnxruntime']:.2f}" for row in rows
            if (row["ratio_to_onnxruntime"] or 0) < least_ratio]
    print(f"BROKEN: below {least_ratio}x of onnxruntime's speed: {'; '.join(slow)}" if slow else
          f"holds: at least {least_ratio}x of onnxruntime's speed")
    return 1 if slow else 0
