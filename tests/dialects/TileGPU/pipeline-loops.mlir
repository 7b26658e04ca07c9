// RUN: tilec-opt %s --pass-pipeline='builtin.module(tile.kernel(tilegpu-pipeline-loops,tilegpu-allocate-shared,tilegpu-insert-barriers))' | FileCheck %s
// RUN: tilec-opt %s --pass-pipeline='builtin.module(tile.kernel(tilegpu-pipeline-loops{num-stages=2}))' | FileCheck %s --check-prefix=TWO
// RUN: tilec-opt %s --pass-pipeline='builtin.module(tile.kernel(tilegpu-pipeline-loops{num-stages=1}))' | FileCheck %s --check-prefix=NONE

#acc = #tilegpu.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]],
                       warp = [[16, 0], [32, 0]], repeat = [1, 4]>
#in = #tilegpu.layout<register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]],
                      warp = [[4, 0], [8, 0]], repeat = [4, 1]>
#in3 = #tilegpu.layout<register = [[0, 0, 1], [0, 0, 2], [0, 0, 4]],
                       lane = [[0, 0, 8], [0, 0, 16], [0, 0, 32], [0, 1, 0], [0, 2, 0]],
                       warp = [[0, 4, 0], [0, 8, 0]], repeat = [1, 4, 1]>
#s = #tilegpu.shared<order = [1, 0], swizzle = 3>
!x = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [16, 2], align = 16, index = 32, read>
!w = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [16, 2], align = 16, index = 32, unchecked>
!stack = !tile.view<?x?x?xbf16, strides = [?, ?, 1], divisible = [1, 16, 16], stride_align = [16, 16, 2], align = 16, index = 32, read>
!tile = tensor<64x64xbf16, #in>
!smem = !tilegpu.smem<64x64xbf16, #s>
!sum = tensor<64x64xf32, #acc>

module attributes {tilegpu.target = #tilegpu.target<"sm_80", {features = ["cp_async"], limits = {shared_per_block_bytes = 166912 : i64}}>} {
  // Four stages fit: three groups start before the loop, and the loop waits for all but two of them.
  // CHECK: !tilegpu.smem<4x64x64xbf16
  // CHECK-LABEL: tile.kernel @product
  // CHECK-COUNT-2: = tilegpu.ring {
  // CHECK-COUNT-3: tilegpu.copy_commit
  // CHECK: scf.for
  // CHECK-NEXT: tilegpu.copy_wait 2
  // CHECK-NEXT: tilegpu.barrier
  // CHECK-COUNT-2: tilegpu.copy_async
  // CHECK-NEXT: tilegpu.copy_commit
  // CHECK-NOT: tile.load
  // CHECK-NOT: tilegpu.barrier
  // CHECK: tilegpu.mma
  // CHECK-NOT: tilegpu.barrier
  // CHECK: scf.yield
  // CHECK: tilegpu.copy_wait 0
  //
  // TWO: !tilegpu.smem<2x64x64xbf16
  // TWO-LABEL: tile.kernel @product
  // TWO-COUNT-2: = tilegpu.ring :
  // TWO: tilegpu.copy_commit
  // TWO: scf.for
  // TWO-NEXT: tilegpu.copy_wait 0
  //
  // NONE-LABEL: tile.kernel @product
  // NONE-NOT: tilegpu.ring
  tile.kernel @product(%a: !x, %b: !x) attributes {tilegpu.num_warps = 4 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %steps = tile.num_tiles %a, 1 by 64 : !x
    %zero = arith.constant dense<0.0> : !sum
    %sum = scf.for %k = %c0 to %steps step %c1 iter_args(%acc = %zero) -> (!sum) {
      %x = tile.load %a[%c0, %k] : !x -> !tile
      %y = tile.load %b[%k, %c0] : !x -> !tile
      %s = tilegpu.local_alloc %x : !tile -> !smem
      %t = tilegpu.local_alloc %y : !tile -> !smem
      %next = tilegpu.mma mma_sync %s, %t, %acc : !smem, !smem, !sum
      scf.yield %next : !sum
    }
    tile.return
  }

