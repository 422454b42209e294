"""Predicted against measured time over the kernels of models: Spearman's rank correlation.

  tools/bench correlation                 (the nine light models, all cores)
  tools/bench correlation --check 0.9 --csv kernels.csv

Kernels that several nodes share (equal strategy, operators, flops and bytes) count once: the least of their times.
"""
import os

from benching.common import CRYOLITE, call_json, conditions, label, model_path, print_table, verdict, write_aside, write_json

DEFAULT = ["light_bvlc_alexnet", "light_densenet121", "light_inception_v1", "light_inception_v2", "light_resnet50",
           "light_shufflenet", "light_squeezenet", "light_vgg19", "light_zfnet512"]


def add_options(parser):
    parser.add_argument("models", nargs="*", metavar="MODEL", default=DEFAULT)
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="predictions are for all cores")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--csv", metavar="FILE", help="also write one line a kernel")
    parser.add_argument("--check", type=float, nargs="?", const=0.9, metavar="LEAST",
                        help="least correlation; 0.9 where not given")


def kernels_of(model, options):
    plan = call_json([CRYOLITE, "plan", model, "--json", "-"])
    measured = {}
    for _ in range(options.rounds):
        for kernel in call_json([CRYOLITE, "bench", model, "--kernels", "--threads", str(options.threads),
                                 "--runs", str(options.runs), "--json", "-"])["kernels"]:
            measured[kernel["id"]] = min(measured.get(kernel["id"], float("inf")), kernel["ms"] * 1e3)
    return [{"model": label(model), "nodes": len(group["nodes"]), "name": group["nodes"][-1], "strategy": group["strategy"],
             "flops": group["flops"], "bytes": group["bytes"], "bound_by": group["bound_by"],
             "predicted_us": group["time_us"], "us": measured[group["id"]]}
            for group in plan["groups"] if group["id"] in measured]


def distinct(kernels):
    kept = {}
    for kernel in kernels:
        key = tuple(kernel[field] for field in ("strategy", "nodes", "flops", "bytes", "predicted_us"))
        if key not in kept or kernel["us"] < kept[key]["us"]:
            kept[key] = kernel
    return list(kept.values())


def ranks(values):
    """Ranks from 0; equal values share the mean of theirs."""
    import numpy
    unique, inverse, counts = numpy.unique(values, return_inverse=True, return_counts=True)
    first = numpy.cumsum(counts) - counts
    return (first + (counts - 1) / 2)[inverse]


def spearman(predicted, measured):
    import numpy
    if len(set(predicted)) < 2 or len(set(measured)) < 2:
        return 0.0  # there is no order to agree on
    return float(numpy.corrcoef(ranks(predicted), ranks(measured))[0, 1])


def run(options):
    kernels = distinct([kernel for name in options.models for kernel in kernels_of(model_path(name), options)])
    rows = []
    for strategy in sorted({kernel["strategy"] for kernel in kernels}):
        own = [kernel for kernel in kernels if kernel["strategy"] == strategy]
        factors = sorted(kernel["us"] / kernel["predicted_us"] for kernel in own)
        correlation = f"{spearman([k['predicted_us'] for k in own], [k['us'] for k in own]):.3f}" if len(own) > 2 else "–"
        rows.append([strategy, len(own), correlation, *[f"{factors[int(q * (len(own) - 1))]:.2f}" for q in (0, 0.5, 1)]])
    overall = spearman([kernel["predicted_us"] for kernel in kernels], [kernel["us"] for kernel in kernels])
    rows.append(["all", len(kernels), f"{overall:.3f}", "", "", ""])
    print_table(["strategy", "kernels", "rank correlation", "measured / predicted: least", "median", "most"], rows)
    print(f"\n{conditions()}")
    write_json(options.json, {"correlation": overall, "kernels": kernels})
    if options.csv:
        lines = [",".join(str(kernel[key]) for key in kernels[0]) for kernel in kernels]
        write_aside(options.csv, "\n".join([",".join(kernels[0]), *lines]) + "\n")
    if options.check is None:
        return 0
    return verdict(overall >= options.check, f"rank correlation {overall:.3f}, at least {options.check:g}")
