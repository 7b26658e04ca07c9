// RUN: tilec-opt %s --convert-tilegpu-to-nvvm --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s

// A descriptor: 16-byte units of the address, of the distance of panels (bits 16), of eight rows (bits 32), and the
// swizzle (bits 62; 1 is 128 bytes). K contiguous: 0x4000004000010000, and a step along K is 32 bytes on. N contiguous:
// 0x4000004002000000 with panels of 8 KiB, and a step is 16 rows of 128 bytes on, transposed by the hardware.
// CHECK-LABEL: llvm.func @step_by_step
// CHECK-DAG: arith.constant 4611686293305360384 : i64
// CHECK-DAG: arith.constant 4611686293338849280 : i64
// CHECK: nvvm.wgmma.fence.aligned
// CHECK: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {{.*}}, $128, $129, scale, 1, 1, 0, 1;
// CHECK: %[[L1:.+]] = arith.addi %[[L:.+]], %c2_i64
// CHECK-NEXT: %[[R1:.+]] = arith.addi %[[R:.+]], %c128_i64
// CHECK-NEXT: wgmma.mma_async
// CHECK: arith.addi %[[L]], %c4_i64
// CHECK-NEXT: arith.addi %[[R]], %c256_i64
// CHECK-NEXT: wgmma.mma_async
// CHECK: arith.addi %[[L]], %c6_i64
// CHECK-NEXT: arith.addi %[[R]], %c384_i64
// CHECK-NEXT: wgmma.mma_async
// CHECK-NOT: wgmma.mma_async
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// CHECK-NEXT: wgmma.wait_group.sync.aligned 0;", "=f,
#acc = #tilegpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 16]>
#rows = #tilegpu.shared<order = [1, 0], swizzle = 3>
#ring = #tilegpu.shared<order = [2, 1, 0], swizzle = 3>
!tile = tensor<64x128xf32, #acc>
!a = !tilegpu.smem<64x64xbf16, #rows>
!b = !tilegpu.smem<64x128xbf16, #rows>
!as = !tilegpu.smem<2x64x64xbf16, #ring>
!bs = !tilegpu.smem<2x64x128xbf16, #ring>
!y = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 16], stride_align = [16, 4], align = 16, index = 32, unchecked>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = ["wgmma"]}>} {
  tile.kernel @step_by_step(%y: !y, %stage: i32) attributes {tilegpu.num_warps = 4 : i64, tilegpu.shared_bytes = 65536 : i64} {
    %c0 = arith.constant 0 : index
    %z = arith.constant dense<0.0> : !tile
    %l = tilegpu.ring {tilegpu.shared_offset = 0 : i64} : !as
    %r = tilegpu.ring {tilegpu.shared_offset = 32768 : i64} : !bs
    %x = tilegpu.ring_slot %l[%stage] : !as -> !a
    %w = tilegpu.ring_slot %r[%stage] : !bs -> !b
    %p = tilegpu.mma wgmma %x, %w, %z : !a, !b, !tile
    tile.store %p, %y[%c0, %c0] : !tile, !y
    tile.return
  }
}

// -----

