// RUN: tilec-opt %s --convert-tilegpu-to-nvvm --cse --split-input-file | FileCheck %s

// A grouped kernel has four parameters: the rows of its table, the problems' first tiles, and how many problems and
// tiles there are. The launch plan says where in a row each argument is: 8 bytes each, in order.
// CHECK: module attributes
// CHECK-SAME: \22group\22:{\22row_bytes\22:72}
// CHECK-SAME: {\22arg\22:0,\22kind\22:\22pointer\22,\22offset\22:0}
// CHECK-SAME: {\22arg\22:0,\22dim\22:1,\22kind\22:\22shape\22,\22offset\22:16}
// CHECK-SAME: {\22arg\22:0,\22dim\22:0,\22kind\22:\22stride\22,\22offset\22:24}
// CHECK-SAME: {\22arg\22:1,\22kind\22:\22pointer\22,\22offset\22:32}
// CHECK-SAME: {\22arg\22:2,\22dtype\22:\22f32\22,\22kind\22:\22scalar\22,\22offset\22:64}
// CHECK: llvm.func @scale(%[[ROWS:.+]]: !llvm.ptr<1>, %[[STARTS:.+]]: !llvm.ptr<1>, %[[COUNT:.+]]: i32, %{{.+}}: i32)
// The search reads three first tiles at once, and leaves a quarter of the problems.
// CHECK: %[[FOUND:.+]]:3 = scf.while (%[[LOW:.+]] = %{{.+}}, %[[HIGH:.+]] = %[[COUNT]], %[[START:.+]] = %{{.+}})
// CHECK: %[[LEFT:.+]] = arith.subi %[[HIGH]], %[[LOW]]
// CHECK: %[[OPEN:.+]] = arith.cmpi ugt, %[[LEFT]]
// CHECK: scf.condition(%[[OPEN]])
// CHECK: %[[P1:.+]] = arith.addi
// CHECK: %[[P2:.+]] = arith.addi
// CHECK: %[[P3:.+]] = arith.addi
// CHECK: %[[S1:.+]] = llvm.load %{{.+}} invariant {alignment = 4 : i64} : !llvm.ptr<1> -> i32
// CHECK: %[[S2:.+]] = llvm.load %{{.+}} invariant {alignment = 4 : i64} : !llvm.ptr<1> -> i32
// CHECK: %[[S3:.+]] = llvm.load %{{.+}} invariant {alignment = 4 : i64} : !llvm.ptr<1> -> i32
// CHECK: arith.cmpi ule, %[[S1]]
// CHECK: arith.select %{{.+}}, %[[P2]], %[[P1]]
// CHECK: arith.cmpi ule, %[[S2]]
// CHECK: arith.cmpi ule, %[[S3]]
// CHECK: %[[LAST:.+]] = arith.select %{{.+}}, %[[P3]], %{{.+}}
// CHECK: %[[FIRST:.+]] = arith.select %{{.+}}, %[[S3]], %{{.+}}
// CHECK: %[[END:.+]] = arith.select %{{.+}}, %{{.+}}, %{{.+}}
// CHECK: scf.yield %[[LAST]], %[[END]], %[[FIRST]]
// CHECK: arith.subi %{{.+}}, %[[FOUND]]#2
// CHECK: arith.extui %[[FOUND]]#0
// CHECK: %[[BYTES:.+]] = arith.constant 72 : i64
// CHECK: %[[OFFSET:.+]] = arith.muli %{{.+}}, %[[BYTES]]
// CHECK: %[[ROW:.+]] = llvm.getelementptr %[[ROWS]][%[[OFFSET]]]
// CHECK: %[[Y:.+]] = llvm.load %{{.+}} invariant {alignment = 8 : i64} : !llvm.ptr<1> -> i64
// CHECK: llvm.inttoptr %[[Y]] : i64 to !llvm.ptr<1>
// CHECK: llvm.load %{{.+}} invariant {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK: ld.global.nc
// CHECK: st.global
#l = #tilegpu.layout<register = [[1, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [], repeat = [1, 1]>
!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>
!v = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, exclusive>
!y = !tile.partition<2x32 of !v>
module attributes {tilegpu.target = #tilegpu.target<"sm_80", {features = []}>} {
  tile.kernel @scale(%y: !y, %x: !x, %s: f32)
      attributes {arg_names = ["y", "x", "s"], tile.grouped, tilegpu.num_warps = 1 : i64} {
    %id = tile.program_id 0 : index
    %n = arith.index_castui %id : index to i32
    %problem, %tile = tilegpu.find_problem %n
    %y0, %x0, %s0 = tilegpu.arguments %problem : !y, !x, f32
    %i = arith.index_castui %tile : i32 to index
    %c0 = arith.constant 0 : index
    %t = tile.load %x0[%i, %c0] : !x -> tensor<2x32xf32, #l>
    %f = tile.splat %s0 : f32 -> tensor<2x32xf32, #l>
    %r = arith.mulf %t, %f : tensor<2x32xf32, #l>
    tile.store %r, %y0[%i, %c0] : tensor<2x32xf32, #l>, !y
    tile.return
  }
}

