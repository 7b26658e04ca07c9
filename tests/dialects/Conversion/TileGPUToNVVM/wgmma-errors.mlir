// RUN: tilec-opt %s --convert-tilegpu-to-nvvm --split-input-file --verify-diagnostics

#acc = #tilegpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 2]>
!half = tensor<64x16xf16, #acc>
!a = !tilegpu.smem<64x16xf16, #tilegpu.shared<order = [1, 0], swizzle = 1>>
!b = !tilegpu.smem<16x16xf16, #tilegpu.shared<order = [1, 0], swizzle = 1>>
#io = #tilegpu.layout<register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 1]>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = ["wgmma"]}>} {
  tile.kernel @half_accumulator(%v: f16) attributes {tilegpu.num_warps = 4 : i64, tilegpu.shared_bytes = 4096 : i64} {
    %z = arith.constant dense<0.0> : !half
    %t = tile.splat %v : f16 -> tensor<64x16xf16, #io>
    %u = tile.splat %v : f16 -> tensor<16x16xf16, #io>
    %x = tilegpu.local_alloc %t {tilegpu.shared_offset = 0 : i64} : tensor<64x16xf16, #io> -> !a
    %w = tilegpu.local_alloc %u {tilegpu.shared_offset = 2048 : i64} : tensor<16x16xf16, #io> -> !b
    // expected-error @below {{'tilegpu.mma' op kind wgmma: no instruction multiplies these types}}
    // expected-error @below {{failed to legalize operation 'tilegpu.mma'}}
    %p = tilegpu.mma wgmma %x, %w, %z : !a, !b, !half
    tile.return
  }
}

// -----

#acc = #tilegpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0]], repeat = [2, 2]>
!tile = tensor<64x16xf32, #acc>
!a = !tilegpu.smem<64x16xf16, #tilegpu.shared<order = [1, 0], swizzle = 1>>
!b = !tilegpu.smem<16x16xf16, #tilegpu.shared<order = [1, 0], swizzle = 1>>
#io = #tilegpu.layout<register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [[16, 0]], repeat = [2, 1]>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = ["wgmma"]}>} {
  tile.kernel @two_warps(%v: f16) attributes {tilegpu.num_warps = 2 : i64, tilegpu.shared_bytes = 4096 : i64} {
    %z = arith.constant dense<0.0> : !tile
    %t = tile.splat %v : f16 -> tensor<64x16xf16, #io>
    %u = tile.splat %v : f16 -> tensor<16x16xf16, #io>
    %x = tilegpu.local_alloc %t {tilegpu.shared_offset = 0 : i64} : tensor<64x16xf16, #io> -> !a
    %w = tilegpu.local_alloc %u {tilegpu.shared_offset = 2048 : i64} : tensor<16x16xf16, #io> -> !b
    // expected-error @below {{'tilegpu.mma' op kind wgmma: warpgroups must hold 64 rows each of the accumulator}}
    // expected-error @below {{failed to legalize operation 'tilegpu.mma'}}
    %p = tilegpu.mma wgmma %x, %w, %z : !a, !b, !tile
    tile.return
  }
}