// In flight, the op waits for the products before this one, and results are tied when they are waited for. The first
// instruction adds to the accumulator where the condition holds, the others always.
// CHECK-LABEL: llvm.func @in_flight
// CHECK-DAG: %[[ONE:.+]] = arith.constant 1 : i32
// CHECK: %[[ADDS:.+]] = arith.extui %{{.+}} : i1 to i32
// CHECK: setp.ne.b32 scale, $[[FLAG:[0-9]+]], 0;{{.+}}wgmma.mma_async{{.*}}"{{.*}} %[[ADDS]] :
// CHECK: setp.ne.b32 scale, $[[FLAG]], 0;{{.+}}wgmma.mma_async{{.*}}"{{.*}} %[[ONE]] :
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// CHECK-NEXT: nvvm.wgmma.wait.group.sync.aligned 1
// CHECK-NEXT: "wgmma.wait_group.sync.aligned 0;"
#acc = #tilegpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 1]>
!tile = tensor<64x8xf32, #acc>
!a = !tilegpu.smem<64x32xbf16, #tilegpu.shared<order = [1, 0], swizzle = 2>>
!b = !tilegpu.smem<32x8xbf16, #tilegpu.shared<order = [0, 1], swizzle = 2>>
!as = !tilegpu.smem<2x64x32xbf16, #tilegpu.shared<order = [2, 1, 0], swizzle = 2>>
!bs = !tilegpu.smem<2x32x8xbf16, #tilegpu.shared<order = [1, 2, 0], swizzle = 2>>
!y = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 16], stride_align = [16, 4], align = 16, index = 32, unchecked>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = ["wgmma"]}>} {
  tile.kernel @in_flight(%y: !y, %stage: i32, %adds: i1) attributes {tilegpu.num_warps = 4 : i64, tilegpu.shared_bytes = 65536 : i64} {
    %c0 = arith.constant 0 : index
    %z = arith.constant dense<0.0> : !tile
    %l = tilegpu.ring {tilegpu.shared_offset = 0 : i64} : !as
    %r = tilegpu.ring {tilegpu.shared_offset = 32768 : i64} : !bs
    %x = tilegpu.ring_slot %l[%stage] : !as -> !a
    %w = tilegpu.ring_slot %r[%stage] : !bs -> !b
    %p = tilegpu.mma wgmma %x, %w, %z accumulate %adds in_flight 1 : !a, !b, !tile
    %d = tilegpu.mma_wait %p : (!tile) -> !tile
    tile.store %d, %y[%c0, %c0] : !tile, !y
    tile.return
  }
}

// -----

// Both operands transposed, two warpgroups: each has 64 columns of the left one's memory, a panel.
// CHECK-LABEL: llvm.func @columns
// CHECK: nvvm.shfl.sync
// CHECK: arith.muli %{{.+}}, %c8192_i32
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{.*}}, scale, 1, 1, 1, 1;
#acc = #tilegpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0], [64, 0]], repeat = [1, 8]>
!tile = tensor<128x64xf32, #acc>
!a = !tilegpu.smem<128x64xf16, #tilegpu.shared<order = [0, 1], swizzle = 3>>
!b = !tilegpu.smem<64x64xf16, #tilegpu.shared<order = [1, 0], swizzle = 3>>
!as = !tilegpu.smem<1x128x64xf16, #tilegpu.shared<order = [1, 2, 0], swizzle = 3>>
!bs = !tilegpu.smem<1x64x64xf16, #tilegpu.shared<order = [2, 1, 0], swizzle = 3>>
!y = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 16], stride_align = [16, 4], align = 16, index = 32, unchecked>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = ["wgmma"]}>} {
  tile.kernel @columns(%y: !y, %stage: i32) attributes {tilegpu.num_warps = 8 : i64, tilegpu.shared_bytes = 65536 : i64} {
    %c0 = arith.constant 0 : index
    %z = arith.constant dense<0.0> : !tile
    %l = tilegpu.ring {tilegpu.shared_offset = 0 : i64} : !as
    %r = tilegpu.ring {tilegpu.shared_offset = 32768 : i64} : !bs
    %x = tilegpu.ring_slot %l[%stage] : !as -> !a
    %w = tilegpu.ring_slot %r[%stage] : !bs -> !b
    %p = tilegpu.mma wgmma %x, %w, %z : !a, !b, !tile
    tile.store %p, %y[%c0, %c0] : !tile, !y
    tile.return
  }
}

// -----

