// Loops, branches, sends and receives: correct and wrong ones.
// RUN: tessera-opt %s --dist-verify-partition --split-input-file --verify-diagnostics --mlir-print-op-on-diagnostic=false

// A sum over iterations of partial matmuls, reduced once after them: the zeros
// that it starts with are partial, too.
dist.mesh @mesh ["x"=2]
func.func @power(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %lo = arith.constant 0 : index
  %hi = arith.constant 3 : index
  %one = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<4x4xf32>
  %r = scf.for %i = %lo to %hi step %one iter_args(%sum = %zero) -> tensor<4x4xf32> {
    %p = nn.einsum "ik,kj->ij" %a, %b : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
    %s = arith.addf %sum, %p : tensor<4x4xf32>
    scf.yield %s : tensor<4x4xf32>
  }
  return %r : tensor<4x4xf32>
}
func.func @reduced_once(%a: tensor<4x4xf32> {dist.global_shape = array<i64: 4, 8>, dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
                        %b: tensor<4x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4x4xf32> {dist.global_shape = array<i64: 4, 4>, dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) attributes {dist.local, dist.reference = @power} {
  %lo = arith.constant 0 : index
  %hi = arith.constant 3 : index
  %one = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<4x4xf32>
  %r = scf.for %i = %lo to %hi step %one iter_args(%sum = %zero) -> tensor<4x4xf32> {
    %p = nn.einsum "ik,kj->ij" %a, %b : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %s = arith.addf %sum, %p : tensor<4x4xf32>
    scf.yield %s : tensor<4x4xf32>
  }
  %w = dist.all_reduce <sum> %r over <{"x"}> on @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
  return %w : tensor<4x4xf32>
}
func.func @reduced_each(%a: tensor<4x4xf32> {dist.global_shape = array<i64: 4, 8>, dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
                        %b: tensor<4x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4x4xf32> {dist.global_shape = array<i64: 4, 4>, dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) attributes {dist.local, dist.reference = @power} {
  %lo = arith.constant 0 : index
  %hi = arith.constant 3 : index
  %one = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<4x4xf32>
  %r = scf.for %i = %lo to %hi step %one iter_args(%sum = %zero) -> tensor<4x4xf32> {
    %p = nn.einsum "ik,kj->ij" %a, %b : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %w = dist.all_reduce <sum> %p over <{"x"}> on @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
    %s = arith.addf %sum, %w : tensor<4x4xf32>
    scf.yield %s : tensor<4x4xf32>
  }
  return %r : tensor<4x4xf32>
}

// -----

dist.mesh @mesh ["x"=2]
func.func @power(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %lo = arith.constant 0 : index
  %hi = arith.constant 3 : index
  %one = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<4x4xf32>
  // expected-note @below {{the reference computes it here}}
  %r = scf.for %i = %lo to %hi step %one iter_args(%sum = %zero) -> tensor<4x4xf32> {
    %p = nn.einsum "ik,kj->ij" %a, %b : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
    %s = arith.addf %sum, %p : tensor<4x4xf32>
    scf.yield %s : tensor<4x4xf32>
  }
  return %r : tensor<4x4xf32>
}
func.func @one_time_less(%a: tensor<4x4xf32> {dist.global_shape = array<i64: 4, 8>, dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
                         %b: tensor<4x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4x4xf32> {dist.global_shape = array<i64: 4, 4>, dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) attributes {dist.local, dist.reference = @power} {
  %lo = arith.constant 0 : index
  %hi = arith.constant 2 : index
  %one = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<4x4xf32>
  // expected-error @below {{deviates: scf.for: operand 1 is another value than in the reference}}
  %r = scf.for %i = %lo to %hi step %one iter_args(%sum = %zero) -> tensor<4x4xf32> {
    %p = nn.einsum "ik,kj->ij" %a, %b : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %s = arith.addf %sum, %p : tensor<4x4xf32>
    scf.yield %s : tensor<4x4xf32>
  }
  %w = dist.all_reduce <sum> %r over <{"x"}> on @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
  return %w : tensor<4x4xf32>
}

// -----

dist.mesh @mesh ["x"=2]
func.func @power(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %lo = arith.constant 0 : index
  %hi = arith.constant 3 : index
  %one = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<4x4xf32>
  %r = scf.for %i = %lo to %hi step %one iter_args(%sum = %zero) -> tensor<4x4xf32> {
    %p = nn.einsum "ik,kj->ij" %a, %b : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
    // expected-note @below {{the reference computes it here}}
    %s = arith.addf %sum, %p : tensor<4x4xf32>
    scf.yield %s : tensor<4x4xf32>
  }
  return %r : tensor<4x4xf32>
}
func.func @reduced_in_the_sum(%a: tensor<4x4xf32> {dist.global_shape = array<i64: 4, 8>, dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
                              %b: tensor<4x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4x4xf32> {dist.global_shape = array<i64: 4, 4>, dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) attributes {dist.local, dist.reference = @power} {
  %lo = arith.constant 0 : index
  %hi = arith.constant 3 : index
  %one = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<4x4xf32>
  %r = scf.for %i = %lo to %hi step %one iter_args(%sum = %zero) -> tensor<4x4xf32> {
    %p = nn.einsum "ik,kj->ij" %a, %b : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    // Sums of earlier iterations would count twice.
    // expected-error @below {{deviates: arith.addf}}
    %s = arith.addf %sum, %p : tensor<4x4xf32>
    %w = dist.all_reduce <sum> %s over <{"x"}> on @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
    scf.yield %w : tensor<4x4xf32>
  }
  return %r : tensor<4x4xf32>
}

// -----

// A carried value is resharded in the loop.
dist.mesh @mesh ["x"=2]
func.func @exps(%a: tensor<4x4xf32>, %n: index) -> tensor<4x4xf32> {
  %lo = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %lo to %n step %one iter_args(%v = %a) -> tensor<4x4xf32> {
    %t = nn.transpose %v [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
    %e = math.exp %t : tensor<4x4xf32>
    scf.yield %e : tensor<4x4xf32>
  }
  return %r : tensor<4x4xf32>
}
func.func @moved_back(%a: tensor<2x4xf32> {dist.global_shape = array<i64: 4, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}, %n: index)
    -> (tensor<2x4xf32> {dist.global_shape = array<i64: 4, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) attributes {dist.local, dist.reference = @exps} {
  %lo = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %lo to %n step %one iter_args(%v = %a) -> tensor<2x4xf32> {
    %t = nn.transpose %v [1, 0] : tensor<2x4xf32> -> tensor<4x2xf32>
    %e = math.exp %t : tensor<4x2xf32>
    %b = dist.all_to_all %e gather 1 split 0 over <{"x"}> on @mesh : tensor<4x2xf32> -> tensor<2x4xf32>
    scf.yield %b : tensor<2x4xf32>
  }
  return %r : tensor<2x4xf32>
}

// -----

dist.mesh @mesh ["x"=2]
func.func @exps(%a: tensor<4x4xf32>, %n: index) -> tensor<4x4xf32> {
  %lo = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %lo to %n step %one iter_args(%v = %a) -> tensor<4x4xf32> {
    // expected-note @below {{the reference computes it here}}
    %t = nn.transpose %v [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
    %e = math.exp %t : tensor<4x4xf32>
    scf.yield %e : tensor<4x4xf32>
  }
  return %r : tensor<4x4xf32>
}
func.func @not_carried(%a: tensor<2x4xf32> {dist.global_shape = array<i64: 4, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}, %n: index)
    -> (tensor<2x4xf32> {dist.global_shape = array<i64: 4, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) attributes {dist.local, dist.reference = @exps} {
  %lo = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %lo to %n step %one iter_args(%v = %a) -> tensor<2x4xf32> {
    // The value before the loop, in each iteration.
    // expected-error @below {{deviates: nn.transpose}}
    %t = nn.transpose %a [1, 0] : tensor<2x4xf32> -> tensor<4x2xf32>
    %e = math.exp %t : tensor<4x2xf32>
    %b = dist.all_to_all %e gather 1 split 0 over <{"x"}> on @mesh : tensor<4x2xf32> -> tensor<2x4xf32>
    scf.yield %b : tensor<2x4xf32>
  }
  return %r : tensor<2x4xf32>
}

// -----

// Square blocks: the types match, the shardings do not.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @exps(%a: tensor<4x4xf32>, %n: index) -> tensor<4x4xf32> {
  %lo = arith.constant 0 : index
  %one = arith.constant 1 : index
  // expected-note @below {{the reference computes it here}}
  %r = scf.for %i = %lo to %n step %one iter_args(%v = %a) -> tensor<4x4xf32> {
    %t = nn.transpose %v [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
    scf.yield %t : tensor<4x4xf32>
  }
  return %r : tensor<4x4xf32>
}
func.func @turned(%a: tensor<2x2xf32> {dist.global_shape = array<i64: 4, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}, %n: index)
    -> (tensor<2x2xf32> {dist.global_shape = array<i64: 4, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) attributes {dist.local, dist.reference = @exps} {
  %lo = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %lo to %n step %one iter_args(%v = %a) -> tensor<2x2xf32> {
    %t = nn.transpose %v [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>
    // expected-error @below {{deviates: scf.yield: operand 0 is not sharded as what the loop begins with}}
    scf.yield %t : tensor<2x2xf32>
  }
  return %r : tensor<2x2xf32>
}

// -----

dist.mesh @mesh ["x"=2, "y"=2]
func.func @exps(%a: tensor<4x4xf32>, %n: index) -> tensor<4x4xf32> {
  %lo = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %lo to %n step %one iter_args(%v = %a) -> tensor<4x4xf32> {
    %t = nn.transpose %v [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
    scf.yield %t : tensor<4x4xf32>
  }
  return %r : tensor<4x4xf32>
}
func.func @by_device(%a: tensor<2x2xf32> {dist.global_shape = array<i64: 4, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}, %n: index)
    -> (tensor<2x2xf32> {dist.global_shape = array<i64: 4, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) attributes {dist.local, dist.reference = @exps} {
  %lo = arith.constant 0 : index
  %one = arith.constant 1 : index
  %o = dist.axis_offset <{"x"}> size 1 on @mesh : index
  // expected-error @below {{not provable: scf.for: a bound that is not known to be the same on all devices}}
  %r = scf.for %i = %lo to %o step %one iter_args(%v = %a) -> tensor<2x2xf32> {
    %t = nn.transpose %v [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>
    scf.yield %t : tensor<2x2xf32>
  }
  return %r : tensor<2x2xf32>
}

// -----

// A nested loop would mix facts of two iterations.
dist.mesh @mesh ["x"=2]
func.func @sums(%a: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %lo = arith.constant 0 : index
  %one = arith.constant 1 : index
  // expected-note @below {{the reference computes it here}}
  %r = scf.for %i = %lo to %n step %one iter_args(%v = %a) -> tensor<4xf32> {
    %t = arith.addf %v, %a : tensor<4xf32>
    scf.yield %t : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
func.func @nested(%a: tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}, %n: index)
    -> (tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) attributes {dist.local, dist.reference = @sums} {
  %lo = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %lo to %n step %one iter_args(%v = %a) -> tensor<2xf32> {
    // expected-error @below {{not provable: scf.for: it stands within what it would have to be}}
    %s = scf.for %j = %lo to %n step %one iter_args(%w = %a) -> tensor<2xf32> {
      %t = arith.addf %v, %a : tensor<2xf32>
      scf.yield %t : tensor<2xf32>
    }
    %t = arith.addf %v, %a : tensor<2xf32>
    scf.yield %t : tensor<2xf32>
  }
  return %r : tensor<2xf32>
}

// -----

// Branches by a condition that is equal on all devices.
dist.mesh @mesh ["x"=2]
func.func @either(%a: tensor<4xf32>, %c: i1) -> tensor<f32> {
  %r = scf.if %c -> tensor<f32> {
    %e = math.exp %a : tensor<4xf32>
    %s = nn.reduce <sum> %e dims [0] : tensor<4xf32> -> tensor<f32>
    scf.yield %s : tensor<f32>
  } else {
    %s = nn.reduce <sum> %a dims [0] : tensor<4xf32> -> tensor<f32>
    scf.yield %s : tensor<f32>
  }
  return %r : tensor<f32>
}
func.func @reduced_after(%a: tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}, %c: i1)
    -> (tensor<f32> {dist.global_shape = array<i64>, dist.sharding = #dist.sharding<@mesh, []>}) attributes {dist.local, dist.reference = @either} {
  %r = scf.if %c -> tensor<f32> {
    %e = math.exp %a : tensor<2xf32>
    %s = nn.reduce <sum> %e dims [0] : tensor<2xf32> -> tensor<f32>
    scf.yield %s : tensor<f32>
  } else {
    %s = nn.reduce <sum> %a dims [0] : tensor<2xf32> -> tensor<f32>
    scf.yield %s : tensor<f32>
  }
  %w = dist.all_reduce <sum> %r over <{"x"}> on @mesh : tensor<f32> -> tensor<f32>
  return %w : tensor<f32>
}

// -----

dist.mesh @mesh ["x"=2]
func.func @either(%a: tensor<4xf32>, %c: i1) -> tensor<f32> {
  // expected-note @below {{the reference computes it here}}
  %r = scf.if %c -> tensor<f32> {
    %e = math.exp %a : tensor<4xf32>
    %s = nn.reduce <sum> %e dims [0] : tensor<4xf32> -> tensor<f32>
    scf.yield %s : tensor<f32>
  } else {
    %s = nn.reduce <sum> %a dims [0] : tensor<4xf32> -> tensor<f32>
    scf.yield %s : tensor<f32>
  }
  return %r : tensor<f32>
}
func.func @reduced_in_one(%a: tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}, %c: i1)
    -> (tensor<f32> {dist.global_shape = array<i64>, dist.sharding = #dist.sharding<@mesh, []>}) attributes {dist.local, dist.reference = @either} {
  %r = scf.if %c -> tensor<f32> {
    %e = math.exp %a : tensor<2xf32>
    %s = nn.reduce <sum> %e dims [0] : tensor<2xf32> -> tensor<f32>
    %w = dist.all_reduce <sum> %s over <{"x"}> on @mesh : tensor<f32> -> tensor<f32>
    scf.yield %w : tensor<f32>
  } else {
    %s = nn.reduce <sum> %a dims [0] : tensor<2xf32> -> tensor<f32>
    // expected-error @below {{deviates: scf.yield: operand 0 is not sharded as in the other branch}}
    scf.yield %s : tensor<f32>
  }
  return %r : tensor<f32>
}

// -----

dist.mesh @mesh ["x"=2]
func.func @either(%a: tensor<4xf32>, %c: i1) -> tensor<f32> {
  %r = scf.if %c -> tensor<f32> {
    %e = math.exp %a : tensor<4xf32>
    // expected-note @below {{the reference computes it here}}
    %s = nn.reduce <sum> %e dims [0] : tensor<4xf32> -> tensor<f32>
    scf.yield %s : tensor<f32>
  } else {
    %s = nn.reduce <sum> %a dims [0] : tensor<4xf32> -> tensor<f32>
    scf.yield %s : tensor<f32>
  }
  return %r : tensor<f32>
}
func.func @exchanged(%a: tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}, %c: i1)
    -> (tensor<f32> {dist.global_shape = array<i64>, dist.sharding = #dist.sharding<@mesh, []>}) attributes {dist.local, dist.reference = @either} {
  %r = scf.if %c -> tensor<f32> {
    %s = nn.reduce <sum> %a dims [0] : tensor<2xf32> -> tensor<f32>
    // expected-error @below {{deviates: scf.yield: operand 0 is another value than in the reference}}
    scf.yield %s : tensor<f32>
  } else {
    %e = math.exp %a : tensor<2xf32>
    %s = nn.reduce <sum> %e dims [0] : tensor<2xf32> -> tensor<f32>
    scf.yield %s : tensor<f32>
  }
  %w = dist.all_reduce <sum> %r over <{"x"}> on @mesh : tensor<f32> -> tensor<f32>
  return %w : tensor<f32>
}

// -----

dist.mesh @mesh ["x"=2]
func.func @either(%a: tensor<4xf32>, %c: i1) -> tensor<f32> {
  %r = scf.if %c -> tensor<f32> {
    %e = math.exp %a : tensor<4xf32>
    %s = nn.reduce <sum> %e dims [0] : tensor<4xf32> -> tensor<f32>
    scf.yield %s : tensor<f32>
  } else {
    %s = nn.reduce <sum> %a dims [0] : tensor<4xf32> -> tensor<f32>
    scf.yield %s : tensor<f32>
  }
  return %r : tensor<f32>
}
func.func @by_device(%a: tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}, %c: i1)
    -> (tensor<f32> {dist.global_shape = array<i64>, dist.sharding = #dist.sharding<@mesh, []>}) attributes {dist.local, dist.reference = @either} {
  %zero = arith.constant 0 : index
  %o = dist.axis_offset <{"x"}> size 1 on @mesh : index
  %mine = arith.cmpi eq, %o, %zero : index
  // expected-error @below {{not provable: scf.if: a condition that is not known to be the same on all devices}}
  %r = scf.if %mine -> tensor<f32> {
    %e = math.exp %a : tensor<2xf32>
    %s = nn.reduce <sum> %e dims [0] : tensor<2xf32> -> tensor<f32>
    scf.yield %s : tensor<f32>
  } else {
    %s = nn.reduce <sum> %a dims [0] : tensor<2xf32> -> tensor<f32>
    scf.yield %s : tensor<f32>
  }
  %w = dist.all_reduce <sum> %r over <{"x"}> on @mesh : tensor<f32> -> tensor<f32>
  return %w : tensor<f32>
}

// -----

// Coordinate 1 gets the value of coordinate 0, the others get zeros: terms of a
// sum that is the sender's value.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @exp(%a: tensor<4xf32>) -> tensor<4xf32> {
  %e = math.exp %a : tensor<4xf32>
  return %e : tensor<4xf32>
}
func.func @sent(%a: tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"y"}]>})
    -> (tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"y"}]>}) attributes {dist.local, dist.reference = @exp} {
  %e = math.exp %a : tensor<2xf32>
  dist.send %e along "x" 0 to 1 tag 3 on @mesh : tensor<2xf32>
  %r = dist.recv along "x" 0 to 1 tag 3 on @mesh : tensor<2xf32>
  %w = dist.all_reduce <sum> %r over <{"x"}> on @mesh : tensor<2xf32> -> tensor<2xf32>
  return %w : tensor<2xf32>
}

// -----

dist.mesh @mesh ["x"=2, "y"=2]
func.func @exp(%a: tensor<4xf32>) -> tensor<4xf32> {
  %e = math.exp %a : tensor<4xf32>
  return %e : tensor<4xf32>
}
func.func @not_everywhere(%a: tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"y"}]>})
    -> (tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"y"}]>}) attributes {dist.local, dist.reference = @exp} {
  %e = math.exp %a : tensor<2xf32>
  dist.send %e along "x" 0 to 1 tag 3 on @mesh : tensor<2xf32>
  %r = dist.recv along "x" 0 to 1 tag 3 on @mesh : tensor<2xf32>
  // expected-error @below {{deviates: func.return: result 0 is to be reduced over {"x"} but its sharding says {}}}
  return %r : tensor<2xf32>
}

// -----

dist.mesh @mesh ["x"=2, "y"=2]
func.func @exp(%a: tensor<4xf32>) -> tensor<4xf32> {
  %e = math.exp %a : tensor<4xf32>
  return %e : tensor<4xf32>
}
func.func @other_block(%a: tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"y"}]>})
    -> (tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"y"}]>}) attributes {dist.local, dist.reference = @exp} {
  %e = math.exp %a : tensor<2xf32>
  dist.send %e along "y" 0 to 1 tag 3 on @mesh : tensor<2xf32>
  %r = dist.recv along "y" 0 to 1 tag 3 on @mesh : tensor<2xf32>
  %w = dist.all_reduce <sum> %r over <{"y"}> on @mesh : tensor<2xf32> -> tensor<2xf32>
  // expected-error @below {{deviates: func.return: result 0, dimension 0: device 1 holds block 0 of 2 but needs block 1}}
  return %w : tensor<2xf32>
}

