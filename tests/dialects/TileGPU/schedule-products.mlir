// RUN: tilec-opt %s --tilegpu-schedule-products --split-input-file | FileCheck %s

// The loop is known to turn: an array that a tensor map describes has elements. The stage of the turn before is freed
// behind the product, and the last one behind the wait.
// CHECK-LABEL: tile.kernel @unguarded
// CHECK: %[[NONE:.+]] = ub.poison : tensor<64x64xf32
// CHECK-NEXT: %[[S:.+]] = scf.for %[[K:.+]] = %[[C0:.+]] to %{{.+}} iter_args(%[[ACC:.+]] = %[[NONE]])
// CHECK-NEXT: %[[LATER:.+]] = arith.cmpi ne, %[[K]], %[[C0]]
// CHECK: %[[P:.+]] = tilegpu.mma wgmma %{{.+}}, %{{.+}}, %[[ACC]] accumulate %[[LATER]] in_flight 1
// CHECK-NEXT: tilegpu.queue_release %{{.+}} when %[[LATER]]
// CHECK-NEXT: scf.yield %[[P]]
// CHECK: }
// CHECK-NEXT: %[[DONE:.+]] = tilegpu.mma_wait %[[S]]
// CHECK-NEXT: tilegpu.queue_release %{{.+}} : <2>
// CHECK-NEXT: arith.negf %[[DONE]]
// A loop that may not turn gives what it was given, and has nothing to free.
// CHECK-LABEL: tile.kernel @guarded
// CHECK: %[[RUNS:.+]] = arith.cmpi slt
// CHECK-NEXT: %[[R:.+]] = scf.if %[[RUNS]]
// CHECK-NEXT: scf.for
// CHECK: tilegpu.mma_wait
// CHECK-NEXT: tilegpu.queue_release
// CHECK-NEXT: scf.yield
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[ZERO:.+]] = tilegpu.mma_wait
// CHECK-NEXT: scf.yield %[[ZERO]]
// CHECK-NEXT: }
// CHECK-NEXT: arith.negf %[[R]]
// An accumulator that starts from other values keeps them.
// CHECK-LABEL: tile.kernel @from_ones
// CHECK-NOT: ub.poison
// CHECK: scf.for {{.+}} iter_args(%[[ACC:.+]] = %{{.+}})
// CHECK: tilegpu.mma wgmma %{{.+}}, %{{.+}}, %[[ACC]] in_flight 1
#acc = #tilegpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 8]>
#ring = #tilegpu.shared<order = [2, 1, 0], swizzle = 3>
#rows = #tilegpu.shared<order = [1, 0], swizzle = 3>
!a = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [128, 2], align = 16, index = 32, read>
!tile = tensor<64x64xf32, #acc>
!ring = !tilegpu.smem<2x64x64xbf16, #ring>
!slot = !tilegpu.smem<64x64xbf16, #rows>
tile.kernel @unguarded(%a: !a) attributes {tilegpu.num_warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tile.num_tiles %a, 1 by 64 : !a
  %z = arith.constant dense<0.0> : !tile
  %l = tilegpu.ring : !ring
  %r = tilegpu.ring : !ring
  %q = tilegpu.queue bytes 16384 readers 1 : <2>
  %s = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %z) -> (!tile) {
    %w = tilegpu.queue_wait %q : <2>
    %x = tilegpu.ring_slot %l[%w] : !ring -> !slot
    %y = tilegpu.ring_slot %r[%w] : !ring -> !slot
    %p = tilegpu.mma wgmma %x, %y, %acc : !slot, !slot, !tile
    tilegpu.queue_release %q : <2>
    scf.yield %p : !tile
  }
  %m = arith.negf %s : !tile
  tile.print "{}" (%m) : !tile
  tile.return
}
tile.kernel @guarded(%a: !a, %count: i32) attributes {tilegpu.num_warps = 4 : i64} {
  %n = arith.index_cast %count : i32 to index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant dense<0.0> : !tile
  %l = tilegpu.ring : !ring
  %r = tilegpu.ring : !ring
  %q = tilegpu.queue bytes 16384 readers 1 : <2>
  %s = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %z) -> (!tile) {
    %w = tilegpu.queue_wait %q : <2>
    %x = tilegpu.ring_slot %l[%w] : !ring -> !slot
    %y = tilegpu.ring_slot %r[%w] : !ring -> !slot
    %p = tilegpu.mma wgmma %x, %y, %acc : !slot, !slot, !tile
    tilegpu.queue_release %q : <2>
    scf.yield %p : !tile
  }
  %m = arith.negf %s : !tile
  tile.print "{}" (%m) : !tile
  tile.return
}
tile.kernel @from_ones(%a: !a) attributes {tilegpu.num_warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tile.num_tiles %a, 1 by 64 : !a
  %z = arith.constant dense<1.0> : !tile
  %l = tilegpu.ring : !ring
  %r = tilegpu.ring : !ring
  %q = tilegpu.queue bytes 16384 readers 1 : <2>
  %s = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %z) -> (!tile) {
    %w = tilegpu.queue_wait %q : <2>
    %x = tilegpu.ring_slot %l[%w] : !ring -> !slot
    %y = tilegpu.ring_slot %r[%w] : !ring -> !slot
    %p = tilegpu.mma wgmma %x, %y, %acc : !slot, !slot, !tile
    tilegpu.queue_release %q : <2>
    scf.yield %p : !tile
  }
  %m = arith.negf %s : !tile
  tile.print "{}" (%m) : !tile
  tile.return
}

// -----

