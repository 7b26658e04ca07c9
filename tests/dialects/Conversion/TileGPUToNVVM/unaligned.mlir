// RUN: tilec-opt %s --convert-tilegpu-to-nvvm --cse | FileCheck %s

#row = #tilegpu.layout<register = [[0, 1], [0, 2], [0, 4], [0, 8]], lane = [[0, 16], [0, 32], [1, 0], [2, 0], [4, 0]], warp = [], repeat = [1, 1]>
!odd = !tile.view<?x?xi8, strides = [?, 1], divisible = [1, 1], stride_align = [1, 1], align = 1, index = 32, read>
!pitch = !tile.view<?x?xi8, strides = [?, 1], divisible = [1, 16], stride_align = [1, 1], align = 16, index = 32, read>
!y = !tile.view<?x?xi8, strides = [?, 1], divisible = [16, 16], stride_align = [16, 1], align = 16, index = 32, unchecked>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = []}>} {
  // Sixteen bytes are in two aligned windows; the second is only read if it has one of them that lies inside.
  // CHECK-LABEL: llvm.func @rows_end_inside
  // CHECK: %[[PLACE:.*]] = llvm.ptrtoint
  // CHECK: arith.andi %[[PLACE]], %{{.*}} : i64
  // CHECK: %[[LOW:.*]] = arith.trunci %[[PLACE]]
  // CHECK: %[[REACHES:.*]] = arith.cmpi sgt
  // CHECK: ld.global.nc.v4.b32
  // CHECK: arith.andi %{{.*}}, %[[REACHES]] : i1
  // CHECK: ld.global.nc.v4.b32
  // CHECK-NOT: ld.global
  // CHECK-COUNT-11: arith.select
  // CHECK-COUNT-4: llvm.fshr.i32
  // Behind the end is padding.
  // CHECK-COUNT-4: shl.b32 $0, -1, $1;
  // CHECK: st.global.v4.b32
  tile.kernel @rows_end_inside(%y: !y, %x: !odd) attributes {tilegpu.num_warps = 1 : i64} {
    %c0 = arith.constant 0 : index
    %t = tile.load %x[%c0, %c0] : !odd -> tensor<8x64xi8, #row>
    tile.store %t, %y[%c0, %c0] : tensor<8x64xi8, #row>, !y
    tile.return
  }

  // Where vectors lie wholly inside or outside, windows of padding are enough.
  // CHECK-LABEL: llvm.func @rows_end_between
  // CHECK-COUNT-2: ld.global.nc.v4.b32
  // CHECK-COUNT-4: llvm.fshr.i32
  // CHECK-NOT: shl.b32
  // CHECK: st.global.v4.b32
  tile.kernel @rows_end_between(%y: !y, %x: !pitch) attributes {tilegpu.num_warps = 1 : i64} {
    %c0 = arith.constant 0 : index
    %t = tile.load %x[%c0, %c0] : !pitch -> tensor<8x64xi8, #row>
    tile.store %t, %y[%c0, %c0] : tensor<8x64xi8, #row>, !y
    tile.return
  }
}
