// Twelve warps are three groups of four, which say what each adds to the one before.
// RUN: tilec-opt %s | tilec-opt | FileCheck %s

// CHECK-DAG: #[[ACC:.+]] = #tilegpu.layout<register = {{.*}}, lane = {{.*}}, warp = {{\[}}[16, 0], [32, 0]], groups = 3 by [64, 0], repeat = [1, 1]>
// CHECK-DAG: #[[COPIES:.+]] = #tilegpu.layout<register = [], lane = {{.*}}, warp = {{\[}}[0, 0], [0, 0]], groups = 3 by [0, 0], repeat = [1, 1]>
#acc = #tilegpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], groups = 3 by [64, 0], repeat = [1, 1]>
#copies = #tilegpu.layout<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [[0, 0], [0, 0]], groups = 3 by [0, 0], repeat = [1, 1]>
// CHECK-LABEL: tile.kernel @k
tile.kernel @k() {
  // CHECK: tensor<192x8xf32, #[[ACC]]>
  %0 = arith.constant dense<0.0> : tensor<192x8xf32, #acc>
  // CHECK: tensor<1x32xf32, #[[COPIES]]>
  %1 = arith.constant dense<0.0> : tensor<1x32xf32, #copies>
  tile.return
}
