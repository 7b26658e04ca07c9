"""One small PTX body for each feature of the target table: it assembles where the feature is."""

DECLARATIONS = """
.reg .pred %p<4>; .reg .b16 %h<8>; .reg .b32 %r<64>; .reg .f32 %f<64>;
.reg .b64 %rd<16>; .reg .f64 %fd<16>;
.shared .align 1024 .b8 smem[4096];
"""

PROBES = {
    "bf16_add": "add.rn.bf16 %h0, %h1, %h2;",
    "bf16_ex2": "ex2.approx.ftz.bf16 %h0, %h1;",
    "bf16_fma": "fma.rn.bf16 %h0, %h1, %h2, %h3;",
    "cluster": "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
    "cp_async": "cp.async.cg.shared.global [smem], [%rd0], 16;",
    "elect": "elect.sync %r0|%p0, 0xffffffff;",
    "f32x2": "fma.rn.f32x2 %rd0, %rd1, %rd2, %rd3;",
    "fp4_cvt": "{ .reg .b8 %b; cvt.rn.satfinite.e2m1x2.f32 %b, %f0, %f1; }",
    "fp8_cvt": "cvt.rn.satfinite.e4m3x2.f32 %h0, %f0, %f1;",
    "fp8_mma": "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
    "{%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};",
    "griddepcontrol": "griddepcontrol.wait;",
    "ldmatrix": "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0,%r1,%r2,%r3}, [smem];",
    "load_256": "ld.global.v8.b32 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%rd0];",
    "mbarrier": "mbarrier.init.shared.b64 [smem], 1;",
    "mma_bf16": "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
    "{%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};",
    "mma_block_scale": "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X"
    ".f32.e4m3.e4m3.f32.ue8m0 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5},"
    " {%f0,%f1,%f2,%f3}, %r6, {0, 0}, %r7, {0, 0};",
    "mma_f16": "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
    "{%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};",
    "mma_f64": "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 "
    "{%fd0,%fd1}, {%fd2}, {%fd3}, {%fd0,%fd1};",
    "mma_f64_m16": "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 "
    "{%fd0,%fd1,%fd2,%fd3}, {%fd4,%fd5}, {%fd6}, {%fd0,%fd1,%fd2,%fd3};",
    "mma_i8": "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
    "{%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, {%r8,%r9}, {%r0,%r1,%r2,%r3};",
    "mma_tf32": "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
    "{%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};",
    "redux_f32": "redux.sync.max.f32 %f0, %f1, 0xffffffff;",
    "redux_i32": "redux.sync.add.u32 %r0, %r1, 0xffffffff;",
    "setmaxnreg": "setmaxnreg.inc.sync.aligned.u32 232;",
    "stmatrix": "stmatrix.sync.aligned.m8n8.x4.shared.b16 [smem], {%r0,%r1,%r2,%r3};",
    "tcgen05": "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 32;",
    "tma": "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
    "[smem], [%rd0, {%r0, %r1}], [smem];",
    "tma_multicast": "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
    ".multicast::cluster [smem], [%rd0, {%r0, %r1}], [smem], %h0;",
    "wgmma": "wgmma.fence.sync.aligned;",
}


def module(target: str, ptx_version: int, body: str) -> str:
    """Wrap a body into a kernel."""
    major, minor = divmod(ptx_version, 10)
    return (
        f".version {major}.{minor}\n.target {target}\n.address_size 64\n"
        f".visible .entry probe()\n{{{DECLARATIONS}{body}\nret;\n}}\n"
    )
