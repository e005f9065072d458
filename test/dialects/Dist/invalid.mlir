// RUN: tessera-opt %s -split-input-file -verify-diagnostics

// Meshes.
// expected-error @+1 {{(C1) expects each mesh axis once but got "x" twice}}
dist.mesh @mesh ["x"=2, "x"=4]
// -----
// expected-error @+1 {{(C2) expects mesh axes of size at least 1 but got 0 for "x"}}
dist.mesh @mesh ["x"=0]
// -----
// expected-error @+1 {{(C3) expects the stage axis to be an axis of the mesh but got "pp"}}
dist.mesh @mesh ["x"=2] stage "pp"
// -----
// expected-error @+1 {{(C4) expects at most 1048576 devices but got more along "y" of size 2049}}
dist.mesh @mesh ["x"=512, "y"=2049]
// -----
// expected-error @+1 {{(C4) expects at most 1048576 devices but got more along "x" of size 4294967296}}
dist.mesh @mesh ["x"=4294967296]
// -----
// Links.
// expected-error @+1 {{dist.links: expects an array of 2 axes but got [[]]}}
dist.mesh @mesh ["x"=4, "y"=2] {dist.links = [[]]}
// -----
// expected-error @+1 {{dist.links: expects array<f64: devices, seconds, bytes per second> for each level of "x" but got [array<f64: 4.000000e+00, 5.000000e-01>]}}
dist.mesh @mesh ["x"=4] {dist.links = [[array<f64: 4.0, 0.5>]]}
// -----
// expected-error @+1 {{dist.links: expects array<f64: devices, seconds, bytes per second> for each level of "x" but got}}
dist.mesh @mesh ["x"=4] {dist.links = [[array<f64: 4.0, 1.0e-6, -1.0>]]}
// -----
// expected-error @+1 {{dist.links: expects 4 devices along "x" but got 2}}
dist.mesh @mesh ["x"=4] {dist.links = [[array<f64: 2.0, 1.0e-6, 1.0e9>]]}
// -----
// expected-error @+1 {{dist.links: expects array<f64: base low, base bulk >= base low, bulk step >= 1, low share in (0, 1]> but got array<f64: 2.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00>}}
dist.mesh @mesh ["x"=4] {dist.links = [[array<f64: 4.0, 1.0e-6, 1.0e9>], array<f64: 2.0, 1.0, 1.0, 1.0>]}
// -----
// expected-error @+1 {{dist.links: expects an array of 1 axes but got [array<f64: 0.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00>]}}
dist.mesh @mesh ["x"=4] {dist.links = [array<f64: 0.0, 1.0, 1.0, 1.0>]}
// -----
// expected-error @+1 {{dist.links: expects to be on a dist.mesh}}
func.func @f() attributes {dist.links = []} { return }
// -----
// expected-error @+1 {{dist.links: expects array<f64: devices, seconds, bytes per second> for each level of "x" but got}}
dist.mesh @mesh ["x"=4] {dist.links = [[array<f64: 4.0, 1.0e-6, 1.0e9, 0.5>]]}
// -----
// expected-error @+1 {{dist.device: expects array<f64: bytes per second, operations per second of matmuls, of other ops, seconds of a kernel> on a module, or with three more, bytes moved per byte of a matmul from 1, seconds of a function, share of a transfer up to 1, but got array<f64: 1.000000e+12, 1.000000e+14, 0.000000e+00, 0.000000e+00>}}
module attributes {dist.device = array<f64: 1.0e12, 1.0e14, 0.0, 0.0>} {}

// -----

