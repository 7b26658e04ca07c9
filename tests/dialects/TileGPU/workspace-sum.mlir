// RUN: tilec-opt %s | tilec-opt --tilegpu-assign-layouts | FileCheck %s

// Sums have their tiles' layouts, whatever those are.
// CHECK: %[[SUMS:.+]]:2, %[[LAST:.+]] = tilegpu.workspace_sum %{{.+}}, %{{.+}} parts 3
// CHECK-SAME: : tensor<16x8xf32, #[[L:layout.*]]>, tensor<32x4xi32, #[[M:layout.*]]> -> tensor<16x8xf32, #[[L]]>, tensor<32x4xi32, #[[M]]>
// CHECK: scf.if %[[LAST]] {
// CHECK: tile.store %[[SUMS]]#0
!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [16, 16], stride_align = [16, 4], align = 16, index = 32, read>
!y = !tile.view<?x?xf32, strides = [?, 1], divisible = [16, 16], stride_align = [16, 4], align = 16, index = 32, exclusive>
!i = !tile.view<?x?xi32, strides = [?, 1], divisible = [16, 16], stride_align = [16, 4], align = 16, index = 32, read>
tile.kernel @two_tiles(%c: !tile.partition<16x8 of !y>, %a: !x, %b: !i) attributes {arg_names = ["c", "a", "b"], tilegpu.num_warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %f = tile.load %a[%c0, %c0] : !x -> tensor<16x8xf32>
  %n = tile.load %b[%c0, %c0] : !i -> tensor<32x4xi32>
  %sums:2, %last = tilegpu.workspace_sum %f, %n parts 3 : tensor<16x8xf32>, tensor<32x4xi32> -> tensor<16x8xf32>, tensor<32x4xi32>
  scf.if %last {
    tile.store %sums#0, %c : tensor<16x8xf32>, !tile.partition<16x8 of !y>
  }
  tile.return
}
