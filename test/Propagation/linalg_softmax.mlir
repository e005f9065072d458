// RUN: tessera-opt %s --dist-propagate-shardings | FileCheck %s

// A softmax by hand, sharded along the dimension it sums over and along the
// other: max and sum keep only the rows' axis, values that are broadcast back
// get the columns' axis from the input.

dist.mesh @mesh ["x"=4, "y"=2]

#matrix = affine_map<(i, j) -> (i, j)>
#rows = affine_map<(i, j) -> (i)>

// CHECK-LABEL: func @softmax
// CHECK-SAME: -> (tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>})
func.func @softmax(
    %t: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>})
    -> tensor<8x16xf32> {
  %lowest = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  // Both reductions start from the same empty tensor, and so do both maps.
  // CHECK: tensor.empty() {dist.shardings = [#dist.sharding<@mesh, [{"y"}]>]}
  // CHECK: tensor.empty() {dist.shardings = [#dist.sharding<@mesh, [{"y"}, {"x"}]>]}
  // CHECK-NOT: tensor.empty
  %r = tensor.empty() : tensor<8xf32>
  %m = tensor.empty() : tensor<8x16xf32>
  %i0 = linalg.fill ins(%lowest : f32) outs(%r : tensor<8xf32>) -> tensor<8xf32>
  // CHECK: linalg.generic
  // CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{"y"}]>]
  %max = linalg.generic {indexing_maps = [#matrix, #rows],
                         iterator_types = ["parallel", "reduction"]}
      ins(%t : tensor<8x16xf32>) outs(%i0 : tensor<8xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %0 = arith.maximumf %a, %acc : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  // CHECK: linalg.generic
  // CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{"y"}, {"x"}]>]
  %exp = linalg.generic {indexing_maps = [#matrix, #rows, #matrix],
                         iterator_types = ["parallel", "parallel"]}
      ins(%t, %max : tensor<8x16xf32>, tensor<8xf32>) outs(%m : tensor<8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.subf %a, %b : f32
    %1 = math.exp %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8x16xf32>
  %i1 = linalg.fill ins(%zero : f32) outs(%r : tensor<8xf32>) -> tensor<8xf32>
  // CHECK: linalg.generic
  // CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{"y"}]>]
  %sum = linalg.generic {indexing_maps = [#matrix, #rows],
                         iterator_types = ["parallel", "reduction"]}
      ins(%exp : tensor<8x16xf32>) outs(%i1 : tensor<8xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %0 = arith.addf %a, %acc : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  // CHECK: linalg.generic
  // CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{"y"}, {"x"}]>]
  %div = linalg.generic {indexing_maps = [#matrix, #rows, #matrix],
                         iterator_types = ["parallel", "parallel"]}
      ins(%exp, %sum : tensor<8x16xf32>, tensor<8xf32>) outs(%m : tensor<8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<8x16xf32>
  return %div : tensor<8x16xf32>
}