// Other types: K is 32 bytes whatever they are, and only 16-bit operands can be transposed.
// CHECK-LABEL: llvm.func @e4m3
// CHECK: wgmma.mma_async.sync.aligned.m64n16k32.f32.e4m3.e5m2 {{.*}}, scale, 1, 1;
#acc = #tilegpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 2]>
#row32 = #tilegpu.shared<order = [1, 0], swizzle = 1>
#col32 = #tilegpu.shared<order = [0, 1], swizzle = 1>
#rows32 = #tilegpu.shared<order = [2, 1, 0], swizzle = 1>
#cols32 = #tilegpu.shared<order = [1, 2, 0], swizzle = 1>
!f = tensor<64x16xf32, #acc>
!i = tensor<64x16xi32, #acc>
!yf = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 16], stride_align = [16, 4], align = 16, index = 32, unchecked>
!yi = !tile.view<?x?xi32, strides = [?, 1], divisible = [1, 16], stride_align = [16, 4], align = 16, index = 32, unchecked>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = ["wgmma"]}>} {
  tile.kernel @e4m3(%y: !yf, %s: i32) attributes {tilegpu.num_warps = 4 : i64, tilegpu.shared_bytes = 65536 : i64} {
    %c0 = arith.constant 0 : index
    %z = arith.constant dense<0.0> : !f
    %l = tilegpu.ring {tilegpu.shared_offset = 0 : i64} : !tilegpu.smem<1x64x32xf8E4M3FN, #rows32>
    %r = tilegpu.ring {tilegpu.shared_offset = 32768 : i64} : !tilegpu.smem<1x32x16xf8E5M2, #cols32>
    %x = tilegpu.ring_slot %l[%s] : !tilegpu.smem<1x64x32xf8E4M3FN, #rows32> -> !tilegpu.smem<64x32xf8E4M3FN, #row32>
    %w = tilegpu.ring_slot %r[%s] : !tilegpu.smem<1x32x16xf8E5M2, #cols32> -> !tilegpu.smem<32x16xf8E5M2, #col32>
    %p = tilegpu.mma wgmma %x, %w, %z : !tilegpu.smem<64x32xf8E4M3FN, #row32>, !tilegpu.smem<32x16xf8E5M2, #col32>, !f
    tile.store %p, %y[%c0, %c0] : !f, !yf
    tile.return
  }
}

// -----

// CHECK-LABEL: llvm.func @int8
// CHECK: wgmma.mma_async.sync.aligned.m64n16k32.s32.u8.s8 {{.*}}, scale;
// CHECK-SAME: "=r,
#acc = #tilegpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 2]>
#row32 = #tilegpu.shared<order = [1, 0], swizzle = 1>
#col32 = #tilegpu.shared<order = [0, 1], swizzle = 1>
#rows32 = #tilegpu.shared<order = [2, 1, 0], swizzle = 1>
#cols32 = #tilegpu.shared<order = [1, 2, 0], swizzle = 1>
!f = tensor<64x16xf32, #acc>
!i = tensor<64x16xi32, #acc>
!yf = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 16], stride_align = [16, 4], align = 16, index = 32, unchecked>
!yi = !tile.view<?x?xi32, strides = [?, 1], divisible = [1, 16], stride_align = [16, 4], align = 16, index = 32, unchecked>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = ["wgmma"]}>} {
  tile.kernel @int8(%y: !yi, %s: i32) attributes {tilegpu.num_warps = 4 : i64, tilegpu.shared_bytes = 65536 : i64} {
    %c0 = arith.constant 0 : index
    %z = arith.constant dense<0> : !i
    %l = tilegpu.ring {tilegpu.shared_offset = 0 : i64} : !tilegpu.smem<1x64x32xi8, #rows32>
    %r = tilegpu.ring {tilegpu.shared_offset = 32768 : i64} : !tilegpu.smem<1x32x16xi8, #cols32>
    %x = tilegpu.ring_slot %l[%s] : !tilegpu.smem<1x64x32xi8, #rows32> -> !tilegpu.smem<64x32xi8, #row32>
    %w = tilegpu.ring_slot %r[%s] : !tilegpu.smem<1x32x16xi8, #cols32> -> !tilegpu.smem<32x16xi8, #col32>
    %p = tilegpu.mma wgmma %x, %w, %z {lhs_unsigned} : !tilegpu.smem<64x32xi8, #row32>, !tilegpu.smem<32x16xi8, #col32>, !i
    tile.store %p, %y[%c0, %c0] : !i, !yi
    tile.return
  }
}

