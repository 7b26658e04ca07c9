// RUN: tilec-opt %s --convert-tilegpu-to-nvvm --cse | FileCheck %s

// Eight bf16 are one 16-byte store; the row's number, modulo eight, is exchanged into the chunk's.
// CHECK-LABEL: llvm.func @swizzled
// CHECK: %[[SEVEN:.*]] = arith.constant 112 : i32
// CHECK: arith.andi %{{.*}}, %[[SEVEN]]
// CHECK: arith.xori
// CHECK-COUNT-2: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// CHECK-NOT: llvm.store
// CHECK: nvvm.barrier0
// CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
// CHECK-NOT: llvm.load
#in = #tilegpu.layout<register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]],
                      warp = [], repeat = [2, 1]>
#s = #tilegpu.shared<order = [1, 0], swizzle = 3>
!x = !tile.view<?x?xbf16, strides = [?, 1], divisible = [1, 16], stride_align = [16, 2], align = 16, index = 32, read>
!y = !tile.view<?x?xbf16, strides = [?, 1], divisible = [1, 16], stride_align = [16, 2], align = 16, index = 32, unchecked>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = []}>} {
  tile.kernel @swizzled(%y: !y, %x: !x) attributes {tilegpu.num_warps = 1 : i64, tilegpu.shared_bytes = 1024 : i64} {
    %c0 = arith.constant 0 : index
    %t = tile.load %x[%c0, %c0] : !x -> tensor<8x64xbf16, #in>
    %m = tilegpu.local_alloc %t {tilegpu.shared_offset = 0 : i64} : tensor<8x64xbf16, #in> -> !tilegpu.smem<8x64xbf16, #s>
    tilegpu.barrier
    %u = tilegpu.local_load %m : !tilegpu.smem<8x64xbf16, #s> -> tensor<8x64xbf16, #in>
    tile.store %u, %y[%c0, %c0] : tensor<8x64xbf16, #in>, !y
    tile.return
  }
}
