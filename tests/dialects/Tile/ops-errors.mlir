// Every message of the ops' verifiers, word for word.
// RUN: tilec-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{'tile.kernel' op a kernel has no results, found 'f32'}}
tile.kernel @results() -> f32 {
  tile.return
}

// -----

// expected-error@+1 {{'tile.kernel' op arg_names must name every argument: expected 2, found 1}}
tile.kernel @arg_names(%a: f32, %b: f32) attributes {arg_names = ["a"]} {
  tile.return
}

// -----

// expected-error@+1 {{'tile.kernel' op arguments are views, partitions and scalars, found 'index'}}
tile.kernel @argument(%a: index) {
  tile.return
}

// -----

!y = !tile.partition<4x8 of !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, exclusive>>

tile.kernel @index(%y: !y) {
  // expected-error@+1 {{'tile.index' op has one result a dimension: expected 2, found 1}}
  %i = tile.index %y : !y -> index
  tile.return
}

// -----

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>
!y = !tile.partition<4x8 of !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, exclusive>>

tile.kernel @view_of(%y: !y) {
  // expected-error@+1 {{'tile.view_of' op result must be '!tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, exclusive>', found '!tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>'}}
  %v = tile.view_of %y : !y -> !x
  tile.return
}

// -----

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>

tile.kernel @permute_view_length(%x: !x) {
  // expected-error@+1 {{'tile.permute_view' op order must name every dimension once: expected 2 entries, found 1}}
  %v = tile.permute_view %x [0] : !x -> !x
  tile.return
}

// -----

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>

tile.kernel @permute_view_twice(%x: !x) {
  // expected-error@+1 {{'tile.permute_view' op order must name every dimension once, found 1}}
  %v = tile.permute_view %x [1, 1] : !x -> !x
  tile.return
}

// -----

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>

tile.kernel @permute_view_range(%x: !x) {
  // expected-error@+1 {{'tile.permute_view' op order must name every dimension once, found 2}}
  %v = tile.permute_view %x [0, 2] : !x -> !x
  tile.return
}

// -----

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>

tile.kernel @permute_view_result(%x: !x) {
  // expected-error@+1 {{'tile.permute_view' op result must be '!tile.view<?x?xf32, strides = [1, ?], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>', found '!tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>'}}
  %v = tile.permute_view %x [1, 0] : !x -> !x
  tile.return
}

// -----

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>
!strong = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 16], stride_align = [4, 4], align = 16, index = 32, read>

tile.kernel @view_cast(%x: !x) {
  // expected-error@+1 {{'tile.view_cast' op result must promise no more than '!tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>', found '!tile.view<?x?xf32, strides = [?, 1], divisible = [1, 16], stride_align = [4, 4], align = 16, index = 32, read>'}}
  %v = tile.view_cast %x : !x -> !strong
  tile.return
}

// -----

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>
!u = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, unchecked>

tile.kernel @view_cast_access(%x: !x) {
  // expected-error@+1 {{'tile.view_cast' op result must promise no more than '!tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>', found '!tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, unchecked>'}}
  %v = tile.view_cast %x : !x -> !u
  tile.return
}

// -----

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>

tile.kernel @dim(%x: !x) {
  // expected-error@+1 {{'tile.dim' op dimension must be below the rank 2, found 2}}
  %d = tile.dim %x, 2 : !x
  tile.return
}

// -----

!y = !tile.partition<4x8 of !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, exclusive>>

tile.kernel @dim_negative(%y: !y) {
  // expected-error@+1 {{'tile.dim' op dimension must be below the rank 2, found -1}}
  %d = tile.dim %y, -1 : !y
  tile.return
}

// -----

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>

tile.kernel @num_tiles(%x: !x) {
  // expected-error@+1 {{'tile.num_tiles' op dimension must be below the rank 2, found 2}}
  %d = tile.num_tiles %x, 2 by 4 : !x
  tile.return
}

// -----

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>

tile.kernel @num_tiles_zero(%x: !x) {
  // expected-error@+1 {{'tile.num_tiles' op attribute 'tile' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %d = tile.num_tiles %x, 1 by 0 : !x
  tile.return
}

// -----

tile.kernel @program_id() {
  // expected-error@+1 {{'tile.program_id' op attribute 'axis' failed to satisfy constraint: 64-bit signless integer attribute whose minimum value is 0 whose maximum value is 2}}
  %d = tile.program_id 3 : index
  tile.return
}

// -----

