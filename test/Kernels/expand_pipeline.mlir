// RUN: tessera-opt %s --dist-expand-pipeline --allow-unregistered-dialect --split-input-file --verify-diagnostics | FileCheck %s

// A value that F keeps for W (%h) and F's argument (%x) are in different
// segments; one of B's values is for W; %c is a constant, %w a captured tensor.
// CHECK-LABEL: func.func private @step_F0
// CHECK-SAME: (%[[X:.*]]: tensor<16xf32> {rt.place = #rt.place<activation 0>},
// CHECK-SAME:  %[[T:.*]]: tensor<16xf32> {rt.place = #rt.place<batch 0>},
// CHECK-SAME:  %[[W:.*]]: tensor<16xf32> {rt.place = #rt.place<captured 0>},
// CHECK-SAME:  %[[S:.*]]: tensor<f32> {dist.donate = 0 : i64, rt.place = #rt.place<sum 0>},
// CHECK-SAME:  %{{.*}}: tensor<16xf32> {dist.donate = 1 : i64, rt.place = #rt.place<send 0>},
// CHECK-SAME:  %{{.*}}: tensor<16xf32> {dist.donate = 2 : i64, rt.place = #rt.place<f_to_w 0>},
// CHECK-SAME:  %{{.*}}: tensor<16xf32> {dist.donate = 3 : i64, rt.place = #rt.place<f_to_b 0>})
// CHECK-SAME: attributes {rt.task = #rt.task<0 0>}
// CHECK: %[[C:.*]] = arith.constant dense<2.000000e+00>
// CHECK: %[[H:.*]] = arith.mulf %[[X]], %[[C]]
// CHECK: %[[Y:.*]] = arith.mulf %[[H]], %[[W]]
// CHECK: %[[L:.*]] = "test.sum"(%[[Y]], %[[T]])
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[S]], %[[L]]
// CHECK: return %[[SUM]], %[[Y]], %[[H]], %{{.*}}
// CHECK-LABEL: func.func private @step_B0
// CHECK-SAME: %{{.*}}: tensor<16xf32> {rt.place = #rt.place<gradient 0>},
// CHECK-SAME: %{{.*}}: tensor<16xf32> {rt.place = #rt.place<f_to_b 0>},
// CHECK-SAME: {dist.donate = 0 : i64, rt.place = #rt.place<send 0>},
// CHECK-SAME: {dist.donate = 1 : i64, rt.place = #rt.place<b_to_w 0>})
// CHECK-SAME: attributes {rt.task = #rt.task<1 0>}
// W reads F's argument where F has it, and so it does with B's.
// CHECK-LABEL: func.func private @step_W0
// CHECK-SAME: (%{{.*}}: tensor<16xf32> {rt.place = #rt.place<activation 0>},
// CHECK-SAME:  %{{.*}}: tensor<16xf32> {rt.place = #rt.place<f_to_w 0>},
// CHECK-SAME:  %{{.*}}: tensor<16xf32> {rt.place = #rt.place<b_to_w 0>},
// CHECK-SAME:  %{{.*}}: tensor<16xf32> {rt.place = #rt.place<gradient 0>},
// CHECK-SAME:  %[[S:.*]]: tensor<16xf32> {dist.donate = 0 : i64, rt.place = #rt.place<sum 1>})
// Two terms of one sum.
// CHECK: %[[D:.*]] = "test.grad"
// CHECK: %[[ONE:.*]] = arith.addf %[[S]], %[[D]]
// CHECK: %[[TWO:.*]] = arith.addf %[[ONE]], %{{.*}}
// CHECK: return %[[TWO]]
// CHECK-LABEL: func.func @step
// CHECK: %[[Z0:.*]] = arith.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[Z1:.*]] = arith.constant dense<0.000000e+00> : tensor<16xf32>
// CHECK: rt.pipeline paths {{\[\[}}1, 0]] micro_batches 2 list "F0.0"
// CHECK-SAME: tasks [@step_F0, @step_B0, @step_W0] batch(%{{.*}}) captured(%{{.*}}) init(%[[Z0]], %[[Z1]])
func.func @step(%t: tensor<2x16xf32>, %w: tensor<16xf32>) -> (tensor<f32>, tensor<16xf32>) {
  %c = arith.constant dense<2.0> : tensor<16xf32>
  %s:2 = dist.pipeline paths [[1, 0]] micro_batches 2 batch(%t) list "F0.0"
      : (tensor<2x16xf32>) -> (tensor<f32>, tensor<16xf32>) {
    dist.task F 0 (%x = recv 0 : tensor<16xf32>, %b = batch 0 : tensor<16xf32>) {
      %h = arith.mulf %x, %c : tensor<16xf32>
      %y = arith.mulf %h, %w : tensor<16xf32>
      %l = "test.sum"(%y, %b) : (tensor<16xf32>, tensor<16xf32>) -> tensor<f32>
      %k = arith.negf %y : tensor<16xf32>
      dist.task_yield send(%y : tensor<16xf32>)
          keep(%h, %x, %k : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) add [0](%l : tensor<f32>)
    }
    dist.task B 0 (%g = recv 0 : tensor<16xf32>, %k = F 2 : tensor<16xf32>) {
      %d = arith.mulf %g, %k : tensor<16xf32>
      %e = arith.negf %d : tensor<16xf32>
      dist.task_yield send(%d : tensor<16xf32>) keep(%e, %g : tensor<16xf32>, tensor<16xf32>)
    }
    dist.task W 0 (%x = F 1 : tensor<16xf32>, %h = F 0 : tensor<16xf32>, %e = B 0 : tensor<16xf32>,
                   %g = B 1 : tensor<16xf32>) {
      %d = "test.grad"(%x, %h, %e, %g)
          : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
      dist.task_yield add [1, 1](%d, %e : tensor<16xf32>, tensor<16xf32>)
    }
  }
  return %s#0, %s#1 : tensor<f32>, tensor<16xf32>
}

