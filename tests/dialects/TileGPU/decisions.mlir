// RUN: tilec-opt %s --tilec-tilegpu --split-input-file --remarks-filter=tilec 2>&1 | FileCheck %s

#hopper = #tilegpu.target<"sm_90a", {features = ["cp_async", "mma_bf16", "wgmma", "tma", "tma_multicast", "cluster"], limits = {shared_per_block_bytes = 232448 : i64, registers_per_sm = 65536 : i64}}>
!a = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [16, 2], align = 16, index = 32, read>
!n = !tile.view<?xbf16, strides = [1], divisible = [16], stride_align = [2], align = 16, index = 32, read>
!y = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [16, 2], align = 16, index = 32, exclusive>
!c = !tile.partition<128x128 of !y>
module attributes {tilegpu.target = #hopper} {
  // Loads of every kind, and a store: what became of each, and why.
  // CHECK-DAG: [Missed] load | Category:tilec | Reason="its tile goes to registers, and TMA fetches what products read as it is", Remark="by threads", array=bias, shape="(128,)"
  // CHECK-DAG: [Missed] load | Category:tilec | Reason="TMA moves boxes, and its elements are anywhere", Remark="by threads", array=a, shape="(128, 64)"
  // CHECK-DAG: [Passed] load | Category:tilec | Remark=TMA, array=b, box="(64, 64)", multicast="to every CTA of the cluster", shape="(64, 128)"
  // CHECK-DAG: [Analysis] cluster | Category:tilec | Reason="rows of an array start in the middle of cache lines", Remark="2 CTAs, at neighbouring rows of tiles, fetch for each other"
  // CHECK-DAG: [Analysis] roles | Category:tilec | Reason="one warpgroup can hold the accumulators", Remark="ping-pong: a producer, and two programs of 4 warps that take turns at tiles"
  // CHECK-DAG: [Analysis] raster | Category:tilec | Remark="persistent: CTAs walk over tiles in panels of 8 rows"
  // CHECK-DAG: [Passed] store | Category:tilec | Remark=TMA, array=c, shape="(128, 128)"
  // CHECK-DAG: [Analysis] shared memory | Category:tilec | Remark="229552 of 232448 bytes"
  // CHECK-DAG: [Analysis] stages | Category:tilec | Reason="shared memory has no room for more", Remark="10 of 16384 bytes"
  tile.kernel @all_kinds(%c: !c, %a: !a, %b: !a, %bias: !n) attributes {arg_names = ["c", "a", "b", "bias"]} {
    %i:2 = tile.index %c : !c -> index, index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = tile.num_tiles %a, 1 by 64 : !a
    %z = arith.constant dense<0.0> : tensor<128x128xf32>
    %rows = tile.iota axis = 0 : tensor<128x64xi32>
    %columns = tile.iota axis = 1 : tensor<128x64xi32>
    %s = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %z) -> (tensor<128x128xf32>) {
      %x = tile.gather %a[%rows, %columns] : !a, tensor<128x64xi32>, tensor<128x64xi32> -> tensor<128x64xbf16>
      %y = tile.load %b[%k, %i#1] : !a -> tensor<64x128xbf16>
      %r = tile.mma %x, %y, %acc : tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>
      scf.yield %r : tensor<128x128xf32>
    }
    %v = tile.load %bias[%i#1] : !n -> tensor<128xbf16>
    %w = arith.extf %v : tensor<128xbf16> to tensor<128xf32>
    %w2 = tile.reshape %w : tensor<128xf32> -> tensor<1x128xf32>
    %w3 = tile.broadcast %w2 : tensor<1x128xf32> -> tensor<128x128xf32>
    %sum = arith.addf %s, %w3 : tensor<128x128xf32>
    %t = arith.truncf %sum : tensor<128x128xf32> to tensor<128x128xbf16>
    tile.store %t, %c : tensor<128x128xbf16>, !c
    tile.return
  }
}

// -----

#hopper = #tilegpu.target<"sm_90a", {features = ["cp_async", "mma_bf16", "wgmma", "tma", "tma_multicast", "cluster"], limits = {shared_per_block_bytes = 135168 : i64, registers_per_sm = 65536 : i64}}>
!a = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [128, 2], align = 16, index = 32, read>
!y = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 1], stride_align = [2, 2], align = 16, index = 32, exclusive>
!c = !tile.partition<128x128 of !y>
module attributes {tilegpu.target = #hopper} {
  // CHECK-DAG: [Missed] store | Category:tilec | Reason="the rows of its array are no multiple of 16 bytes", Remark="by threads", array=c, shape="(128, 128)"
  // CHECK-DAG: [Analysis] stages | Category:tilec | Reason="shared memory has no room for more", Remark="1 of 32768 bytes"
  tile.kernel @narrow(%c: !c, %a: !a, %b: !a) attributes {arg_names = ["c", "a", "b"]} {
    %i:2 = tile.index %c : !c -> index, index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = tile.num_tiles %a, 1 by 64 : !a
    %z = arith.constant dense<0.0> : tensor<128x128xf32>
    %s = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %z) -> (tensor<128x128xf32>) {
      %x = tile.load %a[%i#0, %k] : !a -> tensor<128x64xbf16>
      %y = tile.load %b[%k, %i#1] : !a -> tensor<64x128xbf16>
      %r = tile.mma %x, %y, %acc : tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>
      scf.yield %r : tensor<128x128xf32>
    }
    %t = arith.truncf %s : tensor<128x128xf32> to tensor<128x128xbf16>
    tile.store %t, %c : tensor<128x128xbf16>, !c
    tile.return
  }
}

// -----

#hopper = #tilegpu.target<"sm_90a", {features = ["cp_async", "mma_bf16", "wgmma", "tma"], limits = {shared_per_block_bytes = 232448 : i64, registers_per_sm = 65536 : i64}}>
!a = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [128, 2], align = 16, index = 32, read>
!y = !tile.view<?x?xbf16, strides = [?, 1], divisible = [16, 16], stride_align = [128, 2], align = 16, index = 32, exclusive>
!c = !tile.partition<192x192 of !y>
module attributes {tilegpu.target = #hopper} {
  // CHECK-DAG: [Analysis] roles | Category:tilec | Reason="one warpgroup cannot hold the accumulators", Remark="cooperative: a producer, and three warpgroups that share a tile"
  // CHECK-DAG: [Passed] store | Category:tilec | Remark=TMA, array=c, shape="(192, 192)"
  // CHECK-DAG: tilegpu.queue bytes 49152 readers 3
  tile.kernel @three_warpgroups(%c: !c, %a: !a, %b: !a) attributes {arg_names = ["c", "a", "b"]} {
    %i:2 = tile.index %c : !c -> index, index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = tile.num_tiles %a, 1 by 64 : !a
    %z = arith.constant dense<0.0> : tensor<192x192xf32>
    %s = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %z) -> (tensor<192x192xf32>) {
      %x = tile.load %a[%i#0, %k] : !a -> tensor<192x64xbf16>
      %y = tile.load %b[%k, %i#1] : !a -> tensor<64x192xbf16>
      %r = tile.mma %x, %y, %acc : tensor<192x64xbf16>, tensor<64x192xbf16>, tensor<192x192xf32>
      scf.yield %r : tensor<192x192xf32>
    }
    %t = arith.truncf %s : tensor<192x192xf32> to tensor<192x192xbf16>
    tile.store %t, %c : tensor<192x192xbf16>, !c
    tile.return
  }
}
