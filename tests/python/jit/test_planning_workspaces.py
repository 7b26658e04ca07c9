"""Plans whose programs share the depth of a tile through a workspace in global memory."""

import pytest
from product_plans import plan_of, product_arrays, product_summary

from tilec.compiler.target import TARGETS
from tilec.jit import planning

# Beside those, the plans below must stay as they are without workspaces.
OTHERS = planning.CARRIED_OUT - {"workspace"}
ON_HOPPER = [
    (512, 512, 8192),
    (256, 256, 8192),
    (192, 712, 5568),
    (64, 1024, 8192),
    (200, 200, 4000),
    (96, 2048, 4096),
    (512, 1024, 4096),
    (16, 8192, 8192),
    (32, 4096, 16384),
    (1712, 1784, 2528),
    (4096, 4096, 4096),
]


def splits_of(plan, by):
    return [c for c in plan["candidates"] if c["split_k"] > 1 and c["split_by"] == by]


@pytest.mark.parametrize("target", ["sm_80", "sm_86", "sm_89"])
def test_targets_without_clusters_split_through_a_workspace(target):
    plan = plan_of(64, 64, 65536, target)
    assert plan["decisions"]["split_by"] == plan["chosen"]["split_by"] == "workspace"
    assert plan["decisions"]["split_k"] > 1
    assert not splits_of(plan, "cluster")
    for shape in ((512, 512, 64), (8192, 8192, 8192)):
        decisions = plan_of(*shape, target)["decisions"]
        assert decisions["split_k"] == 1 and "split_by" not in decisions


def test_workspaces_are_shared_by_up_to_16_in_one_wave():
    plan = plan_of(256, 256, 16384, "sm_80")
    splits = splits_of(plan, "workspace")
    assert max(c["split_k"] for c in splits) == 16
    limits = TARGETS["sm_80"].limits
    assert all(c["programs"] * c["split_k"] <= limits.multiprocessors for c in splits)
    assert all(c["waves"] == 1 for c in splits)


@pytest.mark.parametrize("shape", ON_HOPPER)
def test_workspaces_change_no_plan_that_was_measured(shape, monkeypatch):
    """Their costs are not measured: on Hopper they stand beside the choices of the others."""
    plan = plan_of(*shape)
    monkeypatch.setattr(planning, "CARRIED_OUT", OTHERS)
    without = plan_of(*shape)
    assert plan["decisions"] == without["decisions"] and plan["tile"] == without["tile"]


def test_accumulators_of_64_bits_are_not_split():
    summary = product_summary("f64", tk=16, acc="f64")
    arrays = product_arrays(256, 256, 16384, bits=64)
    plan = plan_of(256, 256, 16384, "sm_80", summary=summary, arrays=arrays)
    assert all(c["split_k"] == 1 for c in plan["candidates"])
