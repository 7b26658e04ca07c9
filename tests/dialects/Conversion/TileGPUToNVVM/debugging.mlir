// RUN: tilec-opt %s --convert-tilegpu-to-nvvm --cse --split-input-file | FileCheck %s

// Arguments lie where C's promotions put them: an i32 at 8, the next i64 at 16.
// CHECK-DAG: llvm.mlir.global internal constant @[[FORMAT:.+]]("program (%lld,): 50%% of %d is %lld, %.9g\0A\00") {addr_space = 1 : i32, alignment = 1 : i64}
// CHECK-DAG: llvm.func @vprintf(!llvm.ptr, !llvm.ptr) -> i32
// CHECK-LABEL: llvm.func @scalars
// CHECK: %[[BUFFER:.+]] = llvm.alloca %{{.*}} x i8 {alignment = 8 : i64}
// CHECK: %[[SPEAKER:.+]] = arith.cmpi eq
// CHECK: scf.if %[[SPEAKER]]
// CHECK: llvm.store %{{.*}}, %[[BUFFER]] {alignment = 8 : i64} : i64, !llvm.ptr
// CHECK: %[[SECOND:.+]] = llvm.getelementptr %[[BUFFER]][%c8_i32]
// CHECK: llvm.store %{{.*}}, %[[SECOND]] {alignment = 4 : i64} : i32, !llvm.ptr
// CHECK: %[[THIRD:.+]] = llvm.getelementptr %[[BUFFER]][%c16_i32]
// CHECK: llvm.store %{{.*}}, %[[THIRD]] {alignment = 8 : i64} : i64, !llvm.ptr
// CHECK: llvm.store %{{.*}} {alignment = 8 : i64} : f64, !llvm.ptr
// CHECK: %[[ADDRESS:.+]] = llvm.mlir.addressof @[[FORMAT]]
// CHECK: %[[TEXT:.+]] = llvm.addrspacecast %[[ADDRESS]]
// CHECK: llvm.call @vprintf(%[[TEXT]], %[[BUFFER]]) : (!llvm.ptr, !llvm.ptr) -> i32
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = []}>} {
  tile.kernel @scalars(%n: i8, %m: i64, %f: f32) attributes {tilegpu.num_warps = 2 : i64} {
    %i = tile.program_id 0 : index
    tilegpu.print "50% of {} is {}, {}" program(%i) values(%n, %m, %f : i8, i64, f32) unsigned [false, false, false]
    tile.return
  }
}

// -----

// Two warps hold the same eight elements, two registers a thread: the owners print, and the buffer is one for all.
// CHECK: llvm.mlir.global internal constant @[[FORMAT:.+]]("program (%lld, %lld), element (%d,): %u\0A\00")
// CHECK-LABEL: llvm.func @tile
// CHECK-COUNT-1: llvm.alloca
// CHECK: scf.if
// CHECK: llvm.call @vprintf
// CHECK: scf.if
// CHECK: llvm.call @vprintf
// CHECK-NOT: llvm.alloca
// CHECK-NOT: llvm.call
#l = #tilegpu.layout<register = [[1]], lane = [[2], [4], [0], [0], [0]], warp = [[0]], repeat = [1]>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = []}>} {
  tile.kernel @tile(%s: i16) attributes {tilegpu.num_warps = 2 : i64} {
    %i = tile.program_id 0 : index
    %t = tile.splat %s : i16 -> tensor<8xi16, #l>
    tilegpu.print "{}" program(%i, %i) values(%t : tensor<8xi16, #l>) unsigned [true]
    tile.return
  }
}

// -----

// CHECK-DAG: llvm.func @__assertfail(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i64)
// CHECK-DAG: @[[MESSAGE:.+]]("n < 3\00")
// CHECK-DAG: @[[FILE:.+]]("kernel.py\00")
// CHECK-DAG: @[[FUNCTION:.+]]("helper\00")
// CHECK-LABEL: llvm.func @assertion
// CHECK: %[[FAILS:.+]] = arith.cmpi eq, %{{.*}}, %false
// CHECK: %[[SPEAKS:.+]] = arith.andi %[[FAILS]]
// CHECK: scf.if %[[SPEAKS]]
// CHECK-DAG: llvm.mlir.addressof @[[MESSAGE]]
// CHECK-DAG: llvm.mlir.addressof @[[FILE]]
// CHECK-DAG: llvm.mlir.addressof @[[FUNCTION]]
// CHECK: llvm.call @__assertfail(%{{.*}}, %{{.*}}, %c12_i32, %{{.*}}, %c1_i64)
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = []}>} {
  tile.kernel @assertion(%c: i1) attributes {tilegpu.num_warps = 1 : i64} {
    tile.assert %c, "n < 3" : i1 loc(callsite("helper"("kernel.py":12:5) at "assertion"("kernel.py":30:1)))
    tile.return
  }
}
