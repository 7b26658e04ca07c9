"""How far a measurement is: a bar in a terminal, otherwise one line at the end."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any


class Progress:
    """Shows steps on the standard error stream.

    Args:
        title: what is going on.
        steps: how many there are.
    """

    def __init__(self, title: str, steps: int) -> None:
        self._title = title
        self._steps = steps
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress as Bar

            self._bar = Bar(console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self._title, total=self._steps)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def tick(self) -> None:
        """Tell that a step is done; any thread may."""
        if self._bar is not None:
            self._bar.advance(self._task)

    def finish(self, outcome: str) -> None:
        """Tell what came of it, in one line."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        print(f"{self._title}: {outcome}", file=sys.stderr)
