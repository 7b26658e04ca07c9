import importlib

import pytest

import tilec.execute.executor  # noqa: F401  (registers the handlers)
from tilec.execute.registry import PURE_HANDLERS, STEP_HANDLERS, pure

#: Ops that end a block or hold a kernel: whoever runs the block deals with them.
STRUCTURE = {"scf.condition", "scf.yield", "tile.kernel", "tile.return", "tile.yield"}
#: Ops that no kernel contains.
FOREIGN = {
    "arith.scaling_extf", "arith.scaling_truncf", "scf.forall", "scf.forall.in_parallel",
    "scf.parallel", "scf.reduce", "scf.reduce.return",
}  # fmt: skip


@pytest.mark.parametrize("dialect", ["arith", "math", "scf", "tile"])
def test_every_op_of_a_dialect_has_a_rule(dialect):
    module = importlib.import_module(f"tilec._mlir.dialects._{dialect}_ops_gen")
    names = {
        value.OPERATION_NAME
        for value in vars(module).values()
        if isinstance(value, type) and hasattr(value, "OPERATION_NAME")
    }
    assert names
    assert names - STRUCTURE - FOREIGN - set(PURE_HANDLERS) - set(STEP_HANDLERS) == set()


def test_two_handlers_for_an_op_are_refused():
    with pytest.raises(ValueError, match=r"two handlers for arith\.addf"):
        pure("arith.addf")(lambda op: lambda a, b: a)