// expected-error @+1 {{share of a transfer up to 1, but got}}
module attributes {dist.device = array<f64: 1.0e10, 1.0e11, 1.0e10, 0.0, 2.0, 0.0, 1.5>} {}
// -----
// Context parallelism.
// expected-error @+1 {{dist.context: expects a method of auto, all_gather, ring, all_to_all, all_to_all:U or latent but got {method = "gather"}}}
module attributes {dist.context = {method = "gather"}} {}
// -----
// expected-error @+1 {{dist.state_axes: expects #dist.axes on a module but got 1 : i64}}
module attributes {dist.state_axes = 1} {}
// -----
// expected-error @+1 {{dist.decisions: expects the text of a decision file but got 1 : i64}}
module attributes {dist.decisions = 1} {}
// -----
// expected-error @+1 {{dist.context: expects #dist.axes for batch but got}}
module attributes {dist.context = {method = "ring", seq = #dist.axes<{"x"}>}} {}
// -----
// expected-error @+1 {{dist.context: expects one axis for seq but got #dist.axes<{}>}}
module attributes {dist.context = {method = "ring", seq = #dist.axes<{}>, batch = #dist.axes<{}>, heads = #dist.axes<{}>}} {}
// -----
// expected-error @+1 {{dist.context: expects each axis once but got}}
module attributes {dist.context = {method = "ring", seq = #dist.axes<{"x"}>, batch = #dist.axes<{"x"}>, heads = #dist.axes<{}>}} {}
// -----
// Exact factors.
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{dist.factors: expects each axis on one factor but got [#dist.axes<{"x"}>, #dist.axes<{"x":(1)2}>]}}
  %0 = arith.negf %a {dist.factors = [#dist.axes<{"x"}>, #dist.axes<{"x":(1)2}>]} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{dist.exact: expects #dist.axes but got 3}}
  %0 = arith.negf %a {dist.exact = 3, dist.factors = [#dist.axes<{}>]} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{dist.exact: expects dist.factors beside it but got none}}
  %0 = arith.negf %a {dist.exact = #dist.axes<{}>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{dist.exact: expects axes that no factor has but got #dist.axes<{"x"}> beside #dist.axes<{"x":(1)2}>}}
  %0 = arith.negf %a {dist.exact = #dist.axes<{"x"}>, dist.factors = [#dist.axes<{"x":(1)2}>]} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{dist.apart: expects array<i64: ...> of numbers of the 1 operands but got array<i64: 1>}}
  %0 = arith.negf %a {dist.apart = array<i64: 1>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{dist.apart: expects array<i64: ...> of numbers of the 1 operands but got unit}}
  %0 = arith.negf %a {dist.apart} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
// Budgets.
// expected-error @+1 {{dist.budget: expects a dictionary on a function but got 3}}
func.func @f() attributes {dist.budget = 3} { return }
// -----
// expected-error @+1 {{dist.budget: expects max_bytes, max_collectives or no_full_gather but got 'bytes'}}
func.func @f() attributes {dist.budget = {bytes = 3}} { return }
// -----
// expected-error @+1 {{dist.budget: expects a number of at least 0 for "max_bytes" but got -1}}
func.func @f() attributes {dist.budget = {max_bytes = -1}} { return }
// -----
// expected-error @+1 {{dist.budget: expects no value for "no_full_gather" but got 1}}
func.func @f() attributes {dist.budget = {no_full_gather = 1}} { return }
// -----
// Sub-axes.
dist.mesh @mesh ["x"=4]
// expected-error @+1 {{(C1) expects a sub-axis of axis "x" with m >= 1 and k >= 2 but got (2)1}}
func.func @f(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x":(2)1}]>}) { return }
// -----
dist.mesh @mesh ["x"=4]
// expected-error @+1 {{(C1) expects a sub-axis of axis "x" of at most 1048576 devices but got (9223372036854775807)2}}
func.func @f(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x":(9223372036854775807)2}]>}) { return }
// -----
dist.mesh @mesh ["x"=4]
// expected-error @+1 {{(C1) expects a sub-axis of axis "x" of at most 1048576 devices but got (4611686018427387904)4}}
func.func @f(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x":(4611686018427387904)4}]>}) { return }
// -----
dist.mesh @mesh ["x"=4]
// expected-error @+1 {{(C4) expects a proper sub-axis that divides axis "x" of size 4 but got (1)3}}
func.func @f(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x":(1)3}]>}) { return }
// -----
dist.mesh @mesh ["x"=4]
// expected-error @+1 {{(C4) expects a proper sub-axis that divides axis "x" of size 4 but got (1)4}}
func.func @f(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x":(1)4}]>}) { return }
// -----
// Shardings.
dist.mesh @mesh ["x"=4]
// expected-error @+1 {{(C1) expects each axis once in a sharding but got "x" twice}}
func.func @f(%a: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"x"}]>}) { return }
// -----
dist.mesh @mesh ["x"=4]
// expected-error @+1 {{(C1) expects each axis once in a sharding but got "x" twice}}
func.func @f(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}], unreduced={"x"}>}) { return }
// -----
dist.mesh @mesh ["x"=4]
// expected-error @+1 {{(C1) expects each axis once in a sharding but got "x" twice}}
func.func @f(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}], replicated={"x"}>}) { return }
// -----
dist.mesh @mesh ["x"=8]
// expected-error @+1 {{(C1) expects each axis once in a sharding but got "x":(2)4 and the overlapping "x":(1)4}}
func.func @f(%a: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x":(1)4}, {"x":(2)4}]>}) { return }

// -----

// Sub-axes of two different splits of an axis: 2 x 3 and 3 x 2.
dist.mesh @mesh ["x"=6]
// expected-error @+1 {{(C1) expects each axis once in a sharding but got "x":(3)2 and the overlapping "x":(1)2}}
func.func @f(%a: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x":(1)2}, {"x":(3)2}]>}) { return }
// -----
dist.mesh @mesh ["x"=8]
// expected-error @+1 {{(C2) expects adjacent sub-axes of one axis merged but got "x":(1)2 and "x":(2)2}}
func.func @f(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x":(1)2, "x":(2)2}]>}) { return }
// -----
// expected-error @+1 {{sharding of argument 0: (C3) expects a sharding on a known mesh but got @mesh}}
func.func @f(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) { return }
// -----
dist.mesh @mesh ["x"=4]
// expected-error @+1 {{sharding of argument 0: (C3) expects an axis of mesh @mesh but got "y"}}
func.func @f(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>}) { return }
// -----
dist.mesh @mesh ["x"=4]
// expected-error @+1 {{sharding of argument 0: (C5) expects a sharding of a tensor of floats, integers or index but got 'tensor<8xcomplex<f32>>'}}
func.func @argument_c5_elements(%x: tensor<8xcomplex<f32>> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) { return }
// -----
dist.mesh @mesh ["x"=4]
// expected-error @+1 {{sharding of argument 0: (C5) expects a sharding of a tensor of at most 2^48 elements but got 'tensor<9223372036854775807x2xf32>'}}
func.func @argument_c5_size(%x: tensor<9223372036854775807x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) { return }
// -----
dist.mesh @mesh ["x"=2]
func.func @collective_c1_size(%x: tensor<4294967296x4294967296xf32>) {
  // expected-error @+1 {{(C1) expects a tensor of at most 2^48 elements but got 'tensor<4294967296x4294967296xf32>'}}
  %0 = dist.all_reduce <sum> %x over <{"x"}> on @mesh : tensor<4294967296x4294967296xf32> -> tensor<4294967296x4294967296xf32>
  return
}
// -----
dist.mesh @mesh ["x"=2]
func.func @collective_c1_elements(%x: tensor<8xcomplex<f32>>) {
  // expected-error @+1 {{(C1) expects floats, integers or index but got 'tensor<8xcomplex<f32>>'}}
  %0 = dist.all_reduce <sum> %x over <{"x"}> on @mesh : tensor<8xcomplex<f32>> -> tensor<8xcomplex<f32>>
  return
}
// -----
dist.mesh @mesh ["x"=4]
// expected-error @+1 {{sharding of argument 0: (C5) expects a sharding of the tensor's rank but got 2 dimensions for 'tensor<8xf32>'}}
func.func @f(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) { return }
// -----
dist.mesh @mesh ["x"=4, "pp"=2] stage "pp"
// expected-error @+1 {{sharding of argument 0: (C6) expects no stage axis in a sharding but got "pp"}}
func.func @f(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"pp"}]>}) { return }
// -----
dist.mesh @mesh ["x"=4]
// expected-error @+1 {{(C1) expects no priority on a closed dimension without axes but got p1}}
func.func @f(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}p1]>}) { return }
// -----
dist.mesh @mesh ["x"=4]
// expected-error @+1 {{expects a priority such as p1 after a dimension's axes}}
func.func @f(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}first]>}) { return }
// -----
dist.mesh @mesh ["x"=4]
// expected-error @+1 {{expects no axis after '?'}}
func.func @f(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{?, "x"}]>}) { return }
// -----
dist.mesh @mesh ["x"=4]
// expected-error @+1 {{expects sum, max or min but got 'mean'}}
func.func @f(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced={"x"} mean>}) { return }
// -----
// Attributes with shardings.
dist.mesh @mesh ["x"=4]
// expected-error @+1 {{sharding of argument 0: expects a #dist.sharding but got "x"}}
func.func @f(%a: tensor<8xf32> {dist.sharding = "x"}) { return }
// -----
dist.mesh @mesh ["x"=4]
// expected-error @+1 {{sharding of result 0: (C5) expects a sharding of the tensor's rank}}
func.func @f(%a: tensor<8xf32>) -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, []>}) { return %a : tensor<8xf32> }
// -----
dist.mesh @mesh ["x"=4]
func.func @f(%a: tensor<8xf32>) {
  // expected-error @+1 {{dist.shardings: expects one entry a result (1) but got []}}
  %0 = arith.negf %a {dist.shardings = []} : tensor<8xf32>
  return
}
// -----
func.func @f(%a: tensor<8xf32>) {
  // expected-error @+1 {{expects no attribute 'dist.unknown' on an operation}}
  %0 = arith.negf %a {dist.unknown} : tensor<8xf32>
  return
}
// -----
func.func @f(%a: tensor<8xf32>) {
  // expected-error @+1 {{expects no attribute 'dist.sharding' on an operation; it belongs on an argument or a result; the nearest one known there is 'dist.shardings'}}
  %0 = arith.negf %a {dist.sharding} : tensor<8xf32>
  return
}
// -----
// expected-error @+1 {{argument 1: expects no attribute 'dist.shardings' on an argument; it belongs on an operation; the nearest one known there is 'dist.sharding'}}
func.func @f(%a: tensor<8xf32>, %b: tensor<8xf32> {dist.shardings = []}) { return }
// -----
// expected-error @+1 {{argument 0: expects no attribute 'dist.shard' on an argument; the nearest one known there is 'dist.sharding'}}
func.func @f(%a: tensor<8xf32> {dist.shard = []}) { return }
// -----
// expected-error @+1 {{result 0: expects no attribute 'dist.donate' on a result; it belongs on an argument; the nearest one known there is}}
func.func @f(%a: tensor<8xf32>) -> (tensor<8xf32> {dist.donate = 0}) { return %a : tensor<8xf32> }
// -----
// expected-error @+1 {{expects no attribute 'dist.locals' on a function; the nearest one known there is 'dist.local'}}
func.func @f() attributes {dist.locals} { return }
// -----
// expected-error @+1 {{expects no attribute 'dist.local' on a module; it belongs on a function}}
module attributes {dist.local} {}
// -----
// expected-error @+1 {{dist.local: expects a unit attribute but got true}}
func.func @f() attributes {dist.local = true} { return }
// -----
// expected-error @+1 {{dist.why: expects an array of texts but got [3]}}
func.func @f(%a: tensor<8xf32> {dist.why = [3]}) { return }
// -----
// expected-error @+1 {{argument 0: dist.donate: expects the number of one of 1 results but got 1 : i64}}
func.func @f(%a: tensor<8xf32> {dist.donate = 1}) -> tensor<8xf32> { return %a : tensor<8xf32> }
// -----
// expected-error @+1 {{argument 1: dist.donate: expects the number of one of 1 results but got 9223372036854775807 : i64}}
func.func @f(%a: tensor<8xf32> {dist.donate = 0}, %b: tensor<8xf32> {dist.donate = 9223372036854775807}) -> tensor<8xf32> { return %a : tensor<8xf32> }
// -----
// expected-error @+1 {{argument 0: dist.donate: expects the number of one of 0 results but got unit}}
func.func @f(%a: tensor<8xf32> {dist.donate}) { return }
// -----
// expected-error @+1 {{argument 1: dist.donate: expects a result of its own but got 0, which takes the place of argument 0}}
func.func @f(%a: tensor<8xf32> {dist.donate = 0}, %b: tensor<8xf32> {dist.donate = 0}) -> tensor<8xf32> { return %a : tensor<8xf32> }
// -----
// expected-error @+1 {{argument 0: expects a global shape of sizes from 0 but got array<i64: -7>}}
func.func @f(%a: tensor<8xf32> {dist.global_shape = array<i64: -7>}) { return }
// -----
// expected-error @+1 {{argument 0: expects a global shape of the tensor's rank but got array<i64: 7, 7> for 'tensor<8xf32>'}}
func.func @f(%a: tensor<8xf32> {dist.global_shape = array<i64: 7, 7>}) { return }
// -----
// Ops on global types.
dist.mesh @mesh ["x"=4]
func.func @constraint_c1(%a: tensor<8xf32>) {
  // expected-error @+1 {{(C1) (C5) expects a sharding of the tensor's rank}}
  %0 = dist.constraint %a <@mesh, [{}, {}]> : tensor<8xf32>
  return
}
// -----
dist.mesh @a ["x"=4]
dist.mesh @b ["x"=4]
func.func @reshard_c1(%a: tensor<8xf32>) {
  // expected-error @+1 {{(C1) expects shardings of one mesh but got @a and @b}}
  %0 = dist.reshard %a from <@a, [{}]> to <@b, [{}]> : tensor<8xf32>
  return
}
// -----
func.func @group_c1(%a: tensor<8xf32>, %b: tensor<9xf32>) {
  // expected-error @+1 {{(C1) expects tensors of one shape but got 'tensor<8xf32>' and 'tensor<9xf32>'}}
  dist.group %a, %b : tensor<8xf32>, tensor<9xf32>
  return
}
// -----
dist.mesh @mesh ["x"=4]
func.func @to_partial_c1(%a: tensor<8xf32>) {
  // expected-error @+1 {{(C1) expects each axis once but got #dist.axes<{"x", "x"}>}}
  %0 = dist.to_partial <sum> %a over <{"x", "x"}> on @mesh : tensor<8xf32>
  return
}
// -----
dist.mesh @mesh ["x"=4]
func.func @axis_offset_c2() {
  // expected-error @+1 {{(C2) expects a local size of at least 0 but got -1}}
  %0 = dist.axis_offset <{"x"}> size -1 on @mesh : index
  return
}
// -----
// Collectives.
func.func @unknown_mesh(%a: tensor<8xf32>) {
  // expected-error @+1 {{expects a known mesh but got @mesh}}
  %0 = dist.all_reduce <sum> %a over <{"x"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
  return
}
// -----
dist.mesh @mesh ["x"=4]
func.func @collective_c1(%a: tensor<8xf32>) {
  // expected-error @+1 {{(C1) expects a result of type 'tensor<32xf32>' over 4 devices but got 'tensor<16xf32>'}}
  %0 = dist.all_gather %a dim 0 over <{"x"}> on @mesh : tensor<8xf32> -> tensor<16xf32>
  return
}
// -----
dist.mesh @mesh ["x"=4]
func.func @collective_c1(%a: tensor<7xf32>) {
  // expected-error @+1 {{(C1) expects dimensions that 4 devices divide but got 'tensor<7xf32>'}}
  %0 = dist.reduce_scatter <sum> %a dim 0 over <{"x"}> on @mesh : tensor<7xf32> -> tensor<1xf32>
  return
}
// -----
dist.mesh @mesh ["x"=4]
func.func @collective_c2(%a: tensor<8xf32>) {
  // expected-error @+1 {{(C2) expects both shardings, from and to, or none}}
  %0 = dist.all_gather %a dim 0 over <{"x"}> on @mesh from <@mesh, [{"x"}]> : tensor<8xf32> -> tensor<8xf32>
  return
}
// -----
dist.mesh @mesh ["x"=4]
func.func @collective_c2(%a: tensor<8xf32>) {
  // expected-error @+1 {{(C2) expects the sharding [{}] after it but got}}
  %0 = dist.all_gather %a dim 0 over <{"x"}> on @mesh from <@mesh, [{"x"}]> to <@mesh, [{"x"}]> : tensor<8xf32> -> tensor<8xf32>
  return
}
// -----
dist.mesh @mesh ["x"=4, "y"=2]
func.func @gather_not_minor(%a: tensor<8xf32>) {
  // expected-error @+1 {{(C2) cannot be applied: dimension 0 is sharded over {"x", "y"}, whose minor axes are not {"x"}}}
  %0 = dist.all_gather %a dim 0 over <{"x"}> on @mesh from <@mesh, [{"x", "y"}]> to <@mesh, [{"y"}]> : tensor<8xf32> -> tensor<8xf32>
  return
}
// -----
dist.mesh @mesh ["x"=4]
func.func @reduce_whole(%a: tensor<8xf32>) {
  // expected-error @+1 {{(C2) cannot be applied: the value is not partial over {"x"}}}
  %0 = dist.all_reduce <sum> %a over <{"x"}> on @mesh from <@mesh, [{}]> to <@mesh, [{}]> : tensor<8xf32> -> tensor<8xf32>
  return
}
// -----
dist.mesh @mesh ["x"=4]
func.func @reduce_other_kind(%a: tensor<8xf32>) {
  // expected-error @+1 {{(C2) cannot be applied: the value is partial by max, not sum}}
  %0 = dist.all_reduce <sum> %a over <{"x"}> on @mesh from <@mesh, [{}], unreduced={"x"} max> to <@mesh, [{}]> : tensor<8xf32> -> tensor<8xf32>
  return
}
// -----
dist.mesh @mesh ["x"=4]
func.func @slice_in_use(%a: tensor<8x8xf32>) {
  // expected-error @+1 {{(C2) cannot be applied: {"x"} is in use already}}
  %0 = dist.all_slice %a dim 1 over <{"x"}> on @mesh from <@mesh, [{"x"}, {}]> to <@mesh, [{"x"}, {}]> : tensor<8x8xf32> -> tensor<8x8xf32>
  return
}
// -----
dist.mesh @mesh ["x"=4]
func.func @all_to_all_c3(%a: tensor<8x8xf32>) {
  // expected-error @+1 {{(C3) expects two dimensions but got 0 twice}}
  %0 = dist.all_to_all %a gather 0 split 0 over <{"x"}> on @mesh : tensor<8x8xf32> -> tensor<8x8xf32>
  return
}
// -----
dist.mesh @mesh ["x"=4]
func.func @permute_c3(%a: tensor<8xf32>) {
  // expected-error @+1 {{(C3) expects a permutation of 4 members but got [0, 1, 1, 3]}}
  %0 = dist.collective_permute %a targets [0, 1, 1, 3] over <{"x"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
  return
}
// -----
dist.mesh @mesh ["x"=2, "y"=2]
func.func @permute_wrong_block(%a: tensor<8xf32>) {
  // expected-error @+1 {{(C2) cannot be applied: device 1 would get a block that is not its own}}
  %0 = dist.collective_permute %a targets [0, 1, 2, 3] over <{"x", "y"}> on @mesh from <@mesh, [{"y", "x"}]> to <@mesh, [{"x", "y"}]> : tensor<8xf32> -> tensor<8xf32>
  return
}
// -----
dist.mesh @mesh ["x"=4]
func.func @broadcast_c3(%a: tensor<8xf32>) {
  // expected-error @+1 {{(C3) expects a root in [0, 4) but got 4}}
  %0 = dist.broadcast %a root 4 over <{"x"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
  return
}
// -----
dist.mesh @mesh ["x"=4]
func.func @broadcast_parts(%a: tensor<8xf32>) {
  // expected-error @+1 {{(C2) cannot be applied: the members of a group hold different parts of the value}}
  %0 = dist.broadcast %a root 0 over <{"x"}> on @mesh from <@mesh, [{"x"}]> to <@mesh, [{"x"}]> : tensor<8xf32> -> tensor<8xf32>
  return
}
// -----
dist.mesh @mesh ["pp"=4] stage "pp"
func.func @send_c1(%a: tensor<8xf32>) {
  // expected-error @+1 {{(C1) expects an axis of mesh @mesh but got "x"}}
  dist.send %a along "x" 0 to 1 tag 0 on @mesh : tensor<8xf32>
  return
}
// -----
dist.mesh @mesh ["pp"=4] stage "pp"
func.func @recv_c1() {
  // expected-error @+1 {{(C1) expects coordinates in [0, 4) but got 4}}
  %0 = dist.recv along "pp" 0 to 4 tag 0 on @mesh : tensor<8xf32>
  return
}
// -----
dist.mesh @mesh ["pp"=4] stage "pp"
func.func @send_c2(%a: tensor<8xf32>) {
  // expected-error @+1 {{(C2) expects two coordinates but got 1 twice}}
  dist.send %a along "pp" 1 to 1 tag 0 on @mesh : tensor<8xf32>
  return
}
// -----
func.func @start_c1(%a: tensor<8xf32>) {
  // expected-error @+1 {{(C1) expects a local collective of the region's arguments and a dist.yield of its result}}
  %0 = dist.start %a : tensor<8xf32> -> !dist.future<tensor<8xf32>> {
  ^bb0(%arg: tensor<8xf32>):
    %r = arith.negf %arg : tensor<8xf32>
    dist.yield %r : tensor<8xf32>
  }
  return
}
// -----
dist.mesh @mesh ["x"=4]
func.func @start_c2(%a: tensor<8xf32>) {
  // expected-error @+1 {{(C2) expects the region to take 'tensor<8xf32>' and to yield 'tensor<8xf32>' but got 'tensor<8xf32>' and 'tensor<32xf32>'}}
  %0 = dist.start %a : tensor<8xf32> -> !dist.future<tensor<8xf32>> {
  ^bb0(%arg: tensor<8xf32>):
    %r = dist.all_gather %arg dim 0 over <{"x"}> on @mesh : tensor<8xf32> -> tensor<32xf32>
    dist.yield %r : tensor<32xf32>
  }
  return
}
// -----
dist.mesh @mesh ["x"=4]
func.func @wait_c1(%a: tensor<8xf32>, %b: tensor<8xf32>) {
  %0 = dist.start %a : tensor<8xf32> -> !dist.future<tensor<8xf32>> {
  ^bb0(%arg: tensor<8xf32>):
    %r = dist.all_reduce <sum> %arg over <{"x"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
    dist.yield %r : tensor<8xf32>
  }
  // expected-error @+1 {{(C1) expects the future of a dist.start of the same sources}}
  %1 = dist.wait %0, %b : !dist.future<tensor<8xf32>>, tensor<8xf32> -> tensor<8xf32>
  return
}
// -----
// Plans.
// expected-error @+1 {{dist.plan: expects a #dist.plan on a module but got unit}}
module attributes {dist.plan} {}
// -----
// expected-error @+1 {{(C1) micro_batches: expects an integer from 1 to 2147483647 but got '0'}}
module attributes {dist.plan = #dist.plan<micro_batches = 0>} {}
// -----
// expected-error @+1 {{(C1) zero: expects an integer from 0 to 3 but got '4'}}
module attributes {dist.plan = #dist.plan<zero = 4>} {}
// -----
// expected-error @+1 {{(C1) recompute: expects none, selective, full, matmuls or auto=BYTES but got 'all'}}
module attributes {dist.plan = #dist.plan<recompute = "all">} {}
// -----
// expected-error @+1 {{(C1) schedule: expects one of gpipe, 1f1b, interleaved, zb-h1, zb-h2, zb-1p, zb-2p, zb-v, dualpipe, dualpipe-v or FILE.csv but got 'cosine'}}
module attributes {dist.plan = #dist.plan<schedule = cosine>} {}
// -----
// expected-error @+1 {{(C1) beta2: expects a number of at least 0 and below 1 but got '1.}}
module attributes {dist.plan = #dist.plan<beta2 = 1.0>} {}
// -----
// expected-error @+1 {{(C1) sp: expects true or false but got 'yes'}}
module attributes {dist.plan = #dist.plan<sp = yes>} {}
// -----
// expected-error @+1 {{(C1) total-steps: expects more than warmup = 10 with cosine but got 10}}
module attributes {dist.plan = #dist.plan<lr_schedule = cosine, warmup = 10, total_steps = 10>} {}
// -----
// expected-error @+1 {{(C1) ranks: expects at most 2147483647 but got dp x tp x pp x cp = 4611686014132420608}}
module attributes {dist.plan = #dist.plan<dp = 2147483647, tp = 2147483647>} {}
// -----
// expected-error @+1 {{(C2) expects sums of gradients in f32, or in bf16 with precision bf16 or fp8, but got bf16 with f32}}
module attributes {dist.plan = #dist.plan<grad_dtype = bf16>} {}
// -----
// expected-error @+1 {{expects each field of a plan once, and a known one, but got 'micro_batchs'; did you mean 'micro_batch'?}}
module attributes {dist.plan = #dist.plan<micro_batchs = 2>} {}
// -----
// expected-error @+1 {{expects each field of a plan once, and a known one, but got 'zero'}}
module attributes {dist.plan = #dist.plan<zero = 1, zero = 2>} {}
