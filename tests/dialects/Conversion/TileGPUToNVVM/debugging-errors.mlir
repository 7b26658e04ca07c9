// RUN: tilec-opt %s --convert-tilegpu-to-nvvm --split-input-file --verify-diagnostics

module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = []}>} {
  tile.kernel @prints(%n: i32) attributes {tilegpu.num_warps = 1 : i64} {
    // expected-error @below {{tile.print is carried out on the CPU executor only: run the kernel on NumPy arrays}}
    // expected-error @below {{failed to legalize operation 'tile.print'}}
    tile.print "n = {}" (%n) : i32
    tile.return
  }
}

// -----

module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = []}>} {
  tile.kernel @asserts(%c: i1) attributes {tilegpu.num_warps = 1 : i64} {
    // expected-error @below {{tile.assert is carried out on the CPU executor only: run the kernel on NumPy arrays}}
    // expected-error @below {{failed to legalize operation 'tile.assert'}}
    tile.assert %c, "never" : i1
    tile.return
  }
}
