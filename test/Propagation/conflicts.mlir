// RUN: tessera-opt %s --dist-propagate-shardings | FileCheck %s
// RUN: tessera-opt %s --dist-propagate-shardings --remarks-filter="propagation.*" 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Links on which a byte takes a microsecond.
dist.mesh @mesh ["x"=4, "y"=2, "z"=2] {dist.links = [
  [array<f64: 4.0, 0.0, 1.0e6>], [array<f64: 2.0, 0.0, 1.0e6>], [array<f64: 2.0, 0.0, 1.0e6>],
  array<f64: 0.0, 0.0, 1.0, 1.0>]}

// Equal costs: the first operand wins.
// CHECK-LABEL: func @operand_order
// CHECK-SAME: -> (tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>})
func.func @operand_order(
    %a: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>},
    %b: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"z"}]>})
    -> tensor<16xf32> {
  %0 = arith.addf %a, %b : tensor<16xf32>
  return %0 : tensor<16xf32>
}

// The common prefix propagates; the rest is resolved by order.
// CHECK-LABEL: func @common_prefix
// CHECK-SAME: -> (tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
func.func @common_prefix(
    %a: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}]>},
    %b: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "z"}]>})
    -> (tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{?}], replicated={"y", "z"}>}) {
  // CHECK: arith.addf
  // CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{"x", "y"}]>]
  %0 = arith.addf %a, %b : tensor<16xf32>
  return %0 : tensor<16xf32>
}

// One axis for two dimensions of the matmul. Gathering the small weight is
// cheaper than reducing the large result. Gathering 16x8 f32 over 4
// devices takes 384 bytes; exchanging 64x16 takes 768 and reducing 64x8
// takes 3072.
// REMARK: remark: {{.*}}result of nn.einsum gets dim 0 "x": nn.einsum factor b from operand 0 (argument 0), by 384.00 us against 3840.00", us=3.840000e+02, usOfNextBest=3.840000e+03
// CHECK-LABEL: func @gather_small_weight
// CHECK-SAME: -> (tensor<64x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
func.func @gather_small_weight(
    %a: tensor<64x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %w: tensor<16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> tensor<64x8xf32> {
  %0 = nn.einsum "bk,kn->bn" %a, %w : tensor<64x16xf32>, tensor<16x8xf32> -> tensor<64x8xf32>
  return %0 : tensor<64x8xf32>
}

// Reducing the small result is cheaper than gathering the large weight.
// CHECK-LABEL: func @reduce_small_result
// CHECK-SAME: -> (tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
func.func @reduce_small_result(
    %a: tensor<8x1024xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %w: tensor<1024x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> tensor<8x8xf32> {
  %0 = nn.einsum "bk,kn->bn" %a, %w : tensor<8x1024xf32>, tensor<1024x8xf32> -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// An input with a finer sharding than the output: the op runs with the input's,
// the result keeps its own.
// CHECK-LABEL: func @finer_input
func.func @finer_input(
    %a: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}]>})
    -> (tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) {
  // CHECK: math.exp
  // CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{"x", "y"}]>]
  %0 = math.exp %a : tensor<16xf32>
  return %0 : tensor<16xf32>
}
