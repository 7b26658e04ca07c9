"""Builders of the `tile` dialect."""

from ._tile_ops_gen import *  # noqa: F403
