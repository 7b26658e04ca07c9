// RUN: tilec-opt %s --convert-tilegpu-to-nvvm --cse --split-input-file | FileCheck %s

// Registers go out four at a time, one thread counts for all, and a loop adds up what the last CTA reads. The kernel's
// last two parameters are the parts and the counters.
// CHECK: module attributes {
// CHECK-SAME: \22ctas_per_tile\22:9
// CHECK-SAME: \22workspace\22:{\22bytes\22:73728,\22counters\22:1}
// CHECK-LABEL: llvm.func @loop
// CHECK-SAME: %[[PARTS:arg[0-9]+]]: !llvm.ptr<1>, %[[COUNTERS:arg[0-9]+]]: !llvm.ptr<1>)
// CHECK: llvm.getelementptr %[[PARTS]]
// CHECK-COUNT-4: "st.global.v4.b32
// CHECK: nvvm.barrier0
// CHECK: llvm.getelementptr %[[COUNTERS]]
// CHECK: atom.acq_rel.gpu.global.inc.u32
// CHECK-SAME: bar.red.or.pred
// CHECK: scf.if
// CHECK-COUNT-4: "ld.relaxed.gpu.global.v4.b32
// CHECK: scf.for %{{.+}} = %c1_i32 to %c9_i32 step %c4_i32
// CHECK-COUNT-16: "ld.relaxed.gpu.global.v4.b32
// CHECK: arith.addf
// CHECK-NOT: ld.relaxed
// CHECK: } else {
#target = #tilegpu.target<"sm_80", {features = ["cp_async"]}>
#rows = #tilegpu.layout<register = [[0, 1], [0, 2], [8, 0], [16, 0]], lane = [[0, 4], [0, 8], [0, 16], [1, 0], [2, 0]], warp = [[4, 0], [32, 0]], repeat = [1, 1]>
!y = !tile.view<?x?xf32, strides = [?, 1], divisible = [16, 16], stride_align = [16, 4], align = 16, index = 32, exclusive>
!c = !tile.partition<64x32 of !y>
module attributes {tilegpu.target = #target} {
  tile.kernel @loop(%c: !c) attributes {arg_names = ["c"], tilegpu.num_warps = 4 : i64, tilegpu.shares_tiles, tilegpu.tile_parts = 9 : i64} {
    %t = arith.constant dense<1.0> : tensor<64x32xf32, #rows>
    %s, %last = tilegpu.workspace_sum %t parts 9 : tensor<64x32xf32, #rows> -> tensor<64x32xf32, #rows>
    scf.if %last {
      tile.store %s, %c : tensor<64x32xf32, #rows>, !c
    }
    tile.return
  }
}
