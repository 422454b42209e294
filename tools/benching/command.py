"""The command line of tools/bench: one module a subcommand, each with add_options(parser) and run(options) -> exit code."""
import argparse
import os
import sys

from benching import ablation, compiling, correlation, engines, fusion, planner
from benching.common import PYTHON, Fault

SUBCOMMANDS = {"run": engines, "ablation": ablation, "compile": compiling, "planner": planner,
               "correlation": correlation, "fusion": fusion}


def main(description):
    if os.access(PYTHON, os.X_OK) and os.path.realpath(sys.prefix) != os.path.realpath(os.path.dirname(os.path.dirname(PYTHON))):
        os.execv(PYTHON, [PYTHON, os.path.abspath(sys.argv[0]), *sys.argv[1:]])  # it has numpy and onnx
    parser = argparse.ArgumentParser(prog="tools/bench", description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="SUBCOMMAND")
    for name, module in SUBCOMMANDS.items():
        command = commands.add_parser(name, help=module.__doc__.splitlines()[0], description=module.__doc__,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
        module.add_options(command)
        command.add_argument("--json", metavar="FILE", help="also write the figures to this file")
        command.set_defaults(run=module.run)
    options = parser.parse_args()
    try:
        return options.run(options)
    except Fault as fault:
        print(f"bench: {fault}", file=sys.stderr)
        return 1
