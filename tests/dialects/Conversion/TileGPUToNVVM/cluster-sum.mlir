// RUN: tilec-opt %s --convert-tilegpu-to-nvvm --cse --split-input-file | FileCheck %s

// Six CTAs finish 24 of 128 columns each: the one of rank r begins min(3 r, 13) units of 8 columns behind the first. They
// meet when all have put their parts, without a release, and again before any of them ends: then with one, which waits
// for what has been read of the others' memory.
// CHECK-LABEL: llvm.func @some_columns
// CHECK: "mov.u32 $0, %cluster_ctarank;"
// CHECK: "fence.acq_rel.cta;"
// CHECK: "barrier.cluster.arrive.relaxed.aligned;"
// CHECK: "barrier.cluster.wait.acquire.aligned;"
// CHECK: %[[NEXT:.+]] = arith.muli %{{.+}}, %c3_i32
// CHECK: arith.minui %[[NEXT]], %c13_i32
// CHECK-COUNT-18: ld.shared::cluster.v4.b32
// CHECK: "barrier.cluster.arrive.release.aligned;"
// CHECK: "barrier.cluster.wait.acquire.aligned;"
// CHECK: llvm.return
#acc = #tilegpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 16]>
#part = #tilegpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 3]>
!y = !tile.view<?x?xf32, strides = [?, 1], divisible = [16, 16], stride_align = [16, 4], align = 16, index = 32, exclusive>
!c = !tile.partition<64x128 of !y>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = ["cluster"]}>} {
  tile.kernel @some_columns(%c: !c) attributes {tile.walks, tilegpu.num_warps = 4 : i64, tilegpu.cluster = 6 : i64, tilegpu.shares_tiles, tilegpu.shared_bytes = 32768 : i64} {
    %c0 = arith.constant 0 : index
    %own = arith.constant dense<1.0> : tensor<64x128xf32, #acc>
    %sum = tilegpu.cluster_sum %own {tilegpu.shared_offset = 0 : i64} : tensor<64x128xf32, #acc> -> tensor<64x24xf32, #part>
    tile.store %sum, %c[%c0, %c0] step [64, 8] : tensor<64x24xf32, #part>, !c
    tile.return
  }
}

// -----

// Where warps have roles, the CTAs that share a tile stay until the end, and leave with a release too.
// CHECK-LABEL: llvm.func @roles
// CHECK: "barrier.cluster.arrive.relaxed.aligned;"
// CHECK: "barrier.cluster.arrive.release.aligned;"
// CHECK-NEXT: "barrier.cluster.wait.acquire.aligned;"
!y = !tile.view<?x?xf32, strides = [?, 1], divisible = [16, 16], stride_align = [16, 4], align = 16, index = 32, exclusive>
!c = !tile.partition<64x128 of !y>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = ["cluster", "wgmma"], limits = {registers_per_sm = 65536 : i64}}>} {
  tile.kernel @roles(%c: !c) attributes {tilegpu.num_warps = 4 : i64, tilegpu.producer_warps = 4 : i64, tilegpu.cluster = 2 : i64, tilegpu.shares_tiles, tilegpu.shared_bytes = 65536 : i64} {
    %q = tilegpu.queue bytes 16384 readers 1 {tilegpu.shared_offset = 60000 : i64} : <1>
    tilegpu.roles producer {
      %s = tilegpu.queue_acquire %q : <1>
    } consumer {
      %s = tilegpu.queue_wait %q : <1>
      tilegpu.queue_release %q : <1>
    }
    tile.return
  }
}
