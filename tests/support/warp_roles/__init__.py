"""CTAs of a kernel in `tilegpu`, warp by warp, under interleavings drawn at random.

What runs is the emitted module. Every warp of every program and the producer's thread are agents of
their own; loads and stores of the copy engine and products of the tensor cores are events that
happen at any time after they were started. Barriers are the mbarriers that `Queue.cpp` makes of
queues and turns, phase bit by phase bit. Tiles have no elements: a tile is the term that computes
it, and what a CTA stores is compared with what the `tile` module stores.

Beyond wrong results it finds: deadlock; memory overwritten while it is read; a slot read that does
not hold the fill that belongs there; a phase passed too early; accumulators read in flight; buffers
written under a bulk store; stages freed that nobody waited for; work left over at the end.
"""

from warp_roles.faults import Fault
from warp_roles.runs import assert_sound, compile_kernel, faults, planned

__all__ = ["Fault", "assert_sound", "compile_kernel", "faults", "planned"]
