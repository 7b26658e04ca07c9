// RUN: tilec-opt %s --split-input-file --verify-diagnostics

#acc = #tilegpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], repeat = [1, 1]>
!tile = tensor<16x8xf32, #acc>
!a = !tilegpu.smem<16x16xbf16, #tilegpu.shared<order = [1, 0], swizzle = 0>>
!b = !tilegpu.smem<16x8xbf16, #tilegpu.shared<order = [1, 0], swizzle = 0>>
tile.kernel @in_flight() {
  %l = tilegpu.ring : !a
  %r = tilegpu.ring : !b
  %z = arith.constant dense<0.0> : !tile
  // expected-error @below {{'tilegpu.mma' op only kind wgmma is asynchronous}}
  %p = tilegpu.mma mma_sync %l, %r, %z in_flight 1 : !a, !b, !tile
  tile.return
}

// -----

#acc = #tilegpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], repeat = [1, 1]>
!tile = tensor<16x8xf32, #acc>
!a = !tilegpu.smem<16x16xbf16, #tilegpu.shared<order = [1, 0], swizzle = 0>>
!b = !tilegpu.smem<16x8xbf16, #tilegpu.shared<order = [1, 0], swizzle = 0>>
tile.kernel @accumulate(%some: i1) {
  %l = tilegpu.ring : !a
  %r = tilegpu.ring : !b
  %z = arith.constant dense<0.0> : !tile
  // expected-error @below {{'tilegpu.mma' op only kind wgmma is asynchronous}}
  %p = tilegpu.mma fma %l, %r, %z accumulate %some : !a, !b, !tile
  tile.return
}

// -----

!a = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [16, 2], align = 16, index = 32, read>
tile.kernel @rank(%a: !a) {
  // expected-error @below {{'tilegpu.tensor_map' op order and box must have the view's rank 2}}
  %map = tilegpu.tensor_map %a order [1] box [64] swizzle 3 : !a
  tile.return
}

// -----

!a = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [16, 2], align = 16, index = 32, read>
tile.kernel @stride(%a: !a) {
  // expected-error @below {{'tilegpu.tensor_map' op the first dimension of order must have stride 1}}
  %map = tilegpu.tensor_map %a order [0, 1] box [64, 64] swizzle 3 : !a
  tile.return
}

// -----

!a = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [16, 2], align = 16, index = 32, read>
tile.kernel @extent(%a: !a) {
  // expected-error @below {{'tilegpu.tensor_map' op box extents must be from 1 to 256}}
  %map = tilegpu.tensor_map %a order [1, 0] box [64, 257] swizzle 3 : !a
  tile.return
}

// -----

!a = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [16, 2], align = 16, index = 32, read>
tile.kernel @row(%a: !a) {
  // expected-error @below {{'tilegpu.tensor_map' op swizzle 3 needs rows of 128 bytes, found 64}}
  %map = tilegpu.tensor_map %a order [1, 0] box [32, 64] swizzle 3 : !a
  tile.return
}

// -----

tile.kernel @slot(%s: i32) {
  %r = tilegpu.ring : !tilegpu.smem<2x16x64xbf16, #tilegpu.shared<order = [2, 1, 0], swizzle = 3>>
  // expected-error @below {{'tilegpu.ring_slot' op is one stage of the ring '!tilegpu.smem<2x16x64xbf16, #tilegpu.shared<order = [2, 1, 0], swizzle = 3>>', found '!tilegpu.smem<16x64xbf16, #tilegpu.shared<order = [1, 0], swizzle = 2>>'}}
  %x = tilegpu.ring_slot %r[%s] : !tilegpu.smem<2x16x64xbf16, #tilegpu.shared<order = [2, 1, 0], swizzle = 3>> -> !tilegpu.smem<16x64xbf16, #tilegpu.shared<order = [1, 0], swizzle = 2>>
  tile.return
}

// -----

tile.kernel @no_readers() {
  // expected-error @below {{'tilegpu.queue' op attribute 'readers' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %q = tilegpu.queue bytes 128 readers 0 : <2>
  tile.return
}

// -----

// expected-error @below {{a cluster of 2 CTAs takes rows of tiles: the kernel must have a partition of at least 2 dimensions, found none}}
tile.kernel @cluster_without_partition(%s: f32) attributes {tilegpu.num_warps = 4 : i64, tilegpu.cluster = 2 : i64} {
  tile.return
}

// -----

!y = !tile.view<?xf32, strides = [1], divisible = [16], stride_align = [4], align = 16, index = 32, exclusive>
// expected-error @below {{a cluster of 2 CTAs takes rows of tiles: the kernel must have a partition of at least 2 dimensions, found one of 1}}
tile.kernel @cluster_of_vectors(%y: !tile.partition<64 of !y>) attributes {tilegpu.num_warps = 4 : i64, tilegpu.cluster = 2 : i64} {
  tile.return
}

// -----

// expected-error @below {{a cluster of 4 CTAs shares a tile: the kernel must have a partition, found none}}
tile.kernel @shared_tile_of_nothing(%s: f32) attributes {tilegpu.cluster = 4 : i64, tilegpu.shares_tiles} {
  tile.return
}

// -----

// expected-error @below {{'tile.kernel' op attribute 'tilegpu.cluster' must be a positive i64, found 0 : i64}}
tile.kernel @cluster_of_none() attributes {tilegpu.cluster = 0 : i64} {
  tile.return
}

// -----

// One CTA is no cluster.
tile.kernel @cluster_of_one() attributes {tilegpu.cluster = 1 : i64} {
  tile.return
}
