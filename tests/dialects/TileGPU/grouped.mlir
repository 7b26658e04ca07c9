// RUN: tilec-opt %s --tilegpu-specialize=num-stages=4 --tilegpu-find-problems --canonicalize --cse --split-input-file | FileCheck %s

// The walk is over the tiles of all problems. Each turn finds its tile's problem, whose arguments take the place of
// the kernel's: the tensor maps, the counts of tiles and the loop are that problem's. Of two programs that take turns,
// each passes by the stages of the other's next tile, which may be another problem's.
// CHECK-LABEL: tile.kernel @turns
// CHECK-SAME: tile.grouped, tile.walks
// CHECK: tilegpu.roles producer {
// CHECK: %[[ALL:.+]] = tilegpu.group_tiles
// CHECK: scf.for %[[N:.+]] = %{{.+}} to %[[ALL]] step
// CHECK: %[[P:problem.*]], %[[TILE:.+]] = tilegpu.find_problem %[[N]]
// CHECK: %[[C:c.*]], %[[A:a.*]], %[[B:b.*]] = tilegpu.arguments %[[P]] : !part, !view1, !view1
// CHECK-DAG: tilegpu.tensor_map %[[A]] of %[[P]] order [1, 0] box [64, 128] swizzle 3
// CHECK-DAG: tilegpu.tensor_map %[[B]] of %[[P]] order [1, 0] box [64, 64] swizzle 3
// CHECK-DAG: tile.num_tiles %[[C]], 0 by 128
// CHECK-DAG: tile.num_tiles %[[C]], 1 by 128
// CHECK: %[[K:.+]] = tile.num_tiles %[[A]], 1 by 64
// CHECK: scf.for %{{.+}} = %{{.+}} to %[[K]] step
// CHECK: } consumer {
// CHECK: %[[ID:.+]] = tile.program_id 0
// CHECK: %[[FIRST:.+]] = arith.index_castui %[[ID]]
// CHECK: %[[PROGRAMS:.+]] = arith.index_castui %{{.+}} : index to i32
// CHECK: %[[P0:.+]], %{{.+}} = tilegpu.find_problem %[[FIRST]]
// CHECK: %{{.+}}, %[[A0:a.*]], %{{.+}} = tilegpu.arguments %[[P0]]
// CHECK: tile.num_tiles %[[A0]], 1 by 64
// CHECK: tilegpu.queue_skip
// CHECK: scf.for %[[I:.+]] = %{{.+}} to %{{.+}} step
// CHECK: tilegpu.find_problem %[[I]]
// CHECK: tilegpu.turn_wait
// CHECK: tilegpu.turn_pass
// CHECK: tile.store %{{.+}}, %{{c.*}}[%{{.+}}, %{{.+}}]
// CHECK: %[[NEXT:.+]] = arith.addi %[[I]], %[[PROGRAMS]]
// CHECK: %[[P1:.+]], %{{.+}} = tilegpu.find_problem %[[NEXT]]
// CHECK: %{{.+}}, %[[A1:a.*]], %{{.+}} = tilegpu.arguments %[[P1]]
// CHECK: tile.num_tiles %[[A1]], 1 by 64
// CHECK: tilegpu.queue_skip
#target = #tilegpu.target<"sm_90a", {features = ["mma_bf16", "tma", "tma_multicast", "wgmma"]}>
#rows = #tilegpu.shared<order = [1, 0], swizzle = 3>
!a = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [128, 2], align = 16, index = 32, read>
!y = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [128, 2], align = 16, index = 32, exclusive>
!c = !tile.partition<128x128 of !y>
!lhs = !tilegpu.smem<128x64xbf16, #rows>
!rhs = !tilegpu.smem<64x128xbf16, #rows>
module attributes {tilegpu.target = #target} {
  tile.kernel @turns(%c: !c, %a: !a, %b: !a)
      attributes {arg_names = ["c", "a", "b"], tile.grouped, tilegpu.num_warps = 8 : i64} {
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
      %m = tilegpu.mma wgmma %l, %r, %acc : !lhs, !rhs, tensor<128x128xf32>
      scf.yield %m : tensor<128x128xf32>
    }
    %t = arith.truncf %s : tensor<128x128xf32> to tensor<128x128xbf16>
    tile.store %t, %c : tensor<128x128xbf16>, !c
    tile.return
  }
}

