// RUN: tessera-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(dist-expand-accumulate,rt-convert-nn,rt-fuse-elementwise),rt-outline-kernels,func.func(rt-start-collectives,rt-plan-arena),rt-lower-to-rt{program=test})' --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// Calls of a training step: the parameter that an op reads, through a gather, that
// whose gradient it computes, before a sum over ranks, and that it changes.
dist.mesh @mesh ["dp"=2]

// CHECK-LABEL: func.func @step()
// CHECK: rt.all_gather_start {{.*}} loc("all_gather w, forward"
// CHECK: rt.wait slot {{.*}} loc("wait for all_gather w, forward"
// CHECK: rt.call_matmul {{.*}} loc("matmul w, forward"
// CHECK-DAG: rt.launch @[[LOSS:[a-z0-9]+_[0-9]+]]_{{.*}} loc("[[LOSS]], forward"
// CHECK-DAG: rt.call_matmul {{.*}} loc("matmul w, backward"
// CHECK-DAG: rt.reduce_scatter_start {{.*}} loc("reduce_scatter w, backward"
// CHECK: rt.wait slot {{.*}} loc("wait for reduce_scatter w, backward"
// CHECK: rt.launch @[[UPDATE:[a-z0-9]+_[0-9]+]]_{{.*}} loc("[[UPDATE]] w, update"
func.func @train(%w: tensor<4x8xf32> {nn.param = "w", dist.donate = 0 : i64}, %x: tensor<4x8xf32>)
    -> (tensor<4x8xf32>, tensor<f32> {nn.output = "loss"}) attributes {dist.local} {
  %whole = dist.all_gather %w dim 0 over <{"dp"}> on @mesh : tensor<4x8xf32> -> tensor<8x8xf32>
  %y = nn.einsum "sd,df->sf" %x, %whole : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %loss = nn.reduce <sum> %y dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  %g = nn.einsum "sd,sf->df" %x, %y : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  %part = dist.reduce_scatter <sum> %g dim 0 over <{"dp"}> on @mesh : tensor<8x8xf32> -> tensor<4x8xf32>
  %new = arith.addf %w, %part : tensor<4x8xf32>
  return %new, %loss : tensor<4x8xf32>, tensor<f32>
}

// -----

dist.mesh @mesh ["dp"=2]

func.func private @sum(%x: tensor<4xf32>) -> tensor<f32> attributes {rt.kernel, rt.rows = 1 : i64} {
  %0 = nn.reduce <sum> %x dims [0] : tensor<4xf32> -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @gradient(%x: tensor<4xf32>) -> tensor<4xf32> attributes {rt.kernel, rt.rows = 4 : i64} {
  %0 = arith.negf %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @update(%x: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32>
    attributes {rt.kernel, rt.rows = 4 : i64, rt.reuse = array<i64: 0, 0>} {
  %0 = arith.addf %x, %g : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// The loss and two gradients are summed in one bucket.
// CHECK-LABEL: func.func @step()
// CHECK: rt.launch @sum_{{.*}} loc("sum, forward"
// CHECK: rt.launch @gradient_{{.*}} loc("gradient v, backward"
// CHECK: rt.launch @gradient_{{.*}} loc("gradient w, backward"
// CHECK: rt.all_reduce_start {{.*}} loc("all_reduce, backward"
// CHECK: rt.launch @update_{{.*}} loc("update v, update"
// CHECK: rt.launch @update_{{.*}} loc("update w, update"
func.func @bucket(%v: tensor<4xf32> {nn.param = "v", dist.donate = 0 : i64}, %w: tensor<4xf32> {nn.param = "w", dist.donate = 1 : i64}, %x: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<f32> {nn.output = "loss"}) attributes {dist.local} {
  %l = rt.kernel @sum(%x) : (tensor<4xf32>) -> tensor<f32>
  %gv = rt.kernel @gradient(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %gw = rt.kernel @gradient(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %one = tensor.expand_shape %l [] output_shape [1] : tensor<f32> into tensor<1xf32>
  %all = rt.concat %gv, %one, %gw dim 0 : tensor<4xf32>, tensor<1xf32>, tensor<4xf32> -> tensor<9xf32>
  %sums = dist.all_reduce <sum> %all over <{"dp"}> on @mesh : tensor<9xf32> -> tensor<9xf32>
  %sv = rt.copy %sums strides [1] base 0 : tensor<9xf32> -> tensor<4xf32>
  %sl = rt.copy %sums strides [] base 4 : tensor<9xf32> -> tensor<f32>
  %sw = rt.copy %sums strides [1] base 5 : tensor<9xf32> -> tensor<4xf32>
  %nv = rt.kernel @update(%v, %sv) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %nw = rt.kernel @update(%w, %sw) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %nv, %nw, %sl : tensor<4xf32>, tensor<4xf32>, tensor<f32>
}

// -----

// A forward program has no passes.
// CHECK-LABEL: func.func @step()
// CHECK: rt.call_matmul {{.*}} loc("matmul w"
func.func @forward(%w: tensor<8x8xf32> {nn.param = "w"}, %x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = nn.einsum "sd,df->sf" %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
