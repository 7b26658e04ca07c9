// RUN: tilec-opt %s --split-input-file --verify-diagnostics

tile.kernel @alone() {
  %t = arith.constant dense<0.0> : tensor<16x8xf32>
  // expected-error @below {{'tilegpu.workspace_sum' op adds up the tiles of 2 CTAs or more, found 1}}
  %s, %last = tilegpu.workspace_sum %t parts 1 : tensor<16x8xf32> -> tensor<16x8xf32>
  tile.return
}

// -----

tile.kernel @types() {
  %t = arith.constant dense<0.0> : tensor<16x8xf32>
  // expected-error @below {{'tilegpu.workspace_sum' op keeps the types of its tiles: found 'tensor<16x8xf32>' and 'tensor<8x16xf32>'}}
  %s, %last = tilegpu.workspace_sum %t parts 2 : tensor<16x8xf32> -> tensor<8x16xf32>
  tile.return
}

// -----

tile.kernel @elements() {
  %t = arith.constant dense<0.0> : tensor<16x8xf16>
  // expected-error @below {{'tilegpu.workspace_sum' op adds elements of 32 bits, found 'tensor<16x8xf16>'}}
  %s, %last = tilegpu.workspace_sum %t parts 2 : tensor<16x8xf16> -> tensor<16x8xf16>
  tile.return
}

// -----

tile.kernel @nothing() {
  // expected-error @below {{'tilegpu.workspace_sum' op adds up one tile or more, found none}}
  %last = "tilegpu.workspace_sum"() <{parts = 2 : i64}> : () -> i1
  tile.return
}
