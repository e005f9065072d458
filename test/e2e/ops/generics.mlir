// Generics that read their outs, alone and before reductions, and scalars that
// are computed from tensors, compiled: as in the interpreter.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --partitioned %s --dump %t/data
// RUN: tessera compile %s --quiet -o %t/prog
// RUN: tessera run %t/prog --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera compile %s --target cuda-emulated --quiet -o %t/emulated
// RUN: tessera run %t/emulated --inputs %t/data --compare %t/data/expected | FileCheck %s
// CHECK-COUNT-12: {{[a-z0-9_]+}}: largest difference {{(0,|[0-9.]+e-(1[5-9]),)}}
// CHECK-NOT: largest difference

#all = affine_map<(i, j) -> (i, j)>
func.func @f(%x: tensor<3x2xf64>, %o: tensor<3x2xf64>, %v: tensor<4xf64>, %n: tensor<4xi32>) -> (
    tensor<2xf64> {nn.output = "column_sums_of_max_with_outs"}, tensor<3xf64> {nn.output = "row_sums_of_max_with_outs"},
    tensor<3x2xf64> {nn.output = "max_with_outs"},
    tensor<3x2xf64> {nn.output = "scaled"}, tensor<5xf64> {nn.output = "splat"}, tensor<5xf64> {nn.output = "filled"},
    tensor<2xf64> {nn.output = "started"}, tensor<3x2xf64> {nn.output = "scalar_input"}, tensor<3x2xf64> {nn.output = "gathered"},
    tensor<2x2xf64> {nn.output = "from_elements"}, tensor<3x2xf64> {nn.output = "inserted"}, tensor<2x4xf64> {nn.output = "generated"}) attributes {dist.local} {
  %zero = arith.constant 0.0 : f64
  %max = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3x2xf64>) outs(%o : tensor<3x2xf64>) {
  ^bb0(%a: f64, %b: f64):
    %m = arith.maximumf %b, %a : f64
    linalg.yield %m : f64
  } -> tensor<3x2xf64>
  %e2 = tensor.empty() : tensor<2xf64>
  %z2 = linalg.fill ins(%zero : f64) outs(%e2 : tensor<2xf64>) -> tensor<2xf64>
  %columns = linalg.reduce { arith.addf } ins(%max : tensor<3x2xf64>) outs(%z2 : tensor<2xf64>) dimensions = [0]
  %max2 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3x2xf64>) outs(%o : tensor<3x2xf64>) {
  ^bb0(%a: f64, %b: f64):
    %m = arith.maximumf %b, %a : f64
    linalg.yield %m : f64
  } -> tensor<3x2xf64>
  %e3 = tensor.empty() : tensor<3xf64>
  %z3 = linalg.fill ins(%zero : f64) outs(%e3 : tensor<3xf64>) -> tensor<3xf64>
  %rows = linalg.reduce { arith.addf } ins(%max2 : tensor<3x2xf64>) outs(%z3 : tensor<3xf64>) dimensions = [1]
  %e32 = tensor.empty() : tensor<3x2xf64>
  %i1 = arith.constant 1 : index
  %i2 = arith.constant 2 : index
  %s = tensor.extract %v[%i2] : tensor<4xf64>
  %s2 = arith.mulf %s, %s : f64
  %scaled = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3x2xf64>) outs(%e32 : tensor<3x2xf64>) {
  ^bb0(%a: f64, %b: f64):
    %m = arith.mulf %a, %s2 : f64
    %k = arith.addf %m, %s : f64
    linalg.yield %k : f64
  } -> tensor<3x2xf64>
  %splat = tensor.splat %s2 : tensor<5xf64>
  %e5 = tensor.empty() : tensor<5xf64>
  %filled = linalg.fill ins(%s : f64) outs(%e5 : tensor<5xf64>) -> tensor<5xf64>
  %begin = linalg.fill ins(%s2 : f64) outs(%e2 : tensor<2xf64>) -> tensor<2xf64>
  %started = linalg.reduce { arith.addf } ins(%x : tensor<3x2xf64>) outs(%begin : tensor<2xf64>) dimensions = [0]
  %input = linalg.generic {indexing_maps = [#all, affine_map<(i, j) -> ()>, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %s2 : tensor<3x2xf64>, f64) outs(%e32 : tensor<3x2xf64>) {
  ^bb0(%a: f64, %q: f64, %b: f64):
    %m = arith.subf %a, %q : f64
    linalg.yield %m : f64
  } -> tensor<3x2xf64>
  // An index that is computed from a tensor.
  %number = tensor.extract %n[%i1] : tensor<4xi32>
  %three = arith.constant 3 : i32
  %digit = arith.andi %number, %three : i32
  %at = arith.index_cast %digit : i32 to index
  %gathered = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3x2xf64>) outs(%e32 : tensor<3x2xf64>) {
  ^bb0(%a: f64, %b: f64):
    %g = tensor.extract %v[%at] : tensor<4xf64>
    %m = arith.addf %a, %g : f64
    linalg.yield %m : f64
  } -> tensor<3x2xf64>
  %elements = tensor.from_elements %s, %s2, %s2, %s : tensor<2x2xf64>
  %generated = tensor.generate {
  ^bb0(%i: index, %j: index):
    %g = tensor.extract %v[%j] : tensor<4xf64>
    %d = arith.addi %i, %j : index
    %k = arith.index_cast %d : index to i32
    %h = arith.sitofp %k : i32 to f64
    %p = arith.mulf %g, %h : f64
    tensor.yield %p : f64
  } : tensor<2x4xf64>
  %inserted = tensor.insert %s2 into %x[%i2, %i1] : tensor<3x2xf64>
  return %columns, %rows, %max, %scaled, %splat, %filled, %started, %input, %gathered, %elements, %inserted, %generated : tensor<2xf64>, tensor<3xf64>, tensor<3x2xf64>, tensor<3x2xf64>, tensor<5xf64>, tensor<5xf64>, tensor<2xf64>, tensor<3x2xf64>, tensor<3x2xf64>, tensor<2x2xf64>, tensor<3x2xf64>, tensor<2x4xf64>
}
