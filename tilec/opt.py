"""``tilec-opt``: MLIR's optimizer driver with our dialects and passes, inside the one library.

``python -m tilec.opt`` and the script ``tilec-opt`` are the same. A target may be given by name:
the row of the target table goes in its place, since the C++ side has no table.

Example::

    tilec-opt --tilec-tile --tilec-tilegpu='target=sm_90a num-warps=4' kernel.mlir
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence

from tilec.compiler.containment import extension
from tilec.compiler.target import Target
from tilec.diagnostics import TilecError

_TARGET = re.compile(r"\btarget=(sm_\w+)")


def expand_targets(argument: str) -> str:
    """Replace ``target=NAME`` by the target's row as JSON without spaces.

    MLIR takes one pair of braces off a value, so the JSON stands in a pair of its own.

    Raises:
        UnsupportedTargetError: there is no such target.
    """

    def row(match: re.Match[str]) -> str:
        text = json.dumps(Target.parse(match[1]).to_json(), separators=(",", ":"))
        return f"target={{{text}}}"

    return _TARGET.sub(row, argument)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run tilec-opt; return its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        expanded = [expand_targets(argument) for argument in given]
    except TilecError as error:
        print(error.render(), file=sys.stderr)
        return 2
    return extension().opt_main(["tilec-opt", *expanded])


if __name__ == "__main__":
    sys.exit(main())
