// A tensor.empty with other uses than outs: ops that read it, or an element of
// it, without depending on it, that overwrite it, and that pass it on.

// RUN: rm -rf %t && mkdir %t
// RUN: split-file %s %t/parts
// RUN: tessera verify %t/parts/local.mlir --partitioned %t/parts/local.mlir --no-proof --dump %t/data
// RUN: tessera compile %t/parts/local.mlir --quiet -o %t/prog
// RUN: tessera run %t/prog --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera compile %t/parts/local.mlir --target cuda-emulated --quiet -o %t/emulated
// RUN: tessera run %t/emulated --inputs %t/data --compare %t/data/expected | FileCheck %s
// CHECK-COUNT-4: {{[a-z0-9_]+}}: largest difference 0,

// Returned, alone and through a collective: any elements are correct.
// RUN: tessera compile %t/parts/returned.mlir --quiet -o %t/returned
// RUN: tessera run %t/returned --ranks 2 --save-outputs %t/out --quiet
// RUN: tessera compile %t/parts/returned.mlir --target cuda-emulated --quiet -o %t/returned-emulated
// RUN: tessera run %t/returned-emulated --simulate-ranks=2 --save-outputs %t/out --quiet

//--- local.mlir
#all = affine_map<(i, j) -> (i, j)>
func.func @f(%x: tensor<3x2xi32>) -> (
    tensor<3x2xi32> {nn.output = "read"}, tensor<3x2xi32> {nn.output = "read_element"},
    tensor<3x2xi32> {nn.output = "read_outs"}, tensor<3x2xi32> {nn.output = "written_over"}) attributes {dist.local} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : index
  %e = tensor.empty() : tensor<3x2xi32>
  %read = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %e : tensor<3x2xi32>, tensor<3x2xi32>) outs(%e : tensor<3x2xi32>) {
  ^bb0(%a: i32, %u: i32, %o: i32):
    %none = arith.andi %u, %zero : i32
    %s = arith.addi %a, %none : i32
    linalg.yield %s : i32
  } -> tensor<3x2xi32>
  %v = tensor.empty() : tensor<4xi32>
  %element = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3x2xi32>) outs(%e : tensor<3x2xi32>) {
  ^bb0(%a: i32, %o: i32):
    %i = linalg.index 1 : index
    %u = tensor.extract %v[%i] : tensor<4xi32>
    %none = arith.andi %u, %zero : i32
    %s = arith.addi %a, %none : i32
    linalg.yield %s : i32
  } -> tensor<3x2xi32>
  %outs = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3x2xi32>) outs(%e : tensor<3x2xi32>) {
  ^bb0(%a: i32, %o: i32):
    %none = arith.andi %o, %zero : i32
    %s = arith.addi %a, %none : i32
    linalg.yield %s : i32
  } -> tensor<3x2xi32>
  %over = tensor.insert_slice %x into %e[0, 0] [3, 2] [1, 1] : tensor<3x2xi32> into tensor<3x2xi32>
  return %read, %element, %outs, %over : tensor<3x2xi32>, tensor<3x2xi32>, tensor<3x2xi32>, tensor<3x2xi32>
}

//--- returned.mlir
dist.mesh @mesh ["x"=2]
func.func @main() -> (tensor<4xf32>, tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}, tensor<4xi1> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced={"x"}>}) {
  %e = tensor.empty() : tensor<4xf32>
  %n = arith.negf %e : tensor<4xf32>
  %b = tensor.empty() : tensor<4xi1>
  return %e, %n, %b : tensor<4xf32>, tensor<4xf32>, tensor<4xi1>
}
