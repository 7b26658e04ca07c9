// RUN: tilec-opt %s --convert-tilegpu-to-nvvm --cse | FileCheck %s

#row = #tilegpu.layout<register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [], repeat = [1, 1]>
#four = #tilegpu.layout<register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [], repeat = [1]>
!odd = !tile.view<?x?xbf16, strides = [?, 1], divisible = [1, 1], stride_align = [2, 2], align = 2, index = 32, read>
!pitch = !tile.view<?x?xbf16, strides = [?, 1], divisible = [1, 16], stride_align = [2, 2], align = 16, index = 32, read>
!y = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [16, 2], align = 16, index = 32, unchecked>
!line = !tile.view<?xf32, strides = [1], divisible = [1], stride_align = [4], align = 16, index = 32, unchecked>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = []}>} {
  // Eight halves are in two aligned windows; the second is only read if it has one of them that lies inside.
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
    %t = tile.load %x[%c0, %c0] : !odd -> tensor<4x64xbf16, #row>
    tile.store %t, %y[%c0, %c0] : tensor<4x64xbf16, #row>, !y
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
    %t = tile.load %x[%c0, %c0] : !pitch -> tensor<4x64xbf16, #row>
    tile.store %t, %y[%c0, %c0] : tensor<4x64xbf16, #row>, !y
    tile.return
  }

  // An aligned vector that the end divides is loaded as a whole, and stored element by element.
  // CHECK-LABEL: llvm.func @odd_length
  // CHECK: ld.global.v4.b32
  // CHECK-NOT: ld.global
  // CHECK-COUNT-4: arith.select
  // CHECK: st.global.v4.b32
  // CHECK: scf.if
  // CHECK-COUNT-3: st.global.b32
  // CHECK-NOT: st.global
  tile.kernel @odd_length(%y: !line) attributes {tilegpu.num_warps = 1 : i64} {
    %c0 = arith.constant 0 : index
    %t = tile.load %y[%c0] : !line -> tensor<128xf32, #four>
    tile.store %t, %y[%c0] : tensor<128xf32, #four>, !line
    tile.return
  }
}
