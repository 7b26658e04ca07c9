"""Features of machine code, against what they were assembled from and against a disassembler."""

import functools
import re
import subprocess

import pytest

import tilec as tl
from tilec.compiler.assemble import assemble, find_cuda_tool
from tilec.compiler.machine_code import (
    FEATURES,
    NotMachineCodeError,
    features_of_cubin,
    features_of_ptx,
    features_of_target,
)
from tilec.compiler.target import TARGETS, Target
from tilec.kernels.matmul import matmul_kernel

MODULE = """.version {version}
.target {target}
.address_size 64
.visible .entry probe(.param .u64 p, .param .align 64 .b8 map[128]) {attributes} {{
  .reg .b64 %l<20>; .reg .b32 %r<40>; .reg .b16 %h<2>; .reg .f32 %f<40>; .reg .f64 %d<8>;
  .reg .pred %p<2>; .shared .align 1024 .b8 sm[4096];
  ld.param.u64 %l1, [p]; cvta.to.global.u64 %l2, %l1; mov.u32 %r1, sm; mov.u16 %h1, 3;
  mov.b64 %l3, map; cvta.param.u64 %l3, %l3;
  ld.global.v4.u32 {{%r2,%r3,%r4,%r5}}, [%l2]; ld.global.v2.f64 {{%d1,%d2}}, [%l2+16];
  {body}
  ret;
}}
"""
STORE = "st.global.v4.f32 [%l2], {%f1,%f2,%f3,%f4};"
TILE = "[%l3, {%r2, %r3}]"
FETCH = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
ACC = "{%f1,%f2,%f3,%f4}"
LEFT = "{%r2,%r3,%r4,%r5}"


def mma(kind):
    return f"mma.sync.aligned.{kind} {ACC}, {LEFT}, {{%r4,%r5}}, {{%f5,%f6,%f7,%f8}};" + STORE


def wgmma(kind, flags=", 1, 1", acc=ACC, left="%l4", store=STORE):
    return (
        f"wgmma.fence.sync.aligned;"
        f"wgmma.mma_async.sync.aligned.{kind} {acc}, {left}, %l5, 1{flags};"
        f"wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; {store}"
    )


# What is assembled, the first target that takes it, and the features it is to show.
PROBES = {
    "nothing": ("st.global.u32 [%l2], %r2;", "sm_80", set()),
    "shared memory": ("st.shared.u32 [%r1], %r2; ld.shared.u32 %r6, [%r1+64];"
                      "st.global.u32 [%l2], %r6;", "sm_80", set()),
    "copies": ("cp.async.cg.shared.global [%r1], [%l2], 16; cp.async.wait_all;",
               "sm_80", {"cp_async"}),
    "short copies": ("cp.async.ca.shared.global [%r1], [%l2], 4, %r2; cp.async.wait_all;",
                     "sm_80", {"cp_async"}),
    "ldmatrix": ("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r6,%r7}, [%r1+64];"
                 "st.global.v2.u32 [%l2], {%r6,%r7};", "sm_80", {"ldmatrix"}),
    "f16": (mma("m16n8k16.row.col.f32.f16.f16.f32"), "sm_80", {"mma"}),
    "bf16": (mma("m16n8k16.row.col.f32.bf16.bf16.f32"), "sm_80", {"mma"}),
    "tf32": (mma("m16n8k8.row.col.f32.tf32.tf32.f32"), "sm_80", {"mma"}),
    "f64": ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d3,%d4}, {%d1}, {%d2}, {%d1,%d2};"
            "st.global.v2.f64 [%l2], {%d3,%d4};", "sm_80", {"mma"}),
    "i8": ("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%r6,%r7,%r8,%r9},"
           "{%r2,%r3,%r4,%r5}, {%r2,%r3}, {%r2,%r3,%r4,%r5};"
           "st.global.v4.u32 [%l2], {%r6,%r7,%r8,%r9};", "sm_80", {"mma"}),
    "e4m3": (mma("m16n8k32.row.col.f32.e4m3.e5m2.f32"), "sm_89", {"mma"}),
    "stmatrix": ("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r1], {%r2,%r3,%r4,%r5};",
                 "sm_90a", {"stmatrix"}),
    "fetch": (f"{FETCH} [%r1], {TILE}, [%r4];", "sm_90a", {"tma"}),
    "fetch for all": (f"{FETCH}.multicast::cluster [%r1], {TILE}, [%r4], %h1;", "sm_90a",
                      {"tma", "tma_multicast"}),
    "put": (f"cp.async.bulk.tensor.2d.global.shared::cta.bulk_group {TILE}, [%r1];"
            "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;", "sm_90a", {"tma"}),
    "add": (f"cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group {TILE}, [%r1];"
            "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;", "sm_90a", {"tma"}),
    "bulk copy": ("cp.async.bulk.global.shared::cta.bulk_group [%l2], [%r1], 1024;"
                  "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;", "sm_90a", set()),
}  # fmt: skip
HOPPER = {
    "wgmma f16": wgmma("m64n8k16.f32.f16.f16", ", 1, 1, 0, 0"),
    "wgmma bf16": wgmma("m64n8k16.f32.bf16.bf16", ", 1, 1, 1, 1"),
    "wgmma tf32": wgmma("m64n8k8.f32.tf32.tf32"),
    "wgmma e4m3": wgmma("m64n8k32.f32.e4m3.e5m2"),
    "wgmma i8": wgmma(
        "m64n8k32.s32.s8.u8",
        flags="",
        acc="{%r6,%r7,%r8,%r9}",
        store="st.global.v4.u32 [%l2], {%r6,%r7,%r8,%r9};",
    ),
    "wgmma of registers": wgmma("m64n8k16.f32.bf16.bf16", ", 1, 1, 0", left=LEFT),
}
CASES = [
    pytest.param(target, body, features, id=f"{target}-{name}")
    for name, (body, since, features) in PROBES.items()
    for target in list(TARGETS)[list(TARGETS).index(since) :]
    if "tma_multicast" not in features or TARGETS[target].has("tma_multicast")
] + [pytest.param("sm_90a", body, {"wgmma"}, id=name) for name, body in HOPPER.items()]
cases = pytest.mark.parametrize(("target", "body", "features"), CASES)
SASS = {
    "cp_async": r"LDGSTS",
    "ldmatrix": r"LDSM",
    "mma": r"[HIDQO]MMA",
    "setmaxnreg": r"USETMAXREG",
    "stmatrix": r"STSM",
    "tcgen05": r"UTC[HIQO]MMA",
    "tma": r"UTMA(LDG|STG|REDG)",
    "tma_multicast": r"UTMALDG\S*\.MULTICAST",
    "wgmma": r"[HIBQ]GMMA",
}


