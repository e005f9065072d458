// Decisions that a module carries become the shardings of its values, and are dropped. A
// search would not shard the second operand.
// RUN: tessera-opt %s --dist-replay-decisions | FileCheck %s
// RUN: tessera-opt %s --tessera-propagate | FileCheck %s
// Nothing is left for a second run.
// RUN: tessera-opt %s --dist-replay-decisions --dist-replay-decisions | FileCheck %s

// CHECK-NOT: dist.decisions
// CHECK: func.func @f
// CHECK-SAME: tensor<64x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {}]>}
// CHECK-SAME: tensor<16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"a"}]>}
// CHECK: nn.einsum {{.*}}dist.factors = [#dist.axes<{"a"}>, #dist.axes<{}>, #dist.axes<{}>]
module attributes {dist.decisions = "{\"tessera\": \"decisions\", \"version\": 2, \"strategy\": \"auto\", \"mesh\": \"#dist.mesh<[\\\"a\\\"=4]>\", \"arguments\": [{\"attributes\": [\"#dist.sharding<@mesh, [{}, {\\\"a\\\"}]>\"], \"key\": \": tensor<16x8xf32>\", \"seen\": 1}, {\"attributes\": [\"#dist.sharding<@mesh, [{\\\"a\\\"}, {}]>\"], \"key\": \": tensor<64x16xf32>\", \"seen\": 1}], \"ops\": [{\"attributes\": [\"{dist.exact = #dist.axes<{}>, dist.factors = [#dist.axes<{\\\"a\\\"}>, #dist.axes<{}>, #dist.axes<{}>], dist.shardings = [#dist.sharding<@mesh, [{\\\"a\\\"}, {}]>]}\"], \"key\": \"nn.einsum ([b,k],[k,n])->([b,n]) {b=64, k=16 sum, n=8} : tensor<64x8xf32> of argument, argument to func.return\", \"seen\": 1}], \"results\": [{\"attributes\": [\"#dist.sharding<@mesh, [{\\\"a\\\"}, {}]>\"], \"key\": \"tensor<64x8xf32>\", \"seen\": 1}], \"sums\": []}"} {
  dist.mesh @mesh ["a"=4]
  func.func @f(%x: tensor<64x16xf32>, %w: tensor<16x8xf32>) -> tensor<64x8xf32> {
    %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<64x16xf32>, tensor<16x8xf32> -> tensor<64x8xf32>
    return %0 : tensor<64x8xf32>
  }
}