tile.kernel @num_programs() {
  // expected-error@+1 {{'tile.num_programs' op attribute 'axis' failed to satisfy constraint: 64-bit signless integer attribute whose minimum value is 0 whose maximum value is 2}}
  %d = tile.num_programs -1 : index
  tile.return
}

// -----

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>

tile.kernel @load_indices(%x: !x) {
  %c = arith.constant 0 : index
  // expected-error@+1 {{'tile.load' op needs one index a dimension: expected 2, found 1}}
  %t = tile.load %x[%c] : !x -> tensor<4x4xf32>
  tile.return
}

// -----

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>

tile.kernel @load_rank(%x: !x) {
  %c = arith.constant 0 : index
  // expected-error@+1 {{'tile.load' op tile must have the view's rank 2, found 1}}
  %t = tile.load %x[%c, %c] : !x -> tensor<4xf32>
  tile.return
}

// -----

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>

tile.kernel @load_step(%x: !x) {
  %c = arith.constant 0 : index
  // expected-error@+1 {{'tile.load' op step must have one entry a dimension: expected 2, found 1}}
  %t = tile.load %x[%c, %c] step [1] : !x -> tensor<4x4xf32>
  tile.return
}

// -----

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>

tile.kernel @load_step_zero(%x: !x) {
  %c = arith.constant 0 : index
  // expected-error@+1 {{'tile.load' op steps must be positive, found 0}}
  %t = tile.load %x[%c, %c] step [1, 0] : !x -> tensor<4x4xf32>
  tile.return
}

// -----

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>

tile.kernel @load_pad(%x: !x, %p: f16) {
  %c = arith.constant 0 : index
  // expected-error@+1 {{'tile.load' op pad must be 'f32', found 'f16'}}
  %t = tile.load %x[%c, %c] pad %p : f16 : !x -> tensor<4x4xf32>
  tile.return
}

// -----

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>

tile.kernel @load_element(%x: !x) {
  %c = arith.constant 0 : index
  // expected-error@+1 {{'tile.load' op tile element type must be 'f32', found 'f16'}}
  %t = tile.load %x[%c, %c] : !x -> tensor<4x4xf16>
  tile.return
}

// -----

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>

tile.kernel @load_dynamic(%x: !x) {
  %c = arith.constant 0 : index
  // expected-error@+1 {{'tile.load' op result #0 must be tile of integers or floats (a ranked tensor of static shape), but got 'tensor<4x?xf32>'}}
  %t = tile.load %x[%c, %c] : !x -> tensor<4x?xf32>
  tile.return
}

// -----

!y = !tile.partition<4x8 of !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, exclusive>>

tile.kernel @store_indices(%y: !y, %s: f32) {
  %c = arith.constant 0 : index
  %t = tile.splat %s : f32 -> tensor<4x8xf32>
  // expected-error@+1 {{'tile.store' op a partition's tile has its own place: expected no indices, found 2}}
  tile.store %t, %y[%c, %c] : tensor<4x8xf32>, !y
  tile.return
}

// -----

!y = !tile.partition<4x8 of !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, exclusive>>

tile.kernel @store_shape(%y: !y, %s: f32) {
  %t = tile.splat %s : f32 -> tensor<8x4xf32>
  // expected-error@+1 {{'tile.store' op tile must have the partition's shape [4, 8], found [8, 4]}}
  tile.store %t, %y : tensor<8x4xf32>, !y
  tile.return
}

// -----

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>

tile.kernel @store_access(%x: !x, %s: f32) {
  %c = arith.constant 0 : index
  %t = tile.splat %s : f32 -> tensor<4x8xf32>
  // expected-error@+1 {{'tile.store' op needs a partition or an unchecked view, found a view with access read}}
  tile.store %t, %x[%c, %c] : tensor<4x8xf32>, !x
  tile.return
}

// -----

!u = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, unchecked>

tile.kernel @store_rank(%u: !u, %s: f32) {
  %c = arith.constant 0 : index
  %t = tile.splat %s : f32 -> tensor<4x8xf32>
  // expected-error@+1 {{'tile.store' op needs indices of the view's rank 2}}
  tile.store %t, %u[%c] : tensor<4x8xf32>, !u
  tile.return
}

// -----

!u = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, unchecked>

tile.kernel @store_rank_of_tile(%u: !u, %s: f32) {
  %c = arith.constant 0 : index
  %t = tile.splat %s : f32 -> tensor<4xf32>
  // expected-error@+1 {{'tile.store' op needs a tile of the view's rank 2, found 1}}
  tile.store %t, %u[%c, %c] : tensor<4xf32>, !u
  tile.return
}

