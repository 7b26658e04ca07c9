// RUN: tilec-opt %s --canonicalize --split-input-file | FileCheck %s

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 16, index = 32, read>
!xt = !tile.view<?x?xf32, strides = [1, ?], divisible = [1, 1], stride_align = [4, 4], align = 16, index = 32, read>
!xw = !tile.view<?x?xf32, strides = [?, ?], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 64, read>
!xv = !tile.view<?x?xf32, strides = [?, ?], divisible = [1, 1], stride_align = [4, 4], align = 8, index = 64, read>
!f = !tile.view<100x?xf32, strides = [?, 1], divisible = [4, 1], stride_align = [4, 4], align = 4, index = 32, read>
!y = !tile.partition<1x1 of !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, exclusive>>
!e = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, exclusive>
!u = !tile.view<?xf32, strides = [1], divisible = [1], stride_align = [4], align = 16, index = 32, unchecked>
!uw = !tile.view<?xf32, strides = [?], divisible = [1], stride_align = [4], align = 4, index = 32, unchecked>

// CHECK-LABEL: @dim_of_static_extent
tile.kernel @dim_of_static_extent(%x: !f, %u: !u) {
  // CHECK-DAG: %[[D:.*]] = arith.constant 100 : index
  // CHECK-DAG: %[[N:.*]] = arith.constant 4 : index
  // CHECK: tile.print "{} {}"(%[[D]], %[[N]])
  %d = tile.dim %x, 0 : !f
  %n = tile.num_tiles %x, 0 by 32 : !f
  tile.print "{} {}"(%d, %n) : index, index
  tile.return
}

// CHECK-LABEL: @dim_of_derived_view_asks_the_origin
// CHECK-SAME: (%[[Y:.*]]: !part, %[[X:.*]]: !view
tile.kernel @dim_of_derived_view_asks_the_origin(%y: !y, %x: !x) {
  // CHECK-NOT: permute_view
  // CHECK: %[[D:.*]] = tile.dim %[[X]], 0
  // CHECK: %[[N:.*]] = tile.num_tiles %[[X]], 1 by 8
  // CHECK: %[[E:.*]] = tile.dim %[[Y]], 1
  // CHECK: tile.print "{} {} {}"(%[[D]], %[[N]], %[[E]])
  %t = tile.permute_view %x [1, 0] : !x -> !xt
  %w = tile.view_cast %t : !xt -> !xw
  %v = tile.view_of %y : !y -> !e
  %d = tile.dim %w, 1 : !xw
  %n = tile.num_tiles %w, 0 by 8 : !xw
  %e = tile.dim %v, 1 : !e
  tile.print "{} {} {}"(%d, %n, %e) : index, index, index
  tile.return
}

// CHECK-LABEL: @view_chains_collapse
// CHECK-SAME: (%[[X:.*]]: !view
tile.kernel @view_chains_collapse(%x: !x, %i: i32) {
  // CHECK-NOT: permute_view
  // CHECK-NOT: view_cast
  // CHECK: tile.load %[[X]]
  %t = tile.permute_view %x [1, 0] : !x -> !xt
  %s = tile.permute_view %t [1, 0] : !xt -> !x
  %v = tile.view_cast %s : !x -> !xv
  %w = tile.view_cast %v : !xv -> !xw
  %c = arith.constant 0 : index
  %l = tile.load %w[%c, %c] : !xw -> tensor<4x4xf32>
  tile.print "{}"(%l) : tensor<4x4xf32>
  tile.return
}

// CHECK-LABEL: @store_uses_the_stronger_view
// CHECK-SAME: (%[[U:.*]]: !view
tile.kernel @store_uses_the_stronger_view(%u: !u, %s: f32) {
  // CHECK: tile.store %{{.*}}, %[[U]][
  %w = tile.view_cast %u : !u -> !uw
  %t = tile.splat %s : f32 -> tensor<4xf32>
  %c = arith.constant 0 : index
  tile.store %t, %w[%c] : tensor<4xf32>, !uw
  tile.return
}

