// RUN: tessera-opt %s --dist-expect-global --split-input-file --verify-diagnostics
// RUN: not tessera-opt %s --tessera-partitioner --split-input-file 2>&1 | FileCheck %s
// CHECK: error: expects a global function to partition but got a local one (dist.local): @f

// expected-error @below {{expects a global function to partition but got a local one (dist.local): @f}}
func.func @f() attributes {dist.local} {
  return
}

// -----

func.func @g() {
  return
}
