// Values that the reference does not have: refuted if they certainly differ
// from the value that a use needs, else not provable.
// RUN: tessera-opt %s --dist-verify-partition --split-input-file --verify-diagnostics --mlir-print-op-on-diagnostic=false

// A term is added twice.
dist.mesh @mesh ["x"=2]
func.func @once(%a: tensor<8xf32>) -> tensor<8xf32> {
  // expected-note @below {{the reference computes it here}}
  %0 = math.exp %a : tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @twice(%a: tensor<4xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<4xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) attributes {dist.local, dist.reference = @once} {
  %0 = math.exp %a : tensor<4xf32>
  %1 = arith.addf %0, %0 : tensor<4xf32>
  // expected-error @below {{deviates: func.return: result 0 is another value than in the reference: it adds a value 2 times that the reference adds once}}
  return %1 : tensor<4xf32>
}

// -----

// x + x is 2 * x, though x is multiplied by w as well.
dist.mesh @mesh ["x"=2]
func.func @both(%x: tensor<8xf32>, %w: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %c = arith.constant dense<2.0> : tensor<8xf32>
  %0 = arith.mulf %x, %c : tensor<8xf32>
  %1 = arith.mulf %0, %w : tensor<8xf32>
  %2 = arith.mulf %x, %w : tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}
func.func @right(%x: tensor<4xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}, %w: tensor<4xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<4xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}, tensor<4xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) attributes {dist.local, dist.reference = @both} {
  // expected-error @below {{not provable: arith.addf: the reference has no such op on these values}}
  %0 = arith.addf %x, %x : tensor<4xf32>
  %1 = arith.mulf %0, %w : tensor<4xf32>
  %2 = arith.mulf %x, %w : tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Squares of a value that is added twice.
dist.mesh @mesh ["x"=2]
func.func @norm(%a: tensor<8xf32>, %n: tensor<f32>) -> tensor<f32> {
  %0 = math.exp %a : tensor<8xf32>
  %1 = arith.mulf %0, %0 : tensor<8xf32>
  // expected-note @below {{the reference computes it here}}
  %2 = nn.reduce <sum> %1 dims [0] : tensor<8xf32> -> tensor<f32>
  %3 = arith.addf %n, %2 : tensor<f32>
  return %3 : tensor<f32>
}
func.func @other_norm(%a: tensor<4xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}, %n: tensor<f32> {dist.sharding = #dist.sharding<@mesh, []>})
    -> (tensor<f32> {dist.sharding = #dist.sharding<@mesh, []>}) attributes {dist.local, dist.reference = @norm} {
  %0 = math.exp %a : tensor<4xf32>
  %1 = arith.addf %0, %0 : tensor<4xf32>
  %2 = arith.mulf %1, %1 : tensor<4xf32>
  // expected-error @below {{deviates: nn.reduce: operand 0 is another value than in the reference: it adds a value 2 times that the reference adds once}}
  %3 = nn.reduce <sum> %2 dims [0] : tensor<4xf32> -> tensor<f32>
  %4 = dist.all_reduce <sum> %3 over <{"x"}> on @mesh : tensor<f32> -> tensor<f32>
  %5 = arith.addf %n, %4 : tensor<f32>
  return %5 : tensor<f32>
}

// -----

// Twice a number is as positive as the number.
dist.mesh @mesh ["x"=2]
func.func @positive(%a: tensor<8xf32>) -> tensor<8xi1> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %0 = math.tanh %a : tensor<8xf32>
  %1 = arith.cmpf ogt, %0, %zero : tensor<8xf32>
  %2 = arith.xori %1, %1 : tensor<8xi1>
  return %2 : tensor<8xi1>
}
func.func @as_positive(%a: tensor<4xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<4xi1> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) attributes {dist.local, dist.reference = @positive} {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %0 = math.tanh %a : tensor<4xf32>
  // expected-error @below {{not provable: arith.addf: the reference has no such op on these values}}
  %1 = arith.addf %0, %0 : tensor<4xf32>
  %2 = arith.cmpf ogt, %1, %zero : tensor<4xf32>
  %3 = arith.xori %2, %2 : tensor<4xi1>
  return %3 : tensor<4xi1>
}

// -----

// An op has another operand, and the reference never applies that op to it.
dist.mesh @mesh ["x"=2]
func.func @gated(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = nn.silu %a : tensor<8xf32>
  %1 = nn.silu %c : tensor<8xf32>
  // expected-note @below {{the reference computes it here}}
  %2 = arith.mulf %0, %b : tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}
func.func @ungated(%a: tensor<4xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}, %b: tensor<4xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}, %c: tensor<4xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<4xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}, tensor<4xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) attributes {dist.local, dist.reference = @gated} {
  %0 = nn.silu %a : tensor<4xf32>
  %1 = nn.silu %c : tensor<4xf32>
  %2 = nn.silu %b : tensor<4xf32>
  // expected-error @below {{deviates: arith.mulf: operand 0 is another value than in the reference: it is nn.silu of another value}}
  %3 = arith.mulf %2, %b : tensor<4xf32>
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Each micro-batch adds its term twice.
dist.mesh @mesh ["x"=2]
func.func @batches(%x: tensor<2x8xf32>, %n: tensor<8xf32>) -> tensor<8xf32> {
  %0 = dist.accumulate 2 (%x) : (tensor<2x8xf32>) -> tensor<8xf32> {
  ^bb0(%part: tensor<8xf32>):
    %1 = math.exp %part : tensor<8xf32>
    dist.yield %1 : tensor<8xf32>
  }
  // expected-note @below {{the reference computes it here}}
  %2 = arith.mulf %0, %n : tensor<8xf32>
  return %2 : tensor<8xf32>
}
func.func @batches_twice(%x: tensor<2x4xf32> {dist.global_shape = array<i64: 2, 8>, dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}, %n: tensor<4xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<4xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) attributes {dist.local, dist.reference = @batches} {
  %0 = dist.accumulate 2 (%x) : (tensor<2x4xf32>) -> tensor<4xf32> {
  ^bb0(%part: tensor<4xf32>):
    %1 = math.exp %part : tensor<4xf32>
    %2 = arith.addf %1, %1 : tensor<4xf32>
    dist.yield %2 : tensor<4xf32>
  }
  // expected-error @below {{deviates: arith.mulf: operand 0 is another value than in the reference: it adds a value 2 times that the reference adds once}}
  %3 = arith.mulf %0, %n : tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

// Zeros may be added any number of times.
dist.mesh @mesh ["x"=2]
func.func @zeros(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %0 = arith.mulf %zero, %zero : tensor<8xf32>
  return %a, %0 : tensor<8xf32>, tensor<8xf32>
}
func.func @more_zeros(%a: tensor<4xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<4xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}, tensor<4xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) attributes {dist.local, dist.reference = @zeros} {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %0 = arith.mulf %zero, %zero : tensor<4xf32>
  // expected-error @below {{not provable: arith.addf: the reference has no such op on these values}}
  %1 = arith.addf %0, %0 : tensor<4xf32>
  return %a, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// The gradient of another parameter is added too.
dist.mesh @mesh ["x"=2]
func.func @two(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // expected-note @below {{the reference computes it here}}
  %0 = math.exp %a : tensor<8xf32>
  %1 = math.tanh %a : tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
func.func @one_too_many(%a: tensor<4xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<4xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
        tensor<4xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) attributes {dist.local, dist.reference = @two} {
  %0 = math.exp %a : tensor<4xf32>
  %1 = math.tanh %a : tensor<4xf32>
  %2 = arith.addf %0, %1 : tensor<4xf32>
  // expected-error @below {{deviates: func.return: result 0 is another value than in the reference: it adds a value once that the reference does not add}}
  return %2, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A term that is added so often is not counted.
dist.mesh @mesh ["x"=2]
func.func @doubled(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %a : tensor<8xf32>
  %1 = arith.addf %0, %0 : tensor<8xf32>
  %2 = arith.addf %1, %1 : tensor<8xf32>
  %3 = arith.addf %2, %2 : tensor<8xf32>
  %4 = arith.addf %3, %3 : tensor<8xf32>
  %5 = arith.addf %4, %4 : tensor<8xf32>
  %6 = arith.addf %5, %5 : tensor<8xf32>
  %7 = arith.addf %6, %6 : tensor<8xf32>
  %8 = arith.addf %7, %7 : tensor<8xf32>
  %9 = arith.addf %8, %8 : tensor<8xf32>
  %10 = arith.addf %9, %9 : tensor<8xf32>
  %11 = arith.addf %10, %10 : tensor<8xf32>
  %12 = arith.addf %11, %11 : tensor<8xf32>
  %13 = arith.addf %12, %12 : tensor<8xf32>
  %14 = arith.addf %13, %13 : tensor<8xf32>
  %15 = arith.addf %14, %14 : tensor<8xf32>
  %16 = arith.addf %15, %15 : tensor<8xf32>
  %17 = arith.addf %16, %16 : tensor<8xf32>
  %18 = arith.addf %17, %17 : tensor<8xf32>
  %19 = arith.addf %18, %18 : tensor<8xf32>
  %20 = arith.addf %19, %19 : tensor<8xf32>
  %21 = arith.addf %20, %20 : tensor<8xf32>
  %22 = arith.addf %21, %21 : tensor<8xf32>
  %23 = arith.addf %22, %22 : tensor<8xf32>
  %24 = arith.addf %23, %23 : tensor<8xf32>
  %25 = arith.addf %24, %24 : tensor<8xf32>
  %26 = arith.addf %25, %25 : tensor<8xf32>
  %27 = arith.addf %26, %26 : tensor<8xf32>
  %28 = arith.addf %27, %27 : tensor<8xf32>
  %29 = arith.addf %28, %28 : tensor<8xf32>
  %30 = arith.addf %29, %29 : tensor<8xf32>
  %31 = arith.addf %30, %30 : tensor<8xf32>
  %32 = arith.addf %31, %31 : tensor<8xf32>
  %33 = arith.addf %32, %32 : tensor<8xf32>
  %34 = arith.addf %33, %33 : tensor<8xf32>
  %35 = arith.addf %34, %34 : tensor<8xf32>
  %36 = arith.addf %35, %35 : tensor<8xf32>
  %37 = arith.addf %36, %36 : tensor<8xf32>
  %38 = arith.addf %37, %37 : tensor<8xf32>
  %39 = arith.addf %38, %38 : tensor<8xf32>
  %40 = arith.addf %39, %39 : tensor<8xf32>
  return %40 : tensor<8xf32>
}
func.func @tripled(%a: tensor<4xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<4xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) attributes {dist.local, dist.reference = @doubled} {
  %0 = math.exp %a : tensor<4xf32>
  // expected-error @below {{not provable: arith.mulf: the reference has no such op on these values}}
  %1 = arith.mulf %0, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
