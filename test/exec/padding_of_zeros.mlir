// Padding of zeros that an op turns into other numbers is masked before a
// sum.
// RUN: tessera verify %s --seeds 2 | FileCheck %s

dist.mesh @mesh ["x"=2]
#id = affine_map<(i) -> (i)>

// 0 / 0 is NaN.
// CHECK-LABEL: @sum_of_quotient
// CHECK: yes
// CHECK: all_reduce 1
func.func @sum_of_quotient(%a: tensor<5xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}, %b: tensor<5xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) -> tensor<f32> {
  %q = arith.divf %a, %b : tensor<5xf32>
  %s = nn.reduce <sum> %q dims [0] : tensor<5xf32> -> tensor<f32>
  return %s : tensor<f32>
}

// p log(q) is linear in p, but 0 times minus infinity is NaN.
// CHECK-LABEL: @sum_of_logarithms
// CHECK: yes
// CHECK: all_reduce 1
func.func @sum_of_logarithms(%p: tensor<5xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}, %y: tensor<5xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) -> tensor<f32> {
  %q = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%p, %y : tensor<5xf32>, tensor<5xf32>) outs(%y : tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %b2 = arith.mulf %b, %b : f32
    %l = math.log %b2 : f32
    %m = arith.mulf %a, %l : f32
    linalg.yield %m : f32
  } -> tensor<5xf32>
  %s = nn.reduce <sum> %q dims [0] : tensor<5xf32> -> tensor<f32>
  return %s : tensor<f32>
}

// The same in the body of the reduction.
// CHECK-LABEL: @reduced_logarithms
// CHECK: yes
// CHECK: all_reduce 1
func.func @reduced_logarithms(%p: tensor<5xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}, %y: tensor<5xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %q = linalg.generic {indexing_maps = [#id, #id, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%p, %y : tensor<5xf32>, tensor<5xf32>) outs(%f : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %b2 = arith.mulf %b, %b : f32
    %l = math.log %b2 : f32
    %m = arith.mulf %a, %l : f32
    %r = arith.addf %o, %m : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %q : tensor<f32>
}

// (0 - zero point) (0 - zero point) is not 0: the product becomes a body that
// masks its terms, and stays sharded.
// CHECK-LABEL: @quantized_matmul
// CHECK: yes
// CHECK: all_reduce 1
func.func @quantized_matmul(%a: tensor<4x5xi8> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<5x3xi8>) -> tensor<4x3xi32> {
  %za = arith.constant 3 : i32
  %zb = arith.constant 2 : i32
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<4x3xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<4x3xi32>) -> tensor<4x3xi32>
  %m = linalg.quantized_matmul ins(%a, %b, %za, %zb : tensor<4x5xi8>, tensor<5x3xi8>, i32, i32) outs(%f : tensor<4x3xi32>) -> tensor<4x3xi32>
  return %m : tensor<4x3xi32>
}
