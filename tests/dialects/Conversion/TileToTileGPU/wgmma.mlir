// RUN: tilec-opt %s --convert-tile-to-tilegpu='target={{"name":"sm_90a","features":["fp8_mma","mma_bf16","mma_f16","tma","wgmma"],"limits":{"shared_per_block_bytes":232448}}}' | FileCheck %s

!a = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [16, 2], align = 16, index = 32, read>
!odd = !tile.view<?x?xbf16, strides = [?, 1], divisible = [1, 1], stride_align = [2, 2], align = 16, index = 32, read>
!h = !tile.view<?x?xf16, strides = [?, 1], divisible = [16, 16], stride_align = [16, 2], align = 16, index = 32, read>
!e = !tile.view<?x?xf8E4M3FN, strides = [?, 1], divisible = [16, 16], stride_align = [16, 1], align = 16, index = 32, read>
!et = !tile.view<?x?xf8E4M3FN, strides = [1, ?], divisible = [16, 16], stride_align = [1, 16], align = 16, index = 32, read>

// Both operands lie where asynchronous products read them, and two warpgroups have 64 rows each.
// CHECK-LABEL: tile.kernel @asynchronous
// CHECK-SAME: tilegpu.num_warps = 8 : i64
// CHECK-COUNT-2: tilegpu.local_alloc %{{.+}} {async_readers}
// CHECK: tilegpu.mma wgmma
tile.kernel @asynchronous(%a: !a, %b: !a, %acc: f32) {
  %c0 = arith.constant 0 : index
  %z = tile.splat %acc : f32 -> tensor<128x64xf32>
  %x = tile.load %a[%c0, %c0] : !a -> tensor<128x64xbf16>
  %y = tile.load %b[%c0, %c0] : !a -> tensor<64x64xbf16>
  %p = tile.mma %x, %y, %z : tensor<128x64xbf16>, tensor<64x64xbf16>, tensor<128x64xf32>
  tile.print "{}" (%p) : tensor<128x64xf32>
  tile.return
}

// Threads would have to load an operand: copies ahead serve mma.sync better.
// CHECK-LABEL: tile.kernel @odd_rows
// CHECK: tilegpu.mma mma_sync
tile.kernel @odd_rows(%a: !odd, %b: !a, %acc: f32) {
  %c0 = arith.constant 0 : index
  %z = tile.splat %acc : f32 -> tensor<128x64xf32>
  %x = tile.load %a[%c0, %c0] : !odd -> tensor<128x64xbf16>
  %y = tile.load %b[%c0, %c0] : !a -> tensor<64x64xbf16>
  %p = tile.mma %x, %y, %z : tensor<128x64xbf16>, tensor<64x64xbf16>, tensor<128x64xf32>
  tile.print "{}" (%p) : tensor<128x64xf32>
  tile.return
}

// They compute one anyway.
// CHECK-LABEL: tile.kernel @computed
// CHECK: arith.negf
// CHECK: tilegpu.mma wgmma
tile.kernel @computed(%a: !odd, %b: !a, %acc: f32) {
  %c0 = arith.constant 0 : index
  %z = tile.splat %acc : f32 -> tensor<128x64xf32>
  %w = tile.load %a[%c0, %c0] : !odd -> tensor<128x64xbf16>
  %x = arith.negf %w : tensor<128x64xbf16>
  %y = tile.load %b[%c0, %c0] : !a -> tensor<64x64xbf16>
  %p = tile.mma %x, %y, %z : tensor<128x64xbf16>, tensor<64x64xbf16>, tensor<128x64xf32>
  tile.print "{}" (%p) : tensor<128x64xf32>
  tile.return
}

// Accumulators of 16 bits stay with mma.sync.
// CHECK-LABEL: tile.kernel @narrow_accumulator
// CHECK: tilegpu.mma mma_sync
tile.kernel @narrow_accumulator(%a: !h, %b: !h, %acc: f16) {
  %c0 = arith.constant 0 : index
  %z = tile.splat %acc : f16 -> tensor<128x64xf16>
  %x = tile.load %a[%c0, %c0] : !h -> tensor<128x64xf16>
  %y = tile.load %b[%c0, %c0] : !h -> tensor<64x64xf16>
  %p = tile.mma %x, %y, %z : tensor<128x64xf16>, tensor<64x64xf16>, tensor<128x64xf16>
  tile.print "{}" (%p) : tensor<128x64xf16>
  tile.return
}

// No warpgroup has 64 rows of either operand.
// CHECK-LABEL: tile.kernel @few_rows
// CHECK: tilegpu.mma mma_sync
tile.kernel @few_rows(%a: !a, %b: !a, %acc: f32) {
  %c0 = arith.constant 0 : index
  %z = tile.splat %acc : f32 -> tensor<32x32xf32>
  %x = tile.load %a[%c0, %c0] : !a -> tensor<32x64xbf16>
  %y = tile.load %b[%c0, %c0] : !a -> tensor<64x32xbf16>
  %p = tile.mma %x, %y, %z : tensor<32x64xbf16>, tensor<64x32xbf16>, tensor<32x32xf32>
  tile.print "{}" (%p) : tensor<32x32xf32>
  tile.return
}

