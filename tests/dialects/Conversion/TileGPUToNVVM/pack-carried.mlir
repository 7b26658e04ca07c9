// RUN: tilec-opt %s --pass-pipeline='builtin.module(llvm.func(tilec-pack-carried))' | FileCheck %s

// The halves that a turn leaves are those of one word.
// CHECK-LABEL: llvm.func @halves_of_a_word
// CHECK: %[[FIRST:.*]] = llvm.bitcast %{{.*}} : vector<2xbf16> to i32
// CHECK: scf.for {{.*}}, %[[WORD:.*]] = %[[FIRST]]) -> (i32, bf16, bf16, i32)
// CHECK: llvm.bitcast %[[WORD]] : i32 to vector<2xbf16>
// CHECK: scf.yield %{{.*}}, %{{.*}}, %{{.*}}, %[[NEXT:.*]] : i32, bf16, bf16, i32
llvm.func @halves_of_a_word(%count: i32, %start: bf16, %next: i32, %sum: i32) -> bf16 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r:3 = scf.for %i = %c0 to %count step %c1 iter_args(%s = %sum, %a = %start, %b = %start) -> (i32, bf16, bf16) : i32 {
    %v = llvm.bitcast %next : i32 to vector<2xbf16>
    %x = llvm.extractelement %v[%c0 : i32] : vector<2xbf16>
    %y = llvm.extractelement %v[%c1 : i32] : vector<2xbf16>
    scf.yield %s, %x, %y : i32, bf16, bf16
  }
  llvm.return %r#1 : bf16
}

// Other orders, and halves of two words, stay as they are.
// CHECK-LABEL: llvm.func @exchanged_halves
// CHECK: scf.for {{.*}} -> (bf16, bf16) : i32
llvm.func @exchanged_halves(%count: i32, %start: bf16, %next: i32) -> bf16 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r:2 = scf.for %i = %c0 to %count step %c1 iter_args(%a = %start, %b = %start) -> (bf16, bf16) : i32 {
    %v = llvm.bitcast %next : i32 to vector<2xbf16>
    %x = llvm.extractelement %v[%c0 : i32] : vector<2xbf16>
    %y = llvm.extractelement %v[%c1 : i32] : vector<2xbf16>
    scf.yield %y, %x : bf16, bf16
  }
  llvm.return %r#0 : bf16
}
