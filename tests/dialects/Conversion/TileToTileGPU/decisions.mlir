// RUN: tilec-opt %s --convert-tile-to-tilegpu --split-input-file --remarks-filter=tilec 2>&1 | FileCheck %s

#hopper = #tilegpu.target<"sm_90a", {features = ["mma_bf16", "mma_f16", "mma_tf32", "mma_i8", "wgmma", "tma"]}>
!a = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [16, 2], align = 16, index = 32, read>
!odd = !tile.view<?x?xbf16, strides = [?, 1], divisible = [1, 1], stride_align = [2, 2], align = 2, index = 32, read>
module attributes {tilegpu.target = #hopper} {
  // CHECK: [Analysis] warps | Category:tilec | Reason="wgmma takes whole warpgroups", Remark="8 a program"
  // CHECK: [Passed] product | Category:tilec | Remark=wgmma, elements="bf16 x bf16 into f32", shape="128 x 64 x 64"
  tile.kernel @fits(%a: !a, %b: !a) attributes {arg_names = ["a", "b"]} {
    %i = tile.program_id 0 : index
    %x = tile.load %a[%i, %i] : !a -> tensor<128x64xbf16>
    %y = tile.load %b[%i, %i] : !a -> tensor<64x64xbf16>
    %z = arith.constant dense<0.0> : tensor<128x64xf32>
    %r = tile.mma %x, %y, %z : tensor<128x64xbf16>, tensor<64x64xbf16>, tensor<128x64xf32>
    tile.return
  }
}

// -----

#hopper = #tilegpu.target<"sm_90a", {features = ["mma_bf16", "mma_f16", "mma_tf32", "mma_i8", "wgmma", "tma"]}>
!a = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [16, 2], align = 16, index = 32, read>
!odd = !tile.view<?x?xbf16, strides = [?, 1], divisible = [1, 1], stride_align = [2, 2], align = 2, index = 32, read>
module attributes {tilegpu.target = #hopper} {
  // CHECK: [Missed] product | Category:tilec | Reason="threads load its left operand, and copies ahead serve mma.sync better: its array is aligned to 2 bytes, expected 16", Remark=mma.sync
  tile.kernel @unaligned(%a: !odd, %b: !a) attributes {arg_names = ["a", "b"]} {
    %i = tile.program_id 0 : index
    %x = tile.load %a[%i, %i] : !odd -> tensor<128x64xbf16>
    %y = tile.load %b[%i, %i] : !a -> tensor<64x64xbf16>
    %z = arith.constant dense<0.0> : tensor<128x64xf32>
    %r = tile.mma %x, %y, %z : tensor<128x64xbf16>, tensor<64x64xbf16>, tensor<128x64xf32>
    tile.return
  }

  // One product that does not fit keeps the other from wgmma too.
  // CHECK: [Missed] product | Category:tilec | Reason="another product of the kernel does not fit wgmma", Remark=mma.sync
  // CHECK: [Missed] product | Category:tilec | Reason="wgmma multiplies M x N x K in multiples of 64 x 8 x 16, found 48 x 64 x 64", Remark=mma.sync, Suggestion="the nearest that wgmma multiplies is 64 x 64 x 64"
  tile.kernel @together(%a: !a, %b: !a) attributes {arg_names = ["a", "b"]} {
    %i = tile.program_id 0 : index
    %x = tile.load %a[%i, %i] : !a -> tensor<128x64xbf16>
    %y = tile.load %b[%i, %i] : !a -> tensor<64x64xbf16>
    %w = tile.load %a[%i, %i] : !a -> tensor<48x64xbf16>
    %z = arith.constant dense<0.0> : tensor<128x64xf32>
    %v = arith.constant dense<0.0> : tensor<48x64xf32>
    %r = tile.mma %x, %y, %z : tensor<128x64xbf16>, tensor<64x64xbf16>, tensor<128x64xf32>
    %s = tile.mma %w, %y, %v : tensor<48x64xbf16>, tensor<64x64xbf16>, tensor<48x64xf32>
    tile.return
  }

  // CHECK: [Missed] product | Category:tilec | Reason="16 warps do not share it by warpgroups of 64 rows", Remark=mma.sync, Suggestion="num_warps=4, or 8 or 12 where every product has a multiple of 128 or 192 rows"
  tile.kernel @warps(%a: !a, %b: !a) attributes {arg_names = ["a", "b"], tilegpu.num_warps = 16 : i64} {
    %i = tile.program_id 0 : index
    %x = tile.load %a[%i, %i] : !a -> tensor<128x64xbf16>
    %y = tile.load %b[%i, %i] : !a -> tensor<64x64xbf16>
    %z = arith.constant dense<0.0> : tensor<128x64xf32>
    %r = tile.mma %x, %y, %z : tensor<128x64xbf16>, tensor<64x64xbf16>, tensor<128x64xf32>
    tile.return
  }

  // CHECK: [Missed] product | Category:tilec | Reason="the tensor cores of sm_90a do not multiply f32 x f32 into f32, they multiply f16, bf16, tf32, i8 into i32", Remark=FMA, Suggestion="the nearest dtype is tf32: x.to(tl.tfloat32) on both operands"
  tile.kernel @scalar(%s: f32) {
    %x = tile.splat %s : f32 -> tensor<64x8xf32>
    %y = tile.splat %s : f32 -> tensor<8x8xf32>
    %z = arith.constant dense<0.0> : tensor<64x8xf32>
    %r = tile.mma %x, %y, %z : tensor<64x8xf32>, tensor<8x8xf32>, tensor<64x8xf32>
    tile.return
  }

  // CHECK: [Missed] product | Category:tilec | Reason="mma.sync multiplies M x N x K in multiples of 16 x 8 x 16, found 24 x 7 x 40; wgmma multiplies M x N x K in multiples of 64 x 8 x 16, found 24 x 7 x 40", Remark=FMA, Suggestion="the nearest that mma.sync multiplies is 32 x 8 x 48; the nearest that wgmma multiplies is 64 x 16 x 48"
  tile.kernel @undivided(%s: bf16) {
    %x = tile.splat %s : bf16 -> tensor<24x40xbf16>
    %y = tile.splat %s : bf16 -> tensor<40x7xbf16>
    %z = arith.constant dense<0.0> : tensor<24x7xf32>
    %r = tile.mma %x, %y, %z : tensor<24x40xbf16>, tensor<40x7xbf16>, tensor<24x7xf32>
    tile.return
  }
}
