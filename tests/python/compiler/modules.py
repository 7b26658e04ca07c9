"""Modules of the `tile` dialect for the tests of the compiler's Python side."""

COPY = b"""
!x = !tile.view<?xf32, strides = [1], divisible = [16], stride_align = [4], align = 16, \
index = 32, read>
!y = !tile.partition<128 of !tile.view<?xf32, strides = [1], divisible = [16], \
stride_align = [4], align = 16, index = 32, exclusive>>
tile.kernel @copy(%y: !y, %x: !x) attributes {arg_names = ["y", "x"]} {
  %i = tile.index %y : !y -> index
  %t = tile.load %x[%i] : !x -> tensor<128xf32>
  tile.store %t, %y : tensor<128xf32>, !y
  tile.return
}
"""