// -----

dist.mesh @mesh ["x"=2, "y"=2]
func.func @exp(%a: tensor<4xf32>) -> tensor<4xf32> {
  %e = math.exp %a : tensor<4xf32>
  return %e : tensor<4xf32>
}
func.func @other_tag(%a: tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"y"}]>})
    -> (tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"y"}]>}) attributes {dist.local, dist.reference = @exp} {
  %e = math.exp %a : tensor<2xf32>
  dist.send %e along "x" 0 to 1 tag 3 on @mesh : tensor<2xf32>
  // expected-error @below {{deviates: dist.recv: no send of these coordinates and tag comes before it}}
  %r = dist.recv along "x" 0 to 1 tag 4 on @mesh : tensor<2xf32>
  %w = dist.all_reduce <sum> %r over <{"x"}> on @mesh : tensor<2xf32> -> tensor<2xf32>
  return %w : tensor<2xf32>
}

// -----

dist.mesh @mesh ["x"=2, "y"=2]
func.func @exp(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note @below {{the reference computes it here}}
  %e = math.exp %a : tensor<4xf32>
  return %e : tensor<4xf32>
}
func.func @in_order(%a: tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"y"}]>})
    -> (tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"y"}]>}) attributes {dist.local, dist.reference = @exp} {
  %e = math.exp %a : tensor<2xf32>
  dist.send %a along "x" 0 to 1 tag 3 on @mesh : tensor<2xf32>
  dist.send %e along "x" 0 to 1 tag 3 on @mesh : tensor<2xf32>
  %r = dist.recv along "x" 0 to 1 tag 3 on @mesh : tensor<2xf32>
  %w = dist.all_reduce <sum> %r over <{"x"}> on @mesh : tensor<2xf32> -> tensor<2xf32>
  // expected-error @below {{deviates: func.return: result 0 is another value than in the reference}}
  return %w : tensor<2xf32>
}

