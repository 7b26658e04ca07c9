// RUN: tilec-opt %s --split-input-file --verify-diagnostics

tile.kernel @places() {
  %i = tile.program_id 0 : index
  // expected-error @below {{'tilegpu.print' op format has 2 places for 1 values, 1 of which have a signedness}}
  tilegpu.print "{} {}" program(%i) values(%i : index) unsigned [false]
  tile.return
}

// -----

tile.kernel @signs() {
  %i = tile.program_id 0 : index
  // expected-error @below {{'tilegpu.print' op format has 1 places for 1 values, 0 of which have a signedness}}
  tilegpu.print "{}" program(%i) values(%i : index) unsigned []
  tile.return
}

// -----

#a = #tilegpu.layout<register = [], lane = [[1], [2], [4], [0], [0]], warp = [], repeat = [1]>
#b = #tilegpu.layout<register = [[1]], lane = [[2], [4], [0], [0], [0]], warp = [], repeat = [1]>
tile.kernel @layouts() {
  %i = tile.program_id 0 : index
  %x = arith.constant dense<0> : tensor<8xi32, #a>
  %y = arith.constant dense<0> : tensor<8xi32, #b>
  // expected-error @below {{'tilegpu.print' op tiles of one shape must have one layout, found}}
  tilegpu.print "{} {}" program(%i) values(%x, %y : tensor<8xi32, #a>, tensor<8xi32, #b>) unsigned [false, false]
  tile.return
}
