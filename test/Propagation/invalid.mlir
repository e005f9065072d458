// RUN: tessera-opt %s --split-input-file --verify-diagnostics --dist-propagate-shardings

// expected-error @+1 {{expects one dist.mesh in the module but got 2}}
module {
  dist.mesh @a ["x"=2]
  dist.mesh @b ["x"=2]
  func.func @two_meshes(%a: tensor<8xf32>) { return }
}

// -----

dist.mesh @mesh ["x"=4]
// expected-error @+1 {{expects tensors of static shape but got 'tensor<?xf32>'}}
func.func @dynamic(%a: tensor<?xf32>) { return }

// -----

dist.mesh @mesh ["x"=4, "y"=2]
// expected-error @+1 {{expects the values of a dist.group to have shardings that agree but got #dist.sharding<@mesh, [{"x"}]> and #dist.sharding<@mesh, [{"y"}]>}}
func.func @group(
    %a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
    %b: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>}) {
  dist.group %a, %b : tensor<8xf32>, tensor<8xf32>
  return
}

// -----

dist.mesh @mesh ["x"=4]
func.func private @external(tensor<8xf32>) -> tensor<8xf32>
func.func @call(%a: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{expects a call of a function with a body in this module: shardings cannot pass through others}}
  %0 = call @external(%a) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @mesh ["x"=4]
// expected-error @+1 {{expects functions of one block, without branches}}
func.func @branches(%a: tensor<8xf32>) -> tensor<8xf32> {
  cf.br ^bb1
^bb1:
  return %a : tensor<8xf32>
}


// -----

// The axes of factors must be in the mesh.
dist.mesh @mesh ["x"=2]
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{(C3) expects an axis of mesh @mesh but got "y"}}
  %0 = arith.negf %a {dist.factors = [#dist.axes<{"y"}>]} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

dist.mesh @mesh ["x"=2]
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{dist.factors: expects axes for each of 1 factors but got []}}
  %0 = arith.negf %a {dist.factors = []} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

dist.mesh @mesh ["x"=2]
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{(C3) expects an axis of mesh @mesh but got "y"}}
  %0 = arith.negf %a {dist.exact = #dist.axes<{"y"}>, dist.factors = [#dist.axes<{}>]} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
