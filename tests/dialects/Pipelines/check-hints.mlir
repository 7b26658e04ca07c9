// RUN: tilec-opt %s --tilec-check-hints --split-input-file --verify-diagnostics | FileCheck %s

#limits = #tilegpu.target<"sm_90a", {limits = {threads_per_sm = 2048, blocks_per_sm = 32, shared_per_sm_bytes = 233472, shared_reserved_bytes = 1024}}>
#rows = #tilegpu.shared<order = [2, 1, 0], swizzle = 3>
module attributes {tilegpu.target = #limits} {
// What is honoured is left alone.
// CHECK: @honoured{{.*}}tilegpu.resident_ctas = 4
tile.kernel @honoured() attributes {tilegpu.num_warps = 4 : i64, tilegpu.resident_ctas = 4 : i64, tilegpu.shared_bytes = 32768 : i64,
                                    tilegpu.plan = {asked = {occupancy = 4, num_stages = 3}}} {
  %r = tilegpu.ring : <3x64x64xbf16, #rows>
  tile.return
}

// expected-warning @below {{num_stages=4 is not honoured: shared memory has room for 3}}
tile.kernel @short() attributes {tilegpu.num_warps = 4 : i64, tilegpu.plan = {asked = {num_stages = 4}}} {
  %r = tilegpu.ring : <3x64x64xbf16, #rows>
  tile.return
}

// expected-warning @below {{num_stages=2 is not honoured: no loop of the kernel copies operands of products ahead}}
tile.kernel @without_rings() attributes {tilegpu.num_warps = 4 : i64, tilegpu.plan = {asked = {num_stages = 2}}} {
  tile.return
}

// Nothing to copy ahead is what one stage asks for.
tile.kernel @one_stage() attributes {tilegpu.num_warps = 4 : i64, tilegpu.plan = {asked = {num_stages = 1}}} {
  tile.return
}

// What cannot be is not asked of the assembler.
// CHECK: @threads
// CHECK-NOT: resident_ctas
// expected-warning @below {{occupancy=5 is not honoured: its CTAs have 512 threads, a multiprocessor holds 2048}}
tile.kernel @threads() attributes {tilegpu.num_warps = 16 : i64, tilegpu.resident_ctas = 5 : i64, tilegpu.plan = {asked = {occupancy = 5}}} {
  tile.return
}

// expected-warning @below {{occupancy=33 is not honoured: a multiprocessor holds at most 32 CTAs}}
tile.kernel @ctas() attributes {tilegpu.num_warps = 1 : i64, tilegpu.resident_ctas = 33 : i64, tilegpu.plan = {asked = {occupancy = 33}}} {
  tile.return
}

// expected-warning @below {{occupancy=2 is not honoured: its CTAs take 117760 bytes of shared memory, a multiprocessor has 233472}}
tile.kernel @memory() attributes {tilegpu.num_warps = 4 : i64, tilegpu.resident_ctas = 2 : i64, tilegpu.shared_bytes = 116736 : i64,
                                  tilegpu.plan = {asked = {occupancy = 2}}} {
  tile.return
}

// expected-warning @below {{occupancy=2 is not honoured: a CTA whose warps have roles takes a multiprocessor}}
tile.kernel @roles() attributes {tilegpu.num_warps = 4 : i64, tilegpu.producer_warps = 4 : i64, tilegpu.plan = {asked = {occupancy = 2}}} {
  tile.return
}
}
