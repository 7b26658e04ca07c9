// RUN: tilec-opt %s --tilec-tilegpu | FileCheck %s

// The whole way of a product with its epilogue: what meets in shared memory is ordered, the accumulator is
// narrowed before it changes its layout, and its scratch has the operands' bytes.

!a = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [16, 2], align = 16, index = 32, read>
!c = !tile.partition<128x128 of !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [16, 2], align = 16, index = 32, exclusive>>

module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = ["mma_bf16"], limits = {shared_per_block_bytes = 232448}}>} {
  // CHECK-LABEL: tile.kernel @matmul
  // CHECK-SAME: tilegpu.num_warps = 8 : i64, tilegpu.shared_bytes = 34816 : i64
  // CHECK: scf.for
  // CHECK: tile.load
  // CHECK-NEXT: tile.load
  // CHECK-NEXT: tilegpu.barrier
  // CHECK-NEXT: tilegpu.local_alloc {{.*}} {tilegpu.shared_offset = 0 : i64}
  // CHECK-NEXT: tilegpu.local_alloc {{.*}} {tilegpu.shared_offset = 16384 : i64}
  // CHECK-NEXT: tilegpu.barrier
  // CHECK-NEXT: tilegpu.mma mma_sync
  // CHECK: arith.truncf
  // CHECK-NEXT: tilegpu.barrier
  // CHECK-NEXT: tilegpu.convert_layout {{.*}} {tilegpu.shared_offset = 0 : i64} : tensor<128x128xbf16,
  // CHECK-NEXT: tile.store
  tile.kernel @matmul(%c: !c, %a: !a, %b: !a) {
    %i:2 = tile.index %c : !c -> index, index
    %n = tile.num_tiles %a, 1 by 64 : !a
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant dense<0.0> : tensor<128x128xf32>
    %acc = scf.for %k = %c0 to %n step %c1 iter_args(%s = %z) -> (tensor<128x128xf32>) {
      %at = tile.load %a[%i#0, %k] : !a -> tensor<128x64xbf16>
      %bt = tile.load %b[%k, %i#1] : !a -> tensor<64x128xbf16>
      %p = tile.mma %at, %bt, %s : tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>
      scf.yield %p : tensor<128x128xf32>
    }
    %t = arith.truncf %acc : tensor<128x128xf32> to tensor<128x128xbf16>
    tile.store %t, %c : tensor<128x128xbf16>, !c
    tile.return
  }
}
