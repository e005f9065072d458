// RUN: tessera-opt %s --dist-explain-shardings | FileCheck %s
// RUN: tessera-opt %s --dist-propagate-shardings=explain | FileCheck %s
// RUN: tessera-opt %s --dist-explain-shardings --remarks-filter="propagation.*" 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// The explained module is valid and parses again.
// RUN: tessera-opt %s --dist-explain-shardings | tessera-opt | FileCheck %s

// Links on which a byte takes a microsecond.
dist.mesh @mesh ["dp"=2, "tp"=2] {dist.links = [[array<f64: 2.0, 0.0, 1.0e6>], [array<f64: 2.0, 0.0, 1.0e6>], array<f64: 0.0, 0.0, 1.0, 1.0>]}

// CHECK-LABEL: func @f
// CHECK-SAME: dist.why = ["dim 0 \22dp\22: seed of argument 0 \22tokens\22"]
// CHECK-SAME: dist.why = ["dim 1 \22tp\22: seed of argument 1 \22w1\22"]
// CHECK-SAME: dist.why = ["dim 0 \22tp\22: nn.einsum factor k from operand 0 (result of nn.gelu), seed of argument 1 \22w1\22"]
// CHECK-SAME: -> (tensor<8x16xf32> {
// CHECK-SAME: dist.why = ["dim 0 \22dp\22: nn.einsum factor b from operand 0 (result of nn.gelu), seed of argument 0 \22tokens\22"]
// REMARK: remark: {{.*}}argument 0: dim 0 "dp": seed of argument 0 "tokens"
// REMARK: remark: {{.*}}dim 1 "tp": nn.einsum factor n from operand 1 (argument 1 "w1")
func.func @f(
    %x: tensor<8x16xf32> {nn.input = "tokens", dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>},
    %w1: tensor<16x32xf32> {nn.param = "w1", dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %w2: tensor<32x16xf32> {nn.param = "w2"}) -> tensor<8x16xf32> {
  // CHECK: nn.einsum "bk,kn->bn"
  // CHECK-SAME: dist.why = ["dim 0 \22dp\22: nn.einsum factor b from operand 0 (argument 0 \22tokens\22)", "dim 1 \22tp\22: nn.einsum factor n from operand 1 (argument 1 \22w1\22)"]
  %0 = nn.einsum "bk,kn->bn" %x, %w1 : tensor<8x16xf32>, tensor<16x32xf32> -> tensor<8x32xf32>
  %1 = nn.gelu <tanh> %0 : tensor<8x32xf32>
  %2 = nn.einsum "bk,kn->bn" %1, %w2 : tensor<8x32xf32>, tensor<32x16xf32> -> tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}

// The explanation names constraints and decisions by cost.
// CHECK-LABEL: func @by_cost
func.func @by_cost(
    %a: tensor<64x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>},
    %w: tensor<16x8xf32>) -> tensor<64x8xf32> {
  // CHECK: %{{[0-9]+}} = dist.constraint
  // CHECK-SAME: dist.why = ["dim 0 \22tp\22: seed of dist.constraint"]
  %0 = dist.constraint %w <@mesh, [{"tp"}, {}]> : tensor<16x8xf32>
  // Gathering 16x8 f32 over 2 devices takes 256 bytes, exchanging 64x16 and
  // reducing 64x8 takes 1024 + 2048.
  // CHECK: %{{[0-9]+}} = nn.einsum
  // CHECK-SAME: dist.why = ["dim 0 \22tp\22: nn.einsum factor b from operand 0 (argument 0), by 256.00 us against 3072.00"]
  %1 = nn.einsum "bk,kn->bn" %a, %0 : tensor<64x16xf32>, tensor<16x8xf32> -> tensor<64x8xf32>
  return %1 : tensor<64x8xf32>
}
