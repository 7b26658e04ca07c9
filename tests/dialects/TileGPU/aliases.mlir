// Layouts, shared-memory tiles and the target are spelled out once, at the top of a dump.
// RUN: tilec-opt %s | FileCheck %s

// CHECK-DAG: #layout = #tilegpu.layout<register = {{.*}}, lane = {{.*}}, warp = {{.*}}, repeat = [1, 1]>
// CHECK-DAG: #target = #tilegpu.target<"sm_90a", {features = ["tma"]}>
// CHECK-DAG: !smem = !tilegpu.smem<8x16xf32, #shared>
// CHECK: module attributes {tilegpu.target = #target}
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = ["tma"]}>} {
  // CHECK-LABEL: tile.kernel @k
  tile.kernel @k() {
    // CHECK: arith.constant dense<0.000000e+00> : tensor<8x16xf32, #layout>
    %0 = arith.constant dense<0.0> : tensor<8x16xf32, #tilegpu.layout<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0]], warp = [[2, 0], [4, 0]], repeat = [1, 1]>>
    // CHECK: tilegpu.local_alloc %{{.*}} : tensor<8x16xf32, #layout> -> !smem
    %1 = tilegpu.local_alloc %0 : tensor<8x16xf32, #tilegpu.layout<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0]], warp = [[2, 0], [4, 0]], repeat = [1, 1]>> -> !tilegpu.smem<8x16xf32, #tilegpu.shared<order = [1, 0], swizzle = 0>>
    tile.return
  }
}