@functools.cache
def probe(target, body, attributes=""):
    version = f"{max(TARGETS[target].ptx_version, 80) / 10:.1f}"
    ptx = MODULE.format(version=version, target=target, body=body, attributes=attributes)
    return ptx, assemble(ptx, TARGETS[target], "probe", "nvjitlink").cubin


def disassembled(cubin, tmp_path):
    """The features that the instructions' names show."""
    path = find_cuda_tool("nvdisasm")
    if path is None:
        pytest.skip("nvdisasm is not there")
    (tmp_path / "probe.cubin").write_bytes(cubin)
    done = subprocess.run([path, tmp_path / "probe.cubin"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {name for name, text in SASS.items() if re.search(rf"\b{text}\b", done.stdout)}


@cases
def test_features_are_those_that_were_assembled(target, body, features):
    ptx, cubin = probe(target, body)
    assert features_of_cubin(cubin) == features
    assert features_of_ptx(ptx) == features


@cases
def test_features_agree_with_the_disassembler(tmp_path, target, body, features):
    _, cubin = probe(target, body)
    assert features_of_cubin(cubin) == disassembled(cubin, tmp_path)


def test_cluster_is_one_of_more_than_one_block():
    for x, features in ((1, set()), (2, {"cluster"})):
        _, cubin = probe("sm_90a", "", f".reqntid 32 .reqnctapercluster {x}, 1, 1")
        assert features_of_cubin(cubin) == features


def test_library_product_agrees_with_the_disassembler(tmp_path):
    array = tl.ArraySpec((8192, 8192), tl.bfloat16)
    for target in ("sm_80", "sm_90a", "sm_120a"):
        compiled = matmul_kernel.compile(
            tl.partition(array, tl.AUTO), array, array, target=target, phases=()
        )
        assert compiled.features - {"cluster"} == disassembled(compiled.cubin, tmp_path)


def test_ptx_comments_are_no_instructions():
    assert features_of_ptx("// mma.sync\n/* wgmma.mma_async */ add.s32 %r1, %r1, 1;") == set()


def test_target_has_what_its_row_says():
    assert features_of_target(Target.parse("sm_90a")) == FEATURES.keys() - {"tcgen05"}
    assert "wgmma" not in features_of_target(Target.parse("sm_100a"))


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (lambda cubin: b"", "not a 64-bit little-endian ELF file"),
        (lambda cubin: b"\x7fELF\x01" + cubin[5:], "not a 64-bit little-endian ELF file"),
        (lambda cubin: cubin[:64], "damaged ELF file"),
    ],
)
def test_bytes_that_are_no_cubin_are_refused(damage, text):
    _, cubin = probe("sm_80", "")
    with pytest.raises(NotMachineCodeError, match=text):
        features_of_cubin(damage(cubin))