// -----

// A loop whose turns depend on the tile itself, not on its problem alone: no turns, as in any launch.
// CHECK-LABEL: tile.kernel @triangle
// CHECK-NOT: tilegpu.turn
// CHECK: tilegpu.roles producer {
// CHECK: tilegpu.find_problem
// CHECK-NOT: tilegpu.queue_skip
#target = #tilegpu.target<"sm_90a", {features = ["mma_bf16", "tma", "tma_multicast", "wgmma"]}>
#rows = #tilegpu.shared<order = [1, 0], swizzle = 3>
!a = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [128, 2], align = 16, index = 32, read>
!y = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [128, 2], align = 16, index = 32, exclusive>
!c = !tile.partition<128x128 of !y>
!lhs = !tilegpu.smem<128x64xbf16, #rows>
!rhs = !tilegpu.smem<64x128xbf16, #rows>
module attributes {tilegpu.target = #target} {
  tile.kernel @triangle(%c: !c, %a: !a, %b: !a)
      attributes {arg_names = ["c", "a", "b"], tile.grouped, tilegpu.num_warps = 8 : i64} {
    %i:2 = tile.index %c : !c -> index, index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant dense<0.0> : tensor<128x128xf32>
    %s = scf.for %k = %c0 to %i#0 step %c1 iter_args(%acc = %z) -> (tensor<128x128xf32>) {
      %x = tile.load %a[%i#0, %k] : !a -> tensor<128x64xbf16>
      %y = tile.load %b[%k, %i#1] : !a -> tensor<64x128xbf16>
      %l = tilegpu.local_alloc %x {async_readers} : tensor<128x64xbf16> -> !lhs
      %r = tilegpu.local_alloc %y {async_readers} : tensor<64x128xbf16> -> !rhs
      %m = tilegpu.mma wgmma %l, %r, %acc : !lhs, !rhs, tensor<128x128xf32>
      scf.yield %m : tensor<128x128xf32>
    }
    %t = arith.truncf %s : tensor<128x128xf32> to tensor<128x128xbf16>
    tile.store %t, %c : tensor<128x128xbf16>, !c
    tile.return
  }
}

// -----

// A program that does not walk finds the problem of its one tile, the last dimension fastest.
// CHECK-LABEL: tile.kernel @scale
// CHECK-NOT: tile.walks
// CHECK: %[[ID:.+]] = tile.program_id 0
// CHECK: %[[N:.+]] = arith.index_castui %[[ID]]
// CHECK: %[[P:problem.*]], %[[TILE:.+]] = tilegpu.find_problem %[[N]]
// CHECK: %[[Y:y.*]], %[[X:x.*]], %[[S:s.*]] = tilegpu.arguments %[[P]] : !part, !view1, f32
// CHECK: %[[COLUMNS:.+]] = tile.num_tiles %[[Y]], 1 by 32
// CHECK: %[[COUNT:.+]] = arith.index_castui %[[COLUMNS]]
// CHECK: %[[ROW:.+]] = arith.divui %[[TILE]], %[[COUNT]]
// CHECK: %[[COLUMN:.+]] = arith.remui %[[TILE]], %[[COUNT]]
// CHECK-DAG: %[[I:.+]] = arith.index_castui %[[ROW]]
// CHECK-DAG: %[[J:.+]] = arith.index_castui %[[COLUMN]]
// CHECK: %[[T:.+]] = tile.load %[[X]][%[[I]], %[[J]]]
// CHECK: %[[F:.+]] = tile.splat %[[S]]
// CHECK: %[[R:.+]] = arith.mulf %[[T]], %[[F]]
// CHECK: tile.store %[[R]], %[[Y]][%[[I]], %[[J]]]
!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>
!v = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, exclusive>
!y = !tile.partition<8x32 of !v>
tile.kernel @scale(%y: !y, %x: !x, %s: f32)
    attributes {arg_names = ["y", "x", "s"], tile.grouped, tilegpu.num_warps = 4 : i64} {
  %i:2 = tile.index %y : !y -> index, index
  %t = tile.load %x[%i#0, %i#1] : !x -> tensor<8x32xf32>
  %f = tile.splat %s : f32 -> tensor<8x32xf32>
  %r = arith.mulf %t, %f : tensor<8x32xf32>
  tile.store %r, %y : tensor<8x32xf32>, !y
  tile.return
}