// Two accumulators: the stage is freed behind the last product of the turn, and both are waited for.
// CHECK-LABEL: tile.kernel @two_chains
// CHECK: scf.for
// CHECK: tilegpu.mma wgmma {{.+}} accumulate %[[LATER:.+]] in_flight 1
// CHECK: tilegpu.mma wgmma {{.+}} accumulate %[[LATER]] in_flight 1
// CHECK-NEXT: tilegpu.queue_release %{{.+}} when %[[LATER]]
// CHECK: tilegpu.mma_wait %{{.+}}#0, %{{.+}}#1
// Two products into one: only the first replaces.
// CHECK-LABEL: tile.kernel @two_into_one
// CHECK: scf.for
// CHECK: %[[P:.+]] = tilegpu.mma wgmma {{.+}} accumulate %{{.+}} in_flight 1
// CHECK: tilegpu.mma wgmma %{{.+}}, %{{.+}}, %[[P]] in_flight 1
// CHECK-NEXT: tilegpu.queue_release
// The only stage must be free before the next turn can start: nothing is in flight.
// CHECK-LABEL: tile.kernel @one_stage
// CHECK-NOT: in_flight
// CHECK-NOT: mma_wait
// CHECK: tile.return
// Nor is a product whose result something else reads.
// CHECK-LABEL: tile.kernel @read
// CHECK-NOT: in_flight
// CHECK-NOT: mma_wait
// CHECK: tile.return
#acc = #tilegpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 8]>
#ring = #tilegpu.shared<order = [2, 1, 0], swizzle = 3>
#rows = #tilegpu.shared<order = [1, 0], swizzle = 3>
!a = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [128, 2], align = 16, index = 32, read>
!tile = tensor<64x64xf32, #acc>
!ring = !tilegpu.smem<2x64x64xbf16, #ring>
!single = !tilegpu.smem<1x64x64xbf16, #ring>
!slot = !tilegpu.smem<64x64xbf16, #rows>
tile.kernel @two_chains(%a: !a) attributes {tilegpu.num_warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tile.num_tiles %a, 1 by 64 : !a
  %z = arith.constant dense<0.0> : !tile
  %l = tilegpu.ring : !ring
  %r = tilegpu.ring : !ring
  %q = tilegpu.queue bytes 16384 readers 1 : <2>
  %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %z, %other = %z) -> (!tile, !tile) {
    %w = tilegpu.queue_wait %q : <2>
    %x = tilegpu.ring_slot %l[%w] : !ring -> !slot
    %y = tilegpu.ring_slot %r[%w] : !ring -> !slot
    %p = tilegpu.mma wgmma %x, %y, %acc : !slot, !slot, !tile
    %o = tilegpu.mma wgmma %y, %x, %other : !slot, !slot, !tile
    tilegpu.queue_release %q : <2>
    scf.yield %p, %o : !tile, !tile
  }
  tile.print "{} {}" (%s#0, %s#1) : !tile, !tile
  tile.return
}
tile.kernel @two_into_one(%a: !a) attributes {tilegpu.num_warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tile.num_tiles %a, 1 by 64 : !a
  %z = arith.constant dense<0.0> : !tile
  %l = tilegpu.ring : !ring
  %r = tilegpu.ring : !ring
  %q = tilegpu.queue bytes 16384 readers 1 : <2>
  %s = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %z) -> (!tile) {
    %w = tilegpu.queue_wait %q : <2>
    %x = tilegpu.ring_slot %l[%w] : !ring -> !slot
    %y = tilegpu.ring_slot %r[%w] : !ring -> !slot
    %p = tilegpu.mma wgmma %x, %y, %acc : !slot, !slot, !tile
    %o = tilegpu.mma wgmma %y, %x, %p : !slot, !slot, !tile
    tilegpu.queue_release %q : <2>
    scf.yield %o : !tile
  }
  tile.print "{}" (%s) : !tile
  tile.return
}
tile.kernel @one_stage(%a: !a) attributes {tilegpu.num_warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tile.num_tiles %a, 1 by 64 : !a
  %z = arith.constant dense<0.0> : !tile
  %l = tilegpu.ring : !single
  %r = tilegpu.ring : !single
  %q = tilegpu.queue bytes 16384 readers 1 : <1>
  %s = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %z) -> (!tile) {
    %w = tilegpu.queue_wait %q : <1>
    %x = tilegpu.ring_slot %l[%w] : !single -> !slot
    %y = tilegpu.ring_slot %r[%w] : !single -> !slot
    %p = tilegpu.mma wgmma %x, %y, %acc : !slot, !slot, !tile
    tilegpu.queue_release %q : <1>
    scf.yield %p : !tile
  }
  tile.print "{}" (%s) : !tile
  tile.return
}
tile.kernel @read(%a: !a) attributes {tilegpu.num_warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tile.num_tiles %a, 1 by 64 : !a
  %z = arith.constant dense<0.0> : !tile
  %l = tilegpu.ring : !ring
  %r = tilegpu.ring : !ring
  %q = tilegpu.queue bytes 16384 readers 1 : <2>
  %s = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %z) -> (!tile) {
    %w = tilegpu.queue_wait %q : <2>
    %x = tilegpu.ring_slot %l[%w] : !ring -> !slot
    %y = tilegpu.ring_slot %r[%w] : !ring -> !slot
    %p = tilegpu.mma wgmma %x, %y, %acc : !slot, !slot, !tile
    tilegpu.queue_release %q : <2>
    %half = arith.addf %p, %p : !tile
    scf.yield %half : !tile
  }
  tile.print "{}" (%s) : !tile
  tile.return
}
