"""Each model under each planner: kernels, bytes, predicted and measured time.

  tools/bench ablation --rounds 5
  tools/bench ablation --check 1.05 rand_squeezenet   (exits 1 where the default plan measures slower than that many times
                                                       the best other, or is predicted slower than one)
"""
import os

from benching.common import CRYOLITE, call_json, conditions, cryolite_ms, label, model_path, print_table, write_json

DEFAULT = ["rand_squeezenet", "rand_resnet50", "rand_shufflenet", "rand_densenet121", "rand_inception_v1"]
PLANNERS = ["none", "greedy", "optimal"]


def add_options(parser):
    parser.add_argument("models", nargs="*", metavar="MODEL", default=DEFAULT)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--check", type=float, metavar="RATIO",
                        help="most that the default plan may take, of the best other's time")


def ablated(model, options):
    rows = {}
    for planner in PLANNERS:
        plan = call_json([CRYOLITE, "plan", model, "--planner", planner, "--json", "-"])["fused"]
        rows[planner] = {"model": label(model), "planner": planner, "kernels": plan["kernels"], "bytes": plan["bytes"],
                         "predicted_ms": plan["time_us"] / 1e3, "ms": float("inf")}
    for _ in range(options.rounds):
        for planner in PLANNERS:
            took = cryolite_ms(model, options.threads, options.runs, "--planner", planner)
            rows[planner]["ms"] = min(rows[planner]["ms"], took)
    return list(rows.values())


def run(options):
    rows = [row for name in options.models for row in ablated(model_path(name), options)]
    print_table(["model", "planner", "kernels", "MB", "predicted ms", f"ms, {options.threads} threads"],
                [[r["model"], r["planner"], r["kernels"], f"{r['bytes'] / 1e6:.1f}", f"{r['predicted_ms']:.3f}", f"{r['ms']:.3f}"]
                 for r in rows])
    print(f"\n{conditions()}")
    write_json(options.json, {"rows": rows})
    return check(rows, options.check) if options.check is not None else 0


def check(rows, most):
    broken = []
    for model in dict.fromkeys(row["model"] for row in rows):
        by = {row["planner"]: row for row in rows if row["model"] == model}
        others = [by[planner] for planner in PLANNERS if planner != "optimal"]
        if by["optimal"]["ms"] > most * min(other["ms"] for other in others):
            broken.append(f"{model} measures {by['optimal']['ms']:.3f} ms")
        if by["optimal"]["predicted_ms"] > min(other["predicted_ms"] for other in others) * (1 + 1e-9):
            broken.append(f"{model} is predicted slower than another plan")
    print(f"BROKEN: {'; '.join(broken)}" if broken else f"holds: the default plan takes at most {most}x of the best other")
    return 1 if broken else 0
