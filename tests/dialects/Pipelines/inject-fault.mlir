// A fault named wrongly is an error of the pass, not a crash.
// RUN: not tilec-opt --tilec-inject-fault=kind=gently %s 2>&1 | FileCheck %s
// CHECK: error: unknown fault 'gently'
module {}
