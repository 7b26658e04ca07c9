// RUN: tilec-opt %s --split-input-file --pass-pipeline='builtin.module(tile.kernel(tilegpu-assign-layouts))' | FileCheck %s

// A row goes to all warps in 16-byte pieces; what is reduced from it is everywhere, and nothing is converted.

!x = !tile.view<?x?xbf16, strides = [?, 1], divisible = [1, 16], stride_align = [16, 2], align = 16, index = 32, read>
!y = !tile.partition<1x4096 of !tile.view<?x?xbf16, strides = [?, 1], divisible = [1, 16], stride_align = [16, 2], align = 16, index = 32, exclusive>>

// CHECK: #[[$ROW:.+]] = #tilegpu.layout<register = {{\[}}[0, 1], [0, 2], [0, 4]], lane = {{\[}}[0, 8], [0, 16], [0, 32], [0, 64], [0, 128]], warp = {{\[}}[0, 256], [0, 512]], repeat = [1, 4]>
// CHECK: #[[$ONE:.+]] = #tilegpu.layout<register = [], lane = {{\[}}[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = {{\[}}[0, 0], [0, 0]], repeat = [1, 1]>
// CHECK-LABEL: tile.kernel @softmax
// CHECK: tile.load {{.*}} -> tensor<1x4096xbf16, #[[$ROW]]>
// CHECK: arith.extf {{.*}} to tensor<1x4096xf32, #[[$ROW]]>
// CHECK: tile.reduce{{.*}} -> (tensor<1x1xf32, #[[$ONE]]>)
// CHECK: tile.broadcast {{.*}} : tensor<1x1xf32, #[[$ONE]]> -> tensor<1x4096xf32, #[[$ROW]]>
// CHECK-NOT: convert_layout
// CHECK: tile.store {{.*}} : tensor<1x4096xbf16, #[[$ROW]]>
tile.kernel @softmax(%y: !y, %x: !x) attributes {tilegpu.num_warps = 4 : i64} {
  %i:2 = tile.index %y : !y -> index, index
  %r = tile.load %x[%i#0, %i#1] : !x -> tensor<1x4096xbf16>
  %f = arith.extf %r : tensor<1x4096xbf16> to tensor<1x4096xf32>
  %m = tile.reduce (%f) axis = 1 identity [0xFF800000 : f32] : (tensor<1x4096xf32>) -> (tensor<1x1xf32>) {
  ^bb0(%a: f32, %b: f32):
    %q = arith.maximumf %a, %b : f32
    tile.yield %q : f32
  }
  %mb = tile.broadcast %m : tensor<1x1xf32> -> tensor<1x4096xf32>
  %d = arith.subf %f, %mb : tensor<1x4096xf32>
  %t = arith.truncf %d : tensor<1x4096xf32> to tensor<1x4096xbf16>
  tile.store %t, %y : tensor<1x4096xbf16>, !y
  tile.return
}

// -----

// A row of 12288 is repeated, not padded; of 1185, single elements are loaded, since rows are not aligned.

!even = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 16], stride_align = [16, 4], align = 16, index = 32, read>
!odd = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 16, index = 32, read>

// CHECK-LABEL: tile.kernel @ragged
// CHECK: tile.load {{.*}} -> tensor<1x12288xf32, #[[EVEN:.+]]>
// CHECK: tile.load {{.*}} -> tensor<1x1185xf32, #[[ODD:.+]]>
tile.kernel @ragged(%x: !even, %y: !odd) attributes {tilegpu.num_warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %r = tile.load %x[%c0, %c0] : !even -> tensor<1x12288xf32>
  %s = tile.load %y[%c0, %c0] : !odd -> tensor<1x1185xf32>
  tile.print "{} {}" (%r, %s) : tensor<1x12288xf32>, tensor<1x1185xf32>
  tile.return
}

// -----

// A transposition converts once, between a wide load and a wide store.

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [16, 16], stride_align = [16, 4], align = 16, index = 32, read>
!y = !tile.partition<64x32 of !tile.view<?x?xf32, strides = [?, 1], divisible = [16, 16], stride_align = [16, 4], align = 16, index = 32, exclusive>>

