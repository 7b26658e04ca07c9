// RUN: tilec-opt %s --convert-tilegpu-to-nvvm --canonicalize --cse --split-input-file | FileCheck %s

// A queue of three stages keeps three barriers for filled ones and, behind them, three for free ones. Cursors: the
// producer's parity starts with 1. Every warp of a program arrives when it gives its turn away, one thread of a
// warpgroup when a stage is freed.
// CHECK-LABEL: llvm.func @queue
// CHECK-SAME: nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 384>
// CHECK: %[[TURNS:.+]] = llvm.getelementptr %{{.+}}[60048]
// CHECK: %[[TURN:.+]] = llvm.alloca
// CHECK: %[[FIRST:.+]] = arith.cmpi eq, %[[PROGRAM:.+]], %c0_i32
// CHECK: %[[START:.+]] = arith.extui %[[FIRST]] : i1 to i32
// CHECK: llvm.store %[[START]], %[[TURN]]
// CHECK-COUNT-2: "mbarrier.init.shared::cta.b64 [$0], $1;", "r,n,~{memory}" %{{.+}}, %c4_i32
// CHECK: %[[BARRIERS:.+]] = llvm.getelementptr %{{.+}}[60000]
// CHECK: %[[STAGE:.+]] = llvm.alloca
// CHECK: %[[PARITY:.+]] = llvm.alloca
// CHECK: %[[READ:.+]] = llvm.alloca
// CHECK: %[[READ_PARITY:.+]] = llvm.alloca
// CHECK: %[[FREED:.+]] = llvm.alloca
// CHECK: llvm.store %c1_i32, %[[PARITY]]
// CHECK-COUNT-6: "mbarrier.init.shared::cta.b64 [$0], $1;", "r,n,~{memory}" %{{.+}}, %c1_i32
// CHECK: "fence.mbarrier_init.release.cluster;"
// CHECK-NEXT: nvvm.barrier0

// The producer: one thread behind those of two programs, with few registers.
// CHECK: %[[FETCHES:.+]] = arith.cmpi uge, %{{.+}}, %c2_i32
// CHECK-NEXT: scf.if %[[FETCHES]] {
// CHECK-NEXT: nvvm.setmaxregister decrease 24
// CHECK-NEXT: %[[ONE:.+]] = arith.cmpi eq, %{{.+}}, %c256_i32
// CHECK-NEXT: scf.if %[[ONE]] {
// CHECK: %[[S:.+]] = llvm.load %[[STAGE]]
// CHECK: %[[FILLED:.+]] = arith.addi
// CHECK-NEXT: %[[FREE:.+]] = arith.addi %[[FILLED]], %c24_i32
// CHECK-NEXT: %[[P:.+]] = llvm.load %[[PARITY]]
// CHECK-NEXT: mbarrier.try_wait.parity.shared::cta.b64 {{.*}}" %[[FREE]], %[[P]]
// CHECK-NEXT: mbarrier.arrive.expect_tx.shared::cta.b64 {{.*}}" %[[FILLED]], %c131072_i32
// CHECK: %[[WRAPS:.+]] = arith.cmpi eq, %{{.+}}, %c3_i32

// Boxes of 64 columns and 256 rows, each in a panel of 64 KiB.
// CHECK: "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {$2, $3}], [$4];", "r,l,r,r,r,~{memory}" %[[DEST:.+]], %[[MAP:.+]], %[[AT:.+]], %[[AT]], %[[FILLED]]
// CHECK-NEXT: %[[COLUMN:.+]] = arith.addi %[[AT]], %c64_i32
// CHECK-NEXT: %[[PANEL:.+]] = arith.addi %[[DEST]], %c65536_i32
// CHECK-NEXT: cp.async.bulk.tensor.2d{{.*}} %[[PANEL]], %[[MAP]], %[[COLUMN]], %[[AT]], %[[FILLED]]
// CHECK-NEXT: %[[ROW:.+]] = arith.addi %[[AT]], %c256_i32
// CHECK-NEXT: %[[BELOW:.+]] = arith.addi %[[DEST]], %c32768_i32
// CHECK-NEXT: cp.async.bulk.tensor.2d{{.*}} %[[BELOW]], %[[MAP]], %[[AT]], %[[ROW]], %[[FILLED]]
// CHECK-NEXT: %[[LAST:.+]] = arith.addi %[[DEST]], %c98304_i32
// CHECK-NEXT: cp.async.bulk.tensor.2d{{.*}} %[[LAST]], %[[MAP]], %[[COLUMN]], %[[ROW]], %[[FILLED]]

