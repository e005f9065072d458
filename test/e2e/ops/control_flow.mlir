// Branches and loops, compiled: data-dependent, nested, and in branches that
// are not taken.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --function main --dump %t/data
// RUN: tessera compile %s --quiet -o %t/prog
// RUN: tessera run %t/prog --ranks 2 --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera compile %s --quiet --cpu x86-64 --memory watched -o %t/watched
// RUN: tessera run %t/watched --ranks 2 --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera compile %s --target cuda-emulated --quiet -o %t/emulated
// RUN: tessera run %t/emulated --simulate-ranks=2 --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera run %t/emulated --ranks 2 --steps 3 --inputs %t/data --compare %t/data/expected | FileCheck %s
// CHECK-COUNT-8: {{[a-z0-9_]+}}: largest difference {{(0,|[0-9.]+e-(0[7-9]|[1-9][0-9]),)}}
// CHECK-NOT: largest difference

dist.mesh @mesh ["x"=2]
func.func @main(
    %x: tensor<6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %n: tensor<i32>) -> (
    tensor<6x4xf32> {nn.output = "chosen"}, tensor<6x4xf32> {nn.output = "other"},
    tensor<i32> {nn.output = "steps"}, tensor<f32> {nn.output = "root"}, tensor<6x4xf32> {nn.output = "halved"},
    tensor<f32> {nn.output = "total"}, tensor<f32> {nn.output = "sum"}, tensor<4xf32> {nn.output = "picked"}) {
  %true = arith.constant true
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %i0 = arith.constant 0 : i32
  %i1 = arith.constant 1 : i32
  %i2 = arith.constant 2 : i32
  %i3 = arith.constant 3 : i32
  %f0 = arith.constant 0.0 : f32
  %f1 = arith.constant 1.0 : f32
  %limit = arith.constant 1.0e-6 : f32
  %half = arith.constant dense<0.5> : tensor<6x4xf32>
  %empty = tensor.empty() : tensor<f32>
  %zero = linalg.fill ins(%f0 : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %seed = tensor.extract %n[] : tensor<i32>
  %isOdd = arith.trunci %seed : i32 to i1

  // Data-dependent.
  %chosen, %other = scf.if %isOdd -> (tensor<6x4xf32>, tensor<6x4xf32>) {
    %total = linalg.reduce { arith.addf } ins(%x : tensor<6x4xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1]
    %t = tensor.extract %total[] : tensor<f32>
    %s = tensor.splat %t : tensor<6x4xf32>
    %0 = arith.addf %x, %s : tensor<6x4xf32>
    scf.yield %0, %x : tensor<6x4xf32>, tensor<6x4xf32>
  } else {
    %0 = arith.mulf %x, %x : tensor<6x4xf32>
    scf.yield %x, %0 : tensor<6x4xf32>, tensor<6x4xf32>
  }

  // Collatz: the number of steps to 1.
  %mask = arith.constant 63 : i32
  %low = arith.andi %seed, %mask : i32
  %start = arith.addi %low, %i2 : i32
  %last, %steps = scf.while (%v = %start, %k = %i0) : (i32, i32) -> (i32, i32) {
    %more = arith.cmpi ne, %v, %i1 : i32
    scf.condition(%more) %v, %k : i32, i32
  } do {
  ^bb0(%v: i32, %k: i32):
    %odd = arith.trunci %v : i32 to i1
    %next = scf.if %odd -> (i32) {
      %0 = arith.muli %v, %i3 : i32
      %1 = arith.addi %0, %i1 : i32
      scf.yield %1 : i32
    } else {
      %0 = arith.shrsi %v, %i1 : i32
      scf.yield %0 : i32
    }
    %k1 = arith.addi %k, %i1 : i32
    scf.yield %next, %k1 : i32, i32
  }
  %e32 = tensor.empty() : tensor<i32>
  %stepsOut = linalg.fill ins(%steps : i32) outs(%e32 : tensor<i32>) -> tensor<i32>

  // Newton's root of the sum of squares, until it is constant.
  %squares = arith.mulf %x, %x : tensor<6x4xf32>
  %sumOfSquares = linalg.reduce { arith.addf } ins(%squares : tensor<6x4xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1]
  %a0 = tensor.extract %sumOfSquares[] : tensor<f32>
  %a = arith.addf %a0, %f1 : f32
  %h = arith.constant 0.5 : f32
  %root:2 = scf.while (%r = %a, %old = %f0) : (f32, f32) -> (f32, f32) {
    %d = arith.subf %r, %old : f32
    %size = math.absf %d : f32
    %scaled = arith.mulf %limit, %r : f32
    %moves = arith.cmpf ogt, %size, %scaled : f32
    scf.condition(%moves) %r, %old : f32, f32
  } do {
  ^bb0(%r: f32, %old: f32):
    %q = arith.divf %a, %r : f32
    %s = arith.addf %q, %r : f32
    %m = arith.mulf %s, %h : f32
    scf.yield %m, %r : f32, f32
  }
  %rootOut = linalg.fill ins(%root#0 : f32) outs(%empty : tensor<f32>) -> tensor<f32>

  // A tensor of two ranks, halved until its sum of squares is below 1.
  %halved = scf.while (%y = %x) : (tensor<6x4xf32>) -> tensor<6x4xf32> {
    %sq = arith.mulf %y, %y : tensor<6x4xf32>
    %sum = linalg.reduce { arith.addf } ins(%sq : tensor<6x4xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1]
    %s = tensor.extract %sum[] : tensor<f32>
    %more = arith.cmpf oge, %s, %f1 : f32
    scf.condition(%more) %y : tensor<6x4xf32>
  } do {
  ^bb0(%y: tensor<6x4xf32>):
    %0 = arith.mulf %y, %half : tensor<6x4xf32>
    scf.yield %0 : tensor<6x4xf32>
  }

  // A nested loop in a branch that is not taken; it would not end otherwise.
  %never = arith.cmpi eq, %seed, %last : i32
  %fresh = arith.xori %never, %true : i1
  %inner = scf.if %fresh -> (tensor<f32>) {
    %0 = scf.for %i = %c0 to %c3 step %c1 iter_args(%y = %zero) -> (tensor<f32>) {
      %1 = scf.while (%z = %y) : (tensor<f32>) -> tensor<f32> {
        %v = tensor.extract %z[] : tensor<f32>
        %n0 = arith.index_cast %i : index to i32
        %nf = arith.sitofp %n0 : i32 to f32
        %more = arith.cmpf ole, %v, %nf : f32
        scf.condition(%more) %z : tensor<f32>
      } do {
      ^bb0(%z: tensor<f32>):
        %v = tensor.extract %z[] : tensor<f32>
        %w = arith.addf %v, %h : f32
        %2 = linalg.fill ins(%w : f32) outs(%empty : tensor<f32>) -> tensor<f32>
        scf.yield %2 : tensor<f32>
      }
      scf.yield %1 : tensor<f32>
    }
    scf.yield %0 : tensor<f32>
  } else {
    %0 = scf.while (%z = %zero) : (tensor<f32>) -> tensor<f32> {
      scf.condition(%true) %z : tensor<f32>
    } do {
    ^bb0(%z: tensor<f32>):
      scf.yield %z : tensor<f32>
    }
    scf.yield %0 : tensor<f32>
  }

  // A scalar that a loop carries.
  %sum = scf.for %i = %c0 to %c3 step %c1 iter_args(%s = %f0) -> (f32) {
    %row = tensor.extract %x[%i, %c0] : tensor<6x4xf32>
    %0 = arith.addf %s, %row : f32
    scf.yield %0 : f32
  }
  %sumOut = linalg.fill ins(%sum : f32) outs(%empty : tensor<f32>) -> tensor<f32>

  // A position that is invalid if the branch is not taken.
  %far = arith.index_cast %seed : i32 to index
  %six = arith.constant 6 : index
  %fits = arith.cmpi ult, %far, %six : index
  %value = scf.if %fits -> (f32) {
    %0 = tensor.extract %x[%far, %c0] : tensor<6x4xf32>
    scf.yield %0 : f32
  } else {
    scf.yield %f1 : f32
  }
  %picked = tensor.splat %value : tensor<4xf32>
  return %chosen, %other, %stepsOut, %rootOut, %halved, %inner, %sumOut, %picked
      : tensor<6x4xf32>, tensor<6x4xf32>, tensor<i32>, tensor<f32>, tensor<6x4xf32>, tensor<f32>, tensor<f32>, tensor<4xf32>
}
