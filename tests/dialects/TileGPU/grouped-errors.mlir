// RUN: tilec-opt %s --split-input-file --verify-diagnostics

!x = !tile.view<?xf32, strides = [1], divisible = [1], stride_align = [4], align = 4, index = 32, read>
tile.kernel @arguments(%x: !x, %s: f32) attributes {tile.grouped} {
  %c0 = arith.constant 0 : i32
  %problem, %tile = tilegpu.find_problem %c0
  // expected-error-re @below {{'tilegpu.arguments' op must have the kernel's arguments {{.*}}, 'f32', found 'f32'}}
  %s0 = tilegpu.arguments %problem : f32
  tile.return
}

// -----

// Only a partition that a pass chose for a program has a place that is named.
!v = !tile.view<?xf32, strides = [1], divisible = [1], stride_align = [4], align = 4, index = 32, exclusive>
!y = !tile.partition<8 of !v>
tile.kernel @place(%y: !y) attributes {tile.grouped} {
  %c0 = arith.constant 0 : i32
  %problem, %tile = tilegpu.find_problem %c0
  %y0 = tilegpu.arguments %problem : !y
  %t = arith.constant dense<0.0> : tensor<8xf32>
  // expected-error @below {{'tile.store' op a partition's tile has its own place: expected one index a dimension, found 0}}
  tile.store %t, %y0 : tensor<8xf32>, !y
  tile.return
}
