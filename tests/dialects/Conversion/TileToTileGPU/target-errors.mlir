// RUN: not tilec-opt %s --convert-tile-to-tilegpu 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not tilec-opt %s --convert-tile-to-tilegpu='target=[1]' 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not tilec-opt %s --convert-tile-to-tilegpu='target=nonsense' 2>&1 | FileCheck %s --check-prefix=SYNTAX
// RUN: not tilec-opt %s --convert-tile-to-tilegpu='target={{"name":"sm_80"}} num-warps=3' 2>&1 | FileCheck %s --check-prefix=WARPS
// RUN: not tilec-opt %s --convert-tile-to-tilegpu='target={{"name":"sm_80"}} num-warps=64' 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not tilec-opt %s --convert-tile-to-tilegpu='target={{"name":"sm_80"}}' 2>&1 | FileCheck %s --check-prefix=SIZE

// NONE: error: the module names no target and the pass was given none
// SHAPE: error: target: expected an object of strings, integers, booleans, arrays and objects, found [1]
// SYNTAX: error: target:
// WARPS: error: num_warps must be 12 or a power of two from 1 to 32, found 3
// MANY: error: num_warps must be 12 or a power of two from 1 to 32, found 64
// SIZE: error: tile of shape (8, 65536) takes 1024 registers of each of 512 threads, expected at most 512

tile.kernel @large(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<8x65536xf32>
  tile.return
}