// The programs have the rest of the registers. Passing stages by flips the parity once a round.
// CHECK: } else {
// CHECK-NEXT: nvvm.setmaxregister increase 240
// CHECK: %[[MOVED:.+]] = arith.addi %{{.+}}, %[[N:.+]] : i32
// CHECK-NEXT: %[[ROUNDS:.+]] = arith.divui %[[MOVED]], %c3_i32
// CHECK-NEXT: %[[NEXT:.+]] = arith.remui %[[MOVED]], %c3_i32
// CHECK-NEXT: llvm.store %[[NEXT]], %[[READ]]
// CHECK-NEXT: %[[FLIP:.+]] = arith.andi %[[ROUNDS]], %c1_i32
// CHECK-NEXT: %[[OLD:.+]] = llvm.load %[[READ_PARITY]]
// CHECK-NEXT: arith.xori %[[OLD]], %[[FLIP]]
// CHECK: mbarrier.try_wait.parity
// CHECK: mbarrier.try_wait.parity
// CHECK: %[[LANE:.+]] = arith.andi %{{.+}}, %c31_i32
// CHECK-NEXT: %[[ANY:.+]] = arith.cmpi eq, %[[LANE]], %c0_i32
// CHECK: "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b,~{memory}" %{{.+}}, %[[ANY]]
// CHECK: %[[SPEAKS:.+]] = arith.cmpi eq, %{{.+}}, %c0_i32
// CHECK-NEXT: %[[ARRIVES:.+]] = arith.andi %[[SPEAKS]], %[[SOME:.+]] : i1
// CHECK-NEXT: "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b,~{memory}" %{{.+}}, %[[ARRIVES]]
// CHECK: %[[NOW:.+]] = arith.select %[[SOME]], %{{.+}}, %{{.+}}
// CHECK-NEXT: llvm.store %[[NOW]], %[[FREED]]
#ring = #tilegpu.shared<order = [2, 1, 0], swizzle = 3>
#rows = #tilegpu.shared<order = [1, 0], swizzle = 3>
!a = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [128, 2], align = 16, index = 32, read>
!ring = !tilegpu.smem<3x512x128xbf16, #ring>
!slot = !tilegpu.smem<512x128xbf16, #rows>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = ["wgmma"], limits = {registers_per_sm = 65536 : i64}}>} {
  tile.kernel @queue(%a: !a, %some: i1, %n: i32) attributes {tilegpu.num_warps = 4 : i64, tilegpu.producer_warps = 4 : i64, tilegpu.programs = 2 : i64, tilegpu.shared_bytes = 65536 : i64, tilegpu.moves_registers} {
    %map = tilegpu.tensor_map %a order [1, 0] box [64, 256] swizzle 3 : !a
    %r = tilegpu.ring {tilegpu.shared_offset = 0 : i64} : !ring
    %turn = tilegpu.turn {tilegpu.shared_offset = 60048 : i64} : !tilegpu.turn
    %q = tilegpu.queue bytes 131072 readers 1 {tilegpu.shared_offset = 60000 : i64} : <3>
    tilegpu.roles producer {
      %s = tilegpu.queue_acquire %q : <3>
      %i = tile.program_id 0 : index
      %x = tilegpu.ring_slot %r[%s] : !ring -> !slot
      tilegpu.tma_load %map[%i, %i] into %x of %q[%s] : !slot, <3>
    } consumer {
      tilegpu.queue_skip %q by %n : <3>
      tilegpu.turn_wait %turn : !tilegpu.turn
      %s = tilegpu.queue_wait %q : <3>
      tilegpu.turn_pass %turn : !tilegpu.turn
      tilegpu.queue_release %q when %some : <3>
    }
    tile.return
  }
}