// CHECK-LABEL: tile.kernel @transpose
// CHECK: tile.load {{.*}} -> tensor<32x64xf32, #[[LOADED:.+]]>
// CHECK: tile.permute {{.*}} -> tensor<64x32xf32, #[[TURNED:.+]]>
// CHECK: convert_layout {{.*}} : tensor<64x32xf32, #[[TURNED]]> -> tensor<64x32xf32, #[[STORED:.+]]>
// CHECK: tile.store {{.*}} : tensor<64x32xf32, #[[STORED]]>
tile.kernel @transpose(%y: !y, %x: !x) attributes {tilegpu.num_warps = 2 : i64} {
  %i:2 = tile.index %y : !y -> index, index
  %r = tile.load %x[%i#1, %i#0] : !x -> tensor<32x64xf32>
  %t = tile.permute %r [1, 0] : tensor<32x64xf32> -> tensor<64x32xf32>
  tile.store %t, %y : tensor<64x32xf32>, !y
  tile.return
}

// -----

// f32 beside bf16: the wider vector count wins, and the f32 tile takes two accesses a vector.

!x = !tile.view<?xbf16, strides = [1], divisible = [16], stride_align = [2], align = 16, index = 32, read>
!y = !tile.partition<4096 of !tile.view<?xf32, strides = [1], divisible = [16], stride_align = [4], align = 16, index = 32, exclusive>>

// CHECK: #[[$WIDE:.+]] = #tilegpu.layout<register = {{\[}}[1], [2], [4]],
// CHECK-LABEL: tile.kernel @widen
// CHECK: tile.load {{.*}} -> tensor<4096xbf16, #[[$WIDE]]>
// CHECK: tile.store {{.*}} : tensor<4096xf32, #[[$WIDE]]>
tile.kernel @widen(%y: !y, %x: !x) attributes {tilegpu.num_warps = 4 : i64} {
  %i = tile.index %y : !y -> index
  %r = tile.load %x[%i] : !x -> tensor<4096xbf16>
  %f = arith.extf %r : tensor<4096xbf16> to tensor<4096xf32>
  tile.store %f, %y : tensor<4096xf32>, !y
  tile.return
}

// -----

// Sums of rows and columns are stored from where the reduction leaves them: they are few.

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [16, 16], stride_align = [16, 4], align = 16, index = 32, read>
!v = !tile.view<?xf32, strides = [1], divisible = [16], stride_align = [4], align = 16, index = 32, exclusive>

// CHECK-LABEL: tile.kernel @sums
// CHECK-NOT: convert_layout
// CHECK: tile.return
tile.kernel @sums(%rows: !tile.partition<64 of !v>, %columns: !tile.partition<256 of !v>, %x: !x) attributes {tilegpu.num_warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %r = tile.load %x[%c0, %c0] : !x -> tensor<64x256xf32>
  %s = tile.reduce (%r) axis = 1 identity [0.0 : f32] : (tensor<64x256xf32>) -> (tensor<64x1xf32>) {
  ^bb0(%a: f32, %b: f32):
    %q = arith.addf %a, %b : f32
    tile.yield %q : f32
  }
  %s1 = tile.reshape %s : tensor<64x1xf32> -> tensor<64xf32>
  tile.store %s1, %rows : tensor<64xf32>, !tile.partition<64 of !v>
  %t = tile.reduce (%r) axis = 0 identity [0.0 : f32] : (tensor<64x256xf32>) -> (tensor<1x256xf32>) {
  ^bb0(%a: f32, %b: f32):
    %q = arith.addf %a, %b : f32
    tile.yield %q : f32
  }
  %t1 = tile.reshape %t : tensor<1x256xf32> -> tensor<256xf32>
  tile.store %t1, %columns : tensor<256xf32>, !tile.partition<256 of !v>
  tile.return
}

// -----

// A vector that is broadcast is loaded as the larger tile needs it.

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [16, 16], stride_align = [16, 4], align = 16, index = 32, read>
!w = !tile.view<?xf32, strides = [1], divisible = [16], stride_align = [4], align = 16, index = 32, read>
!y = !tile.partition<8x1024 of !tile.view<?x?xf32, strides = [?, 1], divisible = [16, 16], stride_align = [16, 4], align = 16, index = 32, exclusive>>

// CHECK: #[[$W:.+]] = #tilegpu.layout<register = {{\[}}[1], [2]], lane = {{\[}}[4], [8], [16], [32], [64]], warp = {{\[}}[0], [0]], repeat = [8]>
// CHECK-LABEL: tile.kernel @scale
// CHECK: tile.load {{.*}} -> tensor<1024xf32, #[[$W]]>
// CHECK-NOT: convert_layout
// CHECK: tile.return
tile.kernel @scale(%y: !y, %x: !x, %w: !w) attributes {tilegpu.num_warps = 4 : i64} {
  %i:2 = tile.index %y : !y -> index, index
  %r = tile.load %x[%i#0, %i#1] : !x -> tensor<8x1024xf32>
  %v = tile.load %w[%i#1] : !w -> tensor<1024xf32>
  %v1 = tile.reshape %v : tensor<1024xf32> -> tensor<1x1024xf32>
  %b = tile.broadcast %v1 : tensor<1x1024xf32> -> tensor<8x1024xf32>
  %p = arith.mulf %r, %b : tensor<8x1024xf32>
  tile.store %p, %y : tensor<8x1024xf32>, !y
  tile.return
}

// -----

// A reshape that would move elements goes through shared memory; a scalar is needed by every thread.

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [4, 4], stride_align = [16, 4], align = 16, index = 32, read>

// CHECK-LABEL: tile.kernel @reshape
// CHECK: %[[SMEM:.+]] = tilegpu.local_alloc
// CHECK: %[[FLAT:.+]] = tilegpu.local_reshape %[[SMEM]]
// CHECK: tilegpu.local_load %[[FLAT]]
// CHECK: tile.extract {{.*}} : tensor<f32, #{{.+}}> -> f32
tile.kernel @reshape(%x: !x) attributes {tilegpu.num_warps = 1 : i64} {
  %c0 = arith.constant 0 : index
  %r = tile.load %x[%c0, %c0] : !x -> tensor<12x20xf32>
  %t = tile.reshape %r : tensor<12x20xf32> -> tensor<240xf32>
  %s = tile.reduce (%t) axis = 0 identity [0.0 : f32] : (tensor<240xf32>) -> (tensor<1xf32>) {
  ^bb0(%a: f32, %b: f32):
    %q = arith.addf %a, %b : f32
    tile.yield %q : f32
  }
  %s0 = tile.reshape %s : tensor<1xf32> -> tensor<f32>
  %e = tile.extract %s0 : tensor<f32> -> f32
  tile.print "{}" (%e) : f32
  tile.return
}

// -----

// Loop-carried tiles keep one layout, whatever the loop does with them; constants are copied for each use.

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [16, 16], stride_align = [16, 4], align = 16, index = 32, read>
!y = !tile.partition<32x64 of !tile.view<?x?xf32, strides = [?, 1], divisible = [16, 16], stride_align = [16, 4], align = 16, index = 32, exclusive>>

// CHECK-LABEL: tile.kernel @carried
// CHECK: scf.for {{.*}} -> (tensor<32x64xf32, #[[L:.+]]>, tensor<32x64xf32, #[[L]]>) : i32 {
// CHECK: scf.if {{.*}} -> (tensor<32x64xf32, #[[L]]>)
// CHECK: scf.yield {{.*}} : tensor<32x64xf32, #[[L]]>, tensor<32x64xf32, #[[L]]>
// CHECK: scf.while {{.*}} : (tensor<32x64xf32, #[[L]]>) -> tensor<32x64xf32, #[[L]]>
tile.kernel @carried(%y: !y, %x: !x, %n: i32, %c: i1) attributes {tilegpu.num_warps = 4 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i:2 = tile.index %y : !y -> index, index
  %z = arith.constant dense<0.0> : tensor<32x64xf32>
  %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%a = %z, %b = %z) -> (tensor<32x64xf32>, tensor<32x64xf32>) : i32 {
    %r = tile.load %x[%i#0, %i#1] : !x -> tensor<32x64xf32>
    %m = scf.if %c -> (tensor<32x64xf32>) {
      scf.yield %r : tensor<32x64xf32>
    } else {
      scf.yield %a : tensor<32x64xf32>
    }
    %u = arith.addf %m, %b : tensor<32x64xf32>
    scf.yield %u, %a : tensor<32x64xf32>, tensor<32x64xf32>
  }
  %w = scf.while (%a = %s#1) : (tensor<32x64xf32>) -> tensor<32x64xf32> {
    scf.condition(%c) %a : tensor<32x64xf32>
  } do {
  ^bb0(%a: tensor<32x64xf32>):
    scf.yield %a : tensor<32x64xf32>
  }
  tile.store %w, %y : tensor<32x64xf32>, !y
  tile.return
}

// -----

// Three dimensions, reduced along the middle one.

!x = !tile.view<?x?x?xf16, strides = [?, ?, 1], divisible = [1, 1, 16], stride_align = [16, 16, 2], align = 16, index = 64, read>

// CHECK: #[[$CUBE:.+]] = #tilegpu.layout<register = {{\[}}[0, 0, 1], [0, 0, 2], [0, 0, 4]], lane = {{\[}}[0, 0, 8], [0, 0, 16], [0, 0, 32], [0, 1, 0], [0, 2, 0]], warp = {{\[}}[1, 0, 0], [2, 0, 0]], repeat = [1, 3, 1]>
// CHECK-LABEL: tile.kernel @cube
// CHECK: tile.load {{.*}} -> tensor<4x12x64xf16, #[[$CUBE]]>
// CHECK: tile.reduce{{.*}} -> (tensor<4x1x64xf16, #{{.+}}>)
tile.kernel @cube(%x: !x) attributes {tilegpu.num_warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %r = tile.load %x[%c0, %c0, %c0] : !x -> tensor<4x12x64xf16>
  %s = tile.reduce (%r) axis = 1 identity [0.0 : f16] : (tensor<4x12x64xf16>) -> (tensor<4x1x64xf16>) {
  ^bb0(%a: f16, %b: f16):
    %q = arith.addf %a, %b : f16
    tile.yield %q : f16
  }
  tile.print "{}" (%s) : tensor<4x1x64xf16>
  tile.return
}

// -----

// Tiles of one shape are printed together, so they change to one layout; others keep theirs.

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [16, 16], stride_align = [16, 4], align = 16, index = 32, read>
!t = !tile.view<?x?xf32, strides = [1, ?], divisible = [16, 16], stride_align = [4, 16], align = 16, index = 32, read>

// CHECK-LABEL: tile.kernel @print
// CHECK: %[[ROWS:.+]] = tile.load {{.*}} -> tensor<32x32xf32, #[[L:.+]]>
// CHECK: %[[COLUMNS:.+]] = tile.load
// CHECK: %[[WIDE:.+]] = tile.load
// CHECK: %[[CONVERTED:.+]] = tilegpu.convert_layout %[[COLUMNS]] : {{.*}} -> tensor<32x32xf32, #[[L]]>
// CHECK: tilegpu.print {{.*}} values(%[[ROWS]], %[[CONVERTED]], %[[WIDE]] :
tile.kernel @print(%x: !x, %t: !t) attributes {tilegpu.num_warps = 4 : i64} {
  %i = tile.program_id 0 : index
  %rows = tile.load %x[%i, %i] : !x -> tensor<32x32xf32>
  %columns = tile.load %t[%i, %i] : !t -> tensor<32x32xf32>
  %wide = tile.load %x[%i, %i] : !x -> tensor<16x64xf32>
  tilegpu.print "{} {} {}" program(%i) values(%rows, %columns, %wide : tensor<32x32xf32>, tensor<32x32xf32>, tensor<16x64xf32>) unsigned [false, false, false]
  tile.return
}

// -----

// Rows of bytes that are not aligned go to threads in pieces of 16 bytes all the same, which are read in windows;
// not where stores must write them element by element, since those would touch a sector each.

!odd = !tile.view<?x?xi8, strides = [?, 1], divisible = [1, 1], stride_align = [1, 1], align = 1, index = 32, read>
!to = !tile.partition<1x2048 of !tile.view<?x?xi8, strides = [?, 1], divisible = [1, 1], stride_align = [1, 1], align = 1, index = 32, exclusive>>

// CHECK-DAG: #[[$SIXTEEN:.+]] = #tilegpu.layout<register = {{\[}}[0, 1], [0, 2], [0, 4], [0, 8]], lane = {{\[}}[0, 16],
// CHECK-DAG: #[[$SINGLE:.+]] = #tilegpu.layout<register = [], lane = {{\[}}[0, 1], [0, 2],
// CHECK-LABEL: tile.kernel @windows
// CHECK: tile.load {{.*}} -> tensor<1x4096xi8, #[[$SIXTEEN]]>
// CHECK: tile.load {{.*}} -> tensor<1x2048xi8, #[[$SINGLE]]>
// CHECK: tile.store {{.*}} : tensor<1x2048xi8, #[[$SINGLE]]>
tile.kernel @windows(%y: !to, %x: !odd) attributes {tilegpu.num_warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %r = tile.load %x[%c0, %c0] : !odd -> tensor<1x4096xi8>
  tile.print "{}" (%r) : tensor<1x4096xi8>
  %s = tile.load %x[%c0, %c0] : !odd -> tensor<1x2048xi8>
  tile.store %s, %y : tensor<1x2048xi8>, !to
  tile.return
}
