"""``tilec``: compile, inspect, measure and diagnose from the command line."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from tilec.diagnostics import TilecError

COMMANDS = {
    "demo": "run the worked kernels here and compile them",
    "compile": "compile the kernels of a file, for any target",
    "inspect": "print a kernel after a phase of the compiler",
    "cache": "show or clear the disk cache",
    "bench": "run the benchmarks of a checkout",
    "doctor": "show what this machine has and lacks",
}
"""Each is a module of tilec.commands with ``configure(parser)`` and ``run(options)``."""

_REFUSED = 1
_MISUSED = 2
"""What argparse exits with."""
_INTERRUPTED = 130
"""Exit code of a program that was ended by an interrupt: 128 + SIGINT."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    listing = "\n".join(f"  {name:<9} {text}" for name, text in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="tilec",
        description=_plain(__doc__),
        epilog=f"commands:\n{listing}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND")
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments:
        parser.print_help(sys.stderr)
        return _MISUSED
    chosen = parser.parse_args(arguments)
    # Only the command that runs is loaded: most need neither the compiler nor NumPy.
    command = importlib.import_module(f"tilec.commands.{chosen.command}")
    own = argparse.ArgumentParser(
        prog=f"tilec {chosen.command}", description=_plain(command.__doc__), epilog=command.EPILOG
    )
    command.configure(own)
    options = own.parse_args(chosen.rest)
    try:
        return command.run(options)
    except TilecError as error:
        print(error.render(), file=sys.stderr)
        return _REFUSED
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:  # the reader, `head` for example, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _plain(docstring: str | None) -> str:
    return (docstring or "").replace("``", "")


if __name__ == "__main__":
    sys.exit(main())
