"""What can go wrong."""


class Fault(AssertionError):
    """A rule broken by an interleaving.

    Attributes:
        kind: one of KINDS.
    """

    KINDS = (
        "deadlock",
        "overwrite",  # memory written while it is read or written
        "stale",  # memory read that does not hold what belongs there
        "early",  # a phase of a barrier passed that is not complete
        "in flight",  # an accumulator read before its product is known to be complete
        "staging",  # a buffer written, or left, while a bulk store may read it
        "release",  # a stage freed that is not the oldest one waited for
        "unordered",  # memory of other warps read or written without a barrier between
        "unfenced",  # memory written by threads read by products without a fence
        "result",  # another tile stored than the `tile` module stores
        "left over",  # fills or copies that nobody waited for
    )

    def __init__(self, kind: str, text: str):
        assert kind in self.KINDS
        super().__init__(f"{kind}: {text}")
        self.kind = kind