// -----

// Tensor maps lie behind the other cells, where the engine reads them. The host wrote them: a fence stands before
// their first use, again only when the problem changes.
// CHECK: module attributes
// CHECK-SAME: \22group\22:{\22row_bytes\22:256}
// CHECK-SAME: \22kind\22:\22tensor_map\22,\22offset\22:128,\22order\22:[1,0]
// CHECK: llvm.func @fetch(%[[ROWS:.+]]: !llvm.ptr<1>, %{{.+}}: !llvm.ptr<1>, %{{.+}}: i32, %[[ALL:.+]]: i32)
// CHECK: %[[LAST:.+]] = llvm.alloca %{{.+}} x !llvm.ptr<1>
// CHECK: %[[NONE:.+]] = llvm.mlir.zero : !llvm.ptr<1>
// CHECK: llvm.store %[[NONE]], %[[LAST]]
// CHECK: scf.for %{{.+}} = %{{.+}} to %[[ALL]]
// CHECK: %[[ROW:.+]] = llvm.getelementptr %[[ROWS]][
// CHECK: %[[PLACE:.+]] = llvm.getelementptr %[[ROW]][%{{c128.*}}]
// CHECK: %[[MAP:.+]] = llvm.addrspacecast %[[PLACE]] : !llvm.ptr<1> to !llvm.ptr
// CHECK: %[[KNOWN:.+]] = llvm.load %[[LAST]]
// CHECK: %[[NEW:.+]] = llvm.icmp "ne" %[[ROW]], %[[KNOWN]]
// CHECK: llvm.store %[[ROW]], %[[LAST]]
// CHECK: "@$1 fence.proxy.tensormap::generic.acquire.sys [$0], 128;", "l,b,~{memory}" %[[MAP]], %[[NEW]]
// CHECK: cp.async.bulk.tensor.2d{{.*}}%[[MAP]]
!x = !tile.view<?x?xbf16, strides = [?, 1], divisible = [1, 16], stride_align = [16, 2], align = 16, index = 32, read>
!ring = !tilegpu.smem<2x8x64xbf16, #tilegpu.shared<order = [2, 1, 0], swizzle = 3>>
!slot = !tilegpu.smem<8x64xbf16, #tilegpu.shared<order = [1, 0], swizzle = 3>>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = ["tma"], limits = {registers_per_sm = 65536 : i64}}>} {
  tile.kernel @fetch(%x: !x) attributes {
      arg_names = ["x"], tile.grouped, tilegpu.num_warps = 4 : i64, tilegpu.producer_warps = 4 : i64,
      tilegpu.shared_bytes = 4096 : i64} {
    %r = tilegpu.ring {tilegpu.shared_offset = 0 : i64} : !ring
    %q = tilegpu.queue bytes 1024 readers 1 {tilegpu.shared_offset = 2048 : i64} : <2>
    tilegpu.roles producer {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %z = arith.constant 0 : index
      %all = tilegpu.group_tiles
      scf.for %n = %c0 to %all step %c1 : i32 {
        %problem, %tile = tilegpu.find_problem %n
        %x0 = tilegpu.arguments %problem : !x
        %m = tilegpu.tensor_map %x0 of %problem order [1, 0] box [64, 8] swizzle 3 : !x
        %s = tilegpu.queue_acquire %q : <2>
        %d = tilegpu.ring_slot %r[%s] : !ring -> !slot
        tilegpu.tma_load %m[%z, %z] into %d of %q[%s] : !slot, <2>
      }
    } consumer {
      %s = tilegpu.queue_wait %q : <2>
      tilegpu.queue_release %q : <2>
    }
    tile.return
  }
}
