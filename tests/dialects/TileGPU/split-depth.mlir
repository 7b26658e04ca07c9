// RUN: tilec-opt %s --tilegpu-split-depth --cse --split-input-file | FileCheck %s

// The CTAs of a cluster share the depth of a tile, and each finishes as many of its columns: whatever else the epilogue
// reads is read for those.
// CHECK-LABEL: tile.kernel @each_finishes_columns
// CHECK-SAME: tilegpu.cluster = 4 : i64
// CHECK: %[[ACC:.+]] = scf.for
// CHECK: %[[SUM:.+]] = tilegpu.cluster_sum %[[ACC]] : tensor<64x128xf32> -> tensor<64x32xf32>
// CHECK: %[[FIRST:.+]] = arith.muli %[[J:.+]], %c4
// CHECK: %[[PLACE:.+]] = arith.addi %[[FIRST]], %{{.+}}
// CHECK: %[[BIAS:.+]] = tile.load %bias[%[[PLACE]]] : !{{.+}} -> tensor<32xf32>
// CHECK: %[[BIASED:.+]] = arith.addf %[[SUM]], %{{.+}} : tensor<64x32xf32>
// CHECK-NOT: 64x128
// CHECK: %[[RESIDUAL:.+]] = tile.load %r[%[[I:.+]], %[[PLACE]]] : !{{.+}} -> tensor<64x32xbf16>
// CHECK: tile.store %{{.+}}, %c[%[[I]], %[[PLACE]]] : tensor<64x32xbf16>
// CHECK-NEXT: tile.return
#target = #tilegpu.target<"sm_90a", {features = ["tma", "cluster", "wgmma"], limits = {shared_per_block_bytes = 232448 : i64}}>
!v = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [16, 2], align = 16, index = 32, read>
!bias = !tile.view<?xf32, strides = [1], divisible = [16], stride_align = [4], align = 16, index = 32, read>
!y = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [16, 2], align = 16, index = 32, exclusive>
!c = !tile.partition<64x128 of !y>
!sa = !tilegpu.smem<64x64xbf16, #tilegpu.shared<order = [1, 0], swizzle = 3>>
!sb = !tilegpu.smem<64x128xbf16, #tilegpu.shared<order = [1, 0], swizzle = 3>>
module attributes {tilegpu.target = #target} {
  tile.kernel @each_finishes_columns(%c: !c, %a: !v, %b: !v, %bias: !bias, %r: !v) attributes {arg_names = ["c", "a", "b", "bias", "r"], tilegpu.num_warps = 4 : i64, tilegpu.plan = {split_k = 4 : i64}} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i:2 = tile.index %c : !c -> index, index
    %n = tile.num_tiles %a, 1 by 64 : !v
    %z = arith.constant dense<0.0> : tensor<64x128xf32>
    %row = tile.load %bias[%i#1] : !bias -> tensor<128xf32>
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %z) -> (tensor<64x128xf32>) {
      %x = tile.load %a[%i#0, %k] : !v -> tensor<64x64xbf16>
      %w = tile.load %b[%k, %i#1] : !v -> tensor<64x128xbf16>
      %sx = tilegpu.local_alloc %x {async_readers} : tensor<64x64xbf16> -> !sa
      %sw = tilegpu.local_alloc %w {async_readers} : tensor<64x128xbf16> -> !sb
      %p = tilegpu.mma wgmma %sx, %sw, %acc : !sa, !sb, tensor<64x128xf32>
      scf.yield %p : tensor<64x128xf32>
    }
    %wide = tile.reshape %row : tensor<128xf32> -> tensor<1x128xf32>
    %all = tile.broadcast %wide : tensor<1x128xf32> -> tensor<64x128xf32>
    %biased = arith.addf %sum, %all : tensor<64x128xf32>
    %residual = tile.load %r[%i#0, %i#1] : !v -> tensor<64x128xbf16>
    %ext = arith.extf %residual : tensor<64x128xbf16> to tensor<64x128xf32>
    %two = arith.constant dense<2.0> : tensor<64x128xf32>
    %scaled = arith.mulf %ext, %two : tensor<64x128xf32>
    %done = arith.addf %biased, %scaled : tensor<64x128xf32>
    %t = arith.truncf %done : tensor<64x128xf32> to tensor<64x128xbf16>
    tile.store %t, %c : tensor<64x128xbf16>, !c
    tile.return
  }
}

// -----

// Columns that cannot be divided evenly: each CTA finishes 24 of 128 and starts at a multiple of 8, the last two at 104.
// CHECK-LABEL: tile.kernel @columns_by_eight
// CHECK-SAME: tilegpu.cluster = 6 : i64
// CHECK: %[[RANK:.+]] = arith.remui %{{.+}}, %c6_i32
// CHECK: %[[OWN:.+]] = arith.index_castui %[[RANK]]
// CHECK: %[[SUM:.+]] = tilegpu.cluster_sum %{{.+}} : tensor<64x128xf32> -> tensor<64x24xf32>
// CHECK: %[[NEXT:.+]] = arith.muli %[[OWN]], %c3
// CHECK: %[[FIRST:.+]] = arith.minui %[[NEXT]], %c13
// CHECK: %[[TILE:.+]] = arith.muli %{{.+}}, %c16
// CHECK: %[[PLACE:.+]] = arith.addi %[[TILE]], %[[FIRST]]
// CHECK: tile.load %bias[%[[PLACE]]] step [8] : !{{.+}} -> tensor<24xf32>
// CHECK-NOT: 64x128
// CHECK: tile.load %r[%[[I:.+]], %[[PLACE]]] step [64, 8] : !{{.+}} -> tensor<64x24xbf16>
// CHECK: tile.store %{{.+}}, %c[%[[I]], %[[PLACE]]] step [64, 8] : tensor<64x24xbf16>
// CHECK-NEXT: tile.return
#target = #tilegpu.target<"sm_90a", {features = ["tma", "cluster", "wgmma"], limits = {shared_per_block_bytes = 232448 : i64}}>
!v = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [16, 2], align = 16, index = 32, read>
!bias = !tile.view<?xf32, strides = [1], divisible = [16], stride_align = [4], align = 16, index = 32, read>
!y = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [16, 2], align = 16, index = 32, exclusive>
!c = !tile.partition<64x128 of !y>
!sa = !tilegpu.smem<64x64xbf16, #tilegpu.shared<order = [1, 0], swizzle = 3>>
!sb = !tilegpu.smem<64x128xbf16, #tilegpu.shared<order = [1, 0], swizzle = 3>>
module attributes {tilegpu.target = #target} {
  tile.kernel @columns_by_eight(%c: !c, %a: !v, %b: !v, %bias: !bias, %r: !v) attributes {arg_names = ["c", "a", "b", "bias", "r"], tilegpu.num_warps = 4 : i64, tilegpu.plan = {split_k = 6 : i64}} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i:2 = tile.index %c : !c -> index, index
    %n = tile.num_tiles %a, 1 by 64 : !v
    %z = arith.constant dense<0.0> : tensor<64x128xf32>
    %row = tile.load %bias[%i#1] : !bias -> tensor<128xf32>
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %z) -> (tensor<64x128xf32>) {
      %x = tile.load %a[%i#0, %k] : !v -> tensor<64x64xbf16>
      %w = tile.load %b[%k, %i#1] : !v -> tensor<64x128xbf16>
      %sx = tilegpu.local_alloc %x {async_readers} : tensor<64x64xbf16> -> !sa
      %sw = tilegpu.local_alloc %w {async_readers} : tensor<64x128xbf16> -> !sb
      %p = tilegpu.mma wgmma %sx, %sw, %acc : !sa, !sb, tensor<64x128xf32>
      scf.yield %p : tensor<64x128xf32>
    }
    %wide = tile.reshape %row : tensor<128xf32> -> tensor<1x128xf32>
    %all = tile.broadcast %wide : tensor<1x128xf32> -> tensor<64x128xf32>
    %biased = arith.addf %sum, %all : tensor<64x128xf32>
    %residual = tile.load %r[%i#0, %i#1] : !v -> tensor<64x128xbf16>
    %ext = arith.extf %residual : tensor<64x128xbf16> to tensor<64x128xf32>
    %two = arith.constant dense<2.0> : tensor<64x128xf32>
    %scaled = arith.mulf %ext, %two : tensor<64x128xf32>
    %done = arith.addf %biased, %scaled : tensor<64x128xf32>
    %t = arith.truncf %done : tensor<64x128xf32> to tensor<64x128xbf16>
    tile.store %t, %c : tensor<64x128xbf16>, !c
    tile.return
  }
}

// -----

// Two CTAs that finish the same columns must not read what the other has written: the first goes on alone.
// CHECK-LABEL: tile.kernel @reads_what_it_writes
// CHECK: tilegpu.cluster_sum %{{.+}} : tensor<64x128xf32> -> tensor<64x128xf32>
// CHECK: scf.if
// CHECK: tile.store
#target = #tilegpu.target<"sm_90a", {features = ["tma", "cluster", "wgmma"], limits = {shared_per_block_bytes = 232448 : i64}}>
!v = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [16, 2], align = 16, index = 32, read>
!bias = !tile.view<?xf32, strides = [1], divisible = [16], stride_align = [4], align = 16, index = 32, read>
!y = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [16, 2], align = 16, index = 32, exclusive>
!w = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [16, 2], align = 16, index = 32, unchecked>
!c = !tile.partition<64x128 of !y>
!sa = !tilegpu.smem<64x64xbf16, #tilegpu.shared<order = [1, 0], swizzle = 3>>
!sb = !tilegpu.smem<64x128xbf16, #tilegpu.shared<order = [1, 0], swizzle = 3>>
module attributes {tilegpu.target = #target} {
  tile.kernel @reads_what_it_writes(%c: !c, %a: !v, %b: !v, %bias: !bias, %r: !w) attributes {arg_names = ["c", "a", "b", "bias", "r"], tilegpu.num_warps = 4 : i64, tilegpu.plan = {split_k = 6 : i64}} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i:2 = tile.index %c : !c -> index, index
    %n = tile.num_tiles %a, 1 by 64 : !v
    %z = arith.constant dense<0.0> : tensor<64x128xf32>
    %row = tile.load %bias[%i#1] : !bias -> tensor<128xf32>
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %z) -> (tensor<64x128xf32>) {
      %x = tile.load %a[%i#0, %k] : !v -> tensor<64x64xbf16>
      %w = tile.load %b[%k, %i#1] : !v -> tensor<64x128xbf16>
      %sx = tilegpu.local_alloc %x {async_readers} : tensor<64x64xbf16> -> !sa
      %sw = tilegpu.local_alloc %w {async_readers} : tensor<64x128xbf16> -> !sb
      %p = tilegpu.mma wgmma %sx, %sw, %acc : !sa, !sb, tensor<64x128xf32>
      scf.yield %p : tensor<64x128xf32>
    }
    %wide = tile.reshape %row : tensor<128xf32> -> tensor<1x128xf32>
    %all = tile.broadcast %wide : tensor<1x128xf32> -> tensor<64x128xf32>
    %biased = arith.addf %sum, %all : tensor<64x128xf32>
    %residual = tile.load %r[%i#0, %i#1] : !w -> tensor<64x128xbf16>
    %ext = arith.extf %residual : tensor<64x128xbf16> to tensor<64x128xf32>
    %two = arith.constant dense<2.0> : tensor<64x128xf32>
    %scaled = arith.mulf %ext, %two : tensor<64x128xf32>
    %done = arith.addf %biased, %scaled : tensor<64x128xf32>
    %t = arith.truncf %done : tensor<64x128xf32> to tensor<64x128xbf16>
    tile.store %t, %c : tensor<64x128xbf16>, !c
    tile.return
  }
}

// -----

// Columns have parts that rows' sums do not: the first CTA goes on alone.
// CHECK-LABEL: tile.kernel @the_first_goes_on
// CHECK: %[[SUM:.+]] = tilegpu.cluster_sum %{{.+}} : tensor<64x128xf32> -> tensor<64x128xf32>
// CHECK: scf.if
// CHECK: tile.reduce
// CHECK: tile.store
#target = #tilegpu.target<"sm_90a", {features = ["tma", "cluster", "wgmma"], limits = {shared_per_block_bytes = 232448 : i64}}>
!v = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [16, 2], align = 16, index = 32, read>
!bias = !tile.view<?xf32, strides = [1], divisible = [16], stride_align = [4], align = 16, index = 32, read>
!y = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [16, 2], align = 16, index = 32, exclusive>
!c = !tile.partition<64x128 of !y>
!sa = !tilegpu.smem<64x64xbf16, #tilegpu.shared<order = [1, 0], swizzle = 3>>
!sb = !tilegpu.smem<64x128xbf16, #tilegpu.shared<order = [1, 0], swizzle = 3>>
module attributes {tilegpu.target = #target} {
  tile.kernel @the_first_goes_on(%c: !c, %a: !v, %b: !v, %bias: !bias, %r: !v) attributes {arg_names = ["c", "a", "b", "bias", "r"], tilegpu.num_warps = 4 : i64, tilegpu.plan = {split_k = 4 : i64}} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i:2 = tile.index %c : !c -> index, index
    %n = tile.num_tiles %a, 1 by 64 : !v
    %z = arith.constant dense<0.0> : tensor<64x128xf32>
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %z) -> (tensor<64x128xf32>) {
      %x = tile.load %a[%i#0, %k] : !v -> tensor<64x64xbf16>
      %w = tile.load %b[%k, %i#1] : !v -> tensor<64x128xbf16>
      %sx = tilegpu.local_alloc %x {async_readers} : tensor<64x64xbf16> -> !sa
      %sw = tilegpu.local_alloc %w {async_readers} : tensor<64x128xbf16> -> !sb
      %p = tilegpu.mma wgmma %sx, %sw, %acc : !sa, !sb, tensor<64x128xf32>
      scf.yield %p : tensor<64x128xf32>
    }
    %sums = tile.reduce (%sum) axis = 1 identity [0.0 : f32] : (tensor<64x128xf32>) -> (tensor<64x1xf32>) {
    ^bb0(%p: f32, %q: f32):
      %s = arith.addf %p, %q : f32
      tile.yield %s : f32
    }
    %all = tile.broadcast %sums : tensor<64x1xf32> -> tensor<64x128xf32>
    %t = arith.truncf %all : tensor<64x128xf32> to tensor<64x128xbf16>
    tile.store %t, %c : tensor<64x128xbf16>, !c
    tile.return
  }
}

// -----

// Without clusters CTAs meet in a workspace, and the last of them goes on alone.
// CHECK-LABEL: tile.kernel @the_last_goes_on
// CHECK-SAME: tilegpu.shares_tiles, tilegpu.tile_parts = 12 : i64
// CHECK: %[[RANK:.+]] = arith.remui %{{.+}}, %c12_i32
// CHECK: arith.index_castui %[[RANK]]
// CHECK: %[[ACC:.+]]:2 = scf.for
// CHECK: %[[SUMS:.+]]:2, %[[LAST:.+]] = tilegpu.workspace_sum %[[ACC]]#0, %[[ACC]]#1 parts 12
// CHECK-SAME: : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>, tensor<64x64xf32>
// CHECK-NEXT: scf.if %[[LAST]] {
// CHECK: arith.addf %[[SUMS]]#0, %[[SUMS]]#1
// CHECK: tile.store
// CHECK: }
// CHECK-NEXT: tile.return
#target = #tilegpu.target<"sm_80", {features = ["cp_async", "mma_bf16"], limits = {shared_per_block_bytes = 166912 : i64}}>
!v = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [16, 2], align = 16, index = 32, read>
!y = !tile.view<?x?xf32, strides = [?, 1], divisible = [16, 16], stride_align = [16, 4], align = 16, index = 32, exclusive>
!c = !tile.partition<64x64 of !y>
!sa = !tilegpu.smem<64x64xbf16, #tilegpu.shared<order = [1, 0], swizzle = 3>>
module attributes {tilegpu.target = #target} {
  tile.kernel @the_last_goes_on(%c: !c, %a: !v, %b: !v) attributes {arg_names = ["c", "a", "b"], tilegpu.num_warps = 4 : i64, tilegpu.plan = {split_k = 12 : i64, split_by = "workspace"}} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i:2 = tile.index %c : !c -> index, index
    %n = tile.num_tiles %a, 1 by 64 : !v
    %z = arith.constant dense<0.0> : tensor<64x64xf32>
    %sums:2 = scf.for %k = %c0 to %n step %c1 iter_args(%one = %z, %two = %z) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
      %x = tile.load %a[%i#0, %k] : !v -> tensor<64x64xbf16>
      %w = tile.load %b[%k, %i#1] : !v -> tensor<64x64xbf16>
      %sx = tilegpu.local_alloc %x : tensor<64x64xbf16> -> !sa
      %sw = tilegpu.local_alloc %w : tensor<64x64xbf16> -> !sa
      %p = tilegpu.mma mma_sync %sx, %sw, %one : !sa, !sa, tensor<64x64xf32>
      %q = tilegpu.mma mma_sync %sw, %sx, %two : !sa, !sa, tensor<64x64xf32>
      scf.yield %p, %q : tensor<64x64xf32>, tensor<64x64xf32>
    }
    %both = arith.addf %sums#0, %sums#1 : tensor<64x64xf32>
    tile.store %both, %c : tensor<64x64xf32>, !c
    tile.return
  }
}
