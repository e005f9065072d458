// The form of a local program.
// RUN: tessera-opt %s --split-input-file --verify-diagnostics --dist-verify-local

dist.mesh @mesh ["x"=4]
func.func @good(%a: tensor<2x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) attributes {dist.local} {
  %0 = dist.all_gather %a dim 0 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x4xf32>
  return
}

// -----

dist.mesh @mesh ["x"=4]
func.func @reshard(%a: tensor<8x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) attributes {dist.local} {
  // expected-error @+1 {{expects to be gone from a local function}}
  %0 = dist.reshard %a from <@mesh, [{"x"}, {}]> to <@mesh, [{}, {}]> : tensor<8x4xf32>
  return
}

// -----

dist.mesh @mesh ["x"=4]
func.func @global_form(%a: tensor<8x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) attributes {dist.local} {
  // expected-error @+1 {{expects a collective of the local form in a local function but got one with shardings}}
  %0 = dist.all_gather %a dim 0 over <{"x"}> on @mesh from <@mesh, [{"x"}, {}]> to <@mesh, [{}, {}]> : tensor<8x4xf32> -> tensor<8x4xf32>
  return
}

// -----

dist.mesh @mesh ["x"=4]
func.func @shardings(%a: tensor<8x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) attributes {dist.local} {
  // expected-error @+1 {{expects no dist.shardings in a local function}}
  %0 = math.exp %a {dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : tensor<8x4xf32>
  return
}

// -----

dist.mesh @mesh ["x"=4]
// expected-error @+1 {{argument 0: expects dist.sharding and dist.global_shape in a local function}}
func.func @boundary(%a: tensor<8x4xf32>) attributes {dist.local} {
  return
}