// -----

// In a cluster, a stage is free when the readers of both CTAs have freed it: thread i of a warpgroup tells CTA i. Each
// CTA fetches half of what both read, and all meet at the start and at the end.
// CHECK-LABEL: llvm.func @cluster
// CHECK-SAME: nvvm.cluster_dim = array<i32: 2>
// CHECK: mbarrier.init.shared::cta.b64 {{.*}}, %c1_i32
// CHECK: mbarrier.init.shared::cta.b64 {{.*}}, %c2_i32
// CHECK: barrier.cluster.arrive.relaxed.aligned;
// CHECK-NEXT: barrier.cluster.wait.acquire.aligned;
// CHECK: %[[RANK:.+]] = llvm.inline_asm {{.*}}"mov.u32 $0, %cluster_ctarank;"
// CHECK: %[[HALF:.+]] = arith.muli %[[RANK]], %c8192_i32
// CHECK: complete_tx::bytes.multicast::cluster [$0], [$1, {$2, $3}], [$4], $5;{{.*}} %c3_i16
// CHECK-NOT: cp.async.bulk
// CHECK: %[[PEER:.+]] = arith.cmpi ult, %{{.+}}, %c2_i32
// CHECK: mapa.shared::cluster.u32 remote, $0, $1;{{.*}}mbarrier.arrive.shared::cluster.b64 _, [remote];{{.*}} %[[PEER]]
// CHECK: barrier.cluster.arrive.relaxed.aligned;
// CHECK-NEXT: barrier.cluster.wait.acquire.aligned;
#ring = #tilegpu.shared<order = [2, 1, 0], swizzle = 3>
#rows = #tilegpu.shared<order = [1, 0], swizzle = 3>
!a = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [16, 2], align = 16, index = 32, read>
!y = !tile.view<?x?xbf16, strides = [?, 1], divisible = [1, 8], stride_align = [16, 2], align = 16, index = 32, exclusive>
!c = !tile.partition<64x64 of !y>
!ring = !tilegpu.smem<1x128x64xbf16, #ring>
!slot = !tilegpu.smem<128x64xbf16, #rows>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = ["wgmma"]}>} {
  tile.kernel @cluster(%c: !c, %a: !a) attributes {tile.walks, tilegpu.num_warps = 4 : i64, tilegpu.producer_warps = 4 : i64, tilegpu.cluster = 2 : i64, tilegpu.shared_bytes = 65536 : i64} {
    %map = tilegpu.tensor_map %a order [1, 0] box [64, 64] swizzle 3 : !a
    %r = tilegpu.ring {tilegpu.shared_offset = 0 : i64} : !ring
    %q = tilegpu.queue bytes 16384 readers 1 cluster 2 {tilegpu.shared_offset = 60000 : i64} : <1>
    tilegpu.roles producer {
      %s = tilegpu.queue_acquire %q : <1>
      %i = arith.constant 0 : index
      %x = tilegpu.ring_slot %r[%s] : !ring -> !slot
      tilegpu.tma_load %map[%i, %i] into %x of %q[%s] multicast : !slot, <1>
    } consumer {
      %s = tilegpu.queue_wait %q : <1>
      tilegpu.queue_release %q : <1>
    }
    tile.return
  }
}

// -----

