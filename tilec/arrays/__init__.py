"""Array libraries: what the launch runtime must ask Python about each of them.

The runtime itself (C++) reads DLPack and the two array interfaces. This room answers the rest: what
a type is (``registry``), on which stream its library works, and, for the CPU executor, how host
memory becomes a NumPy array (``host``). A library has one file; to support another one, add its
file and an entry in ``registry``.
"""

from __future__ import annotations

from tilec.arrays.description import ArraySpec

__all__ = ["ArraySpec"]
