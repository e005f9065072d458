// The declarations of a local function's arguments and results, and the bodies
// of its callees, must match the reference's.
// RUN: tessera-opt %s --dist-verify-partition --split-input-file --verify-diagnostics --mlir-print-op-on-diagnostic=false

// Two results exchange their donated arguments: the second step is wrong.
dist.mesh @mesh ["x"=2]
func.func @step(%a: tensor<4xf32> {dist.donate = 0 : i64}, %b: tensor<4xf32> {dist.donate = 1 : i64}) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = arith.addf %a, %a : tensor<4xf32>
  %1 = math.tanh %b : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
// expected-error @below {{deviates: func.func: argument 0 has 1 : i64 as dist.donate but in the reference 0 : i64}}
func.func @exchanged_donations(%a: tensor<2xf32> {dist.donate = 1 : i64, dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
    %b: tensor<2xf32> {dist.donate = 0 : i64, dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}, tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) attributes {dist.local, dist.reference = @step} {
  %0 = arith.addf %a, %a : tensor<2xf32>
  %1 = math.tanh %b : tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// -----

// A state that is not donated never changes.
dist.mesh @mesh ["x"=2]
func.func @step(%a: tensor<4xf32> {dist.donate = 0 : i64}) -> tensor<4xf32> {
  %0 = math.tanh %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// expected-error @below {{deviates: func.func: argument 0 has none as dist.donate but in the reference 0 : i64}}
func.func @lost_donation(%a: tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) attributes {dist.local, dist.reference = @step} {
  %0 = math.tanh %a : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// Parameters are matched by their names.
dist.mesh @mesh ["x"=2]
func.func @named(%a: tensor<4xf32> {nn.param = "a"}, %b: tensor<4xf32> {nn.param = "b"}) -> tensor<4xf32> {
  %0 = arith.subf %a, %b : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// expected-error @below {{deviates: func.func: argument 0 has "b" as nn.param but in the reference "a"}}
func.func @exchanged_names(%a: tensor<2xf32> {nn.param = "b", dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
    %b: tensor<2xf32> {nn.param = "a", dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) attributes {dist.local, dist.reference = @named} {
  %0 = arith.subf %a, %b : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// Results are matched by their names, too.
dist.mesh @mesh ["x"=2]
func.func @named(%a: tensor<4xf32>) -> (tensor<4xf32> {nn.output = "a"}) {
  return %a : tensor<4xf32>
}
func.func @other_output(%a: tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>})
    -> (tensor<4xf32> {nn.output = "b", dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @named} {
  // expected-error @below {{deviates: func.return: result 0 has "b" as nn.output but in the reference "a"}}
  return %a : tensor<4xf32>
}

// -----

// The caller gives each device a term of the sum.
dist.mesh @mesh ["x"=2]
func.func @partial_argument(%a: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced={"x"}>}) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
// expected-error @below {{deviates: func.func: argument 0 is declared partial over {} but in the reference over {"x"}}}
func.func @whole_argument(%a: tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>})
    -> (tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @partial_argument} {
  return %a : tensor<4xf32>
}

// -----

// Partial by a maximum is not partial by a sum.
dist.mesh @mesh ["x"=2]
func.func @partial_argument(%a: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced={"x"} max>}) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
// expected-error @below {{deviates: func.func: argument 0 is declared partial by sum, in the reference by max}}
func.func @other_kind(%a: tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}], unreduced={"x"}>})
    -> (tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @partial_argument} {
  %0 = dist.all_reduce <sum> %a over <{"x"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// The caller reduces the result.
dist.mesh @mesh ["x"=2]
func.func @partial_result(%a: tensor<4x4xf32>) -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced={"x"}>}) {
  %0 = nn.reduce <sum> %a dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @whole_result(%a: tensor<2x4xf32> {dist.global_shape = array<i64: 4, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @partial_result} {
  %0 = nn.reduce <sum> %a dims [0] : tensor<2x4xf32> -> tensor<4xf32>
  %1 = dist.all_reduce <sum> %0 over <{"x"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  // expected-error @below {{deviates: func.return: result 0 is declared partial over {} but in the reference over {"x"}}}
  return %1 : tensor<4xf32>
}

// -----

// Devices without a part of a maximum have minus infinity, in the padding too:
// the sum over the padded dimension needs a mask.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @padded_maximum(%a: tensor<3xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}], unreduced={"x"} max>}) -> (tensor<3xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}], unreduced={"x"} max>}) {
  return %a : tensor<3xf32>
}
func.func @passed_on(%a: tensor<2xf32> {dist.global_shape = array<i64: 3>, dist.sharding = #dist.sharding<@mesh, [{"y"}], unreduced={"x"} max>})
    -> (tensor<2xf32> {dist.global_shape = array<i64: 3>, dist.sharding = #dist.sharding<@mesh, [{"y"}], unreduced={"x"} max>}) attributes {dist.local, dist.reference = @padded_maximum} {
  return %a : tensor<2xf32>
}

// -----

// The callee must compute the same as in the reference.
dist.mesh @mesh ["x"=2]
func.func private @squash(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.tanh %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @calls(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @squash(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @other_body(%a: tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) attributes {dist.local, dist.reference = @squash} {
  // expected-error @below {{not provable: math.sin: the reference has no such op on these values}}
  %0 = math.sin %a : tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @calls_another(%a: tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) attributes {dist.local, dist.reference = @calls} {
  %0 = func.call @other_body(%a) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// The same body with another name.
dist.mesh @mesh ["x"=2]
func.func private @squash(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.tanh %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @calls(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @squash(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @same_body(%a: tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) attributes {dist.local, dist.reference = @squash} {
  %0 = math.tanh %a : tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @calls_the_same(%a: tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) attributes {dist.local, dist.reference = @calls} {
  %0 = func.call @same_body(%a) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// A fill whose body adds to the init is not a fill.
dist.mesh @mesh ["x"=2]
func.func @filled(%a: tensor<4xf32>) -> tensor<4xf32> {
  %c = arith.constant 2.0 : f32
  %0 = linalg.fill ins(%c : f32) outs(%a : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @hidden_sum(%a: tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>})
    -> (tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @filled} {
  %c = arith.constant 2.0 : f32
  // expected-error @below {{deviates: linalg.fill: operand 0 is a constant that the reference does not use so}}
  %0 = "linalg.fill"(%c, %a) <{operandSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %in, %out : f32
    linalg.yield %1 : f32
  }) : (f32, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A product whose body adds is a sum.
dist.mesh @mesh ["x"=2]
func.func @product(%a: tensor<4xf32>, %b: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note @below {{the reference computes it here}}
  %0 = linalg.mul ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%o : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @hidden_sum(%a: tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
    %b: tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
    %o: tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) attributes {dist.local, dist.reference = @product} {
  // expected-error @below {{not provable: linalg.mul: its body differs}}
  %0 = "linalg.mul"(%a, %b, %o) <{operandSegmentSizes = array<i32: 2, 1>}> ({
  ^bb0(%x: f32, %y: f32, %out: f32):
    %1 = arith.addf %x, %y : f32
    linalg.yield %1 : f32
  }) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// A sum of bits wraps: two devices with 1 give 0, but widened first 2 or -2.
dist.mesh @mesh ["x"=2]
func.func @parity(%a: tensor<4x6xi1>) -> tensor<6xi32> {
  %0 = nn.reduce <sum> %a dims [0] : tensor<4x6xi1> -> tensor<6xi1>
  // expected-note @below {{the reference computes it here}}
  %1 = arith.extui %0 : tensor<6xi1> to tensor<6xi32>
  return %1 : tensor<6xi32>
}
func.func @widened_parts(%a: tensor<2x6xi1> {dist.global_shape = array<i64: 4, 6>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<6xi32> {dist.global_shape = array<i64: 6>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @parity} {
  %0 = nn.reduce <sum> %a dims [0] : tensor<2x6xi1> -> tensor<6xi1>
  // expected-error @below {{deviates: arith.extui: operand 0 is still to be reduced over {"x"} by sum, which the op does not commute with on these operands}}
  %1 = arith.extui %0 : tensor<6xi1> to tensor<6xi32>
  %2 = dist.all_reduce <sum> %1 over <{"x"}> on @mesh : tensor<6xi32> -> tensor<6xi32>
  return %2 : tensor<6xi32>
}

// -----

dist.mesh @mesh ["x"=2]
func.func @sum(%a: tensor<4x6xi8>) -> tensor<6xi32> {
  %0 = nn.reduce <sum> %a dims [0] : tensor<4x6xi8> -> tensor<6xi8>
  // expected-note @below {{the reference computes it here}}
  %1 = arith.extsi %0 : tensor<6xi8> to tensor<6xi32>
  return %1 : tensor<6xi32>
}
func.func @widened_parts(%a: tensor<2x6xi8> {dist.global_shape = array<i64: 4, 6>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<6xi32> {dist.global_shape = array<i64: 6>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @sum} {
  %0 = nn.reduce <sum> %a dims [0] : tensor<2x6xi8> -> tensor<6xi8>
  // expected-error @below {{deviates: arith.extsi: operand 0 is still to be reduced over {"x"} by sum, which the op does not commute with on these operands}}
  %1 = arith.extsi %0 : tensor<6xi8> to tensor<6xi32>
  %2 = dist.all_reduce <sum> %1 over <{"x"}> on @mesh : tensor<6xi32> -> tensor<6xi32>
  return %2 : tensor<6xi32>
}

// -----

// The maximum of wide integers, truncated, is not the maximum of truncated ones.
dist.mesh @mesh ["x"=2]
func.func @max(%a: tensor<4x6xi32>) -> tensor<6xi8> {
  %0 = nn.reduce <max> %a dims [0] : tensor<4x6xi32> -> tensor<6xi32>
  // expected-note @below {{the reference computes it here}}
  %1 = arith.trunci %0 : tensor<6xi32> to tensor<6xi8>
  return %1 : tensor<6xi8>
}
func.func @narrowed_parts(%a: tensor<2x6xi32> {dist.global_shape = array<i64: 4, 6>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<6xi8> {dist.global_shape = array<i64: 6>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @max} {
  %0 = nn.reduce <max> %a dims [0] : tensor<2x6xi32> -> tensor<6xi32>
  // expected-error @below {{deviates: arith.trunci: operand 0 is still to be reduced over {"x"} by max, which the op does not commute with on these operands}}
  %1 = arith.trunci %0 : tensor<6xi32> to tensor<6xi8>
  %2 = dist.all_reduce <max> %1 over <{"x"}> on @mesh : tensor<6xi8> -> tensor<6xi8>
  return %2 : tensor<6xi8>
}

// -----

// Booleans are 0 and 1; a widening that turns 1 into -1 reverses the order.
dist.mesh @mesh ["x"=2]
func.func @any(%a: tensor<4x6xi1>) -> tensor<6xi32> {
  %false = arith.constant false
  %e = tensor.empty() : tensor<6xi1>
  %f = linalg.fill ins(%false : i1) outs(%e : tensor<6xi1>) -> tensor<6xi1>
  %0 = linalg.reduce { arith.ori } ins(%a : tensor<4x6xi1>) outs(%f : tensor<6xi1>) dimensions = [0]
  // expected-note @below {{the reference computes it here}}
  %1 = arith.extsi %0 : tensor<6xi1> to tensor<6xi32>
  return %1 : tensor<6xi32>
}
func.func @widened_parts(%a: tensor<2x6xi1> {dist.global_shape = array<i64: 4, 6>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<6xi32> {dist.global_shape = array<i64: 6>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @any} {
  %false = arith.constant false
  %e = tensor.empty() : tensor<6xi1>
  %f = linalg.fill ins(%false : i1) outs(%e : tensor<6xi1>) -> tensor<6xi1>
  %0 = linalg.reduce { arith.ori } ins(%a : tensor<2x6xi1>) outs(%f : tensor<6xi1>) dimensions = [0]
  // expected-error @below {{deviates: arith.extsi: operand 0 is still to be reduced over {"x"} by max, which the op does not commute with on these operands}}
  %1 = arith.extsi %0 : tensor<6xi1> to tensor<6xi32>
  %2 = dist.all_reduce <max> %1 over <{"x"}> on @mesh : tensor<6xi32> -> tensor<6xi32>
  return %2 : tensor<6xi32>
}

// -----

// A function that is written by hand may omit names.
dist.mesh @mesh ["x"=2]
func.func @named(%a: tensor<4xf32> {nn.param = "a"}) -> (tensor<4xf32> {nn.output = "b"}) {
  return %a : tensor<4xf32>
}
func.func @no_names(%a: tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) attributes {dist.local, dist.reference = @named} {
  return %a : tensor<2xf32>
}

// -----

// The callee assumes zeros in its padding.
dist.mesh @mesh ["x"=2]
func.func private @sum(%a: tensor<5x6xf32>) -> tensor<6xf32> {
  %0 = nn.reduce <sum> %a dims [0] : tensor<5x6xf32> -> tensor<6xf32>
  return %0 : tensor<6xf32>
}
func.func @sum_of_exp(%a: tensor<5x6xf32>) -> tensor<6xf32> {
  %0 = math.exp %a : tensor<5x6xf32>
  %1 = func.call @sum(%0) : (tensor<5x6xf32>) -> tensor<6xf32>
  return %1 : tensor<6xf32>
}
func.func private @sum_of_parts(%a: tensor<3x6xf32> {dist.global_shape = array<i64: 5, 6>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<6xf32> {dist.global_shape = array<i64: 6>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @sum} {
  %0 = nn.reduce <sum> %a dims [0] : tensor<3x6xf32> -> tensor<6xf32>
  %1 = dist.all_reduce <sum> %0 over <{"x"}> on @mesh : tensor<6xf32> -> tensor<6xf32>
  return %1 : tensor<6xf32>
}
func.func @padding_of_exp(%a: tensor<3x6xf32> {dist.global_shape = array<i64: 5, 6>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<6xf32> {dist.global_shape = array<i64: 6>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @sum_of_exp} {
  %0 = math.exp %a : tensor<3x6xf32>
  // expected-error @below {{deviates: func.call: operand 0 is not known to have zeros in the padding of dimension 0}}
  %1 = func.call @sum_of_parts(%0) : (tensor<3x6xf32>) -> tensor<6xf32>
  return %1 : tensor<6xf32>
}
