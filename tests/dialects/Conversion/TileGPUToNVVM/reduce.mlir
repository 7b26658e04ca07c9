// RUN: tilec-opt %s --convert-tilegpu-to-nvvm --cse --split-input-file | FileCheck %s

// Four elements a thread, then the 32 lanes, then four warps through shared memory: their partials lie together, so
// that each thread reads them at once.
// CHECK-LABEL: llvm.func @row
// CHECK-COUNT-3: arith.maximumf
// CHECK: nvvm.shfl.sync bfly %{{.*}}
// CHECK-COUNT-4: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl.sync
// CHECK: scf.if
// CHECK: llvm.store %{{.*}} : i32, !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> vector<4xi32>
// CHECK-COUNT-3: arith.maximumf
// CHECK-NOT: nvvm.barrier0
#row = #tilegpu.layout<register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]],
                       warp = [[0, 128], [0, 256]], repeat = [1, 1]>
#one = #tilegpu.layout<register = [], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]],
                       warp = [[0, 0], [0, 0]], repeat = [1, 1]>
!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 16], stride_align = [64, 4], align = 16, index = 32, read>
!y = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 16, index = 32, unchecked>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = []}>} {
  tile.kernel @row(%y: !y, %x: !x) attributes {tilegpu.num_warps = 4 : i64, tilegpu.shared_bytes = 16 : i64} {
    %c0 = arith.constant 0 : index
    %t = tile.load %x[%c0, %c0] : !x -> tensor<1x512xf32, #row>
    %m = tile.reduce (%t) axis = 1 identity [0xFF800000 : f32] {tilegpu.shared_offset = 0 : i64}
        : (tensor<1x512xf32, #row>) -> (tensor<1x1xf32, #one>) {
    ^bb0(%a: f32, %b: f32):
      %r = arith.maximumf %a, %b : f32
      tile.yield %r : f32
    }
    tile.store %m, %y[%c0, %c0] : tensor<1x1xf32, #one>, !y
    tile.return
  }
}

// -----

// Two bf16 rows travel in one shuffled word.
// CHECK-LABEL: llvm.func @two_rows
// CHECK-COUNT-5: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl.sync
#rows = #tilegpu.layout<register = [[1, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [], repeat = [1, 1]>
#pair = #tilegpu.layout<register = [[1, 0]], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [], repeat = [1, 1]>
!x = !tile.view<?x?xbf16, strides = [?, 1], divisible = [1, 16], stride_align = [64, 2], align = 16, index = 32, read>
!y = !tile.view<?x?xbf16, strides = [?, 1], divisible = [1, 1], stride_align = [2, 2], align = 16, index = 32, unchecked>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = []}>} {
  tile.kernel @two_rows(%y: !y, %x: !x) attributes {tilegpu.num_warps = 1 : i64} {
    %c0 = arith.constant 0 : index
    %t = tile.load %x[%c0, %c0] : !x -> tensor<2x32xbf16, #rows>
    %m = tile.reduce (%t) axis = 1 identity [0.0 : bf16] : (tensor<2x32xbf16, #rows>) -> (tensor<2x1xbf16, #pair>) {
    ^bb0(%a: bf16, %b: bf16):
      %r = arith.addf %a, %b : bf16
      tile.yield %r : bf16
    }
    tile.store %m, %y[%c0, %c0] : tensor<2x1xbf16, #pair>, !y
    tile.return
  }
}
