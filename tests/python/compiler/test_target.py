import json

import pytest
from cuda.bindings import nvjitlink

from tilec.compiler.target import FEATURES, TARGETS, Target, UnsupportedTargetError
from tilec.diagnostics import CompileError

from .probes import PROBES, module

PTX_VERSIONS = (70, 71, 72, 73, 74, 75, 76, 77, 78, 80, 81, 82, 83, 84, 85, 86, 87, 88)
ASSEMBLES_BUT_SLOW = {
    ("sm_120a", "tma_multicast"),  # PTX ISA: "substantially reduced performance"
    *((target, "mma_f64_m16") for target in ("sm_100a", "sm_103a", "sm_120a")),  # DMMA.8x8x4s
}


def assembles(target, ptx_version, body):
    text = module(target, ptx_version, body).encode()
    handle = nvjitlink.create(1, [f"-arch={target}"])
    try:
        nvjitlink.add_data(handle, nvjitlink.InputType.PTX, text, len(text), "probe")
        nvjitlink.complete(handle)
    except nvjitlink.nvJitLinkError:
        return False
    finally:
        nvjitlink.destroy(handle)
    return True


def test_target_every_feature_has_a_probe():
    assert set(PROBES) == set(FEATURES)


@pytest.mark.parametrize("target", TARGETS.values(), ids=list(TARGETS))
def test_target_has_exactly_the_features_that_assemble(target):
    found = {
        feature
        for feature, body in PROBES.items()
        if assembles(target.name, target.ptx_version, body)
        and (target.name, feature) not in ASSEMBLES_BUT_SLOW
    }
    assert found == target.features


@pytest.mark.parametrize("target", TARGETS.values(), ids=list(TARGETS))
def test_target_ptx_version_is_the_lowest_with_every_feature(target):
    below = max((v for v in PTX_VERSIONS if v < target.ptx_version), default=None)
    if below is not None:
        assert not all(assembles(target.name, below, PROBES[f]) for f in target.features)


@pytest.mark.parametrize("text", ["sm_90a", "sm_90", "SM90a", "90", " 90a "])
def test_target_parse_spellings_give_the_row(text):
    assert Target.parse(text) is TARGETS["sm_90a"]


@pytest.mark.parametrize("text", ["sm_75", "", "hopper", "sm_90aa", "sm_9", "sm_"])
def test_target_parse_unknown_is_refused_with_the_list(text):
    with pytest.raises(UnsupportedTargetError) as refusal:
        Target.parse(text)
    assert refusal.value.message == (
        f"unsupported target {text!r}, expected one of "
        "sm_80, sm_86, sm_89, sm_90a, sm_100a, sm_103a, sm_120a"
    )
    assert isinstance(refusal.value, CompileError)


def test_target_of_capability_finds_its_row():
    for target in TARGETS.values():
        assert Target.of_capability(*target.capability) is target


@pytest.mark.parametrize("capability", [(7, 5), (8, 7), (12, 1)])
def test_target_of_capability_neighbour_is_refused(capability):
    with pytest.raises(UnsupportedTargetError) as refusal:
        Target.of_capability(*capability)
    assert refusal.value.message == (
        f"unsupported compute capability {capability[0]}.{capability[1]}, "
        "expected one of 8.0, 8.6, 8.9, 9.0, 10.0, 10.3, 12.0"
    )


def test_target_has_misspelt_feature_is_an_error():
    with pytest.raises(KeyError, match="unknown feature 'wgma'"):
        TARGETS["sm_90a"].has("wgma")


def test_target_json_carries_the_whole_row():
    row = json.loads(json.dumps(TARGETS["sm_90a"].to_json()))
    assert row["name"] == "sm_90a"
    assert row["ptx"] == 84
    assert row["features"] == sorted(TARGETS["sm_90a"].features)
    assert row["limits"]["shared_per_block_bytes"] == 227 * 1024
    assert row["limits"]["registers_per_thread"] == 255
