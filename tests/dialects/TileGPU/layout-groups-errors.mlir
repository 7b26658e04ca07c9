// RUN: tilec-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{groups of warps must be an odd number, found 2}}
#two = #tilegpu.layout<register = [], lane = [[1], [2], [4], [8], [16]], warp = [], groups = 2 by [32], repeat = [1]>

// -----

// expected-error @below {{what groups of warps add must have rank 1}}
#rank = #tilegpu.layout<register = [], lane = [[1], [2], [4], [8], [16]], warp = [], groups = 3 by [32, 0], repeat = [1]>

// -----

// expected-error @below {{what groups of warps add must have rank 0}}
#one = #tilegpu.layout<register = [], lane = [[1], [2], [4], [8], [16]], warp = [], groups = 1 by [32], repeat = [1]>

// -----

// expected-error @below {{groups of warps must divide one dimension}}
#both = #tilegpu.layout<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0]], warp = [], groups = 3 by [2, 16], repeat = [1, 1]>

// -----

// expected-error @below {{groups of warps must be as far apart as the atom spans, 64, found 32}}
#apart = #tilegpu.layout<register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32]], groups = 3 by [32], repeat = [1]>
