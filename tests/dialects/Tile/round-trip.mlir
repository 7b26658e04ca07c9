// Every op of the dialect survives print, parse and bytecode-free reprinting.
// RUN: tilec-opt %s | tilec-opt | FileCheck %s

// The long types are named once, at the top.
// CHECK: !view{{[0-9]*}} = !tile.view<?x?xf16, strides = [?, 1], divisible = [1, 16], stride_align = [16, 2], align = 16, index = 32, read>
// CHECK: !part = !tile.partition<8x16 of !view{{[0-9]*}}>
!x = !tile.view<?x?xf16, strides = [?, 1], divisible = [1, 16], stride_align = [16, 2], align = 16, index = 32, read>
!y = !tile.partition<8x16 of !tile.view<?x?xf16, strides = [?, 1], divisible = [1, 16], stride_align = [16, 2], align = 16, index = 64, exclusive>>
!e = !tile.view<?x?xf16, strides = [?, 1], divisible = [1, 16], stride_align = [16, 2], align = 16, index = 64, exclusive>
!u = !tile.view<4x?xf16, strides = [?, ?], divisible = [4, 1], stride_align = [2, 2], align = 2, index = 64, unchecked>
!w = !tile.view<?x?xf16, strides = [?, ?], divisible = [1, 2], stride_align = [2, 2], align = 2, index = 64, read>
!xt = !tile.view<?x?xf16, strides = [1, ?], divisible = [16, 1], stride_align = [2, 16], align = 16, index = 32, read>