// -----

!u = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, unchecked>

tile.kernel @store_step_rank(%u: !u, %s: f32) {
  %c = arith.constant 0 : index
  %t = tile.splat %s : f32 -> tensor<4x8xf32>
  // expected-error@+1 {{'tile.store' op step must have one entry a dimension: expected 2, found 1}}
  tile.store %t, %u[%c, %c] step [4] : tensor<4x8xf32>, !u
  tile.return
}

// -----

!u = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, unchecked>

tile.kernel @store_step_zero(%u: !u, %s: f32) {
  %c = arith.constant 0 : index
  %t = tile.splat %s : f32 -> tensor<4x8xf32>
  // expected-error@+1 {{'tile.store' op steps must be positive, found 0}}
  tile.store %t, %u[%c, %c] step [4, 0] : tensor<4x8xf32>, !u
  tile.return
}

// -----

!y = !tile.partition<4x8 of !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, exclusive>>

tile.kernel @store_step_of_partition(%y: !y, %s: f32) {
  %c = arith.constant 0 : index
  %t = tile.splat %s : f32 -> tensor<4x8xf32>
  // expected-error@+1 {{'tile.store' op a partition's tile has its own place and takes no step}}
  tile.store %t, %y step [4, 8] : tensor<4x8xf32>, !y
  tile.return
}

// -----

!y = !tile.partition<4x8 of !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, exclusive>>

tile.kernel @store_element(%y: !y, %s: f16) {
  %t = tile.splat %s : f16 -> tensor<4x8xf16>
  // expected-error@+1 {{'tile.store' op tile element type must be 'f32', found 'f16'}}
  tile.store %t, %y : tensor<4x8xf16>, !y
  tile.return
}

// -----

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>

tile.kernel @gather_indices(%x: !x) {
  %i = tile.iota axis = 0 : tensor<8xi32>
  // expected-error@+1 {{'tile.gather' op needs one index tile a dimension: expected 2, found 1}}
  %t = tile.gather %x[%i] : !x, tensor<8xi32> -> tensor<8xf32>
  tile.return
}

// -----

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>

tile.kernel @gather_shape(%x: !x) {
  %i = tile.iota axis = 0 : tensor<8xi32>
  // expected-error@+1 {{'tile.gather' op index tiles must have the result's shape}}
  %t = tile.gather %x[%i, %i] : !x, tensor<8xi32>, tensor<8xi32> -> tensor<4xf32>
  tile.return
}

// -----

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>

tile.kernel @gather_mask(%x: !x, %b: i1) {
  %i = tile.iota axis = 0 : tensor<8xi32>
  %m = tile.splat %b : i1 -> tensor<4xi1>
  // expected-error@+1 {{'tile.gather' op mask must have the result's shape}}
  %t = tile.gather %x[%i, %i] mask %m : tensor<4xi1> : !x, tensor<8xi32>, tensor<8xi32> -> tensor<8xf32>
  tile.return
}

// -----

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>

tile.kernel @gather_fill(%x: !x, %f: i32) {
  %i = tile.iota axis = 0 : tensor<8xi32>
  // expected-error@+1 {{'tile.gather' op fill must be 'f32', found 'i32'}}
  %t = tile.gather %x[%i, %i] fill %f : i32 : !x, tensor<8xi32>, tensor<8xi32> -> tensor<8xf32>
  tile.return
}

// -----

