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
    // expected-note @below {{8192 bytes for a tile of (32, 64) f32}}
    %a = tilegpu.local_alloc %t : !tile -> !smem
    // expected-note @below {{8192 bytes for a tile of (32, 64) f32}}
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

// -----

// A queue gives stages away until everything fits: 12 of 16 KiB become 3 beside the barriers.
// CHECK: !smem = !tilegpu.smem<3x64x64xbf16
#ring = #tilegpu.shared<order = [2, 1, 0], swizzle = 3>
#rows = #tilegpu.shared<order = [1, 0], swizzle = 3>
!ring = !tilegpu.smem<12x64x64xbf16, #ring>
!slot = !tilegpu.smem<64x64xbf16, #rows>
#acc = #tilegpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 8]>
!tile = tensor<64x64xf32, #acc>
module attributes {tilegpu.target = #tilegpu.target<"sm_small", {limits = {shared_per_block_bytes = 60000}}>} {
  // CHECK-LABEL: tile.kernel @short_queue
  // CHECK-SAME: tilegpu.shared_bytes = 49200
  // CHECK: tilegpu.ring {tilegpu.shared_offset = 0 : i64} : !smem
  // CHECK: tilegpu.ring {tilegpu.shared_offset = 24576 : i64} : !smem
  // CHECK: tilegpu.queue bytes 16384 readers 1 {tilegpu.shared_offset = 49152 : i64} : <3>
  // CHECK: tilegpu.queue_wait %{{.+}} : <3>
  tile.kernel @short_queue() attributes {tilegpu.num_warps = 4 : i64} {
    %l = tilegpu.ring : !ring
    %r = tilegpu.ring : !ring
    %q = tilegpu.queue bytes 16384 readers 1 : <12>
    %z = arith.constant dense<0.0> : !tile
    %w = tilegpu.queue_wait %q : <12>
    %x = tilegpu.ring_slot %l[%w] : !ring -> !slot
    %y = tilegpu.ring_slot %r[%w] : !ring -> !slot
    %p = tilegpu.mma wgmma %x, %y, %z : !slot, !slot, !tile
    tilegpu.queue_release %q : <12>
    tile.return
  }
}

// -----

// Buffers of stores live as long as the kernel, two blocks for each warpgroup; turns take a barrier a program, and
// what programs keep for themselves is there for each.
#acc = #tilegpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 16]>
#rows = #tilegpu.shared<order = [1, 0], swizzle = 3>
!h = tensor<64x128xbf16, #acc>
!y = !tile.view<?x?xbf16, strides = [?, 1], divisible = [1, 8], stride_align = [16, 2], align = 16, index = 32, exclusive>
!c = !tile.partition<64x128 of !y>
// CHECK-LABEL: tile.kernel @two_programs
// CHECK-SAME: tilegpu.shared_bytes = 65552
// CHECK: tilegpu.turn {tilegpu.shared_offset = 65536 : i64}
// CHECK: tilegpu.local_alloc {{.+}}tilegpu.shared_offset = {{0|32768}} : i64
// CHECK: tilegpu.tma_store {{.+}} {tilegpu.shared_offset = {{0|32768}} : i64}
tile.kernel @two_programs(%c: !c) attributes {tile.walks, tilegpu.num_warps = 4 : i64, tilegpu.programs = 2 : i64} {
  %map = tilegpu.tensor_map %c order [1, 0] box [64, 64] swizzle 3 : !c
  %turn = tilegpu.turn : !tilegpu.turn
  %z = arith.constant dense<0.0> : !h
  %c0 = arith.constant 0 : index
  %s = tilegpu.local_alloc %z : !h -> !tilegpu.smem<64x128xbf16, #rows>
  tilegpu.tma_store %z to %map[%c0, %c0] : !h
  tile.return
}
