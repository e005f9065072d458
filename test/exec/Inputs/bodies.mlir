// Bodies, constants and calls, for tests that change one thing in a program.
dist.mesh @mesh ["a"=2, "b"=2]

func.func private @squash(%x: tensor<6x8xf32>, %y: tensor<6x8xf32>) -> tensor<6x8xf32> {
  %0 = math.tanh %x : tensor<6x8xf32>
  %1 = arith.subf %0, %y : tensor<6x8xf32>
  return %1 : tensor<6x8xf32>
}

func.func @step(%w: tensor<8x4xf32> {dist.donate = 0 : i64, dist.sharding = #dist.sharding<@mesh, [{"b"}, {}]>},
                %v: tensor<8x4xf32> {dist.donate = 1 : i64, dist.sharding = #dist.sharding<@mesh, [{"b"}, {}]>},
                %x: tensor<6x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {}]>},
                %y: tensor<6x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {}]>},
                %n: tensor<6x4xi32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {}]>})
    -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<6x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %zero_int = arith.constant 0 : i32
  %table = arith.constant dense<[1.0, -2.0, 3.0, 0.5]> : tensor<4xf32>
  %offsets = arith.constant dense<[[1], [2], [3], [4], [5], [6]]> : tensor<6x1xi32>

  // Two calls, with the arguments in both orders.
  %0 = func.call @squash(%x, %y) : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  %1 = func.call @squash(%y, %0) : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>

  // A body of several ops that captures a scalar.
  %e = tensor.empty() : tensor<6x8xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%0, %1 : tensor<6x8xf32>, tensor<6x8xf32>) outs(%e : tensor<6x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %third = arith.constant 0.3 : f32
    %s = arith.mulf %p, %third : f32
    %t = math.exp %s : f32
    %u = arith.subf %t, %q : f32
    %c = arith.addf %u, %half : f32
    linalg.yield %c : f32
  } -> tensor<6x8xf32>

  // Named ops, whose bodies only the generic form shows.
  %e1 = tensor.empty() : tensor<6x4xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<6x4xf32>) -> tensor<6x4xf32>
  %3 = linalg.matmul ins(%2, %w : tensor<6x8xf32>, tensor<8x4xf32>) outs(%f1 : tensor<6x4xf32>) -> tensor<6x4xf32>
  %4 = linalg.sub ins(%3, %f1 : tensor<6x4xf32>, tensor<6x4xf32>) outs(%e1 : tensor<6x4xf32>) -> tensor<6x4xf32>
  %b = linalg.broadcast ins(%table : tensor<4xf32>) outs(%e1 : tensor<6x4xf32>) dimensions = [0]
  %5 = arith.mulf %4, %b : tensor<6x4xf32>

  // Reductions, of floats and of integers.
  %e2 = tensor.empty() : tensor<4xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<4xf32>) -> tensor<4xf32>
  %6 = linalg.reduce { arith.addf } ins(%5 : tensor<6x4xf32>) outs(%f2 : tensor<4xf32>) dimensions = [0]
  %e3 = tensor.empty() : tensor<4xi32>
  %f3 = linalg.fill ins(%zero_int : i32) outs(%e3 : tensor<4xi32>) -> tensor<4xi32>
  %o1 = tensor.collapse_shape %offsets [[0, 1]] : tensor<6x1xi32> into tensor<6xi32>
  %o2 = nn.broadcast %o1 dims [0] : tensor<6xi32> -> tensor<6x4xi32>
  %n1 = arith.muli %n, %o2 : tensor<6x4xi32>
  %7 = linalg.reduce { arith.addi } ins(%n1 : tensor<6x4xi32>) outs(%f3 : tensor<4xi32>) dimensions = [0]

  // Loops and branches: on tensors, and on a scalar alone.
  %lo = arith.constant 0 : index
  %hi = arith.constant 3 : index
  %one = arith.constant 1 : index
  %8 = scf.for %i = %lo to %hi step %one iter_args(%r = %5) -> tensor<6x4xf32> {
    %t = arith.mulf %r, %4 : tensor<6x4xf32>
    %u = arith.subf %t, %5 : tensor<6x4xf32>
    scf.yield %u : tensor<6x4xf32>
  }
  %total = nn.reduce <max> %5 dims [0, 1] : tensor<6x4xf32> -> tensor<f32>
  %first = tensor.extract %total[] : tensor<f32>
  %9 = scf.while (%i = %first) : (f32) -> f32 {
    %t = arith.cmpf olt, %i, %half : f32
    scf.condition(%t) %i : f32
  } do {
  ^bb0(%i: f32):
    %two = arith.constant 2.0 : f32
    %t = arith.addf %i, %two : f32
    scf.yield %t : f32
  }
  %is_less = arith.cmpf olt, %first, %zero : f32
  %10 = scf.if %is_less -> f32 {
    %t = arith.subf %9, %half : f32
    scf.yield %t : f32
  } else {
    %t = arith.addf %9, %half : f32
    scf.yield %t : f32
  }
  %scales = tensor.splat %10 : tensor<6x4xf32>
  %11 = arith.mulf %8, %scales : tensor<6x4xf32>

  // The state changes in two ways.
  %g = nn.einsum "ik,ij->kj" %1, %5 : tensor<6x8xf32>, tensor<6x4xf32> -> tensor<8x4xf32>
  %w1 = arith.subf %w, %g : tensor<8x4xf32>
  %rate = arith.constant dense<0.125> : tensor<8x4xf32>
  %d = arith.mulf %v, %rate : tensor<8x4xf32>
  %v1 = arith.addf %d, %g : tensor<8x4xf32>
  return %w1, %v1, %6, %7, %11 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<6x4xf32>
}
