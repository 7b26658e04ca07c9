// RUN: tilec-opt %s --tilegpu-bulk-stores --split-input-file | FileCheck %s

// The copy engine stores the accumulator's tile from its own layout; at the end the CTA waits for what it reads.
// CHECK-LABEL: tile.kernel @matrix
// CHECK: %[[MAP:.+]] = tilegpu.tensor_map %{{.+}} order [1, 0] box [64, 64] swizzle 3
// CHECK: consumer
// CHECK: %[[V:.+]] = arith.truncf
// CHECK-NOT: convert_layout
// CHECK: %[[COLUMN:.+]] = arith.muli %[[J:.+]], %c128
// CHECK: %[[ROW:.+]] = arith.muli %[[I:.+]], %c64
// CHECK: tilegpu.tma_store %[[V]] to %[[MAP]][%[[COLUMN]], %[[ROW]]]
// CHECK-NEXT: tilegpu.tma_store_wait
// Rows of the array are no multiples of 16 bytes: threads store.
// CHECK-LABEL: tile.kernel @odd_rows
// CHECK-NOT: tma_store
// CHECK: tile.store
// CHECK-NOT: tma_store
// CHECK: tile.return
// Nor does the engine take a tile that is no product's.
// CHECK-LABEL: tile.kernel @other_layout
// CHECK-NOT: tma_store
// CHECK: tile.store
// CHECK: tile.return
// Without roles nothing changes.
// CHECK-LABEL: tile.kernel @undivided
// CHECK-NOT: tma_store
// CHECK: tile.return
#acc = #tilegpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 16]>
#exchanged = #tilegpu.layout<register = [[1, 0], [0, 8]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 16], [0, 32]], repeat = [2, 1]>
#io = #tilegpu.layout<register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [0, 64], [1, 0]], warp = [[2, 0], [4, 0]], repeat = [8, 1]>
#target = #tilegpu.target<"sm_90a", {features = ["tma"]}>
!y = !tile.view<?x?xbf16, strides = [?, 1], divisible = [1, 8], stride_align = [16, 2], align = 16, index = 32, exclusive>
!odd = !tile.view<?x?xbf16, strides = [?, 1], divisible = [1, 1], stride_align = [2, 2], align = 16, index = 32, exclusive>
!columns = !tile.view<?x?xf32, strides = [1, ?], divisible = [4, 1], stride_align = [4, 16], align = 16, index = 32, exclusive>
!c = !tile.partition<64x128 of !y>
!e = !tile.partition<16x64 of !y>
!t = !tile.partition<64x128 of !columns>
!d = !tile.partition<64x128 of !odd>
!f = tensor<64x128xf32, #acc>
!h = tensor<64x128xbf16, #acc>
!m = tensor<64x128xbf16, #io>
module attributes {tilegpu.target = #target} {
  tile.kernel @matrix(%c: !c) attributes {tile.walks, tilegpu.num_warps = 4 : i64, tilegpu.producer_warps = 4 : i64} {
    %z = arith.constant dense<0.0> : !f
    %i = tile.program_id 0 : index
    %j = tile.program_id 1 : index
    tilegpu.roles producer {
    } consumer {
      %t = arith.truncf %z : !f to !h
      %u = tilegpu.convert_layout %t : !h -> !m
      tile.store %u, %c[%i, %j] : !m, !c
    }
    tile.return
  }
  tile.kernel @odd_rows(%c: !d) attributes {tile.walks, tilegpu.num_warps = 4 : i64, tilegpu.producer_warps = 4 : i64} {
    %z = arith.constant dense<0.0> : !h
    %i = tile.program_id 0 : index
    tilegpu.roles producer {
    } consumer {
      tile.store %z, %c[%i, %i] : !h, !d
    }
    tile.return
  }
  tile.kernel @other_layout(%c: !c) attributes {tile.walks, tilegpu.num_warps = 4 : i64, tilegpu.producer_warps = 4 : i64} {
    %z = arith.constant dense<0.0> : !m
    %i = tile.program_id 0 : index
    tilegpu.roles producer {
    } consumer {
      tile.store %z, %c[%i, %i] : !m, !c
    }
    tile.return
  }
  tile.kernel @undivided(%c: !c) attributes {tile.walks, tilegpu.num_warps = 4 : i64} {
    %z = arith.constant dense<0.0> : !h
    %i = tile.program_id 0 : index
    tile.store %z, %c[%i, %i] : !h, !c
    tile.return
  }
  // Neighbours in the array are neighbours along the accumulator's rows, either because the product is transposed
  // (its dimensions are exchanged again, which moves nothing) or because the array is stored by columns.
  // CHECK-LABEL: tile.kernel @exchanged
  // CHECK: %[[MAP:.+]] = tilegpu.tensor_map %{{.+}} order [1, 0] box [64, 16] swizzle 3
  // CHECK: %[[V:.+]] = arith.truncf
  // CHECK: %[[ROWS:.+]] = tile.permute %[[V]] [1, 0] : tensor<16x64xbf16, #{{.+}}> -> tensor<64x16xbf16, #{{.+}}>
  // CHECK: tilegpu.tma_store %[[ROWS]] to %[[MAP]][%{{.+}}, %{{.+}}] {transposed}
  // CHECK-LABEL: tile.kernel @by_columns
  // CHECK: tilegpu.tensor_map %{{.+}} order [0, 1] box [32, 32] swizzle 3
  // CHECK: tilegpu.tma_store %{{.+}} to %{{.+}} {transposed} : tensor<64x128xf32
  tile.kernel @exchanged(%c: !e) attributes {tile.walks, tilegpu.num_warps = 4 : i64, tilegpu.producer_warps = 4 : i64} {
    %z = arith.constant dense<0.0> : tensor<16x64xf32, #exchanged>
    %i = tile.program_id 0 : index
    %j = tile.program_id 1 : index
    tilegpu.roles producer {
    } consumer {
      %t = arith.truncf %z : tensor<16x64xf32, #exchanged> to tensor<16x64xbf16, #exchanged>
      tile.store %t, %c[%i, %j] : tensor<16x64xbf16, #exchanged>, !e
    }
    tile.return
  }
  tile.kernel @by_columns(%c: !t) attributes {tile.walks, tilegpu.num_warps = 4 : i64, tilegpu.producer_warps = 4 : i64} {
    %z = arith.constant dense<0.0> : !f
    %i = tile.program_id 0 : index
    %j = tile.program_id 1 : index
    tilegpu.roles producer {
    } consumer {
      tile.store %z, %c[%i, %j] : !f, !t
    }
    tile.return
  }
}
