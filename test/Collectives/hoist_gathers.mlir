// Gathers that each iteration of a loop waits for move before it, if memory
// allows. Three trips, and one more after the loop; a gather takes 1.32 us, and
// no work in an iteration overlaps with it.
// RUN: tessera-opt %s --dist-overlap-collectives=slack-bytes=65536 --remarks-filter='partition.*' --remark-policy=all -o %t 2> %t.remarks
// RUN: FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: tessera-opt %s --dist-overlap-collectives=slack-bytes=8192 --remarks-filter='partition.*' --remark-policy=all -o %t 2> %t.remarks
// RUN: FileCheck %s --check-prefix=TIGHT < %t
// RUN: FileCheck %s --check-prefix=MUCH < %t.remarks
// RUN: tessera-opt %s --dist-overlap-collectives=slack-bytes=65536 --dist-check-deadlock --rt-plan-arena -o /dev/null

dist.mesh @mesh ["dp"=2]

// One gather instead of four; its operands move, too.
// CHECK-LABEL: func.func @first
// CHECK-DAG: %[[P:.*]] = math.absf %arg0
// CHECK: %[[F:.*]] = dist.start %[[P]]
// CHECK: %[[W:.*]] = dist.wait %[[F]], %[[P]]
// CHECK: scf.for
// CHECK-NOT: dist.start
// CHECK: arith.mulf %{{.*}}, %[[W]]
// CHECK: }
// CHECK-NOT: dist.start
// CHECK: arith.subf %{{.*}}, %[[W]]
// CHECK: return
// REMARK-DAG: [Passed] HoistedGather {{.*}}Remark="all_gather of tensor<8192xf32> before the loop", us={{.*}}, usLess={{[1-9]}}
func.func @first(%p: tensor<4096xf32>, %s: tensor<8192xf32>) -> tensor<8192xf32> attributes {dist.local} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %0 = scf.for %i = %c0 to %c3 step %c1 iter_args(%sum = %s) -> tensor<8192xf32> {
    %a = math.absf %p : tensor<4096xf32>
    %1 = dist.all_gather %a dim 0 over <{"dp"}> on @mesh : tensor<4096xf32> -> tensor<8192xf32>
    %2 = arith.mulf %sum, %1 : tensor<8192xf32>
    scf.yield %2 : tensor<8192xf32>
  }
  %b = math.absf %p : tensor<4096xf32>
  %3 = dist.all_gather %b dim 0 over <{"dp"}> on @mesh : tensor<4096xf32> -> tensor<8192xf32>
  %4 = arith.subf %0, %3 : tensor<8192xf32>
  return %4 : tensor<8192xf32>
}

// The loop's peak of memory is where the gathered value is dead: 64 KiB more if
// it stays live.
// CHECK-LABEL: func.func @memory
// CHECK: dist.start
// CHECK: scf.for
// CHECK-NOT: dist.start
// CHECK: return
// REMARK-DAG: [Passed] HoistedGather {{.*}}Remark="all_gather of tensor<16384xf32> before the loop", us={{.*}}, usLess={{[1-9]}}
// TIGHT-LABEL: func.func @memory
// TIGHT: scf.for
// TIGHT: dist.start
// TIGHT: return
// MUCH: [Missed] HoistedGather {{.*}}Remark="all_gather of tensor<16384xf32> before the loop: it takes too much memory"
func.func @memory(%p: tensor<8192xf32>, %s: tensor<16384xf32>, %big: tensor<65536xf32>) -> tensor<16384xf32> attributes {dist.local} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %0 = scf.for %i = %c0 to %c3 step %c1 iter_args(%sum = %s) -> tensor<16384xf32> {
    %1 = dist.all_gather %p dim 0 over <{"dp"}> on @mesh : tensor<8192xf32> -> tensor<16384xf32>
    %2 = arith.mulf %sum, %1 : tensor<16384xf32>
    %3 = rt.kernel @spread(%big, %2) : (tensor<65536xf32>, tensor<16384xf32>) -> tensor<65536xf32>
    %4 = rt.kernel @fold(%3) : (tensor<65536xf32>) -> tensor<16384xf32>
    scf.yield %4 : tensor<16384xf32>
  }
  return %0 : tensor<16384xf32>
}
func.func private @spread(%big: tensor<65536xf32>, %a: tensor<16384xf32>) -> tensor<65536xf32> attributes {rt.kernel, rt.reuse = array<i64>, rt.rows = 1 : i64} {
  return %big : tensor<65536xf32>
}
func.func private @fold(%big: tensor<65536xf32>) -> tensor<16384xf32> attributes {rt.kernel, rt.reuse = array<i64>, rt.rows = 1 : i64} {
  %0 = tensor.extract_slice %big[0] [16384] [1] : tensor<65536xf32> to tensor<16384xf32>
  return %0 : tensor<16384xf32>
}

// Gathers of values that change in the loop stay, and so do hidden gathers.
// CHECK-LABEL: func.func @stays
// CHECK: scf.for
// CHECK: dist.start
// CHECK: dist.start
// CHECK: }
func.func @stays(%p: tensor<8xf32>, %s: tensor<8xf32>) -> tensor<8xf32> attributes {dist.local} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %0 = scf.for %i = %c0 to %c3 step %c1 iter_args(%sum = %s) -> tensor<8xf32> {
    %1 = tensor.extract_slice %sum[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
    %2 = dist.all_gather %1 dim 0 over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<8xf32>
    %3 = math.exp %2 : tensor<8xf32>
    %4 = dist.all_gather %p dim 0 over <{"dp"}> on @mesh : tensor<8xf32> -> tensor<16xf32>
    %5 = tensor.extract_slice %4[0] [8] [1] : tensor<16xf32> to tensor<8xf32>
    %6 = arith.addf %3, %5 : tensor<8xf32>
    scf.yield %6 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}