// 8-bit operands have to lie along K in the array.
// CHECK-LABEL: tile.kernel @along_k
// CHECK: tilegpu.mma wgmma
// CHECK-LABEL: tile.kernel @along_n
// CHECK: tilegpu.mma mma_sync
tile.kernel @along_k(%a: !e, %b: !et, %acc: f32) {
  %c0 = arith.constant 0 : index
  %z = tile.splat %acc : f32 -> tensor<64x64xf32>
  %x = tile.load %a[%c0, %c0] : !e -> tensor<64x64xf8E4M3FN>
  %y = tile.load %b[%c0, %c0] : !et -> tensor<64x64xf8E4M3FN>
  %p = tile.mma %x, %y, %z : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x64xf32>
  tile.print "{}" (%p) : tensor<64x64xf32>
  tile.return
}
tile.kernel @along_n(%a: !e, %b: !e, %acc: f32) {
  %c0 = arith.constant 0 : index
  %z = tile.splat %acc : f32 -> tensor<64x64xf32>
  %x = tile.load %a[%c0, %c0] : !e -> tensor<64x64xf8E4M3FN>
  %y = tile.load %b[%c0, %c0] : !e -> tensor<64x64xf8E4M3FN>
  %p = tile.mma %x, %y, %z : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x64xf32>
  tile.print "{}" (%p) : tensor<64x64xf32>
  tile.return
}

// Three warpgroups have 64 rows each of an accumulator that one cannot hold, or where the author says so.
// CHECK-LABEL: tile.kernel @three_warpgroups
// CHECK-SAME: tilegpu.num_warps = 12 : i64
// CHECK: tilegpu.mma wgmma
// CHECK-LABEL: tile.kernel @one_can_hold
// CHECK-SAME: tilegpu.num_warps = 4 : i64
// CHECK: tilegpu.mma wgmma
// CHECK-LABEL: tile.kernel @three_by_hint
// CHECK-SAME: tilegpu.num_warps = 12 : i64
// CHECK: tilegpu.mma wgmma
// CHECK-LABEL: tile.kernel @three_do_not_divide
// CHECK-SAME: tilegpu.num_warps = 12 : i64
// CHECK: tilegpu.mma mma_sync
tile.kernel @three_warpgroups(%a: !a, %b: !a, %acc: f32) {
  %c0 = arith.constant 0 : index
  %z = tile.splat %acc : f32 -> tensor<192x256xf32>
  %x = tile.load %a[%c0, %c0] : !a -> tensor<192x64xbf16>
  %y = tile.load %b[%c0, %c0] : !a -> tensor<64x256xbf16>
  %p = tile.mma %x, %y, %z : tensor<192x64xbf16>, tensor<64x256xbf16>, tensor<192x256xf32>
  tile.print "{}" (%p) : tensor<192x256xf32>
  tile.return
}
tile.kernel @one_can_hold(%a: !a, %b: !a, %acc: f32) {
  %c0 = arith.constant 0 : index
  %z = tile.splat %acc : f32 -> tensor<192x128xf32>
  %x = tile.load %a[%c0, %c0] : !a -> tensor<192x64xbf16>
  %y = tile.load %b[%c0, %c0] : !a -> tensor<64x128xbf16>
  %p = tile.mma %x, %y, %z : tensor<192x64xbf16>, tensor<64x128xbf16>, tensor<192x128xf32>
  tile.print "{}" (%p) : tensor<192x128xf32>
  tile.return
}
tile.kernel @three_by_hint(%a: !a, %b: !a, %acc: f32) attributes {tilegpu.num_warps = 12 : i64} {
  %c0 = arith.constant 0 : index
  %z = tile.splat %acc : f32 -> tensor<192x128xf32>
  %x = tile.load %a[%c0, %c0] : !a -> tensor<192x64xbf16>
  %y = tile.load %b[%c0, %c0] : !a -> tensor<64x128xbf16>
  %p = tile.mma %x, %y, %z : tensor<192x64xbf16>, tensor<64x128xbf16>, tensor<192x128xf32>
  tile.print "{}" (%p) : tensor<192x128xf32>
  tile.return
}
tile.kernel @three_do_not_divide(%a: !a, %b: !a, %acc: f32) attributes {tilegpu.num_warps = 12 : i64} {
  %c0 = arith.constant 0 : index
  %z = tile.splat %acc : f32 -> tensor<128x128xf32>
  %x = tile.load %a[%c0, %c0] : !a -> tensor<128x64xbf16>
  %y = tile.load %b[%c0, %c0] : !a -> tensor<64x128xbf16>
  %p = tile.mma %x, %y, %z : tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>
  tile.print "{}" (%p) : tensor<128x128xf32>
  tile.return
}
