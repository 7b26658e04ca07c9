// RUN: tilec-opt %s --convert-tile-to-tilegpu='target={{"name":"sm_80"}}' | FileCheck %s
// RUN: tilec-opt %s --convert-tile-to-tilegpu='target={{"name":"sm_80"}} num-warps=2' | FileCheck %s --check-prefix=TWO
// RUN: tilec-opt %s --convert-tile-to-tilegpu='target={{"name":"sm_80"}} num-warps=12' | FileCheck %s --check-prefix=TWELVE

// About 64 registers of a thread for the largest tile.
// CHECK: tile.kernel @small{{.*}}tilegpu.num_warps = 1 : i64
// CHECK: tile.kernel @row{{.*}}tilegpu.num_warps = 2 : i64
// CHECK: tile.kernel @ragged{{.*}}tilegpu.num_warps = 8 : i64
// CHECK: tile.kernel @large{{.*}}tilegpu.num_warps = 16 : i64
// CHECK: tile.kernel @hinted{{.*}}tilegpu.num_warps = 8 : i64
// CHECK: tile.kernel @no_tiles{{.*}}tilegpu.num_warps = 1 : i64
// TWO-COUNT-6: tilegpu.num_warps = 2 : i64
// TWELVE-COUNT-6: tilegpu.num_warps = 12 : i64
tile.kernel @small(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<1x1024xf32>
  tile.return
}
tile.kernel @row(%s: bf16) {
  %t = tile.splat %s : bf16 -> tensor<1x4096xbf16>
  tile.return
}
tile.kernel @ragged(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<1x12288xf32>
  tile.return
}
tile.kernel @large(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<1x32768xf32>
  tile.return
}
tile.kernel @hinted(%s: f32) attributes {tilegpu.num_warps = 8 : i64} {
  %t = tile.splat %s : f32 -> tensor<1x1024xf32>
  tile.return
}
tile.kernel @no_tiles(%s: f32) {
  tile.return
}
