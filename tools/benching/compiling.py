"""Compile time with an empty cache and repeated, and the peak memory of the compiler with all its children.

  tools/bench compile --check                      (rand_resnet50 and light_vgg19)
  tools/bench compile rand_squeezenet --cold 20 --check

Cold: nothing in the cache, the machine's measuring included. Peak: proportional set size, sampled, of the whole tree of
processes. Limits of --check: seconds as given (light_vgg19 has none: most of them go into half a GiB of weights); a
peak of 2 GiB, and of twice the model (its file, or its weights where the file makes them) plus 1 GiB.
"""
import os
import shutil
import subprocess
import tempfile
import time

from benching.common import CRYOLITE, Fault, conditions, label, model_path, print_table, verdict, write_json

DEFAULT = ["rand_resnet50", "light_vgg19"]
MEMORY_ONLY = ["light_vgg19"]
GIB = 2**30
SAMPLE_SECONDS = 0.1


def add_options(parser):
    parser.add_argument("models", nargs="*", metavar="MODEL", default=DEFAULT)
    parser.add_argument("--cold", type=float, default=45, help="most seconds with an empty cache")
    parser.add_argument("--repeated", type=float, default=3, help="most seconds when repeated")
    parser.add_argument("--check", action="store_true", help="exit 1 where a limit is broken")


def tree_of(pid):
    """The process and all that descend from it."""
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    parent = int(file.read().rsplit(")", 1)[1].split()[1])
                children.setdefault(parent, []).append(int(entry))
            except (OSError, ValueError):
                continue  # it has ended
    found = [pid]
    for process in found:
        found += children.get(process, [])
    return found


def memory_of(pid):
    total = 0
    for process in tree_of(pid):
        try:
            with open(f"/proc/{process}/smaps_rollup") as file:
                total += next(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))
        except (OSError, StopIteration):
            continue
    return total


def timed(model, folder, environment):
    """Seconds and peak bytes of one compilation."""
    start, peak = time.perf_counter(), 0
    process = subprocess.Popen([CRYOLITE, "compile", model, "-o", folder, "--weights", "file"], env=environment,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while process.poll() is None:
        peak = max(peak, memory_of(process.pid))
        try:
            process.wait(SAMPLE_SECONDS)
        except subprocess.TimeoutExpired:
            pass
    seconds = time.perf_counter() - start
    if process.returncode:
        raise Fault(f"cryolite: {(process.stderr.read().strip().splitlines() or ['no word'])[-1]}")
    return seconds, peak


def measured(model):
    with tempfile.TemporaryDirectory() as scratch:
        environment = dict(os.environ, XDG_CACHE_HOME=os.path.join(scratch, "cache"))
        out = os.path.join(scratch, "out")
        cold, peak = timed(model, out, environment)
        weights = max([os.path.getsize(os.path.join(out, file)) for file in os.listdir(out) if file.endswith(".weights")],
                      default=0)
        shutil.rmtree(out)
        repeated = min(timed(model, out, environment)[0] for _ in range(3))
    return {"model": label(model), "cold_s": cold, "repeated_s": repeated, "peak_bytes": peak,
            "model_bytes": max(os.path.getsize(model), weights)}


def run(options):
    rows = [measured(model_path(name)) for name in options.models]
    print_table(["model", "cold s", "repeated s", "peak MiB", "model MiB"],
                [[r["model"], f"{r['cold_s']:.1f}", f"{r['repeated_s']:.2f}", f"{r['peak_bytes'] / 2**20:.0f}",
                  f"{r['model_bytes'] / 2**20:.0f}"] for r in rows])
    print(f"\n{conditions()}")
    write_json(options.json, {"rows": rows})
    if not options.check:
        return 0
    code = 0
    for row in rows:
        most = min(2 * GIB, 2 * row["model_bytes"] + GIB)
        code |= verdict(row["peak_bytes"] <= most, f"{row['model']} takes at most {most / 2**20:.0f} MiB")
        if row["model"] in MEMORY_ONLY:
            continue
        code |= verdict(row["cold_s"] <= options.cold, f"{row['model']} compiles within {options.cold:g} s")
        code |= verdict(row["repeated_s"] <= options.repeated, f"{row['model']} compiles again within {options.repeated:g} s")
    return code