  // What is computed and what is padded with other values waits in registers: behind the barrier the tiles of the next
  // turn go to their stage and the loads of the one after start.
  // CHECK-LABEL: tile.kernel @held
  // CHECK-COUNT-2: = tilegpu.ring {
  // CHECK-NOT: tilegpu.copy
  // CHECK-COUNT-2: tile.load
  // CHECK: arith.addf
  // CHECK-COUNT-2: tilegpu.local_store
  // CHECK-COUNT-2: tile.load
  // CHECK: scf.for {{.*}} iter_args({{.*}} = {{.*}}, {{.*}} = {{.*}}, [[X:%.*]] = {{.*}}, [[Z:%.*]] = {{.*}})
  // CHECK-NEXT: tilegpu.barrier
  // CHECK: [[SCALED:%.*]] = arith.addf [[X]], [[X]]
  // CHECK: tilegpu.local_store [[SCALED]] into
  // CHECK: tilegpu.local_store [[Z]] into
  // CHECK: [[NEXT_X:%.*]] = tile.load
  // CHECK: [[NEXT_Z:%.*]] = tile.load {{.*}} pad
  // CHECK-NOT: tilegpu.barrier
  // CHECK: tilegpu.mma
  // CHECK-NOT: tilegpu.barrier
  // CHECK: scf.yield {{.*}}, {{.*}}, [[NEXT_X]], [[NEXT_Z]]
  tile.kernel @held(%a: !x) attributes {tilegpu.num_warps = 4 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %steps = tile.num_tiles %a, 1 by 64 : !x
    %zero = arith.constant dense<0.0> : !sum
    %one = arith.constant 1.0 : bf16
    %sum = scf.for %k = %c0 to %steps step %c1 iter_args(%acc = %zero) -> (!sum) {
      %x = tile.load %a[%c0, %k] : !x -> !tile
      %scaled = arith.addf %x, %x : !tile
      %z = tile.load %a[%k, %c0] pad %one : bf16 : !x -> !tile
      %s = tilegpu.local_alloc %scaled : !tile -> !smem
      %t = tilegpu.local_alloc %z : !tile -> !smem
      %next = tilegpu.mma mma_sync %s, %t, %acc : !smem, !smem, !sum
      scf.yield %next : !sum
    }
    tile.return
  }

  // A matrix of a stack is copied without its dimension of extent 1.
  // CHECK-LABEL: tile.kernel @stacked
  // CHECK: tilegpu.copy_async {{.*}} into {{.*}} shape [1, 64, 64] :
  tile.kernel @stacked(%a: !stack) attributes {tilegpu.num_warps = 4 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %steps = tile.num_tiles %a, 2 by 64 : !stack
    %zero = arith.constant dense<0.0> : !sum
    %sum = scf.for %k = %c0 to %steps step %c1 iter_args(%acc = %zero) -> (!sum) {
      %x = tile.load %a[%c1, %c0, %k] : !stack -> tensor<1x64x64xbf16, #in3>
      %y = tile.reshape %x : tensor<1x64x64xbf16, #in3> -> !tile
      %s = tilegpu.local_alloc %y : !tile -> !smem
      %next = tilegpu.mma mma_sync %s, %s, %acc : !smem, !smem, !sum
      scf.yield %next : !sum
    }
    tile.return
  }

  // A view that others may write is not read ahead, nor a tile that something else needs in its turn.
  // CHECK-LABEL: tile.kernel @not_ahead
  // CHECK-NOT: tilegpu.ring
  // CHECK: tile.return
  tile.kernel @not_ahead(%a: !x, %b: !w) attributes {tilegpu.num_warps = 4 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %steps = tile.num_tiles %a, 1 by 64 : !x
    %zero = arith.constant dense<0.0> : !sum
    %none = arith.constant dense<0.0> : !tile
    %sum:2 = scf.for %k = %c0 to %steps step %c1 iter_args(%acc = %zero, %other = %none) -> (!sum, !tile) {
      %x = tile.load %a[%c0, %k] : !x -> !tile
      %scaled = arith.addf %x, %x : !tile
      %more = arith.addf %x, %other : !tile
      %y = tile.load %b[%k, %c0] : !w -> !tile
      %s = tilegpu.local_alloc %scaled : !tile -> !smem
      %t = tilegpu.local_alloc %y : !tile -> !smem
      %next = tilegpu.mma mma_sync %s, %t, %acc : !smem, !smem, !sum
      scf.yield %next, %more : !sum, !tile
    }
    tile.return
  }
}
