// RUN: tilec-opt %s --convert-tile-to-tilegpu | FileCheck %s

module attributes {tilegpu.target = #tilegpu.target<"sm_80", {limits = {registers_per_sm = 65536}}>} {
// 64 registers of the tile and 56 others a thread, 256 threads: two CTAs fit.
// CHECK: tile.kernel @row{{.*}}tilegpu.resident_ctas = 2 : i64
tile.kernel @row(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<1x16384xf32>
  tile.return
}

// Only one: the assembler decides.
// CHECK: tile.kernel @long
// CHECK-NOT: resident_ctas
tile.kernel @long(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<1x32768xf32>
  tile.return
}

// A product wants its registers.
// CHECK: tile.kernel @product
// CHECK-NOT: resident_ctas
tile.kernel @product(%s: f32) {
  %a = tile.splat %s : f32 -> tensor<16x16xf32>
  %c = tile.mma %a, %a, %a : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
  tile.return
}
}
