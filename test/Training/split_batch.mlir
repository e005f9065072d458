// RUN: tessera-opt %s --dist-split-batch -split-input-file -verify-diagnostics | FileCheck %s

// Results with the batch are stacked, sums are added; ops that are linear in a
// sum are in the micro-batch, other ops wait for all; the rest stays.
// CHECK-LABEL: func.func @forward
// CHECK-SAME: (%[[X:.*]]: tensor<2x2x8xf32> {nn.dims = ["micro_batch", "batch", "in"]}, %[[W:.*]]: tensor<8x16xf32>
// CHECK-SAME: -> (tensor<2x2x16xf32> {nn.output = "y"}, tensor<16xf32> {nn.output = "square"}, tensor<8x16xf32>)
// CHECK: %[[A:.*]]:2 = dist.accumulate 2(%[[X]]) : (tensor<2x2x8xf32>) -> (tensor<2x2x16xf32>, tensor<16xf32>) {
// CHECK: ^bb0(%[[PART:.*]]: tensor<2x8xf32>):
// CHECK: %[[Y:.*]] = nn.einsum "bi,io->bo" %[[PART]], %[[W]]
// CHECK: linalg.reduce ins(%[[Y]] : tensor<2x16xf32>)
// CHECK: %[[MEAN:.*]] = arith.divf
// CHECK: dist.yield %[[Y]], %[[MEAN]]
// CHECK: %[[SQUARE:.*]] = arith.mulf %[[A]]#1, %[[A]]#1
// CHECK: return %[[A]]#0, %[[SQUARE]], %[[W]]
module attributes {dist.plan = #dist.plan<forward = true, micro_batches = 2>} {
func.func @forward(%x: tensor<4x8xf32> {nn.dims = ["batch", "in"]}, %w: tensor<8x16xf32> {nn.param = "w"})
    -> (tensor<4x16xf32> {nn.output = "y"}, tensor<16xf32> {nn.output = "square"}, tensor<8x16xf32>) {
  %y = nn.einsum "bi,io->bo" %x, %w : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %zero = arith.constant dense<0.0> : tensor<16xf32>
  %sum = linalg.reduce ins(%y : tensor<4x16xf32>) outs(%zero : tensor<16xf32>) dimensions = [0]
    (%a: f32, %b: f32) {
      %c = arith.addf %a, %b : f32
      linalg.yield %c : f32
    }
  %four = arith.constant dense<4.0> : tensor<16xf32>
  %mean = arith.divf %sum, %four : tensor<16xf32>
  %square = arith.mulf %mean, %mean : tensor<16xf32>
  return %y, %square, %w : tensor<4x16xf32>, tensor<16xf32>, tensor<8x16xf32>
}
}

// -----

// Shardings of values with the batch do not shard the micro-batches.
// CHECK-LABEL: func.func @sharded
// CHECK-SAME: %{{[a-z0-9]*}}: tensor<2x2x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"dp"}, {}]>}
// CHECK-SAME: -> (tensor<2x2x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"dp"}, {}]>})
module attributes {dist.plan = #dist.plan<forward = true, micro_batches = 2>} {
dist.mesh @mesh ["dp"=2]
func.func @sharded(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>}, %w: tensor<4x8xf32> {nn.param = "w"})
    -> (tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>}) {
  %y = arith.negf %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
}

// -----

// Nothing to do in a program that is trained.
// CHECK-LABEL: func.func @trained
// CHECK-NOT: dist.accumulate
module attributes {dist.plan = #dist.plan<micro_batches = 2>} {
func.func @trained(%x: tensor<4xf32>, %w: tensor<4xf32> {nn.param = "w"}) -> tensor<4xf32> {
  %y = arith.negf %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
}

// -----

module attributes {dist.plan = #dist.plan<forward = true, micro_batches = 3>} {
func.func @uneven(%x: tensor<4x8xf32>, %w: tensor<8xf32> {nn.param = "w"}) -> tensor<4x8xf32> {
  // expected-error @+1 {{expects a batch that 3 micro-batches divide but got 4}}
  %y = arith.negf %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
}

// -----

// The maximum of all samples is not a sum.
module attributes {dist.plan = #dist.plan<forward = true, micro_batches = 2>} {
func.func @largest(%x: tensor<4xf32>, %w: tensor<8xf32> {nn.param = "w"}) -> tensor<f32> {
  %low = arith.constant dense<0xFF800000> : tensor<f32>
  // expected-error @+1 {{expects the samples of a batch to be independent or summed where micro-batches are used}}
  %y = linalg.reduce ins(%x : tensor<4xf32>) outs(%low : tensor<f32>) dimensions = [0]
    (%a: f32, %b: f32) {
      %c = arith.maximumf %a, %b : f32
      linalg.yield %c : f32
    }
  return %y : tensor<f32>
}
}

// -----

// The initial value of five would count for each micro-batch.
module attributes {dist.plan = #dist.plan<forward = true, micro_batches = 2>} {
func.func @from_five(%x: tensor<4xf32>, %w: tensor<8xf32> {nn.param = "w"}) -> tensor<f32> {
  %five = arith.constant dense<5.0> : tensor<f32>
  // expected-error @+1 {{expects a sum over the batch to start at zero where micro-batches are used}}
  %y = linalg.reduce ins(%x : tensor<4xf32>) outs(%five : tensor<f32>) dimensions = [0]
    (%a: f32, %b: f32) {
      %c = arith.addf %a, %b : f32
      linalg.yield %c : f32
    }
  return %y : tensor<f32>
}
}

// -----

// Each sample needs the mean of all.
module attributes {dist.plan = #dist.plan<forward = true, micro_batches = 2>} {
func.func @centred(%x: tensor<4xf32>, %w: tensor<8xf32> {nn.param = "w"}) -> tensor<4xf32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %sum = linalg.reduce ins(%x : tensor<4xf32>) outs(%zero : tensor<f32>) dimensions = [0]
    (%a: f32, %b: f32) {
      %c = arith.addf %a, %b : f32
      linalg.yield %c : f32
    }
  %all = linalg.broadcast ins(%sum : tensor<f32>) outs(%x : tensor<4xf32>) dimensions = [0]
  // expected-error @+1 {{expects samples of a batch or sums over it, but not both, where micro-batches are used}}
  %y = arith.subf %x, %all : tensor<4xf32>
  return %y : tensor<4xf32>
}
}

// -----

module attributes {dist.plan = #dist.plan<forward = true, micro_batches = 2>} {
// expected-error @+1 {{expects a result that depends on the batch where micro-batches are used}}
func.func @nothing(%x: tensor<4xf32>, %w: tensor<8xf32> {nn.param = "w"}) -> tensor<8xf32> {
  return %w : tensor<8xf32>
}
}

// -----

// expected-error @+1 {{micro-batches and stages of a forward program expect a function with parameters (nn.param) but got none}}
module attributes {dist.plan = #dist.plan<forward = true, micro_batches = 2>} {
func.func @no_parameters(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
}

// -----

module attributes {dist.plan = #dist.plan<forward = true, micro_batches = 2>} {
func.func @one(%x: tensor<4xf32>, %w: tensor<8xf32> {nn.param = "w"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
// expected-error @+1 {{expects one function with parameters but got @one and @two}}
func.func @two(%x: tensor<4xf32>, %w: tensor<8xf32> {nn.param = "w"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
}
