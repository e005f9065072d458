// The cheapest shardings, written as closed seeds.
// RUN: tessera-opt %s --split-input-file --dist-search-shardings | FileCheck %s
// RUN: tessera-opt %s --split-input-file --dist-search-shardings -o /dev/null \
// RUN:   --remarks-filter=propagation --remark-policy=all 2>&1 | FileCheck %s --check-prefix=MORE

// The batch is sharded: nothing moves. All other choices take longer.
// MORE: SearchedSharding | {{.*}}nn.einsum runs with b {"a"}", usMoreAtLeast={{[1-9]}}
dist.mesh @mesh ["a"=4]
// CHECK-LABEL: @batch
// CHECK-SAME: %{{.*}}: tensor<64x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {}]>}
// CHECK-SAME: %{{.*}}: tensor<16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}
// CHECK: nn.einsum {{.*}}{dist.exact = #dist.axes<{}>, dist.factors = [#dist.axes<{"a"}>, #dist.axes<{}>, #dist.axes<{}>], dist.shardings = [#dist.sharding<@mesh, [{"a"}, {}]>]}
func.func @batch(%x: tensor<64x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {}]>}, %w: tensor<16x8xf32>) -> tensor<64x8xf32> {
  %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<64x16xf32>, tensor<16x8xf32> -> tensor<64x8xf32>
  return %0 : tensor<64x8xf32>
}

// -----

// Seeds on a result and on a weight are kept: the product is resharded and no
// operand is gathered.
dist.mesh @mesh ["x"=4, "y"=2]
// CHECK-LABEL: @outer
// CHECK: nn.einsum {{.*}}dist.factors = [#dist.axes<{"x"}>, #dist.axes<{}>, #dist.axes<{"y"}>], dist.shardings = [#dist.sharding<@mesh, [{"y"}, {"x"}]>]
func.func @outer(%a: tensor<8192x8192xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
                 %b: tensor<8192x8192xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<8192x8192xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>}) {
  %0 = nn.einsum "bk,kn->bn" %a, %b : tensor<8192x8192xf32>, tensor<8192x8192xf32> -> tensor<8192x8192xf32>
  return %0 : tensor<8192x8192xf32>
}

// -----

// Two partial products are added before they are reduced.
dist.mesh @mesh ["a"=4]
// CHECK-LABEL: @partial
// CHECK: arith.addf {{.*}}dist.exact = #dist.axes<{"a"}>
func.func @partial(%x: tensor<512x4096xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"a"}]>},
                   %w: tensor<4096x512xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {}]>},
                   %v: tensor<4096x512xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {}]>})
    -> (tensor<512x512xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<512x4096xf32>, tensor<4096x512xf32> -> tensor<512x512xf32>
  %1 = nn.einsum "bk,kn->bn" %x, %v : tensor<512x4096xf32>, tensor<4096x512xf32> -> tensor<512x512xf32>
  %2 = arith.addf %0, %1 : tensor<512x512xf32>
  return %2 : tensor<512x512xf32>
}
