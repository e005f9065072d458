// Ops that run with the factors in dist.exact, on whole and on partial
// operands.
// RUN: tessera verify %s --seeds 2 | FileCheck %s
// RUN: tessera-opt %s --dist-propagate-shardings --dist-insert-reshards \
// RUN:   | FileCheck %s --check-prefix=IR

dist.mesh @mesh ["x"=4, "y"=2]

// Computed where its operands are; the result is resharded.
// CHECK-LABEL: @product
// CHECK: yes
// CHECK: collective_permute 1
// CHECK-NOT: all_gather
// IR-LABEL: @product
// IR: %[[C:.*]] = nn.einsum {{.*}}{dist.shardings = [#dist.sharding<@mesh, [{"x"}, {"y"}]>]}
// IR: dist.reshard %[[C]]
func.func @product(
    %a: tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>}) {
  %0 = nn.einsum "bk,kn->bn" %a, %b {dist.exact = #dist.axes<{}>, dist.factors = [#dist.axes<{"x"}>, #dist.axes<{}>, #dist.axes<{"y"}>], dist.shardings = [#dist.sharding<@mesh, [{"y"}, {"x"}]>]} : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}

// Gathered whole, though the operands would give k an axis.
// CHECK-LABEL: @no_axes
// CHECK: yes
// CHECK: all_gather
// IR-LABEL: @no_axes
// IR: nn.einsum {{.*}}{dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]}
func.func @no_axes(
    %a: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
    %b: tensor<16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %0 = nn.einsum "bk,kn->bn" %a, %b {dist.exact = #dist.axes<{}>, dist.factors = [#dist.axes<{}>, #dist.axes<{}>, #dist.axes<{}>]} : tensor<8x16xf32>, tensor<16x8xf32> -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// Two partial products are added, then reduced once.
// CHECK-LABEL: @partial_sum
// CHECK: yes
// CHECK: all_reduce 1
// IR-LABEL: @partial_sum
// IR: arith.addf {{.*}}unreduced={"x"}
// IR-NEXT: dist.reshard
func.func @partial_sum(
    %a: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
    %b: tensor<16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %0 = nn.einsum "bk,kn->bn" %a, %b {dist.shardings = [#dist.sharding<@mesh, [{}, {}], unreduced={"x"}>]} : tensor<8x16xf32>, tensor<16x8xf32> -> tensor<8x8xf32>
  %1 = nn.einsum "bk,kn->bn" %a, %b {dist.shardings = [#dist.sharding<@mesh, [{}, {}], unreduced={"x"}>]} : tensor<8x16xf32>, tensor<16x8xf32> -> tensor<8x8xf32>
  %2 = arith.addf %0, %1 {dist.exact = #dist.axes<{"x"}>, dist.factors = [#dist.axes<{}>, #dist.axes<{}>], dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// A weight is gathered for each product, since both need it separately.
// CHECK-LABEL: @gathered_apart
// CHECK: yes
// CHECK: all_gather 2
// IR-LABEL: @gathered_apart
// IR: %[[W:.*]] = dist.reshard %arg1
// IR-NEXT: %[[H:.*]] = nn.einsum "bk,kn->bn" %arg0, %[[W]] {dist.shardings
// IR-NEXT: %[[AGAIN:.*]] = dist.reshard %arg1
// IR-NEXT: nn.einsum "bn,kn->bk" %[[H]], %[[AGAIN]] {dist.shardings
func.func @gathered_apart(
    %a: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
    %w: tensor<16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = nn.einsum "bk,kn->bn" %a, %w {dist.apart = array<i64: 1>, dist.exact = #dist.axes<{}>, dist.factors = [#dist.axes<{}>, #dist.axes<{}>, #dist.axes<{}>], dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : tensor<8x16xf32>, tensor<16x8xf32> -> tensor<8x8xf32>
  %1 = nn.einsum "bn,kn->bk" %0, %w {dist.apart = array<i64: 1>, dist.exact = #dist.axes<{}>, dist.factors = [#dist.axes<{}>, #dist.axes<{}>, #dist.axes<{}>], dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : tensor<8x8xf32>, tensor<16x8xf32> -> tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}

// A partial operand that may not stay partial is reduced first.
// CHECK-LABEL: @reduced_first
// CHECK: yes
// IR-LABEL: @reduced_first
// IR: dist.reshard
// IR: arith.negf {{.*}}[{"y"}, {}]
func.func @reduced_first(
    %a: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
    %b: tensor<16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %0 = nn.einsum "bk,kn->bn" %a, %b {dist.shardings = [#dist.sharding<@mesh, [{}, {}], unreduced={"x"}>]} : tensor<8x16xf32>, tensor<16x8xf32> -> tensor<8x8xf32>
  %1 = arith.negf %0 {dist.exact = #dist.axes<{}>, dist.factors = [#dist.axes<{"y"}>, #dist.axes<{}>]} : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
