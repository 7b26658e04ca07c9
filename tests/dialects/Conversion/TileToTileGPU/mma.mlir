// RUN: tilec-opt %s --convert-tile-to-tilegpu='target={{"name":"sm_90a","features":["mma_bf16","mma_f16"],"limits":{"shared_per_block_bytes":232448}}}' | FileCheck %s
// RUN: tilec-opt %s --convert-tile-to-tilegpu='target={{"name":"sm_50"}}' | FileCheck %s --check-prefix=SCALAR

!a = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [16, 2], align = 16, index = 32, read>
!t = !tile.view<?x?xbf16, strides = [1, ?], divisible = [16, 16], stride_align = [2, 16], align = 16, index = 32, read>

// CHECK-DAG: #tilegpu.target<"sm_90a", {features = ["mma_bf16", "mma_f16"], limits = {shared_per_block_bytes = 232448 : i64}, name = "sm_90a"}>
// CHECK-DAG: #tilegpu.shared<order = [1, 0], swizzle = 3>
// CHECK-DAG: #tilegpu.shared<order = [0, 1], swizzle = 3>
// CHECK-DAG: #tilegpu.shared<order = [1, 0], swizzle = 0>

// Operands go to shared memory just before the product, contiguous as they are in global memory, rows of up to
// 128 bytes swizzled.
// CHECK-LABEL: tile.kernel @product
// CHECK-SAME: tilegpu.num_warps = 8 : i64
// CHECK: tile.load
// CHECK-NEXT: tile.load
// CHECK-NEXT: %[[A:.+]] = tilegpu.local_alloc
// CHECK-NEXT: %[[B:.+]] = tilegpu.local_alloc
// CHECK-NEXT: tilegpu.mma mma_sync %[[A]], %[[B]],
// SCALAR-LABEL: tile.kernel @product
// SCALAR: tilegpu.mma fma
tile.kernel @product(%a: !a, %b: !t, %acc: f32) {
  %c0 = arith.constant 0 : index
  %z = tile.splat %acc : f32 -> tensor<128x128xf32>
  %x = tile.load %a[%c0, %c0] : !a -> tensor<128x64xbf16>
  %y = tile.load %b[%c0, %c0] : !t -> tensor<64x128xbf16>
  %p = tile.mma %x, %y, %z : tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>
  tile.print "{}" (%p) : tensor<128x128xf32>
  tile.return
}

// K is no multiple of the instruction's: scalar multiply-adds, no tail is dropped.
// CHECK-LABEL: tile.kernel @odd_k
// CHECK: local_alloc
// CHECK: tilegpu.mma fma
tile.kernel @odd_k(%a: !a, %b: !a, %acc: f32) {
  %c0 = arith.constant 0 : index
  %z = tile.splat %acc : f32 -> tensor<64x64xf32>
  %x = tile.load %a[%c0, %c0] : !a -> tensor<64x24xbf16>
  %y = tile.load %b[%c0, %c0] : !a -> tensor<24x64xbf16>
  %p = tile.mma %x, %y, %z : tensor<64x24xbf16>, tensor<24x64xbf16>, tensor<64x64xf32>
  tile.print "{}" (%p) : tensor<64x64xf32>
  tile.return
}

// The second product takes its left operand from the first one's registers, and a tile from outside the loop is
// copied outside it.
// CHECK-LABEL: tile.kernel @chained
// CHECK: tile.load
// CHECK-NEXT: local_alloc
// CHECK: scf.for
// CHECK: %[[S:.+]] = tilegpu.mma mma_sync
// CHECK: %[[P:.+]] = arith.truncf %[[S]]
// CHECK: tilegpu.mma mma_sync %[[P]], %{{.+}}, %{{.+}} : tensor<64x32xbf16>
tile.kernel @chained(%q: !a, %k: !t, %v: !a, %acc: f32, %n: i32) {
  %c0 = arith.constant 0 : index
  %i0 = arith.constant 0 : i32
  %i1 = arith.constant 1 : i32
  %z = tile.splat %acc : f32 -> tensor<64x64xf32>
  %zs = tile.splat %acc : f32 -> tensor<64x32xf32>
  %x = tile.load %q[%c0, %c0] : !a -> tensor<64x64xbf16>
  %o = scf.for %i = %i0 to %n step %i1 iter_args(%s0 = %z) -> (tensor<64x64xf32>) : i32 {
    %y = tile.load %k[%c0, %c0] : !t -> tensor<64x32xbf16>
    %s = tile.mma %x, %y, %zs : tensor<64x64xbf16>, tensor<64x32xbf16>, tensor<64x32xf32>
    %p = arith.truncf %s : tensor<64x32xf32> to tensor<64x32xbf16>
    %w = tile.load %v[%c0, %c0] : !a -> tensor<32x64xbf16>
    %r = tile.mma %p, %w, %s0 : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32>
    scf.yield %r : tensor<64x64xf32>
  }
  tile.print "{}" (%o) : tensor<64x64xf32>
  tile.return
}

