"""The state of one program while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(slots=True)
class Frame:
    """One program's values, and where the program stands in the grid.

    Attributes:
        values: one slot an SSA value of the kernel.
        coordinates: the program's position in the grid.
        grid: the grid's extents: the partitions' tile grid, or the three of an explicit grid.
        number: the program's number, in row-major order.
        has_explicit_grid: the launch gave the grid; no partition did.
    """

    values: list[Any]
    coordinates: tuple[int, ...]
    grid: tuple[int, ...]
    number: int
    has_explicit_grid: bool

    @property
    def program(self) -> str:
        """Name the program in a message."""
        return program_name(self.number, self.grid)


def program_name(number: int, grid: tuple[int, ...]) -> str:
    """Name a program by its coordinates.

    Example:
        >>> program_name(5, (2, 3))
        'program (1, 2)'
    """
    coordinates = np.unravel_index(number, grid)
    return f"program {tuple(int(coordinate) for coordinate in coordinates)}"
