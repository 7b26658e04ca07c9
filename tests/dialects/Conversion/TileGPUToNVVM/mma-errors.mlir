// RUN: tilec-opt %s --convert-tilegpu-to-nvvm --split-input-file --verify-diagnostics

#acc = #tilegpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]],
                       warp = [], repeat = [1, 1]>
#s = #tilegpu.shared<order = [1, 0], swizzle = 0>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = []}>} {
  tile.kernel @depth(%n: i32) attributes {tilegpu.num_warps = 1 : i64, tilegpu.shared_bytes = 2048 : i64} {
    %c = arith.constant dense<0.0> : tensor<16x8xf32, #acc>
    %a = tilegpu.ring {tilegpu.shared_offset = 0 : i64} : !tilegpu.smem<16x8xbf16, #s>
    %b = tilegpu.ring {tilegpu.shared_offset = 1024 : i64} : !tilegpu.smem<8x8xbf16, #s>
    // expected-error @below {{'tilegpu.mma' op kind mma_sync: K must be a multiple of the instruction's}}
    // expected-error @below {{failed to legalize operation 'tilegpu.mma'}}
    %d = tilegpu.mma mma_sync %a, %b, %c : !tilegpu.smem<16x8xbf16, #s>, !tilegpu.smem<8x8xbf16, #s>, tensor<16x8xf32, #acc>
    tile.return
  }
}
