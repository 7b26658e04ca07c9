// RUN: tilec-opt %s --convert-tilegpu-to-nvvm --cse --split-input-file | FileCheck %s

// One warp, 16 x 16, two steps of 16 along K: a step takes one ldmatrix an operand, the right one transposed since
// its rows run along N, and two products.
// CHECK-LABEL: llvm.func @sync
// CHECK: nvvm.ldmatrix %{{.*}} {{{.*}}layout = #nvvm.mma_layout<row>, num = 4
// CHECK: nvvm.ldmatrix %{{.*}} {{{.*}}layout = #nvvm.mma_layout<col>, num = 4
// CHECK-COUNT-2: nvvm.mma.sync {{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 16>
// CHECK: nvvm.ldmatrix %{{.*}} {{{.*}}layout = #nvvm.mma_layout<row>, num = 4
// CHECK: nvvm.ldmatrix %{{.*}} {{{.*}}layout = #nvvm.mma_layout<col>, num = 4
// CHECK-COUNT-2: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
#acc = #tilegpu.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]],
                       warp = [], repeat = [1, 1]>
#in = #tilegpu.layout<register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [1, 0], [2, 0], [4, 0]],
                      warp = [], repeat = [2, 1]>
#in2 = #tilegpu.layout<register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]],
                       warp = [], repeat = [2, 1]>
#rows = #tilegpu.shared<order = [1, 0], swizzle = 2>
#columns = #tilegpu.shared<order = [1, 0], swizzle = 1>
!y = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 16], stride_align = [16, 4], align = 16, index = 32, unchecked>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = []}>} {
  tile.kernel @sync(%y: !y) attributes {tilegpu.num_warps = 1 : i64, tilegpu.shared_bytes = 2048 : i64} {
    %c0 = arith.constant 0 : index
    %a = arith.constant dense<1.0> : tensor<16x32xbf16, #in>
    %b = arith.constant dense<1.0> : tensor<32x16xbf16, #in2>
    %c = arith.constant dense<0.0> : tensor<16x16xf32, #acc>
    %s = tilegpu.local_alloc %a {tilegpu.shared_offset = 0 : i64} : tensor<16x32xbf16, #in> -> !tilegpu.smem<16x32xbf16, #rows>
    %t = tilegpu.local_alloc %b {tilegpu.shared_offset = 1024 : i64} : tensor<32x16xbf16, #in2> -> !tilegpu.smem<32x16xbf16, #columns>
    tilegpu.barrier
    %d = tilegpu.mma mma_sync %s, %t, %c : !tilegpu.smem<16x32xbf16, #rows>, !tilegpu.smem<32x16xbf16, #columns>, tensor<16x16xf32, #acc>
    tile.store %d, %y[%c0, %c0] : tensor<16x16xf32, #acc>, !y
    tile.return
  }
}