// -----

// CHECK-LABEL: llvm.func @tf32
// CHECK: wgmma.mma_async.sync.aligned.m64n16k8.f32.tf32.tf32 {{.*}}, scale, 1, 1;
#acc = #tilegpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 2]>
#row32 = #tilegpu.shared<order = [1, 0], swizzle = 1>
#col32 = #tilegpu.shared<order = [0, 1], swizzle = 1>
#rows32 = #tilegpu.shared<order = [2, 1, 0], swizzle = 1>
#cols32 = #tilegpu.shared<order = [1, 2, 0], swizzle = 1>
!f = tensor<64x16xf32, #acc>
!i = tensor<64x16xi32, #acc>
!yf = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 16], stride_align = [16, 4], align = 16, index = 32, unchecked>
!yi = !tile.view<?x?xi32, strides = [?, 1], divisible = [1, 16], stride_align = [16, 4], align = 16, index = 32, unchecked>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = ["wgmma"]}>} {
  tile.kernel @tf32(%y: !yf, %s: i32) attributes {tilegpu.num_warps = 4 : i64, tilegpu.shared_bytes = 65536 : i64} {
    %c0 = arith.constant 0 : index
    %z = arith.constant dense<0.0> : !f
    %l = tilegpu.ring {tilegpu.shared_offset = 0 : i64} : !tilegpu.smem<1x64x8xf32, #rows32>
    %r = tilegpu.ring {tilegpu.shared_offset = 32768 : i64} : !tilegpu.smem<1x8x16xf32, #cols32>
    %x = tilegpu.ring_slot %l[%s] : !tilegpu.smem<1x64x8xf32, #rows32> -> !tilegpu.smem<64x8xf32, #row32>
    %w = tilegpu.ring_slot %r[%s] : !tilegpu.smem<1x8x16xf32, #cols32> -> !tilegpu.smem<8x16xf32, #col32>
    %p = tilegpu.mma wgmma %x, %w, %z {allow_tf32} : !tilegpu.smem<64x8xf32, #row32>, !tilegpu.smem<8x16xf32, #col32>, !f
    tile.store %p, %y[%c0, %c0] : !f, !yf
    tile.return
  }
}

// -----

// The left operand in registers: four words of two elements, and one transposition flag, the right one's.
// CHECK-LABEL: llvm.func @registers
// CHECK: wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {{.*}}, {$16,$17,$18,$19}, $20, scale, 1, 1, 0;
#acc = #tilegpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 2]>
#lhs = #tilegpu.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 1]>
!tile = tensor<64x16xf32, #acc>
!b = !tilegpu.smem<16x16xbf16, #tilegpu.shared<order = [0, 1], swizzle = 1>>
!bs = !tilegpu.smem<1x16x16xbf16, #tilegpu.shared<order = [1, 2, 0], swizzle = 1>>
!y = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 16], stride_align = [16, 4], align = 16, index = 32, unchecked>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = ["wgmma"]}>} {
  tile.kernel @registers(%y: !y, %v: bf16, %stage: i32) attributes {tilegpu.num_warps = 4 : i64, tilegpu.shared_bytes = 65536 : i64} {
    %c0 = arith.constant 0 : index
    %z = arith.constant dense<0.0> : !tile
    %x = tile.splat %v : bf16 -> tensor<64x16xbf16, #lhs>
    %r = tilegpu.ring {tilegpu.shared_offset = 32768 : i64} : !bs
    %w = tilegpu.ring_slot %r[%stage] : !bs -> !b
    %p = tilegpu.mma wgmma %x, %w, %z : tensor<64x16xbf16, #lhs>, !b, !tile
    tile.store %p, %y[%c0, %c0] : !tile, !y
    tile.return
  }
}

// -----