!x = !tile.view<?x?xf32, strides = [?, 1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>

tile.kernel @gather_element(%x: !x) {
  %i = tile.iota axis = 0 : tensor<8xi32>
  // expected-error@+1 {{'tile.gather' op tile element type must be 'f32', found 'f64'}}
  %t = tile.gather %x[%i, %i] : !x, tensor<8xi32>, tensor<8xi32> -> tensor<8xf64>
  tile.return
}

// -----

tile.kernel @iota() {
  // expected-error@+1 {{'tile.iota' op axis must be below the rank 1, found 1}}
  %i = tile.iota axis = 1 : tensor<8xi32>
  tile.return
}

// -----

tile.kernel @splat(%s: f16) {
  // expected-error@+1 {{'tile.splat' op scalar must be 'f32', found 'f16'}}
  %t = tile.splat %s : f16 -> tensor<8xf32>
  tile.return
}

// -----

tile.kernel @broadcast_rank(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<4x8xf32>
  // expected-error@+1 {{'tile.broadcast' op keeps the rank: expected 2, found 3}}
  %b = tile.broadcast %t : tensor<4x8xf32> -> tensor<2x4x8xf32>
  tile.return
}

// -----

tile.kernel @broadcast_extent(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<4x8xf32>
  // expected-error@+1 {{'tile.broadcast' op only dimensions of extent 1 grow: found 4 to 8}}
  %b = tile.broadcast %t : tensor<4x8xf32> -> tensor<8x8xf32>
  tile.return
}

// -----

tile.kernel @broadcast_element(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<1xf32>
  // expected-error@+1 {{'tile.broadcast' op requires the same element type for all operands and results}}
  %b = tile.broadcast %t : tensor<1xf32> -> tensor<8xf16>
  tile.return
}

// -----

tile.kernel @reshape(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<4x8xf32>
  // expected-error@+1 {{'tile.reshape' op keeps the number of elements: expected 32, found 16}}
  %b = tile.reshape %t : tensor<4x8xf32> -> tensor<4x4xf32>
  tile.return
}

// -----

tile.kernel @permute_order(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<4x8xf32>
  // expected-error@+1 {{'tile.permute' op order must name every dimension once, found 0}}
  %b = tile.permute %t [0, 0] : tensor<4x8xf32> -> tensor<4x4xf32>
  tile.return
}

// -----

tile.kernel @permute_shape(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<4x8xf32>
  // expected-error@+1 {{'tile.permute' op result shape must be the permuted operand shape}}
  %b = tile.permute %t [1, 0] : tensor<4x8xf32> -> tensor<4x8xf32>
  tile.return
}

// -----

tile.kernel @extract(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<4x8xf32>
  // expected-error@+1 {{'tile.extract' op needs a tile of one element, found 'tensor<4x8xf32>'}}
  %b = tile.extract %t : tensor<4x8xf32> -> f32
  tile.return
}

// -----

tile.kernel @extract_element(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<1xf32>
  // expected-error@+1 {{'tile.extract' op result must be 'f32', found 'f16'}}
  %b = tile.extract %t : tensor<1xf32> -> f16
  tile.return
}

// -----

tile.kernel @mma_rank(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<8xf32>
  %z = tile.splat %s : f32 -> tensor<4x4xf32>
  // expected-error@+1 {{'tile.mma' op operands must be of rank 2}}
  %m = tile.mma %t, %t, %z : tensor<8xf32>, tensor<8xf32>, tensor<4x4xf32>
  tile.return
}

// -----

tile.kernel @mma_k(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<4x8xf32>
  %z = tile.splat %s : f32 -> tensor<4x4xf32>
  // expected-error@+1 {{'tile.mma' op operands disagree on K: lhs has 8, rhs has 4}}
  %m = tile.mma %t, %t, %z : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x4xf32>
  tile.return
}

// -----

tile.kernel @mma_acc(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<4x8xf32>
  %r = tile.splat %s : f32 -> tensor<8x8xf32>
  %z = tile.splat %s : f32 -> tensor<4x4xf32>
  // expected-error@+1 {{'tile.mma' op accumulator must be 4x8, found 4x4}}
  %m = tile.mma %t, %r, %z : tensor<4x8xf32>, tensor<8x8xf32>, tensor<4x4xf32>
  tile.return
}

// -----

tile.kernel @mma_kinds(%s: f32, %n: i8) {
  %q = tile.splat %n : i8 -> tensor<4x4xi8>
  %z = tile.splat %s : f32 -> tensor<4x4xf32>
  // expected-error@+1 {{'tile.mma' op operands and accumulator must be all floats or all integers, found 'tensor<4x4xi8>', 'tensor<4x4xi8>' and 'tensor<4x4xf32>'}}
  %m = tile.mma %q, %q, %z : tensor<4x4xi8>, tensor<4x4xi8>, tensor<4x4xf32>
  tile.return
}

// -----

tile.kernel @reduce_none(%s: f32) {
  // expected-error@+1 {{'tile.reduce' op needs at least one operand}}
  "tile.reduce"() <{axis = 0 : i64, identities = []}> ({
  ^bb0:
    "tile.yield"() : () -> ()
  }) : () -> ()
  tile.return
}

// -----

tile.kernel @reduce_counts(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<4x8xf32>
  // expected-error@+1 {{'tile.reduce' op needs one result and one identity an operand: expected 1, found 1 and 0}}
  %m = tile.reduce (%t) axis = 1 identity [] : (tensor<4x8xf32>) -> (tensor<4x1xf32>) {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a : f32
  }
  tile.return
}

// -----

tile.kernel @reduce_axis(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<4x8xf32>
  // expected-error@+1 {{'tile.reduce' op axis must be below the rank 2, found 2}}
  %m = tile.reduce (%t) axis = 2 identity [0.0 : f32] : (tensor<4x8xf32>) -> (tensor<4x1xf32>) {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a : f32
  }
  tile.return
}

// -----

tile.kernel @reduce_shape(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<4x8xf32>
  // expected-error@+1 {{'tile.reduce' op operands share a shape and results keep the axis with extent 1}}
  %m = tile.reduce (%t) axis = 0 identity [0.0 : f32] : (tensor<4x8xf32>) -> (tensor<4x1xf32>) {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a : f32
  }
  tile.return
}

// -----

tile.kernel @reduce_identity(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<4x8xf32>
  // expected-error@+1 {{'tile.reduce' op operand, identity and result must have one element type, expected 'f32'}}
  %m = tile.reduce (%t) axis = 1 identity [0.0 : f16] : (tensor<4x8xf32>) -> (tensor<4x1xf32>) {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a : f32
  }
  tile.return
}

// -----

tile.kernel @reduce_arguments(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<4x8xf32>
  // expected-error@+1 {{'tile.reduce' op combiner takes two arguments an operand: expected 2, found 1}}
  %m = tile.reduce (%t) axis = 1 identity [0.0 : f32] : (tensor<4x8xf32>) -> (tensor<4x1xf32>) {
  ^bb0(%a: f32):
    tile.yield %a : f32
  }
  tile.return
}

// -----

tile.kernel @reduce_argument_type(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<4x8xf32>
  // expected-error@+1 {{'tile.reduce' op combiner argument 1 must have its operand's element type}}
  %m = tile.reduce (%t) axis = 1 identity [0.0 : f32] : (tensor<4x8xf32>) -> (tensor<4x1xf32>) {
  ^bb0(%a: f32, %b: f16):
    tile.yield %a : f32
  }
  tile.return
}

// -----

tile.kernel @reduce_yield(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<4x8xf32>
  // expected-error@+1 {{'tile.reduce' op combiner yields one value an operand}}
  %m = tile.reduce (%t) axis = 1 identity [0.0 : f32] : (tensor<4x8xf32>) -> (tensor<4x1xf32>) {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a, %b : f32, f32
  }
  tile.return
}

// -----

tile.kernel @reduce_yield_type(%s: f32) {
  %t = tile.splat %s : f32 -> tensor<4x8xf32>
  // expected-error@+1 {{'tile.reduce' op yielded value must be 'f32', found 'i32'}}
  %m = tile.reduce (%t) axis = 1 identity [0.0 : f32] : (tensor<4x8xf32>) -> (tensor<4x1xf32>) {
  ^bb0(%a: f32, %b: f32):
    %i = arith.constant 0 : i32
    tile.yield %i : i32
  }
  tile.return
}

// -----

tile.kernel @print(%s: f32) {
  // expected-error@+1 {{'tile.print' op format has 2 places for 1 values}}
  tile.print "{} {}"(%s) : f32
  tile.return
}

// -----

tile.kernel @print_signs(%s: f32) {
  // expected-error@+1 {{'tile.print' op is_unsigned speaks of 2 values, expected 1}}
  tile.print "{}"(%s) : f32 {is_unsigned = array<i1: false, true>}
  tile.return
}

// -----

tile.kernel @breakpoint(%s: f32) {
  // expected-error@+1 {{'tile.breakpoint' op has 2 names for 1 values}}
  tile.breakpoint ["s", "t"](%s) : f32
  tile.return
}

// -----

tile.kernel @breakpoint_signs(%s: f32) {
  // expected-error@+1 {{'tile.breakpoint' op is_unsigned speaks of 0 values, expected 1}}
  tile.breakpoint ["s"](%s) : f32 {is_unsigned = array<i1>}
  tile.return
}

// -----

tile.kernel @assert(%s: f32) {
  // expected-error@+1 {{'tile.assert' op operand #0 must be 1-bit signless integer or ranked tensor of 1-bit signless integer values, but got 'f32'}}
  tile.assert %s, "no" : f32
  tile.return
}
