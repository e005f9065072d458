// NaN (logarithms of negative numbers) in maxima, minima and searches, and rows
// with a tail after their vectors, compiled: as in the interpreter.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --dump %t/data
// RUN: tessera compile %s --quiet -o %t/prog
// RUN: tessera run %t/prog --ranks 2 --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera compile %s --cpu x86-64-v3 --quiet -o %t/v3
// RUN: tessera run %t/v3 --ranks 2 --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera compile %s --target cuda-emulated --quiet -o %t/emulated
// RUN: tessera run %t/emulated --simulate-ranks=2 --inputs %t/data --compare %t/data/expected | FileCheck %s

// CHECK-COUNT-9: {{[a-z0-9_]+}}: largest difference {{(0,|[0-9.]+e-(0[6-9]|[1-9][0-9]),)}}
// CHECK-NOT: largest difference

dist.mesh @mesh ["x"=2]
#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @f(%x: tensor<6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}, %y: tensor<4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}, %z: tensor<6xf32>) -> (
    tensor<6xf32> {nn.output = "value"}, tensor<6xi32> {nn.output = "index"},
    tensor<6xf32> {nn.output = "least"}, tensor<6xi32> {nn.output = "index_of_least"},
    tensor<6xf32> {nn.output = "rows_max_of_numbers"}, tensor<6xf32> {nn.output = "rows_min_of_numbers"}, tensor<6xf32> {nn.output = "rows_max"},
    tensor<6xf32> {nn.output = "max_of_max"}, tensor<f32> {nn.output = "all"}) {
  %low = arith.constant 0xFF800000 : f32
  %high = arith.constant 0x7F800000 : f32
  %zero = arith.constant 0 : i32
  %l = math.log %x : tensor<6x10xf32>
  %e = tensor.empty() : tensor<6xf32>
  %v = linalg.fill ins(%low : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %u = linalg.fill ins(%high : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %f = tensor.empty() : tensor<6xi32>
  %p = linalg.fill ins(%zero : i32) outs(%f : tensor<6xi32>) -> tensor<6xi32>
  %0:2 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%l : tensor<6x10xf32>) outs(%v, %p : tensor<6xf32>, tensor<6xi32>) {
  ^bb0(%a: f32, %best: f32, %at: i32):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i32
    %m = arith.maximumf %a, %best : f32
    %gt = arith.cmpf ogt, %a, %best : f32
    %s = arith.select %gt, %n, %at : i32
    linalg.yield %m, %s : f32, i32
  } -> (tensor<6xf32>, tensor<6xi32>)
  %1:2 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<6x10xf32>) outs(%z, %p : tensor<6xf32>, tensor<6xi32>) {
  ^bb0(%a: f32, %best: f32, %at: i32):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i32
    %m = arith.minimumf %a, %best : f32
    %lt = arith.cmpf olt, %a, %best : f32
    %s = arith.select %lt, %n, %at : i32
    linalg.yield %m, %s : f32, i32
  } -> (tensor<6xf32>, tensor<6xi32>)
  %2 = linalg.reduce { arith.maxnumf } ins(%l : tensor<6x10xf32>) outs(%v : tensor<6xf32>) dimensions = [1]
  %3 = linalg.reduce { arith.minnumf } ins(%l : tensor<6x10xf32>) outs(%u : tensor<6xf32>) dimensions = [1]
  %4 = linalg.reduce { arith.maximumf } ins(%l : tensor<6x10xf32>) outs(%v : tensor<6xf32>) dimensions = [1]
  %ly = math.log %y : tensor<4x6xf32>
  %n = linalg.reduce { arith.maximumf } ins(%ly : tensor<4x6xf32>) outs(%v : tensor<6xf32>) dimensions = [0]
  %k = arith.maxnumf %n, %z : tensor<6xf32>
  %none = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%low : f32) outs(%none : tensor<f32>) -> tensor<f32>
  %every = linalg.generic {indexing_maps = [#all, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%x : tensor<6x10xf32>) outs(%start : tensor<f32>) {
  ^bb0(%b: f32, %o: f32):
    %t1 = math.exp %b : f32
    %t2 = arith.maxnumf %t1, %o : f32
    linalg.yield %t2 : f32
  } -> tensor<f32>
  // 77 stands for NaN.
  %instead = arith.constant dense<77.0> : tensor<6xf32>
  %nan0 = arith.cmpf uno, %0#0, %0#0 : tensor<6xf32>
  %value = arith.select %nan0, %instead, %0#0 : tensor<6xi1>, tensor<6xf32>
  %nan4 = arith.cmpf uno, %4, %4 : tensor<6xf32>
  %max = arith.select %nan4, %instead, %4 : tensor<6xi1>, tensor<6xf32>
  return %value, %0#1, %1#0, %1#1, %2, %3, %max, %k, %every : tensor<6xf32>, tensor<6xi32>, tensor<6xf32>, tensor<6xi32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<f32>
}
