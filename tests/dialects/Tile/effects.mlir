// Loads of read views behave like arithmetic; every other access keeps its place.
// RUN: tilec-opt %s --cse --loop-invariant-code-motion | FileCheck %s

!r = !tile.view<?xf32, strides = [1], divisible = [1], stride_align = [4], align = 16, index = 32, read>
!u = !tile.view<?xf32, strides = [1], divisible = [1], stride_align = [4], align = 16, index = 32, unchecked>
!y = !tile.partition<8 of !tile.view<?xf32, strides = [1], divisible = [1], stride_align = [4], align = 16, index = 32, exclusive>>
!e = !tile.view<?xf32, strides = [1], divisible = [1], stride_align = [4], align = 16, index = 32, exclusive>

// A store to the output does not separate two loads of a read view.
// CHECK-LABEL: @read_load_is_shared
tile.kernel @read_load_is_shared(%y: !y, %x: !r, %i: i32) {
  // CHECK-COUNT-1: tile.load
  // CHECK-NOT: tile.load
  // CHECK: tile.return
  %c = arith.constant 3 : index
  %a = tile.load %x[%c] : !r -> tensor<8xf32>
  tile.store %a, %y : tensor<8xf32>, !y
  %b = tile.load %x[%c] : !r -> tensor<8xf32>
  tile.store %b, %y : tensor<8xf32>, !y
  tile.return
}

// CHECK-LABEL: @other_load_is_not_shared
tile.kernel @other_load_is_not_shared(%y: !y, %u: !u) {
  // CHECK: tile.load
  // CHECK: tile.store
  // CHECK: tile.load
  // CHECK: tile.store
  %c = arith.constant 3 : index
  %a = tile.load %u[%c] : !u -> tensor<8xf32>
  tile.store %a, %u[%c] : tensor<8xf32>, !u
  %b = tile.load %u[%c] : !u -> tensor<8xf32>
  tile.store %b, %y : tensor<8xf32>, !y
  tile.return
}

// Even out of a loop that may run no iteration: a load never faults.
// CHECK-LABEL: @read_load_leaves_the_loop
tile.kernel @read_load_leaves_the_loop(%y: !y, %x: !r, %n: i32) {
  // CHECK: tile.load
  // CHECK: tile.gather
  // CHECK: scf.for
  // CHECK-NEXT: tile.store
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k = arith.constant dense<5> : tensor<8xi32>
  %stop = arith.index_cast %n : i32 to index
  scf.for %i = %c0 to %stop step %c1 {
    %a = tile.load %x[%c0] : !r -> tensor<8xf32>
    %g = tile.gather %x[%k] : !r, tensor<8xi32> -> tensor<8xf32>
    %s = arith.addf %a, %g : tensor<8xf32>
    tile.store %s, %y : tensor<8xf32>, !y
  }
  tile.return
}

// CHECK-LABEL: @exclusive_load_stays_in_the_loop
tile.kernel @exclusive_load_stays_in_the_loop(%y: !y, %n: i32) {
  // CHECK: scf.for
  // CHECK-NEXT: tile.load
  // CHECK-NEXT: arith.addf
  // CHECK-NEXT: tile.store
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %stop = arith.index_cast %n : i32 to index
  %v = tile.view_of %y : !y -> !e
  scf.for %i = %c0 to %stop step %c1 {
    %a = tile.load %v[%c0] : !e -> tensor<8xf32>
    %s = arith.addf %a, %a : tensor<8xf32>
    tile.store %s, %y : tensor<8xf32>, !y
  }
  tile.return
}

// A reduction is arithmetic too: equal ones are one, and it leaves the loop.
// CHECK-LABEL: @reduce_is_shared
tile.kernel @reduce_is_shared(%y: !y, %x: !r) {
  // CHECK-COUNT-1: tile.reduce
  // CHECK-NOT: tile.reduce
  // CHECK: tile.return
  %c = arith.constant 0 : index
  %a = tile.load %x[%c] : !r -> tensor<8xf32>
  %0 = tile.reduce (%a) axis = 0 identity [0.0 : f32] : (tensor<8xf32>) -> (tensor<1xf32>) {
  ^bb0(%l: f32, %r: f32):
    %s = arith.addf %l, %r : f32
    tile.yield %s : f32
  }
  %1 = tile.reduce (%a) axis = 0 identity [0.0 : f32] : (tensor<8xf32>) -> (tensor<1xf32>) {
  ^bb0(%l: f32, %r: f32):
    %s = arith.addf %l, %r : f32
    tile.yield %s : f32
  }
  %2 = arith.addf %0, %1 : tensor<1xf32>
  %3 = tile.broadcast %2 : tensor<1xf32> -> tensor<8xf32>
  tile.store %3, %y : tensor<8xf32>, !y
  tile.return
}
