// RUN: tessera-opt %s --rt-plan-arena="check=true" | FileCheck %s
// RUN: tessera-opt %s --rt-plan-arena="reuse=false" | FileCheck %s --check-prefix=APART

func.func private @over(%x: tensor<16xf32>) -> tensor<16xf32>
    attributes {rt.kernel, rt.rows = 16 : i64, rt.reuse = array<i64: 0, 0>} {
  return %x : tensor<16xf32>
}

// 64 guard bytes follow each block. The argument keeps its contents, the result
// is not forgotten, the block between them is when it begins and ends.
// CHECK-LABEL: func.func @step
// CHECK-SAME: rt.arena_bytes = 384
// CHECK: rt.kernel @over(%arg0) {rt.begins = array<i64: 0, 64, 0, 128, 64, 1>, rt.offsets = array<i64: 128>}
// CHECK: rt.copy {{.*}} {rt.begins = array<i64: 256, 64, 1>, rt.ends = array<i64: 128, 64, 1>, rt.offsets = array<i64: 256>}
// CHECK: return {rt.ends = array<i64: 0, 64, 0, 256, 64, 0>}

// Nothing overwrites anything if nothing is reused.
// APART-LABEL: func.func @step
// APART-SAME: rt.arena_bytes = 256
// APART: rt.kernel @over(%arg0) {rt.offsets = array<i64: 64>}
// APART: rt.kernel @over({{.*}}) {rt.offsets = array<i64: 128>}
// APART: rt.copy {{.*}} {rt.offsets = array<i64: 192>}
func.func @step(%x: tensor<16xf32>) -> tensor<16xf32> {
  %0 = rt.kernel @over(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %1 = rt.kernel @over(%0) : (tensor<16xf32>) -> tensor<16xf32>
  %2 = rt.copy %1 strides [-1] base 15 : tensor<16xf32> -> tensor<16xf32>
  return %2 : tensor<16xf32>
}