// A block of 64 rows a time, in two buffers: one thread waits until the copy engine has read the buffer, all four warps
// write, and the thread starts the copy.
// CHECK-LABEL: llvm.func @store
// CHECK: "@$0 cp.async.bulk.wait_group.read 1;"
// CHECK: barrier.sync.aligned $0, 128;
// CHECK: nvvm.stmatrix
// CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>
// CHECK: barrier.sync.aligned $0, 128;
// CHECK: cp.async.bulk.tensor.2d.global.shared::cta.bulk_group
// CHECK: cp.async.bulk.commit_group
// CHECK: "@$0 cp.async.bulk.wait_group.read 1;"
// CHECK: cp.async.bulk.tensor.2d.global.shared::cta.bulk_group
// CHECK: "cp.async.bulk.wait_group 0;"
// One block is in the same buffer each time, which has to be free of the last tile's.
// CHECK-LABEL: llvm.func @store_one
// CHECK: "@$0 cp.async.bulk.wait_group.read 0;"
// CHECK-NOT: wait_group.read
#acc = #tilegpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 16]>
!y = !tile.view<?x?xbf16, strides = [?, 1], divisible = [1, 8], stride_align = [16, 2], align = 16, index = 32, exclusive>
!c = !tile.partition<64x128 of !y>
!h = tensor<64x128xbf16, #acc>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = ["tma", "stmatrix"]}>} {
  tile.kernel @store(%c: !c) attributes {tile.walks, tilegpu.num_warps = 4 : i64, tilegpu.producer_warps = 4 : i64, tilegpu.shared_bytes = 16384 : i64} {
    %map = tilegpu.tensor_map %c order [1, 0] box [64, 64] swizzle 3 : !c
    %z = arith.constant dense<0.0> : !h
    %c0 = arith.constant 0 : index
    tilegpu.roles producer {
    } consumer {
      tilegpu.tma_store %z to %map[%c0, %c0] {tilegpu.shared_offset = 0 : i64} : !h
      tilegpu.tma_store_wait
    }
    tile.return
  }
}

// -----

#acc = #tilegpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 8]>
!y = !tile.view<?x?xbf16, strides = [?, 1], divisible = [1, 8], stride_align = [16, 2], align = 16, index = 32, exclusive>
!c = !tile.partition<64x64 of !y>
!h = tensor<64x64xbf16, #acc>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = ["tma", "stmatrix"]}>} {
  tile.kernel @store_one(%c: !c) attributes {tile.walks, tilegpu.num_warps = 4 : i64, tilegpu.producer_warps = 4 : i64, tilegpu.shared_bytes = 16384 : i64} {
    %map = tilegpu.tensor_map %c order [1, 0] box [64, 64] swizzle 3 : !c
    %z = arith.constant dense<0.0> : !h
    %c0 = arith.constant 0 : index
    tilegpu.roles producer {
    } consumer {
      tilegpu.tma_store %z to %map[%c0, %c0] {tilegpu.shared_offset = 0 : i64} : !h
      tilegpu.tma_store_wait
    }
    tile.return
  }
}

// -----

// Three warpgroups read a stage, and get the registers of 384 threads that the producer leaves.
// CHECK-LABEL: llvm.func @three_readers
// CHECK-SAME: nvvm.reqntid = array<i32: 512>
// CHECK: mbarrier.init.shared::cta.b64 {{.*}}, %c1_i32
// CHECK: mbarrier.init.shared::cta.b64 {{.*}}, %c3_i32
// CHECK: %[[FETCHES:.+]] = arith.cmpi uge, %{{.+}}, %c3_i32
// CHECK-NEXT: scf.if %[[FETCHES]] {
// CHECK-NEXT: nvvm.setmaxregister decrease 24
// CHECK-NEXT: arith.cmpi eq, %{{.+}}, %c384_i32
// CHECK: } else {
// CHECK-NEXT: nvvm.setmaxregister increase 160
// CHECK: "barrier.sync.aligned $0, 384;"
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = ["wgmma"], limits = {registers_per_sm = 65536 : i64}}>} {
  tile.kernel @three_readers() attributes {tilegpu.num_warps = 12 : i64, tilegpu.producer_warps = 4 : i64, tilegpu.shared_bytes = 65536 : i64, tilegpu.moves_registers} {
    %q = tilegpu.queue bytes 16384 readers 3 {tilegpu.shared_offset = 60000 : i64} : <1>
    tilegpu.roles producer {
      %s = tilegpu.queue_acquire %q : <1>
    } consumer {
      %s = tilegpu.queue_wait %q : <1>
      tilegpu.barrier
      tilegpu.queue_release %q : <1>
    }
    tile.return
  }
}
