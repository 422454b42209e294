"""What the subcommands share: models, the program, tables, files."""
import json
import os
import platform
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PYTHON = os.path.join(ROOT, "cache/deps/test/bin/python")
CRYOLITE = os.path.join(os.environ.get("CRYOLITE_BUILD", os.path.join(ROOT, "build")), "cryolite")


class Fault(Exception):
    """Told in one line; the command ends with code 1."""


def label(model):
    """What a table calls a model: its folder where the file is model.onnx."""
    folder, file = os.path.split(model)
    return os.path.basename(folder) if file == "model.onnx" else os.path.splitext(file)[0]


def model_path(name):
    if os.path.isfile(name):
        return name
    if os.sep in name:
        raise Fault(f"{name} is no file")
    path = os.path.join(ROOT, "cache/models", name, "model.onnx")
    if not os.path.exists(path) and subprocess.run([os.path.join(ROOT, "tools/models"), name]).returncode:
        raise Fault(f"{name} could not be made; see tools/models --list")
    return path


def call(command, environment=None):
    """Standard output of a program; Fault with its last word where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise Fault(f"{os.path.basename(command[0])}: {(done.stderr.strip().splitlines() or ['no word'])[-1]}")
    return done.stdout


def call_json(command, environment=None):
    return json.loads(call(command, environment))


def cryolite_ms(model, threads, runs, *options):
    return call_json([CRYOLITE, "bench", model, "--threads", str(threads), "--runs", str(runs), "--json", "-",
                      *options])["min_ms"]


def print_table(heads, rows):
    widths = [max(len(str(row[i])) for row in [heads, *rows]) for i in range(len(heads))]
    line = lambda cells: "| " + " | ".join(str(cell).ljust(width) for cell, width in zip(cells, widths)) + " |"
    print(line(heads) + "\n| " + " | ".join("-" * width for width in widths) + " |")
    for row in rows:
        print(line(row), flush=True)


def write_aside(path, text):
    with open(path + ".part", "w") as out:
        out.write(text)
    os.replace(path + ".part", path)


def write_json(path, figures):
    if path:
        write_aside(path, json.dumps({"conditions": conditions(), **figures}, indent=1) + "\n")


def conditions():
    """Where and when figures were measured, in one line."""
    name = platform.processor() or platform.machine()
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                name = line.split(":", 1)[1].strip()
                break
    version = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return f"{name}, {os.cpu_count()} cores, {time.strftime('%Y-%m-%d')}, version {version.stdout.strip() or 'unknown'}"


def verdict(is_well, claim):
    """Prints whether a limit holds; gives the exit code."""
    print(f"{'holds' if is_well else 'BROKEN'}: {claim}")
    return 0 if is_well else 1
