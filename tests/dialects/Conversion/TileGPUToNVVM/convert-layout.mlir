// RUN: tilec-opt %s --convert-tilegpu-to-nvvm --cse --split-input-file | FileCheck %s

// The same lanes, other registers: nothing moves.
// CHECK-LABEL: llvm.func @registers
// CHECK-NOT: nvvm.shfl.sync
// CHECK-NOT: llvm.store
// CHECK: llvm.return
#from = #tilegpu.layout<register = [[0, 1], [1, 0]], lane = [[2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], warp = [], repeat = [1, 1]>
#to = #tilegpu.layout<register = [[1, 0], [0, 1]], lane = [[2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], warp = [], repeat = [1, 1]>
!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 16, index = 32, read>
!y = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 16, index = 32, unchecked>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = []}>} {
  tile.kernel @registers(%y: !y, %x: !x) attributes {tilegpu.num_warps = 1 : i64} {
    %c0 = arith.constant 0 : index
    %t = tile.load %x[%c0, %c0] : !x -> tensor<64x2xf32, #from>
    %u = tilegpu.convert_layout %t : tensor<64x2xf32, #from> -> tensor<64x2xf32, #to>
    tile.store %u, %y[%c0, %c0] : tensor<64x2xf32, #to>, !y
    tile.return
  }
}

// -----

// Lanes in another order: one shuffle a register.
// CHECK-LABEL: llvm.func @lanes
// CHECK-COUNT-2: nvvm.shfl.sync idx
// CHECK-NOT: nvvm.shfl.sync
// CHECK-NOT: llvm.store
// CHECK: llvm.return
#from = #tilegpu.layout<register = [[0, 1]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [], repeat = [1, 1]>
#to = #tilegpu.layout<register = [[0, 1]], lane = [[2, 0], [1, 0], [4, 0], [8, 0], [16, 0]], warp = [], repeat = [1, 1]>
!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 16, index = 32, read>
!y = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 16, index = 32, unchecked>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = []}>} {
  tile.kernel @lanes(%y: !y, %x: !x) attributes {tilegpu.num_warps = 1 : i64} {
    %c0 = arith.constant 0 : index
    %t = tile.load %x[%c0, %c0] : !x -> tensor<32x2xf32, #from>
    %u = tilegpu.convert_layout %t : tensor<32x2xf32, #from> -> tensor<32x2xf32, #to>
    tile.store %u, %y[%c0, %c0] : tensor<32x2xf32, #to>, !y
    tile.return
  }
}

// -----

// Other warps: through shared memory, in vectors on both sides.
// CHECK-LABEL: llvm.func @warps
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
#from = #tilegpu.layout<register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [1, 0], [2, 0]], warp = [[4, 0]], repeat = [1, 1]>
#to = #tilegpu.layout<register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [4, 0], [1, 0], [2, 0]], warp = [[0, 16]], repeat = [1, 1]>
!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 16, index = 32, read>
!y = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 16, index = 32, unchecked>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = []}>} {
  tile.kernel @warps(%y: !y, %x: !x) attributes {tilegpu.num_warps = 2 : i64, tilegpu.shared_bytes = 2048 : i64} {
    %c0 = arith.constant 0 : index
    %t = tile.load %x[%c0, %c0] : !x -> tensor<8x32xf32, #from>
    %u = tilegpu.convert_layout %t {tilegpu.shared_offset = 0 : i64} : tensor<8x32xf32, #from> -> tensor<8x32xf32, #to>
    tile.store %u, %y[%c0, %c0] : tensor<8x32xf32, #to>, !y
    tile.return
  }
}