// -----

// The number of sends in a loop is not tracked.
dist.mesh @mesh ["x"=2]
func.func @in_a_loop(%a: tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>}, %n: index) attributes {dist.local} {
  %lo = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %i = %lo to %n step %one {
    // expected-error @below {{not provable: dist.send: a send in a region, which may run any number of times}}
    dist.send %a along "x" 0 to 1 tag 3 on @mesh : tensor<4xf32>
  }
  return
}

// -----

// A loop on scalars alone is matched by its body, too.
dist.mesh @mesh ["x"=2]
func.func @doubled_until(%a: tensor<4xf32>, %n: tensor<f32>) -> tensor<4xf32> {
  %ten = arith.constant 10.0 : f32
  %e = tensor.extract %n[] : tensor<f32>
  %r = scf.while (%i = %e) : (f32) -> f32 {
    %t = arith.cmpf olt, %i, %ten : f32
    scf.condition(%t) %i : f32
  } do {
  ^bb0(%i: f32):
    %j = arith.addf %i, %ten : f32
    scf.yield %j : f32
  }
  %s = tensor.splat %r : tensor<4xf32>
  %m = arith.mulf %a, %s : tensor<4xf32>
  return %m : tensor<4xf32>
}
func.func @other_body(%a: tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
    %n: tensor<f32> {dist.global_shape = array<i64>, dist.sharding = #dist.sharding<@mesh, []>})
    -> (tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) attributes {dist.local, dist.reference = @doubled_until} {
  %ten = arith.constant 10.0 : f32
  %e = tensor.extract %n[] : tensor<f32>
  // expected-error @below {{not provable: scf.while: the reference has no such region on these values}}
  %r = scf.while (%i = %e) : (f32) -> f32 {
    %t = arith.cmpf olt, %i, %ten : f32
    scf.condition(%t) %i : f32
  } do {
  ^bb0(%i: f32):
    %j = arith.subf %ten, %i : f32
    scf.yield %j : f32
  }
  %s = tensor.splat %r : tensor<2xf32>
  %m = arith.mulf %a, %s : tensor<2xf32>
  return %m : tensor<2xf32>
}
