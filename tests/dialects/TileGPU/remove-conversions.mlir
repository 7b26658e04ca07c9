// RUN: tilec-opt %s --pass-pipeline='builtin.module(tile.kernel(tilegpu-remove-conversions))' | FileCheck %s

#a = #tilegpu.layout<register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], repeat = [2, 2]>
#b = #tilegpu.layout<register = [[1, 0], [2, 0]], lane = [[4, 0], [8, 0], [16, 0], [0, 1], [0, 2]], warp = [[0, 4], [0, 8]], repeat = [1, 4]>
#one = #tilegpu.layout<register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]], repeat = [1, 2]>

// CHECK: #[[A:.+]] = #tilegpu.layout<register = {{\[}}[0, 1], [0, 2]], lane = {{\[}}[0, 4], [0, 8], [0, 16], [1, 0], [2, 0]]
// CHECK: #[[B:.+]] = #tilegpu.layout<register = {{\[}}[1, 0], [2, 0]]

// A mask is computed again under the other layout.
// CHECK-LABEL: tile.kernel @recompute
// CHECK-NOT: convert_layout
// CHECK: tile.print {{.*}} : tensor<32x64xi1, #[[B]]>
tile.kernel @recompute(%n: i32) {
  %i = tile.iota axis = 1 : tensor<32x64xi32, #a>
  %s = tile.splat %n : i32 -> tensor<32x64xi32, #a>
  %m = arith.cmpi slt, %i, %s : tensor<32x64xi32, #a>
  %c = tilegpu.convert_layout %m : tensor<32x64xi1, #a> -> tensor<32x64xi1, #b>
  tile.print "{} {}" (%c, %m) : tensor<32x64xi1, #b>, tensor<32x64xi1, #a>
  tile.return
}

// An expensive op is not computed twice.
// CHECK-LABEL: tile.kernel @expensive
// CHECK: math.exp
// CHECK-NOT: math.exp
// CHECK: convert_layout
tile.kernel @expensive(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<32x64xf32, #a>
  %e = math.exp %t : tensor<32x64xf32, #a>
  %c = tilegpu.convert_layout %e : tensor<32x64xf32, #a> -> tensor<32x64xf32, #b>
  tile.print "{} {}" (%c, %e) : tensor<32x64xf32, #b>, tensor<32x64xf32, #a>
  tile.return
}

// The small tile is converted, then broadcast.
// CHECK-LABEL: tile.kernel @broadcast
// CHECK: convert_layout {{.*}} : tensor<1x64xf32, #{{.+}}> -> tensor<1x64xf32, #{{.+}}>
// CHECK: tile.broadcast {{.*}} -> tensor<32x64xf32, #[[B]]>
// CHECK-NOT: convert_layout
tile.kernel @broadcast(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<1x64xf32, #one>
  %e = math.exp %t : tensor<1x64xf32, #one>
  %l = tile.broadcast %e : tensor<1x64xf32, #one> -> tensor<32x64xf32, #a>
  %c = tilegpu.convert_layout %l : tensor<32x64xf32, #a> -> tensor<32x64xf32, #b>
  tile.print "{}" (%c) : tensor<32x64xf32, #b>
  tile.return
}

// Conversions take the narrower element type.
// CHECK-LABEL: tile.kernel @casts
// CHECK: arith.truncf {{.*}} : tensor<32x64xf32, #[[A]]> to tensor<32x64xbf16, #[[A]]>
// CHECK: convert_layout {{.*}} : tensor<32x64xbf16, #[[A]]> -> tensor<32x64xbf16, #[[B]]>
// CHECK: convert_layout {{.*}} : tensor<32x64xbf16, #[[B]]> -> tensor<32x64xbf16, #[[A]]>
// CHECK: arith.extf {{.*}} : tensor<32x64xbf16, #[[A]]> to tensor<32x64xf32, #[[A]]>
tile.kernel @casts(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<32x64xf32, #a>
  %e = math.exp %t : tensor<32x64xf32, #a>
  %c = tilegpu.convert_layout %e : tensor<32x64xf32, #a> -> tensor<32x64xf32, #b>
  %n = arith.truncf %c : tensor<32x64xf32, #b> to tensor<32x64xbf16, #b>
  %m = math.sqrt %n : tensor<32x64xbf16, #b>
  %w = arith.extf %m : tensor<32x64xbf16, #b> to tensor<32x64xf32, #b>
  %d = tilegpu.convert_layout %w : tensor<32x64xf32, #b> -> tensor<32x64xf32, #a>
  tile.print "{}" (%d) : tensor<32x64xf32, #a>
  tile.return
}

// Shared memory is filled from any layout.
// CHECK-LABEL: tile.kernel @store
// CHECK-NOT: convert_layout
// CHECK: local_alloc {{.*}} : tensor<32x64xf32, #[[A]]>
tile.kernel @store(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<32x64xf32, #a>
  %e = math.exp %t : tensor<32x64xf32, #a>
  %c = tilegpu.convert_layout %e : tensor<32x64xf32, #a> -> tensor<32x64xf32, #b>
  %m = tilegpu.local_alloc %c : tensor<32x64xf32, #b> -> !tilegpu.smem<32x64xf32, #tilegpu.shared<order = [1, 0], swizzle = 3>>
  tile.return
}
