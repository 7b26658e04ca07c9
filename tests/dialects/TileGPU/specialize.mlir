// RUN: tilec-opt %s --tilegpu-specialize=num-stages=4 --canonicalize --cse --split-input-file | FileCheck %s

// One warpgroup can hold the accumulator: two programs take turns at tiles, and each passes by the stages of the
// other. The producer fetches both operands of a turn into one stage.
// CHECK-LABEL: tile.kernel @turns
// CHECK-SAME: tile.walks, tilegpu.num_warps = 4 : i64, tilegpu.producer_warps = 4 : i64, tilegpu.programs = 2 : i64
// CHECK-DAG: %[[B:.+]] = tilegpu.tensor_map %{{.+}} order [1, 0] box [64, 64] swizzle 3
// CHECK-DAG: %[[A:.+]] = tilegpu.tensor_map %{{.+}} order [1, 0] box [64, 128] swizzle 3
// CHECK: %[[TURN:.+]] = tilegpu.turn
// CHECK: %[[L:.+]] = tilegpu.ring
// CHECK: %[[R:.+]] = tilegpu.ring
// CHECK: %[[Q:.+]] = tilegpu.queue bytes 32768 readers 1 : <4>
// CHECK: tilegpu.roles producer {
// CHECK: scf.for
// CHECK: scf.for %[[K:.+]] = %{{.+}} to %[[STEPS:.+]] step
// CHECK-NOT: iter_args
// CHECK: %[[S:.+]] = tilegpu.queue_acquire %[[Q]]
// CHECK: %[[SL:.+]] = tilegpu.ring_slot %[[L]][%[[S]]]
// CHECK: tilegpu.tma_load %[[A]][%{{.+}}, %{{.+}}] into %[[SL]] of %[[Q]][%[[S]]]
// CHECK: %[[SR:.+]] = tilegpu.ring_slot %[[R]][%[[S]]]
// CHECK: tilegpu.tma_load %[[B]][%{{.+}}, %{{.+}}] into %[[SR]] of %[[Q]][%[[S]]]
// CHECK-NOT: tilegpu.mma
// CHECK-NOT: tile.store
// CHECK: } consumer {
// CHECK: %[[P:.+]] = tilegpu.program
// CHECK: %[[FIRST:.+]] = arith.muli %{{.+}}, %[[P]]
// CHECK: tilegpu.queue_skip %[[Q]] by %[[FIRST]]
// CHECK: scf.for
// CHECK: tilegpu.turn_wait %[[TURN]]
// CHECK-NEXT: scf.for
// CHECK-NEXT: %[[W:.+]] = tilegpu.queue_wait %[[Q]]
// CHECK-DAG: %[[WL:.+]] = tilegpu.ring_slot %[[L]][%[[W]]]
// CHECK-DAG: %[[WR:.+]] = tilegpu.ring_slot %[[R]][%[[W]]]
// CHECK: tilegpu.mma wgmma %[[WL]], %[[WR]], %{{.+}} :
// CHECK-NEXT: tilegpu.queue_release %[[Q]] :
// CHECK-NEXT: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: tilegpu.turn_pass %[[TURN]]
// CHECK-NOT: tile.load
// CHECK: tile.store
// CHECK-NEXT: tilegpu.queue_skip %[[Q]]
#target = #tilegpu.target<"sm_90a", {features = ["mma_bf16", "tma", "tma_multicast", "wgmma"]}>
#rows = #tilegpu.shared<order = [1, 0], swizzle = 3>
!a = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [128, 2], align = 16, index = 32, read>
!y = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [128, 2], align = 16, index = 32, exclusive>
!c = !tile.partition<128x128 of !y>
!lhs = !tilegpu.smem<128x64xbf16, #rows>
!rhs = !tilegpu.smem<64x128xbf16, #rows>
module attributes {tilegpu.target = #target} {
  tile.kernel @turns(%c: !c, %a: !a, %b: !a) attributes {tilegpu.num_warps = 8 : i64} {
    %i:2 = tile.index %c : !c -> index, index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = tile.num_tiles %a, 1 by 64 : !a
    %z = arith.constant dense<0.0> : tensor<128x128xf32>
    %s = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %z) -> (tensor<128x128xf32>) {
      %x = tile.load %a[%i#0, %k] : !a -> tensor<128x64xbf16>
      %y = tile.load %b[%k, %i#1] : !a -> tensor<64x128xbf16>
      %l = tilegpu.local_alloc %x {async_readers} : tensor<128x64xbf16> -> !lhs
      %r = tilegpu.local_alloc %y {async_readers} : tensor<64x128xbf16> -> !rhs
      %p = tilegpu.mma wgmma %l, %r, %acc : !lhs, !rhs, tensor<128x128xf32>
      scf.yield %p : tensor<128x128xf32>
    }
    %t = arith.truncf %s : tensor<128x128xf32> to tensor<128x128xbf16>
    tile.store %t, %c : tensor<128x128xbf16>, !c
    tile.return
  }
}

// -----

// Two warpgroups share an accumulator that one cannot hold: no turns, and a stage has two readers.
// CHECK-LABEL: tile.kernel @cooperative
// CHECK-SAME: tilegpu.num_warps = 8 : i64, tilegpu.producer_warps = 4 : i64}
// CHECK-NOT: tilegpu.turn
// CHECK: tilegpu.queue bytes 49152 readers 2 : <4>
// CHECK-NOT: tilegpu.queue_skip
// CHECK: tile.return
#target = #tilegpu.target<"sm_90a", {features = ["mma_bf16", "tma", "tma_multicast", "wgmma"]}>
#rows = #tilegpu.shared<order = [1, 0], swizzle = 3>
!a = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [128, 2], align = 16, index = 32, read>
!y = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [128, 2], align = 16, index = 32, exclusive>
!c = !tile.partition<128x256 of !y>
!lhs = !tilegpu.smem<128x64xbf16, #rows>
!rhs = !tilegpu.smem<64x256xbf16, #rows>
module attributes {tilegpu.target = #target} {
  tile.kernel @cooperative(%c: !c, %a: !a, %b: !a) attributes {tilegpu.num_warps = 8 : i64} {
    %i:2 = tile.index %c : !c -> index, index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = tile.num_tiles %a, 1 by 64 : !a
    %z = arith.constant dense<0.0> : tensor<128x256xf32>
    %s = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %z) -> (tensor<128x256xf32>) {
      %x = tile.load %a[%i#0, %k] : !a -> tensor<128x64xbf16>
      %y = tile.load %b[%k, %i#1] : !a -> tensor<64x256xbf16>
      %l = tilegpu.local_alloc %x {async_readers} : tensor<128x64xbf16> -> !lhs
      %r = tilegpu.local_alloc %y {async_readers} : tensor<64x256xbf16> -> !rhs
      %p = tilegpu.mma wgmma %l, %r, %acc : !lhs, !rhs, tensor<128x256xf32>
      scf.yield %p : tensor<128x256xf32>
    }
    %t = arith.truncf %s : tensor<128x256xf32> to tensor<128x256xbf16>
    tile.store %t, %c : tensor<128x256xbf16>, !c
    tile.return
  }
}

// -----

// Rows that straddle cache lines: two CTAs at neighbouring rows of tiles fetch the right operand for each other.
// CHECK-LABEL: tile.kernel @cluster
// CHECK-SAME: tilegpu.cluster = 2 : i64
// CHECK: tilegpu.queue bytes {{.+}} readers 1 cluster 2
// CHECK: tilegpu.tma_load {{.+}}] : !smem
// CHECK: tilegpu.tma_load {{.+}}] multicast : !smem
// The trip count is that of the row of tiles: CTAs at different rows cannot fetch for each other.
// CHECK-LABEL: tile.kernel @diagonal
// CHECK-NOT: tilegpu.cluster
// CHECK-NOT: multicast
// CHECK: tile.return
#target = #tilegpu.target<"sm_90a", {features = ["mma_bf16", "tma", "tma_multicast", "wgmma"]}>
#rows = #tilegpu.shared<order = [1, 0], swizzle = 3>
!a = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 8], stride_align = [16, 2], align = 16, index = 32, read>
!y = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [128, 2], align = 16, index = 32, exclusive>
!c = !tile.partition<64x128 of !y>
!lhs = !tilegpu.smem<64x64xbf16, #rows>
!rhs = !tilegpu.smem<64x128xbf16, #rows>
module attributes {tilegpu.target = #target} {
  tile.kernel @cluster(%c: !c, %a: !a, %b: !a) attributes {tilegpu.num_warps = 4 : i64} {
    %i:2 = tile.index %c : !c -> index, index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = tile.num_tiles %a, 1 by 64 : !a
    %z = arith.constant dense<0.0> : tensor<64x128xf32>
    %s = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %z) -> (tensor<64x128xf32>) {
      %x = tile.load %a[%i#0, %k] : !a -> tensor<64x64xbf16>
      %y = tile.load %b[%k, %i#1] : !a -> tensor<64x128xbf16>
      %l = tilegpu.local_alloc %x {async_readers} : tensor<64x64xbf16> -> !lhs
      %r = tilegpu.local_alloc %y {async_readers} : tensor<64x128xbf16> -> !rhs
      %p = tilegpu.mma wgmma %l, %r, %acc : !lhs, !rhs, tensor<64x128xf32>
      scf.yield %p : tensor<64x128xf32>
    }
    %t = arith.truncf %s : tensor<64x128xf32> to tensor<64x128xbf16>
    tile.store %t, %c : tensor<64x128xbf16>, !c
    tile.return
  }
  tile.kernel @diagonal(%c: !c, %a: !a, %b: !a) attributes {tilegpu.num_warps = 4 : i64} {
    %i:2 = tile.index %c : !c -> index, index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant dense<0.0> : tensor<64x128xf32>
    %s = scf.for %k = %c0 to %i#0 step %c1 iter_args(%acc = %z) -> (tensor<64x128xf32>) {
      %x = tile.load %a[%i#0, %k] : !a -> tensor<64x64xbf16>
      %y = tile.load %b[%k, %i#1] : !a -> tensor<64x128xbf16>
      %l = tilegpu.local_alloc %x {async_readers} : tensor<64x64xbf16> -> !lhs
      %r = tilegpu.local_alloc %y {async_readers} : tensor<64x128xbf16> -> !rhs
      %p = tilegpu.mma wgmma %l, %r, %acc : !lhs, !rhs, tensor<64x128xf32>
      scf.yield %p : tensor<64x128xf32>
    }
    %t = arith.truncf %s : tensor<64x128xf32> to tensor<64x128xbf16>
    tile.store %t, %c : tensor<64x128xbf16>, !c
    tile.return
  }
}

// -----

// What threads compute stays with them; what is not read by a product in every turn, too.
// CHECK-LABEL: tile.kernel @computed
// CHECK: tilegpu.queue bytes 16384 readers 1
// CHECK: producer
// CHECK-COUNT-1: tilegpu.tma_load
// CHECK-NOT: tilegpu.tma_load
// CHECK: consumer
// CHECK: tile.load
// CHECK: arith.truncf
// CHECK: tilegpu.local_alloc
// CHECK-LABEL: tile.kernel @sometimes
// CHECK-NOT: tilegpu.roles
// CHECK: tile.return
// Nor is there a producer where the place depends on what a tile holds.
// CHECK-LABEL: tile.kernel @from_data
// CHECK-NOT: tilegpu.roles
// CHECK: tile.return
#target = #tilegpu.target<"sm_90a", {features = ["mma_bf16", "tma", "tma_multicast", "wgmma"]}>
#rows = #tilegpu.shared<order = [1, 0], swizzle = 3>
!a = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [128, 2], align = 16, index = 32, read>
!f = !tile.view<?x?xf32, strides = [?, 1], divisible = [16, 16], stride_align = [128, 4], align = 16, index = 32, read>
!i = !tile.view<?xi32, strides = [1], divisible = [16], stride_align = [4], align = 16, index = 32, read>
!y = !tile.view<?x?xf32, strides = [?, 1], divisible = [16, 16], stride_align = [128, 4], align = 16, index = 32, exclusive>
!c = !tile.partition<64x128 of !y>
!lhs = !tilegpu.smem<64x64xbf16, #rows>
!rhs = !tilegpu.smem<64x128xbf16, #rows>
module attributes {tilegpu.target = #target} {
  tile.kernel @computed(%c: !c, %a: !f, %b: !a) attributes {tilegpu.num_warps = 4 : i64} {
    %i:2 = tile.index %c : !c -> index, index
    %c0 = arith.constant 0 : index
    %z = arith.constant dense<0.0> : tensor<64x128xf32>
    %w = tile.load %a[%i#0, %c0] : !f -> tensor<64x64xf32>
    %x = arith.truncf %w : tensor<64x64xf32> to tensor<64x64xbf16>
    %y = tile.load %b[%c0, %i#1] : !a -> tensor<64x128xbf16>
    %l = tilegpu.local_alloc %x {async_readers} : tensor<64x64xbf16> -> !lhs
    %r = tilegpu.local_alloc %y {async_readers} : tensor<64x128xbf16> -> !rhs
    %p = tilegpu.mma wgmma %l, %r, %z : !lhs, !rhs, tensor<64x128xf32>
    tile.store %p, %c : tensor<64x128xf32>, !c
    tile.return
  }
  tile.kernel @sometimes(%c: !c, %a: !a, %b: !a, %n: i32) attributes {tilegpu.num_warps = 4 : i64} {
    %i:2 = tile.index %c : !c -> index, index
    %c0 = arith.constant 0 : index
    %z = arith.constant dense<0.0> : tensor<64x128xf32>
    %x = tile.load %a[%i#0, %c0] : !a -> tensor<64x64xbf16>
    %y = tile.load %b[%c0, %i#1] : !a -> tensor<64x128xbf16>
    %l = tilegpu.local_alloc %x {async_readers} : tensor<64x64xbf16> -> !lhs
    %r = tilegpu.local_alloc %y {async_readers} : tensor<64x128xbf16> -> !rhs
    %i0 = arith.constant 0 : i32
    %some = arith.cmpi ne, %n, %i0 : i32
    %p = scf.if %some -> (tensor<64x128xf32>) {
      %q = tilegpu.mma wgmma %l, %r, %z : !lhs, !rhs, tensor<64x128xf32>
      scf.yield %q : tensor<64x128xf32>
    } else {
      scf.yield %z : tensor<64x128xf32>
    }
    tile.store %p, %c : tensor<64x128xf32>, !c
    tile.return
  }
  tile.kernel @from_data(%c: !c, %a: !a, %b: !a, %d: !i) attributes {tilegpu.num_warps = 4 : i64} {
    %i:2 = tile.index %c : !c -> index, index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant dense<0.0> : tensor<64x128xf32>
    %e = tile.load %d[%c0] : !i -> tensor<1xi32>
    %v = tile.extract %e : tensor<1xi32> -> i32
    %u = arith.index_cast %v : i32 to index
    // A count that a loop makes of what was read.
    %n = scf.for %k = %c0 to %u step %c1 iter_args(%sum = %c0) -> (index) {
      %next = arith.addi %sum, %c1 : index
      scf.yield %next : index
    }
    %s = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %z) -> (tensor<64x128xf32>) {
      %x = tile.load %a[%i#0, %k] : !a -> tensor<64x64xbf16>
      %y = tile.load %b[%k, %i#1] : !a -> tensor<64x128xbf16>
      %l = tilegpu.local_alloc %x {async_readers} : tensor<64x64xbf16> -> !lhs
      %r = tilegpu.local_alloc %y {async_readers} : tensor<64x128xbf16> -> !rhs
      %p = tilegpu.mma wgmma %l, %r, %acc : !lhs, !rhs, tensor<64x128xf32>
      scf.yield %p : tensor<64x128xf32>
    }
    tile.store %s, %c : tensor<64x128xf32>, !c
    tile.return
  }
}
