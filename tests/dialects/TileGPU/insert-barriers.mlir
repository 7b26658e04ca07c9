// RUN: tilec-opt %s --pass-pipeline='builtin.module(tile.kernel(tilegpu-allocate-shared,tilegpu-insert-barriers))' | FileCheck %s

#blocked = #tilegpu.layout<register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], repeat = [2, 2]>
#columns = #tilegpu.layout<register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]], repeat = [1, 2]>
!tile = tensor<32x64xf32, #blocked>
!smem = !tilegpu.smem<32x64xf32, #tilegpu.shared<order = [1, 0], swizzle = 3>>

// CHECK-LABEL: tile.kernel @read_after_write
tile.kernel @read_after_write(%s: f32) {
  %t = tile.splat %s : f32 -> !tile
  // CHECK: local_alloc
  // CHECK-NEXT: local_alloc
  // CHECK-NEXT: tilegpu.barrier
  // CHECK-NEXT: local_load
  // CHECK-NEXT: local_load
  // CHECK-NEXT: tile.return
  %a = tilegpu.local_alloc %t : !tile -> !smem
  %b = tilegpu.local_alloc %t : !tile -> !smem
  %x = tilegpu.local_load %a : !smem -> !tile
  %y = tilegpu.local_load %b : !smem -> !tile
  tile.return
}

// CHECK-LABEL: tile.kernel @write_after_read
tile.kernel @write_after_read(%s: f32) {
  %t = tile.splat %s : f32 -> !tile
  // CHECK: local_alloc
  // CHECK-NEXT: tilegpu.barrier
  // CHECK-NEXT: local_load
  // CHECK-NEXT: tilegpu.barrier
  // CHECK-NEXT: local_alloc
  // CHECK-NEXT: tile.return
  %a = tilegpu.local_alloc %t : !tile -> !smem
  %x = tilegpu.local_load %a : !smem -> !tile
  %b = tilegpu.local_alloc %x : !tile -> !smem
  tile.return
}

// The loop's next turn writes what this one reads.
// CHECK-LABEL: tile.kernel @back_edge
tile.kernel @back_edge(%s: f32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %t = tile.splat %s : f32 -> !tile
  // CHECK: scf.for
  // CHECK-NEXT: tilegpu.barrier
  // CHECK-NEXT: local_alloc
  // CHECK-NEXT: tilegpu.barrier
  // CHECK-NEXT: local_load
  // CHECK-NEXT: }
  scf.for %i = %c0 to %n step %c1 : i32 {
    %a = tilegpu.local_alloc %t : !tile -> !smem
    %x = tilegpu.local_load %a : !smem -> !tile
  }
  tile.return
}

// One barrier before the loop orders the readings of all its turns.
// CHECK-LABEL: tile.kernel @read_in_a_loop
tile.kernel @read_in_a_loop(%s: f32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %t = tile.splat %s : f32 -> !tile
  // CHECK: local_alloc
  // CHECK-NEXT: tilegpu.barrier
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: local_load
  // CHECK-NEXT: }
  // CHECK-NEXT: tile.return
  %a = tilegpu.local_alloc %t : !tile -> !smem
  scf.for %i = %c0 to %n step %c1 : i32 {
    %x = tilegpu.local_load %a : !smem -> !tile
  }
  tile.return
}

// What either arm may have written is ordered after the branch.
// CHECK-LABEL: tile.kernel @branches
tile.kernel @branches(%s: f32, %c: i1) {
  %t = tile.splat %s : f32 -> !tile
  %a = tilegpu.local_alloc %t : !tile -> !smem
  // CHECK: scf.if
  // CHECK-NEXT: tilegpu.barrier
  // CHECK-NEXT: local_load
  // CHECK-NEXT: }
  // CHECK-NEXT: tilegpu.barrier
  // CHECK-NEXT: local_load
  scf.if %c {
    %x = tilegpu.local_load %a : !smem -> !tile
  }
  %y = tilegpu.local_load %a : !smem -> !tile
  tile.return
}

// A reduction across warps orders what came before with a barrier of its own, and is read last.
// CHECK-LABEL: tile.kernel @scratch
tile.kernel @scratch(%s: f32) {
  %t = tile.splat %s : f32 -> !tile
  // CHECK-NOT: tilegpu.barrier
  // CHECK: tile.reduce
  // CHECK: tilegpu.barrier
  // CHECK-NEXT: tile.reduce
  // CHECK-NOT: tilegpu.barrier
  %m = tile.reduce (%t) axis = 0 identity [0.0 : f32] : (!tile) -> (tensor<1x64xf32, #columns>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %a, %b : f32
    tile.yield %r : f32
  }
  %n = tile.reduce (%t) axis = 0 identity [0.0 : f32] : (!tile) -> (tensor<1x64xf32, #columns>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %a, %b : f32
    tile.yield %r : f32
  }
  tile.return
}

// Warps that compute order among themselves what they write; the producer's thread is ordered by its queues.
// CHECK-LABEL: tile.kernel @roles
// CHECK: tilegpu.roles producer {
// CHECK-NOT: tilegpu.barrier
// CHECK: } consumer {
// CHECK: local_alloc
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: local_load
// CHECK-NEXT: tilegpu.queue_release
// CHECK-NOT: tilegpu.barrier
// CHECK: tile.return
tile.kernel @roles(%s: f32) attributes {tilegpu.num_warps = 4 : i64} {
  %t = tile.splat %s : f32 -> !tile
  %q = tilegpu.queue bytes 128 readers 1 : <1>
  tilegpu.roles producer {
    %w = tilegpu.queue_acquire %q : <1>
  } consumer {
    %w = tilegpu.queue_wait %q : <1>
    %a = tilegpu.local_alloc %t : !tile -> !smem
    %x = tilegpu.local_load %a : !smem -> !tile
    tilegpu.queue_release %q : <1>
  }
  tile.return
}