// Zero is the default; -0.0 is another value and stays.
// CHECK-LABEL: @default_pad_is_dropped
tile.kernel @default_pad_is_dropped(%x: !x) {
  // CHECK: %[[MINUS:.*]] = arith.constant -0.000000e+00 : f32
  // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] : !view
  // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] pad %[[MINUS]] : f32 : !view
  // CHECK: tile.gather %{{.*}}[%{{.*}}, %{{.*}}] : !view
  %c = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %minus = arith.constant -0.0 : f32
  %yes = arith.constant dense<true> : tensor<4xi1>
  %i = arith.constant dense<1> : tensor<4xi32>
  %0 = tile.load %x[%c, %c] pad %zero : f32 : !x -> tensor<4x4xf32>
  %1 = tile.load %x[%c, %c] pad %minus : f32 : !x -> tensor<4x4xf32>
  %2 = tile.gather %x[%i, %i] mask %yes : tensor<4xi1> fill %zero : f32 : !x, tensor<4xi32>, tensor<4xi32> -> tensor<4xf32>
  tile.print "{} {} {}"(%0, %1, %2) : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>
  tile.return
}

// An index outside is defined: it reads padding.
// CHECK-LABEL: @load_out_of_range_stays
tile.kernel @load_out_of_range_stays(%x: !f) {
  // CHECK: %[[FAR:.*]] = arith.constant 1000 : index
  // CHECK: tile.load %{{.*}}[%[[FAR]], %[[FAR]]]
  %far = arith.constant 1000 : index
  %l = tile.load %x[%far, %far] : !f -> tensor<4x4xf32>
  tile.print "{}"(%l) : tensor<4x4xf32>
  tile.return
}

// CHECK-LABEL: @splat_of_constant
tile.kernel @splat_of_constant() {
  // CHECK: %[[C:.*]] = arith.constant dense<2.000000e+00> : tensor<5x3xf32>
  // CHECK: tile.print "{}"(%[[C]])
  %s = arith.constant 2.0 : f32
  %0 = tile.splat %s : f32 -> tensor<15xf32>
  %1 = tile.reshape %0 : tensor<15xf32> -> tensor<1x3x5xf32>
  %2 = tile.permute %1 [0, 2, 1] : tensor<1x3x5xf32> -> tensor<1x5x3xf32>
  %3 = tile.reshape %2 : tensor<1x5x3xf32> -> tensor<5x3xf32>
  tile.print "{}"(%3) : tensor<5x3xf32>
  tile.return
}

