// RUN: tilec-opt %s --convert-tile-to-tilegpu='target={{"name":"sm_90a"}}' | FileCheck %s

!y = !tile.partition<4x8 of !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, exclusive>>

// An assertion on a tile is one on a scalar: whether all elements hold, axis by axis.
// CHECK-LABEL: tile.kernel @assertion
// CHECK: %[[ROWS:.+]] = tile.reduce(%{{.*}}) axis = 2 identity [true] : (tensor<4x1x8xi1>) -> (tensor<4x1x1xi1>)
// CHECK: arith.andi
// CHECK: %[[ALL:.+]] = tile.reduce(%[[ROWS]]) axis = 0 identity [true] : (tensor<4x1x1xi1>) -> (tensor<1x1x1xi1>)
// CHECK: %[[HOLDS:.+]] = tile.extract %[[ALL]]
// CHECK: tile.assert %[[HOLDS]], "holds" : i1
// CHECK: %[[ONE:.+]] = tile.extract %{{.*}} : tensor<1x1xi1> -> i1
// CHECK: tile.assert %[[ONE]], "one" : i1
tile.kernel @assertion(%c: i1) {
  %t = tile.splat %c : i1 -> tensor<4x1x8xi1>
  tile.assert %t, "holds" : tensor<4x1x8xi1>
  %o = tile.splat %c : i1 -> tensor<1x1xi1>
  tile.assert %o, "one" : tensor<1x1xi1>
  tile.return
}

// A print knows its program; a tile of one element is a scalar.
// CHECK-LABEL: tile.kernel @print
// CHECK-SAME: (%[[Y:.+]]: !part,
// CHECK: %[[I:.+]]:2 = tile.index %[[Y]]
// CHECK: %[[E:.+]] = tile.extract
// CHECK: tilegpu.print "{} {}" program(%[[I]]#0, %[[I]]#1) values(%{{.*}}, %[[E]] : tensor<4x8xi32>, i32) unsigned [false, true]
tile.kernel @print(%y: !y, %s: i32) {
  %t = tile.splat %s : i32 -> tensor<4x8xi32>
  %o = tile.splat %s : i32 -> tensor<1x1xi32>
  tile.print "{} {}"(%t, %o) : tensor<4x8xi32>, tensor<1x1xi32> {is_unsigned = array<i1: false, true>}
  tile.return
}

// CHECK-LABEL: tile.kernel @explicit_grid
// CHECK: %[[X:.+]] = tile.program_id 0
// CHECK: %[[Y:.+]] = tile.program_id 1
// CHECK: %[[Z:.+]] = tile.program_id 2
// CHECK: tilegpu.print "nothing" program(%[[X]], %[[Y]], %[[Z]]) unsigned []
tile.kernel @explicit_grid() {
  tile.print "nothing"
  tile.return
}