// More than 256 columns take several instructions, as wide as divides them.
// CHECK-LABEL: llvm.func @wide
// CHECK-COUNT-2: wgmma.mma_async.sync.aligned.m64n192k16
// CHECK-NOT: wgmma.mma_async
#acc = #tilegpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 48]>
!tile = tensor<64x384xf32, #acc>
!a = !tilegpu.smem<64x16xbf16, #tilegpu.shared<order = [1, 0], swizzle = 1>>
!b = !tilegpu.smem<16x384xbf16, #tilegpu.shared<order = [1, 0], swizzle = 3>>
!as = !tilegpu.smem<1x64x16xbf16, #tilegpu.shared<order = [2, 1, 0], swizzle = 1>>
!bs = !tilegpu.smem<1x16x384xbf16, #tilegpu.shared<order = [2, 1, 0], swizzle = 3>>
!y = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 16], stride_align = [16, 4], align = 16, index = 32, unchecked>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = ["wgmma"]}>} {
  tile.kernel @wide(%y: !y, %stage: i32) attributes {tilegpu.num_warps = 4 : i64, tilegpu.shared_bytes = 65536 : i64} {
    %c0 = arith.constant 0 : index
    %z = arith.constant dense<0.0> : !tile
    %l = tilegpu.ring {tilegpu.shared_offset = 0 : i64} : !as
    %r = tilegpu.ring {tilegpu.shared_offset = 32768 : i64} : !bs
    %x = tilegpu.ring_slot %l[%stage] : !as -> !a
    %w = tilegpu.ring_slot %r[%stage] : !bs -> !b
    %p = tilegpu.mma wgmma %x, %w, %z : !a, !b, !tile
    tile.store %p, %y[%c0, %c0] : !tile, !y
    tile.return
  }
}

// -----

// Three warpgroups have 64 rows each. The assembler gives 512 threads 128 registers at first, so an instruction has
// no more columns than leave some for the rest.
// CHECK-LABEL: llvm.func @three_warpgroups
// CHECK: nvvm.shfl.sync
// CHECK: arith.muli %{{.+}}, %c2048_i32
// CHECK-COUNT-2: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16
// CHECK-NOT: wgmma.mma_async
#acc = #tilegpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], groups = 3 by [64, 0], repeat = [1, 32]>
!tile = tensor<192x256xf32, #acc>
!a = !tilegpu.smem<192x16xbf16, #tilegpu.shared<order = [1, 0], swizzle = 1>>
!b = !tilegpu.smem<16x256xbf16, #tilegpu.shared<order = [1, 0], swizzle = 3>>
!as = !tilegpu.smem<1x192x16xbf16, #tilegpu.shared<order = [2, 1, 0], swizzle = 1>>
!bs = !tilegpu.smem<1x16x256xbf16, #tilegpu.shared<order = [2, 1, 0], swizzle = 3>>
!y = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 16], stride_align = [16, 4], align = 16, index = 32, unchecked>
module attributes {tilegpu.target = #tilegpu.target<"sm_90a", {features = ["wgmma"], limits = {registers_per_sm = 65536 : i64}}>} {
  tile.kernel @three_warpgroups(%y: !y, %stage: i32) attributes {tilegpu.num_warps = 12 : i64, tilegpu.producer_warps = 4 : i64, tilegpu.shared_bytes = 65536 : i64} {
    %c0 = arith.constant 0 : index
    %z = arith.constant dense<0.0> : !tile
    %l = tilegpu.ring {tilegpu.shared_offset = 0 : i64} : !as
    %r = tilegpu.ring {tilegpu.shared_offset = 32768 : i64} : !bs
    %x = tilegpu.ring_slot %l[%stage] : !as -> !a
    %w = tilegpu.ring_slot %r[%stage] : !bs -> !b
    %p = tilegpu.mma wgmma %x, %w, %z : !a, !b, !tile
    tile.store %p, %y[%c0, %c0] : !tile, !y
    tile.return
  }
}
