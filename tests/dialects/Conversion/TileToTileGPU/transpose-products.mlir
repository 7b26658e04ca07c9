// RUN: tilec-opt %s --convert-tile-to-tilegpu='target={{"name":"sm_90a","features":["fp8_mma","mma_bf16","mma_f16","mma_tf32","tma","wgmma"],"limits":{"shared_per_block_bytes":232448}}}' | FileCheck %s

!a = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [16, 2], align = 16, index = 32, read>
!f = !tile.view<?x?xf32, strides = [?, 1], divisible = [16, 16], stride_align = [16, 4], align = 16, index = 32, read>
!stack = !tile.view<?x?x?xbf16, strides = [?, ?, 1], divisible = [1, 16, 16], stride_align = [16, 16, 2], align = 16, index = 32, read>

// A warpgroup has 64 columns of the product, and the loop carries it the other way round.
// CHECK-LABEL: tile.kernel @few_rows
// CHECK-SAME: tilegpu.num_warps = 4 : i64
// CHECK: %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : tensor<64x16xf32>
// CHECK: scf.for %[[K:.+]] = {{.+}} iter_args(%[[ACC:.+]] = %[[ZERO]]) -> (tensor<64x16xf32>)
// CHECK-DAG: %[[A:.+]] = tile.permute_view %a [1, 0]
// CHECK-DAG: %[[B:.+]] = tile.permute_view %b [1, 0]
// CHECK-DAG: %[[RIGHT:.+]] = tile.load %[[A]][%[[K]], %[[I:.+]]] : !{{.+}} -> tensor<64x16xbf16>
// CHECK-DAG: %[[LEFT:.+]] = tile.load %[[B]][%[[J:.+]], %[[K]]] : !{{.+}} -> tensor<64x64xbf16>
// CHECK-DAG: %[[LEFT_SHARED:.+]] = tilegpu.local_alloc %[[LEFT]] {async_readers}
// CHECK-DAG: %[[RIGHT_SHARED:.+]] = tilegpu.local_alloc %[[RIGHT]] {async_readers}
// CHECK: %[[NEXT:.+]] = tilegpu.mma wgmma %[[LEFT_SHARED]], %[[RIGHT_SHARED]], %[[ACC]]
// CHECK-NEXT: scf.yield %[[NEXT]]
// CHECK: %[[SUM:.+]] = tile.permute %{{.+}} [1, 0] : tensor<64x16xf32> -> tensor<16x64xf32>
// CHECK: tilegpu.print {{.*}}%[[SUM]]
tile.kernel @few_rows(%a: !a, %b: !a) attributes {arg_names = ["a", "b"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i = tile.program_id 0 : index
  %n = tile.num_tiles %a, 1 by 64 : !a
  %z = arith.constant dense<0.0> : tensor<16x64xf32>
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %z) -> (tensor<16x64xf32>) {
    %x = tile.load %a[%i, %k] : !a -> tensor<16x64xbf16>
    %y = tile.load %b[%k, %c0] : !a -> tensor<64x64xbf16>
    %p = tile.mma %x, %y, %acc : tensor<16x64xbf16>, tensor<64x64xbf16>, tensor<16x64xf32>
    scf.yield %p : tensor<16x64xf32>
  }
  tile.print "{}" (%r) : tensor<16x64xf32>
  tile.return
}

// The same through dimensions of extent 1, and through nested loops.
// CHECK-LABEL: tile.kernel @stacked
// CHECK: scf.for {{.+}} -> (tensor<64x8xf32>)
// CHECK: scf.for {{.+}} -> (tensor<64x8xf32>)
// CHECK: tile.permute_view %b [0, 2, 1]
// CHECK: tile.load %{{.+}} -> tensor<1x64x64xbf16>
// CHECK: tile.reshape %{{.+}} : tensor<1x64x64xbf16> -> tensor<64x64xbf16>
// CHECK: tilegpu.mma wgmma
tile.kernel @stacked(%a: !a, %b: !stack) attributes {arg_names = ["a", "b"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n = tile.num_tiles %a, 1 by 64 : !a
  %z = arith.constant dense<0.0> : tensor<8x64xf32>
  %s = scf.for %j = %c0 to %c4 step %c1 iter_args(%outer = %z) -> (tensor<8x64xf32>) {
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %outer) -> (tensor<8x64xf32>) {
      %x = tile.load %a[%c0, %k] : !a -> tensor<8x64xbf16>
      %w = tile.load %b[%j, %k, %c0] : !stack -> tensor<1x64x64xbf16>
      %y = tile.reshape %w : tensor<1x64x64xbf16> -> tensor<64x64xbf16>
      %p = tile.mma %x, %y, %acc : tensor<8x64xbf16>, tensor<64x64xbf16>, tensor<8x64xf32>
      scf.yield %p : tensor<8x64xf32>
    }
    scf.yield %r : tensor<8x64xf32>
  }
  tile.print "{}" (%s) : tensor<8x64xf32>
  tile.return
}

// 32-bit elements that do not lie along K: the right operand becomes the left one and goes through registers.
// CHECK-LABEL: tile.kernel @along_n
// CHECK: %[[SHARED:.+]] = tilegpu.local_alloc %{{.+}} {async_readers} : tensor<128x32xf32> -> !{{.+}}
// CHECK: %[[REGISTERS:.+]] = tilegpu.local_load %[[SHARED]] : !{{.+}} -> tensor<128x32xf32>
// CHECK: tilegpu.mma wgmma %[[REGISTERS]], %{{.+}}, %{{.+}} {allow_tf32} : tensor<128x32xf32>, !{{.+}}, tensor<128x64xf32>
tile.kernel @along_n(%a: !f, %b: !f) attributes {arg_names = ["a", "b"]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<64x128xf32>
  %x = tile.load %a[%c0, %c0] : !f -> tensor<64x32xf32>
  %y = tile.load %b[%c0, %c0] : !f -> tensor<32x128xf32>
  %p = tile.mma %x, %y, %z {allow_tf32} : tensor<64x32xf32>, tensor<32x128xf32>, tensor<64x128xf32>
  tile.print "{}" (%p) : tensor<64x128xf32>
  tile.return
}

// What fits as it is written stays.
// CHECK-LABEL: tile.kernel @as_written
// CHECK-NOT: tile.permute_view
// CHECK: tilegpu.mma wgmma
tile.kernel @as_written(%a: !a, %b: !a) attributes {arg_names = ["a", "b"]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<64x16xf32>
  %x = tile.load %a[%c0, %c0] : !a -> tensor<64x64xbf16>
  %y = tile.load %b[%c0, %c0] : !a -> tensor<64x16xbf16>
  %p = tile.mma %x, %y, %z : tensor<64x64xbf16>, tensor<64x16xbf16>, tensor<64x16xf32>
  tile.print "{}" (%p) : tensor<64x16xf32>
  tile.return
}
