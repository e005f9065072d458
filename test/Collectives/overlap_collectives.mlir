// Orders of starts and waits. A kernel takes at least 3 us; a collective takes
// 2 us plus 10 ps per byte.
// RUN: tessera-opt %s --dist-overlap-collectives=slack-bytes=4096 | FileCheck %s
// RUN: tessera-opt %s --dist-overlap-collectives=slack-bytes=0 | FileCheck %s --check-prefix=TIGHT
// RUN: tessera-opt %s --dist-overlap-collectives=slack-bytes=4096 --dist-report -o /dev/null | FileCheck %s --check-prefix=REPORT
// RUN: tessera-opt %s --dist-overlap-collectives=slack-bytes=4096 --remarks-filter='partition.*' --remark-policy=all -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

dist.mesh @mesh ["dp"=2, "tp"=2]

// The reduction of one gradient overlaps with the work on the next.
// CHECK-LABEL: func.func @gradients
// CHECK: %[[G:.*]] = math.exp %arg0
// CHECK: %[[F:.*]] = dist.start %[[G]]
// CHECK: dist.all_reduce
// CHECK: %[[H:.*]] = math.exp %arg1
// CHECK: dist.start %[[H]]
// CHECK: %[[R:.*]] = dist.wait %[[F]], %[[G]]
// REPORT-LABEL: @gradients
// REPORT: all_reduce {"dp"} 2 128 64
// REMARK-DAG: remark: [Passed] OverlapCollectives {{.*}}"all_reduce over {"dp"} runs beside 1 op, math.exp"{{.*}}exposedUs=0
// REMARK-DAG: remark: [Missed] OverlapCollectives {{.*}}"all_reduce over {"dp"} runs beside nothing; func.return waits for it"
func.func @gradients(%x: tensor<16xf32>, %y: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) attributes {dist.local} {
  %0 = math.exp %x : tensor<16xf32>
  %1 = dist.all_reduce <sum> %0 over <{"dp"}> on @mesh : tensor<16xf32> -> tensor<16xf32>
  %2 = math.exp %y : tensor<16xf32>
  %3 = dist.all_reduce <sum> %2 over <{"dp"}> on @mesh : tensor<16xf32> -> tensor<16xf32>
  return %1, %3 : tensor<16xf32>, tensor<16xf32>
}

// A weight's gradient goes before the ops that wait for the sum of the input's.
// CHECK-LABEL: func.func @later_work_goes_first
// CHECK: %[[A:.*]] = math.exp %arg0
// CHECK: %[[F:.*]] = dist.start %[[A]]
// CHECK: math.sin
// CHECK: dist.wait %[[F]], %[[A]]
// CHECK-NEXT: math.cos
func.func @later_work_goes_first(%x: tensor<16xf32>, %y: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) attributes {dist.local} {
  %0 = math.exp %x : tensor<16xf32>
  %1 = dist.all_reduce <sum> %0 over <{"tp"}> on @mesh : tensor<16xf32> -> tensor<16xf32>
  %2 = math.cos %1 : tensor<16xf32>
  %3 = math.sin %y : tensor<16xf32>
  return %2, %3 : tensor<16xf32>, tensor<16xf32>
}

// Parameters of a layer are gathered during the work on the layer before, not
// earlier. Without spare memory each is gathered where it is used.
// CHECK-LABEL: func.func @one_layer_ahead
// CHECK: dist.start %arg0
// CHECK: dist.start %arg1
// CHECK: math.exp
// CHECK-NOT: dist.wait
// CHECK: dist.start %arg2
// CHECK: dist.wait %{{.*}}, %arg1
// CHECK-NEXT: arith.mulf
// CHECK: dist.wait %{{.*}}, %arg2
// CHECK-NEXT: arith.subf
// TIGHT-LABEL: func.func @one_layer_ahead
// TIGHT: dist.start %arg1
// TIGHT: dist.wait %{{.*}}, %arg1
// TIGHT: dist.start %arg2
// TIGHT: dist.wait %{{.*}}, %arg2
// REPORT-LABEL: @one_layer_ahead
// REPORT: all_gather {"dp"} 3 384 128
func.func @one_layer_ahead(%w0: tensor<32xf32> {nn.param = "blocks.0.w"}, %w1: tensor<32xf32> {nn.param = "blocks.1.w"},
                           %w2: tensor<32xf32> {nn.param = "blocks.2.w"}, %x: tensor<64xf32>) -> tensor<64xf32> attributes {dist.local} {
  %0 = dist.all_gather %w0 dim 0 over <{"dp"}> on @mesh : tensor<32xf32> -> tensor<64xf32>
  %1 = arith.addf %x, %0 : tensor<64xf32>
  %2 = math.exp %1 : tensor<64xf32>
  %3 = dist.all_gather %w1 dim 0 over <{"dp"}> on @mesh : tensor<32xf32> -> tensor<64xf32>
  %4 = arith.mulf %2, %3 : tensor<64xf32>
  %5 = math.exp %4 : tensor<64xf32>
  %6 = dist.all_gather %w2 dim 0 over <{"dp"}> on @mesh : tensor<32xf32> -> tensor<64xf32>
  %7 = arith.subf %5, %6 : tensor<64xf32>
  return %7 : tensor<64xf32>
}

// An optimizer overwrites the parameter after the gather that reads it.
// CHECK-LABEL: func.func @donated
// CHECK: dist.wait %{{.*}}, %arg0
// CHECK: arith.subf %arg0, %arg1
func.func @donated(%w: tensor<4xf32> {dist.donate = 0 : i64}, %g: tensor<4xf32>) -> (tensor<4xf32>, tensor<8xf32>) attributes {dist.local} {
  %0 = dist.all_gather %w dim 0 over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<8xf32>
  %1 = math.exp %0 : tensor<8xf32>
  %2 = arith.subf %w, %g : tensor<4xf32>
  return %2, %1 : tensor<4xf32>, tensor<8xf32>
}

// Starts do not cross a loop; values that a loop reads are waited for before it.
// Collectives in flight around it stay in flight.
// CHECK-LABEL: func.func @loop
// CHECK: %[[B:.*]] = dist.start %arg1
// CHECK: %[[A:.*]] = dist.start %arg0
// CHECK: dist.wait %[[B]], %arg1
// CHECK: scf.for
// CHECK:   dist.start
// CHECK:   dist.wait
// CHECK: }
// CHECK: dist.start %arg2
// CHECK: dist.wait %[[A]], %arg0
// REPORT-LABEL: @loop
// REPORT: all_reduce {"tp"} 3 96 96
func.func @loop(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>, %s: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) attributes {dist.local} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %0 = dist.all_gather %x dim 0 over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<8xf32>
  %1 = dist.all_gather %y dim 0 over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<8xf32>
  %2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%sum = %s) -> tensor<8xf32> {
    %4 = arith.addf %sum, %1 : tensor<8xf32>
    %5 = dist.all_reduce <sum> %4 over <{"tp"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
    scf.yield %5 : tensor<8xf32>
  }
  %3 = dist.all_gather %z dim 0 over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<8xf32>
  return %0, %2, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