// -----

// A slice of 12 bytes does not begin at a multiple of 64: slices are padded, and
// so are the slices that a task stores.
// CHECK-LABEL: func.func private @forward_F0
// CHECK-SAME: (%{{.*}}: tensor<3xi32> {rt.place = #rt.place<batch 0>},
// CHECK-SAME:  %{{.*}}: tensor<3xi32> {dist.donate = 0 : i64, rt.place = #rt.place<slice 0>})
// CHECK-LABEL: func.func @forward
// CHECK: %[[PAD:.*]] = tensor.pad %{{.*}} low[0, 0] high[0, 13]
// CHECK: %[[ZERO:.*]] = arith.constant dense<0> : tensor<2x16xi32>
// CHECK: %[[R:.*]] = rt.pipeline {{.*}} batch(%[[PAD]]) captured() init(%[[ZERO]]) : (tensor<2x16xi32>, tensor<2x16xi32>) -> tensor<2x16xi32>
// CHECK: tensor.extract_slice %[[R]][0, 0] [2, 3] [1, 1]
func.func @forward(%t: tensor<2x3xi32>) -> tensor<2x3xi32> {
  %r = dist.pipeline paths [[0]] micro_batches 2 batch(%t) list "F0.0 F0.1"
      : (tensor<2x3xi32>) -> tensor<2x3xi32> {
    dist.task F 0 (%b = batch 0 : tensor<3xi32>) {
      %d = arith.addi %b, %b : tensor<3xi32>
      dist.task_yield store [0](%d : tensor<3xi32>)
    }
  }
  return %r : tensor<2x3xi32>
}

// -----

// Micro-batches with a stacked result are a list of one task, which writes its
// slice.
// CHECK-LABEL: func.func private @stacked_F0
// CHECK-SAME: (%{{.*}}: tensor<16xf32> {rt.place = #rt.place<batch 0>},
// CHECK-SAME: tensor<f32> {dist.donate = 0 : i64, rt.place = #rt.place<sum 0>},
// CHECK-SAME: tensor<16xf32> {dist.donate = 1 : i64, rt.place = #rt.place<slice 1>})
// CHECK-LABEL: func.func @stacked
// CHECK: rt.pipeline
// CHECK-SAME: "F0.0 F0.1 F0.2"
func.func @stacked(%t: tensor<3x16xf32>) -> (tensor<f32>, tensor<3x16xf32>) {
  %r:2 = dist.accumulate 3 (%t) : (tensor<3x16xf32>) -> (tensor<f32>, tensor<3x16xf32>) {
  ^bb0(%b: tensor<16xf32>):
    %d = arith.negf %b : tensor<16xf32>
    %l = "test.sum"(%d) : (tensor<16xf32>) -> tensor<f32>
    dist.yield %l, %d : tensor<f32>, tensor<16xf32>
  }
  return %r#0, %r#1 : tensor<f32>, tensor<3x16xf32>
}

// -----

func.func @loop(%t: tensor<2x16xf32>, %i: index) -> tensor<f32> {
  %f = "test.read"(%t) : (tensor<2x16xf32>) -> index
  // expected-error @+1 {{expects tensors, constants and arithmetic on scalars from outside but got a value of type 'index'}}
  %s = dist.pipeline paths [[0]] micro_batches 2 batch(%t) list "F0.0 F0.1"
      : (tensor<2x16xf32>) -> tensor<f32> {
    dist.task F 0 (%b = batch 0 : tensor<16xf32>) {
      %e = tensor.extract %b[%f] : tensor<16xf32>
      %l = tensor.from_elements %e : tensor<f32>
      dist.task_yield add [0](%l : tensor<f32>)
    }
  }
  return %s : tensor<f32>
}
