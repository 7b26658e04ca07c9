// RUN: tilec-opt %s --split-input-file --pass-pipeline='builtin.module(tile.kernel(tilegpu-allocate-shared))' --verify-diagnostics | FileCheck %s

#blocked = #tilegpu.layout<register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], repeat = [2, 2]>
#shared = #tilegpu.shared<order = [1, 0], swizzle = 3>
!tile = tensor<32x64xf32, #blocked>
!smem = !tilegpu.smem<32x64xf32, #shared>

// Two tiles that are never live together have the same bytes.
// CHECK-LABEL: tile.kernel @sequence
// CHECK-SAME: tilegpu.shared_bytes = 8192
tile.kernel @sequence(%s: f32) {
  %t = tile.splat %s : f32 -> !tile
  // CHECK: local_alloc {{.*}} {tilegpu.shared_offset = 0 : i64}
  %a = tilegpu.local_alloc %t : !tile -> !smem
  %x = tilegpu.local_load %a : !smem -> !tile
  // CHECK: local_alloc {{.*}} {tilegpu.shared_offset = 0 : i64}
  %b = tilegpu.local_alloc %x : !tile -> !smem
  %y = tilegpu.local_load %b : !smem -> !tile
  tile.return
}

// CHECK-LABEL: tile.kernel @together
// CHECK-SAME: tilegpu.shared_bytes = 16384
tile.kernel @together(%s: f32) {
  %t = tile.splat %s : f32 -> !tile
  // CHECK: local_alloc {{.*}} {tilegpu.shared_offset = 0 : i64}
  %a = tilegpu.local_alloc %t : !tile -> !smem
  // CHECK: local_alloc {{.*}} {tilegpu.shared_offset = 8192 : i64}
  %b = tilegpu.local_alloc %t : !tile -> !smem
  %x = tilegpu.local_load %a : !smem -> !tile
  %y = tilegpu.local_load %b : !smem -> !tile
  tile.return
}

// A tile read in a loop lives through the loop, also after its last reading in the text.
// CHECK-LABEL: tile.kernel @outside_a_loop
// CHECK-SAME: tilegpu.shared_bytes = 16384
tile.kernel @outside_a_loop(%s: f32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %t = tile.splat %s : f32 -> !tile
  // CHECK: local_alloc {{.*}} {tilegpu.shared_offset = 0 : i64}
  %a = tilegpu.local_alloc %t : !tile -> !smem
  scf.for %i = %c0 to %n step %c1 : i32 {
    %x = tilegpu.local_load %a : !smem -> !tile
    // CHECK: local_alloc {{.*}} {tilegpu.shared_offset = 8192 : i64}
    %b = tilegpu.local_alloc %x : !tile -> !smem
    %y = tilegpu.local_load %b : !smem -> !tile
  }
  tile.return
}

// A tile seen under another shape lives as long as the view.
// CHECK-LABEL: tile.kernel @view
// CHECK-SAME: tilegpu.shared_bytes = 16384
tile.kernel @view(%s: f32) {
  %t = tile.splat %s : f32 -> !tile
  %a = tilegpu.local_alloc %t : !tile -> !tilegpu.smem<32x64xf32, #tilegpu.shared<order = [1, 0], swizzle = 0>>
  %v = tilegpu.local_reshape %a : !tilegpu.smem<32x64xf32, #tilegpu.shared<order = [1, 0], swizzle = 0>> -> !tilegpu.smem<64x32xf32, #tilegpu.shared<order = [1, 0], swizzle = 0>>
  // CHECK: local_alloc {{.*}} {tilegpu.shared_offset = 8192 : i64}
  %b = tilegpu.local_alloc %t : !tile -> !smem
  %r = tilegpu.local_reshape %v : !tilegpu.smem<64x32xf32, #tilegpu.shared<order = [1, 0], swizzle = 0>> -> !tilegpu.smem<32x64xf32, #tilegpu.shared<order = [1, 0], swizzle = 0>>
  %x = tilegpu.local_load %r : !tilegpu.smem<32x64xf32, #tilegpu.shared<order = [1, 0], swizzle = 0>> -> !tile
  tile.return
}

// Four warps along the axis exchange one partial result each; a reduction inside warps needs nothing.
// CHECK-LABEL: tile.kernel @reductions
// CHECK-SAME: tilegpu.shared_bytes = 1024
tile.kernel @reductions(%s: f32) {
  %t = tile.splat %s : f32 -> !tile
  // CHECK: tile.reduce({{.*}} {tilegpu.shared_offset = 0 : i64}
  %m = tile.reduce (%t) axis = 0 identity [0.0 : f32] : (!tile) -> (tensor<1x64xf32, #tilegpu.layout<register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]], repeat = [1, 2]>>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %a, %b : f32
    tile.yield %r : f32
  }
  // CHECK: tile.reduce
  // CHECK-NOT: shared_offset
  // CHECK-SAME: {
  %n = tile.reduce (%t) axis = 1 identity [0.0 : f32] : (!tile) -> (tensor<32x1xf32, #tilegpu.layout<register = [], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], repeat = [2, 1]>>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %a, %b : f32
    tile.yield %r : f32
  }
  tile.return
}

// -----

#blocked = #tilegpu.layout<register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], repeat = [2, 2]>
!tile = tensor<32x64xf32, #blocked>
!smem = !tilegpu.smem<32x64xf32, #tilegpu.shared<order = [1, 0], swizzle = 3>>

module attributes {tilegpu.target = #tilegpu.target<"sm_tiny", {limits = {shared_per_block_bytes = 10000}}>} {
  // expected-error @below {{kernel needs 16384 bytes of shared memory, sm_tiny has 10000 a block: use smaller tiles}}
  tile.kernel @too_much(%s: f32) {
    %t = tile.splat %s : f32 -> !tile
    // expected-note @below {{8192 bytes are needed here}}
    %a = tilegpu.local_alloc %t : !tile -> !smem
    // expected-note @below {{8192 bytes are needed here}}
    %b = tilegpu.local_alloc %t : !tile -> !smem
    %x = tilegpu.local_load %a : !smem -> !tile
    tile.return
  }
}

// -----

#blocked = #tilegpu.layout<register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], repeat = [2, 2]>
!tile = tensor<32x64xf32, #blocked>
!smem = !tilegpu.smem<32x64xf32, #tilegpu.shared<order = [1, 0], swizzle = 3>>

tile.kernel @carried(%s: f32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %t = tile.splat %s : f32 -> !tile
  %a = tilegpu.local_alloc %t : !tile -> !smem
  // expected-error @below {{'scf.for' op carries a shared-memory tile, expected only distributed tiles and scalars}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%b = %a) -> (!smem) : i32 {
    scf.yield %b : !smem
  }
  tile.return
}
