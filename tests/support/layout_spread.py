"""Layouts as arrays: what the layout tests enumerate."""

from dataclasses import dataclass

import numpy as np

from tilec._mlir._mlir_libs._tilec import layouts

LANES = 32


@dataclass(frozen=True)
class Spread:
    """Every (warp, lane, register) of a layout and the element it holds.

    Attributes:
        coords: coordinates, shape (warps, 32, registers, rank).
        owner: whether a thread is the one among its copies that owns, shape (warps, 32).
    """

    coords: np.ndarray
    owner: np.ndarray

    @staticmethod
    def of(layout):
        data, warps, registers, rank, lane_mask, warp_mask = layouts.coords(layout)
        coords = np.frombuffer(data, np.int32).reshape(warps, LANES, registers, rank)
        free_lane = (np.arange(LANES) & lane_mask) != 0
        free_warp = (np.arange(warps) & warp_mask) != 0
        return Spread(coords, ~(free_warp[:, None] | free_lane[None, :]))

    def live(self, shape):
        """Return which (warp, lane, register) hold elements of the tile."""
        return (self.coords < np.array(shape, int)).all(axis=-1)

    def extents(self):
        """Return the covered extent of every dimension."""
        return tuple(int(e) + 1 for e in self.coords.reshape(-1, self.coords.shape[-1]).max(axis=0))


def assert_covers_once(layout, shape):
    """Assert that owners hold each element of the covered extent once and copies hold the same."""
    spread = Spread.of(layout)
    extents = spread.extents()
    assert all(extent >= size for extent, size in zip(extents, shape, strict=True))
    assert spread.coords.min() >= 0
    owned = spread.coords[spread.owner].reshape(-1, len(shape))
    number = np.ravel_multi_index(tuple(owned.T), extents)
    assert np.array_equal(np.sort(number), np.arange(np.prod(extents)))
    # A thread that owns nothing holds what the owner with its other bits holds.
    warp, lane = np.nonzero(~spread.owner)
    _, _, _, _, lane_mask, warp_mask = layouts.coords(layout)
    assert np.array_equal(
        spread.coords[warp, lane], spread.coords[warp & ~warp_mask, lane & ~lane_mask]
    )
