// RUN: tilec-opt %s --tilegpu-expand-math --split-input-file | FileCheck %s

// One instruction of the hardware, on an argument whose product with log2(e) is carried in two parts.
// CHECK-LABEL: @exp_f32
tile.kernel @exp_f32(%x: f32) {
  // CHECK-COUNT-3: math.fma
  // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
  // CHECK-NOT: math.exp
  // CHECK: tile.return
  %r = math.exp %x : f32
  tile.print "{}"(%r) : f32
  tile.return
}

// The author allowed the bare instruction.
// CHECK-LABEL: @exp_fast
tile.kernel @exp_fast(%x: f32) {
  // CHECK: %[[C:.*]] = arith.constant 1.44269502 : f32
  // CHECK: %[[P:.*]] = arith.mulf %{{.*}}, %[[C]] : f32
  // CHECK-NEXT: %[[R:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%[[P]])
  // CHECK-NEXT: tile.print "{}"(%[[R]])
  %r = math.exp %x fastmath<afn> : f32
  tile.print "{}"(%r) : f32
  tile.return
}

// Narrow floats go through f32, once in and once out.
// CHECK-LABEL: @tanh_bf16
tile.kernel @tanh_bf16(%x: bf16) {
  // CHECK: arith.extf %{{.*}} : bf16 to f32
  // CHECK: arith.truncf %{{.*}} : f32 to bf16
  %r = math.tanh %x : bf16
  tile.print "{}"(%r) : bf16
  tile.return
}

// f64 has no approximate instruction: polynomials only.
// CHECK-LABEL: @exp_f64
tile.kernel @exp_f64(%x: f64) {
  // CHECK-NOT: llvm.call_intrinsic
  // CHECK: tile.return
  %r = math.exp %x : f64
  tile.print "{}"(%r) : f64
  tile.return
}

// Equal constants of a function are one.
// CHECK-LABEL: @constants_are_shared
tile.kernel @constants_are_shared(%x: f32, %y: f32) {
  // CHECK-COUNT-1: arith.constant 1.44269502 : f32
  // CHECK-NOT: arith.constant 1.44269502 : f32
  // CHECK: tile.return
  %a = math.exp %x : f32
  %b = math.exp %y : f32
  tile.print "{} {}"(%a, %b) : f32, f32
  tile.return
}

// CHECK-LABEL: @division_is_exact
tile.kernel @division_is_exact(%x: f32, %y: f32) {
  // CHECK: arith.divf
  // CHECK-NOT: llvm.call_intrinsic
  // CHECK: tile.return
  %r = arith.divf %x, %y fastmath<contract> : f32
  tile.print "{}"(%r) : f32
  tile.return
}

// CHECK-LABEL: @division_by_reciprocal
tile.kernel @division_by_reciprocal(%x: f32, %y: f32, %s: f32, %t: f32) {
  // CHECK: %[[R:.*]] = llvm.call_intrinsic "llvm.nvvm.div.full"(%{{.*}}, %[[S:.*]])
  // CHECK: arith.mulf %{{.*}}, %[[R]] : f32
  // CHECK: arith.mulf %{{.*}}, %[[R]] : f32
  // CHECK: llvm.call_intrinsic "llvm.nvvm.div.full"(%{{.*}}, %{{.*}})
  // CHECK-NOT: arith.divf
  // CHECK: tile.return
  %a = arith.divf %x, %s fastmath<arcp> : f32
  %b = arith.divf %y, %s fastmath<arcp> : f32
  %c = arith.divf %x, %t fastmath<arcp> : f32
  tile.print "{} {} {}"(%a, %b, %c) : f32, f32, f32
  tile.return
}

// What NVPTX selects by itself stays.
// CHECK-LABEL: @native_stays
tile.kernel @native_stays(%x: f32, %y: f32, %h: bf16) {
  // CHECK: math.sqrt
  // CHECK: math.floor
  // CHECK: math.roundeven
  // CHECK: arith.maximumf
  // CHECK: math.fma %{{.*}} : bf16
  // CHECK: arith.mulf %{{.*}} : bf16
  %a = math.sqrt %x : f32
  %b = math.floor %x : f32
  %c = math.roundeven %x : f32
  %d = arith.maximumf %x, %y : f32
  %e = math.fma %h, %h, %h : bf16
  %f = arith.mulf %h, %h : bf16
  tile.print "{} {} {} {} {} {}"(%a, %b, %c, %d, %e, %f) : f32, f32, f32, f32, bf16, bf16
  tile.return
}

// Only scalars: tiles are distributed first.
// CHECK-LABEL: @tiles_stay
tile.kernel @tiles_stay(%x: f32) {
  // CHECK: math.exp %{{.*}} : tensor<8xf32>
  %t = tile.splat %x : f32 -> tensor<8xf32>
  %r = math.exp %t : tensor<8xf32>
  tile.print "{}"(%r) : tensor<8xf32>
  tile.return
}

// CHECK-LABEL: @remainder
tile.kernel @remainder(%x: f32, %y: f32) {
  // CHECK: scf.while
  // CHECK-NOT: arith.remf
  // CHECK: tile.return
  %r = arith.remf %x, %y : f32
  tile.print "{}"(%r) : f32
  tile.return
}

// -----

// CHECK-LABEL: @float8_by_bits
tile.kernel @float8_by_bits(%x: f8E4M3FN, %y: f8E4M3FN) {
  // CHECK-NOT: llvm.call_intrinsic
  // CHECK: arith.addf %{{.*}} : f32
  // CHECK-NOT: llvm.call_intrinsic
  // CHECK: arith.bitcast %{{.*}} : i8 to f8E4M3FN
  %r = arith.addf %x, %y : f8E4M3FN
  tile.print "{}"(%r) : f8E4M3FN
  tile.return
}

// -----

module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = ["fp8_cvt"]}>} {
// CHECK-LABEL: @float8_by_instruction
tile.kernel @float8_by_instruction(%x: f8E5M2, %y: f32) {
  // CHECK: llvm.call_intrinsic "llvm.nvvm.e5m2x2.to.f16x2.rn"
  // CHECK: llvm.call_intrinsic "llvm.nvvm.ff.to.e5m2x2.rn"
  %a = arith.extf %x : f8E5M2 to f32
  %b = arith.truncf %y : f32 to f8E5M2
  tile.print "{} {}"(%a, %b) : f32, f8E5M2
  tile.return
}
}
