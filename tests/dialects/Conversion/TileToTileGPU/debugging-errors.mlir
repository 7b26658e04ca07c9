// RUN: tilec-opt %s --convert-tile-to-tilegpu='target={{"name":"sm_90a"}}' --split-input-file --verify-diagnostics

tile.kernel @stops(%s: f32) {
  // expected-error @below {{tl.breakpoint stops on the CPU executor only: run the kernel on NumPy arrays}}
  tile.breakpoint ["s"](%s) : f32
  tile.return
}

// -----

tile.kernel @long_line(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<4x8xf32>
  // 3 of the program, 2 of the element.
  tile.print "{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}"
    (%t, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
    : tensor<4x8xf32>, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32
  // expected-error @below {{tl.print takes at most 32 numbers on a GPU, coordinates of program and element included, found 33}}
  tile.print "{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}"
    (%t, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
    : tensor<4x8xf32>, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32
  tile.return
}