// Arguments carry the author's names.
// CHECK-LABEL: tile.kernel @views(%y: !part, %x: !view{{[0-9]*}}, %u: !view{{[0-9]*}}) attributes {arg_names = ["y", "x", "u"]} {
tile.kernel @views(%a: !y, %b: !x, %c: !u) attributes {arg_names = ["y", "x", "u"]} {
  // CHECK: %[[I:.*]]:2 = tile.index %y : !part -> index, index
  %i:2 = tile.index %a : !y -> index, index
  // CHECK: tile.view_of %y : !part -> !view{{[0-9]*}}
  %v = tile.view_of %a : !y -> !e
  // CHECK: tile.permute_view %x [1, 0] : !view{{[0-9]*}} -> !view{{[0-9]*}}
  %t = tile.permute_view %b [1, 0] : !x -> !xt
  // CHECK: tile.view_cast %x : !view{{[0-9]*}} -> !view{{[0-9]*}}
  %k = tile.view_cast %b : !x -> !w
  // CHECK: tile.dim %x, 1 : !view{{[0-9]*}}
  %d = tile.dim %b, 1 : !x
  // CHECK: tile.dim %y, 0 : !part
  %e = tile.dim %a, 0 : !y
  // CHECK: tile.num_tiles %x, 1 by 64 : !view{{[0-9]*}}
  %n = tile.num_tiles %b, 1 by 64 : !x
  // CHECK: %[[T:.*]] = tile.load %x[%[[I]]#0, %[[I]]#1] : !view{{[0-9]*}} -> tensor<8x16xf16>
  %l = tile.load %b[%i#0, %i#1] : !x -> tensor<8x16xf16>
  // CHECK: tile.store %[[T]], %y : tensor<8x16xf16>, !part
  tile.store %l, %a : tensor<8x16xf16>, !y
  // CHECK: tile.store %[[T]], %u[%[[I]]#0, %[[I]]#1] : tensor<8x16xf16>, !view{{[0-9]*}}
  tile.store %l, %c[%i#0, %i#1] : tensor<8x16xf16>, !u
  // CHECK: tile.store %[[T]], %u[%[[I]]#0, %[[I]]#1] step [8, 4] : tensor<8x16xf16>, !view{{[0-9]*}}
  tile.store %l, %c[%i#0, %i#1] step [8, 4] : tensor<8x16xf16>, !u
  // CHECK: tile.return
  tile.return
}

// CHECK-LABEL: tile.kernel @accesses
tile.kernel @accesses(%x: !x, %pad: f16) {
  // CHECK: tile.program_id 0 : index
  %i = tile.program_id 0 : index
  // CHECK: tile.num_programs 2 : index
  %n = tile.num_programs 2 : index
  // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] pad %{{.*}} : f16 step [1, 16] : !view{{[0-9]*}} -> tensor<3x16xf16>
  %w = tile.load %x[%i, %n] pad %pad : f16 step [1, 16] : !x -> tensor<3x16xf16>
  // CHECK: %[[R:.*]] = tile.iota axis = 0 : tensor<8xi32>
  %r = tile.iota axis = 0 : tensor<8xi32>
  %c = arith.constant dense<2> : tensor<8xi64>
  // CHECK: tile.gather %{{.*}}[%[[R]], %{{.*}}] : !view{{[0-9]*}}, tensor<8xi32>, tensor<8xi64> -> tensor<8xf16>
  %g = tile.gather %x[%r, %c] : !x, tensor<8xi32>, tensor<8xi64> -> tensor<8xf16>
  %m = arith.cmpi sgt, %r, %r : tensor<8xi32>
  // CHECK: tile.gather %{{.*}}[%[[R]], %{{.*}}] mask %{{.*}} : tensor<8xi1> fill %{{.*}} : f16 : !view{{[0-9]*}}, tensor<8xi32>, tensor<8xi64> -> tensor<8xf16>
  %h = tile.gather %x[%r, %c] mask %m : tensor<8xi1> fill %pad : f16 : !x, tensor<8xi32>, tensor<8xi64> -> tensor<8xf16>
  tile.return
}

// CHECK-LABEL: tile.kernel @shapes
tile.kernel @shapes(%s: f32) {
  // CHECK: tile.splat %{{.*}} : f32 -> tensor<f32>
  %0 = tile.splat %s : f32 -> tensor<f32>
  // CHECK: tile.reshape %{{.*}} : tensor<f32> -> tensor<1x1xf32>
  %1 = tile.reshape %0 : tensor<f32> -> tensor<1x1xf32>
  // CHECK: tile.broadcast %{{.*}} : tensor<1x1xf32> -> tensor<3x5xf32>
  %2 = tile.broadcast %1 : tensor<1x1xf32> -> tensor<3x5xf32>
  // CHECK: tile.permute %{{.*}} [1, 0] : tensor<3x5xf32> -> tensor<5x3xf32>
  %3 = tile.permute %2 [1, 0] : tensor<3x5xf32> -> tensor<5x3xf32>
  // CHECK: tile.extract %{{.*}} : tensor<1x1xf32> -> f32
  %4 = tile.extract %1 : tensor<1x1xf32> -> f32
  // CHECK: tile.mma %{{.*}}, %{{.*}}, %{{.*}} {allow_tf32} : tensor<3x5xf32>, tensor<5x3xf32>, tensor<3x3xf32>
  %z = arith.constant dense<0.0> : tensor<3x3xf32>
  %5 = tile.mma %2, %3, %z {allow_tf32} : tensor<3x5xf32>, tensor<5x3xf32>, tensor<3x3xf32>
  // CHECK: tile.mma {{.*}} {lhs_unsigned} : tensor<3x5xi8>, tensor<5x3xi8>, tensor<3x3xi32>
  %q = arith.constant dense<1> : tensor<3x5xi8>
  %k = arith.constant dense<1> : tensor<5x3xi8>
  %zi = arith.constant dense<0> : tensor<3x3xi32>
  %6 = tile.mma %q, %k, %zi {lhs_unsigned} : tensor<3x5xi8>, tensor<5x3xi8>, tensor<3x3xi32>
  tile.return
}

// Several tiles reduced together: the largest element and where it is.
// CHECK-LABEL: tile.kernel @argmax
tile.kernel @argmax(%s: f32) {
  %x = tile.splat %s : f32 -> tensor<4x8xf32>
  %i = tile.iota axis = 1 : tensor<4x8xi32>
  // CHECK: tile.reduce(%{{.*}}, %{{.*}}) axis = 1 identity [0xFF800000 : f32, 0 : i32]
  // CHECK-SAME: : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x1xf32>, tensor<4x1xi32>) {
  %m:2 = tile.reduce (%x, %i) axis = 1 identity [0xFF800000 : f32, 0 : i32]
      : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x1xf32>, tensor<4x1xi32>) {
  // CHECK: ^bb0(%{{.*}}: f32, %{{.*}}: i32, %{{.*}}: f32, %{{.*}}: i32):
  ^bb0(%a: f32, %ai: i32, %b: f32, %bi: i32):
    %c = arith.cmpf oge, %a, %b : f32
    %v = arith.select %c, %a, %b : f32
    %w = arith.select %c, %ai, %bi : i32
    // CHECK: tile.yield %{{.*}}, %{{.*}} : f32, i32
    tile.yield %v, %w : f32, i32
  }
  tile.return
}

// CHECK-LABEL: tile.kernel @facts
tile.kernel @facts(%c: i1, %s: f32) {
  %t = tile.splat %c : i1 -> tensor<4xi1>
  // CHECK: tile.print "nothing"
  tile.print "nothing"
  // CHECK: tile.print "s = {}, c = {}"(%{{.*}}, %{{.*}}) : f32, tensor<4xi1>
  tile.print "s = {}, c = {}"(%s, %t) : f32, tensor<4xi1>
  // CHECK: tile.print "{}"(%{{.*}}) : f32 {is_unsigned = array<i1: false>}
  tile.print "{}"(%s) : f32 {is_unsigned = array<i1: false>}
  // CHECK: tile.breakpoint ["s", "pair.1"](%{{.*}}, %{{.*}}) : f32, tensor<4xi1> {constants = {tk = "64"}}
  tile.breakpoint ["s", "pair.1"](%s, %t) : f32, tensor<4xi1> {constants = {tk = "64"}}
  // CHECK: tile.breakpoint []{{$}}
  tile.breakpoint []
  // CHECK: tile.assert %{{.*}}, "all of it" : tensor<4xi1>
  tile.assert %t, "all of it" : tensor<4xi1>
  // CHECK: tile.assert %{{.*}}, "scalar" : i1
  tile.assert %c, "scalar" : i1
  // CHECK: tile.assume %{{.*}}
  tile.assume %c
  tile.return
}
