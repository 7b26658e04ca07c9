"""Registers tilec's dialects in every context the bindings make."""

from . import _tilecInit

register_dialects = _tilecInit.register_dialects
