// RUN: tilec-opt %s --convert-tilegpu-to-nvvm --cse | FileCheck %s

// Whole 16-byte chunks bypass the first-level cache; a chunk outside the array copies no byte and becomes zero.
// CHECK-LABEL: llvm.func @copy
// CHECK: %[[COUNT:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : i32
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg, %[[COUNT]]
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg
// CHECK-NOT: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.wait.group 0
// CHECK: nvvm.barrier0
// CHECK: llvm.load
#in = #tilegpu.layout<register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]],
                      warp = [], repeat = [2, 1]>
!x = !tile.view<?x?xbf16, strides = [?, 1], divisible = [1, 16], stride_align = [16, 2], align = 16, index = 32, read>
!y = !tile.view<?x?xbf16, strides = [?, 1], divisible = [1, 16], stride_align = [16, 2], align = 16, index = 32, unchecked>
!slot = !tilegpu.smem<8x64xbf16, #tilegpu.shared<order = [1, 0], swizzle = 3>>
!ring = !tilegpu.smem<2x8x64xbf16, #tilegpu.shared<order = [2, 1, 0], swizzle = 3>>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = []}>} {
  tile.kernel @copy(%y: !y, %x: !x) attributes {tilegpu.num_warps = 1 : i64, tilegpu.shared_bytes = 2048 : i64} {
    %c0 = arith.constant 0 : index
    %stage = arith.constant 1 : i32
    %ring = tilegpu.ring {tilegpu.shared_offset = 0 : i64} : !ring
    %slot = tilegpu.ring_slot %ring[%stage] : !ring -> !slot
    tilegpu.copy_async %x[%c0, %c0] into %slot by #in : !x, !slot
    tilegpu.copy_commit
    tilegpu.copy_wait 0
    tilegpu.barrier
    %u = tilegpu.local_load %slot : !slot -> tensor<8x64xbf16, #in>
    tile.store %u, %y[%c0, %c0] : tensor<8x64xbf16, #in>, !y
    tile.return
  }
}