// CHECK-LABEL: @shape_of_splat_is_splat
// CHECK-SAME: (%[[S:.*]]: f32)
tile.kernel @shape_of_splat_is_splat(%s: f32) {
  // CHECK-DAG: %[[B:.*]] = tile.splat %[[S]] : f32 -> tensor<4x8xf32>
  // CHECK-DAG: %[[P:.*]] = tile.splat %[[S]] : f32 -> tensor<8x4xf32>
  // CHECK: tile.print "{} {}"(%[[B]], %[[P]])
  %0 = tile.splat %s : f32 -> tensor<f32>
  %1 = tile.reshape %0 : tensor<f32> -> tensor<1x1xf32>
  %2 = tile.broadcast %1 : tensor<1x1xf32> -> tensor<4x8xf32>
  %3 = tile.permute %2 [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  tile.print "{} {}"(%2, %3) : tensor<4x8xf32>, tensor<8x4xf32>
  tile.return
}

// CHECK-LABEL: @chains_of_one_shape_op
tile.kernel @chains_of_one_shape_op(%x: !x) {
  %c = arith.constant 0 : index
  // CHECK: %[[T:.*]] = tile.load
  %t = tile.load %x[%c, %c] : !x -> tensor<1x6xf32>
  // CHECK: %[[R:.*]] = tile.reshape %[[T]] : tensor<1x6xf32> -> tensor<3x2xf32>
  %r0 = tile.reshape %t : tensor<1x6xf32> -> tensor<6xf32>
  %r1 = tile.reshape %r0 : tensor<6xf32> -> tensor<3x2xf32>
  // CHECK: %[[B:.*]] = tile.broadcast %[[T]] : tensor<1x6xf32> -> tensor<4x6xf32>
  %b = tile.broadcast %t : tensor<1x6xf32> -> tensor<4x6xf32>
  %q0 = tile.reshape %t : tensor<1x6xf32> -> tensor<1x2x3xf32>
  // CHECK: %[[P:.*]] = tile.permute %{{.*}} [1, 2, 0] : tensor<1x2x3xf32> -> tensor<2x3x1xf32>
  %q1 = tile.permute %q0 [2, 0, 1] : tensor<1x2x3xf32> -> tensor<3x1x2xf32>
  %q2 = tile.permute %q1 [2, 0, 1] : tensor<3x1x2xf32> -> tensor<2x3x1xf32>
  // CHECK: tile.print "{} {} {} {}"(%[[R]], %[[B]], %[[P]], %[[T]])
  %back0 = tile.reshape %t : tensor<1x6xf32> -> tensor<6x1xf32>
  %back1 = tile.reshape %back0 : tensor<6x1xf32> -> tensor<1x6xf32>
  tile.print "{} {} {} {}"(%r1, %b, %q2, %back1) : tensor<3x2xf32>, tensor<4x6xf32>, tensor<2x3x1xf32>, tensor<1x6xf32>
  tile.return
}

// CHECK-LABEL: @extract_sees_through_shapes
tile.kernel @extract_sees_through_shapes(%x: !x, %s: f32) {
  // CHECK: %[[T:.*]] = tile.load
  // CHECK: %[[E:.*]] = tile.extract %[[T]] : tensor<1x1xf32> -> f32
  // CHECK: tile.print "{} {}"(%[[E]], %{{.*}})
  %c = arith.constant 0 : index
  %t = tile.load %x[%c, %c] : !x -> tensor<1x1xf32>
  %r = tile.reshape %t : tensor<1x1xf32> -> tensor<1xf32>
  %e = tile.extract %r : tensor<1xf32> -> f32
  %p = tile.splat %s : f32 -> tensor<1xf32>
  %q = tile.extract %p : tensor<1xf32> -> f32
  tile.print "{} {}"(%e, %q) : f32, f32
  tile.return
}

// CHECK-LABEL: @iota_of_one
tile.kernel @iota_of_one() {
  // CHECK: %[[Z:.*]] = arith.constant dense<0> : tensor<1x4xi32>
  // CHECK: tile.print "{}"(%[[Z]])
  %i = tile.iota axis = 0 : tensor<1x4xi32>
  tile.print "{}"(%i) : tensor<1x4xi32>
  tile.return
}

// CHECK-LABEL: @reduce_of_extent_one
tile.kernel @reduce_of_extent_one(%x: !x) {
  // CHECK: %[[T:.*]] = tile.load
  // CHECK-NOT: tile.reduce
  // CHECK: tile.print "{}"(%[[T]])
  %c = arith.constant 0 : index
  %t = tile.load %x[%c, %c] : !x -> tensor<4x1xf32>
  %m = tile.reduce (%t) axis = 1 identity [0.0 : f32] : (tensor<4x1xf32>) -> (tensor<4x1xf32>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %a, %b : f32
    tile.yield %r : f32
  }
  tile.print "{}"(%m) : tensor<4x1xf32>
  tile.return
}

// CHECK-LABEL: @what_holds_needs_no_check
// CHECK-SAME: (%[[C:.*]]: i1)
tile.kernel @what_holds_needs_no_check(%c: i1) {
  // CHECK-NOT: "holds"
  // CHECK: tile.assert %{{.*}}, "fails"
  // CHECK: tile.assume %[[C]]
  // CHECK-NOT: tile.assume
  %yes = arith.constant true
  %all = arith.constant dense<true> : tensor<4xi1>
  %some = arith.constant dense<[true, false]> : tensor<2xi1>
  tile.assert %yes, "holds" : i1
  tile.assert %all, "holds" : tensor<4xi1>
  tile.assert %some, "fails" : tensor<2xi1>
  tile.assume %yes
  tile.assume %c
  tile.return
}
