// RUN: tilec-opt %s --convert-tilegpu-to-nvvm | FileCheck %s

#target = #tilegpu.target<"sm_90a", {features = ["tma"], limits = {shared_per_block_bytes = 232448 : i64}}>
#acc = #tilegpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 1]>
!y = !tile.view<?x?xf32, strides = [?, 1], divisible = [16, 8], stride_align = [16, 4], align = 16, index = 32, exclusive>
!whole = !tile.partition<64x8 of !y>
!wide = !tile.partition<64x32 of !y>
module attributes {tilegpu.target = #target} {
  // Columns of a program's own tile end inside, since 8 divides their number; rows may not.
  // CHECK-LABEL: llvm.func @whole
  // CHECK: arith.cmpi slt
  // CHECK-NOT: arith.cmpi slt
  // CHECK: st.global
  tile.kernel @whole(%c: !whole, %v: f32) attributes {arg_names = ["c", "v"], tile.walks, tilegpu.num_warps = 4 : i64} {
    %i = tile.program_id 0 : index
    %z = tile.splat %v : f32 -> tensor<64x8xf32, #acc>
    tile.store %z, %c[%i, %i] : tensor<64x8xf32, #acc>, !whole
    tile.return
  }

  // A part of a wider tile may lie beyond them as a whole.
  // CHECK-LABEL: llvm.func @part
  // CHECK: arith.cmpi slt
  // CHECK: arith.cmpi slt
  // CHECK: st.global
  tile.kernel @part(%c: !wide, %v: f32) attributes {arg_names = ["c", "v"], tile.walks, tilegpu.num_warps = 4 : i64} {
    %i = tile.program_id 0 : index
    %z = tile.splat %v : f32 -> tensor<64x8xf32, #acc>
    tile.store %z, %c[%i, %i] : tensor<64x8xf32, #acc>, !wide
    tile.return
  }
}
