// RUN: tilec-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{access must be read, exclusive, atomic or unchecked, found 'write'}}
tile.kernel @access(%x: !tile.view<?xf32, strides = [1], divisible = [1], stride_align = [4], align = 4, index = 32, write>) {
  tile.return
}

// -----

// expected-error@+1 {{view element type must be an integer or a float, found 'index'}}
tile.kernel @element(%x: !tile.view<?xindex, strides = [1], divisible = [1], stride_align = [4], align = 4, index = 32, read>) {
  tile.return
}

// -----

// expected-error@+1 {{strides must have one entry a dimension: expected 2, found 1}}
tile.kernel @strides(%x: !tile.view<?x?xf32, strides = [1], divisible = [1, 1], stride_align = [4, 4], align = 4, index = 32, read>) {
  tile.return
}

// -----

// expected-error@+1 {{divisible must have one entry a dimension: expected 1, found 2}}
tile.kernel @divisible(%x: !tile.view<?xf32, strides = [1], divisible = [1, 1], stride_align = [4], align = 4, index = 32, read>) {
  tile.return
}

// -----

// expected-error@+1 {{stride_align must have one entry a dimension: expected 1, found 0}}
tile.kernel @stride_align(%x: !tile.view<?xf32, strides = [1], divisible = [1], stride_align = [], align = 4, index = 32, read>) {
  tile.return
}

// -----

// expected-error@+1 {{divisible, stride_align and align must be powers of two}}
tile.kernel @powers(%x: !tile.view<?xf32, strides = [1], divisible = [3], stride_align = [4], align = 4, index = 32, read>) {
  tile.return
}

// -----

// expected-error@+1 {{divisible, stride_align and align must be powers of two}}
tile.kernel @align(%x: !tile.view<?xf32, strides = [1], divisible = [1], stride_align = [4], align = 0, index = 32, read>) {
  tile.return
}

// -----

// expected-error@+1 {{index must be 32 or 64, found 16}}
tile.kernel @index(%x: !tile.view<?xf32, strides = [1], divisible = [1], stride_align = [4], align = 4, index = 16, read>) {
  tile.return
}

// -----

// expected-error@+1 {{tile shape must have the view's rank: expected 1, found 2}}
tile.kernel @rank(%y: !tile.partition<4x4 of !tile.view<?xf32, strides = [1], divisible = [1], stride_align = [4], align = 4, index = 32, exclusive>>) {
  tile.return
}

// -----

// expected-error@+1 {{tile extents must be positive, found 0}}
tile.kernel @extent(%y: !tile.partition<0 of !tile.view<?xf32, strides = [1], divisible = [1], stride_align = [4], align = 4, index = 32, exclusive>>) {
  tile.return
}

// -----

// expected-error@+1 {{a partition needs an exclusive view, found read}}
tile.kernel @partition(%y: !tile.partition<4 of !tile.view<?xf32, strides = [1], divisible = [1], stride_align = [4], align = 4, index = 32, read>>) {
  tile.return
}
