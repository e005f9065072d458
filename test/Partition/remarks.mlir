// Reasons for collectives, and their bytes. Factors have the letters of the op.
// RUN: tessera-opt %s --pass-pipeline='builtin.module(tessera-propagate,tessera-partition)' \
// RUN:   --remarks-filter='partition.*' --remark-policy=all -o /dev/null 2>&1 | FileCheck %s

dist.mesh @mesh ["x"=4]

// CHECK-DAG: [Analysis] FactorSharding {{.*}} Remark="nn.einsum runs with k {"x"}", bytes=96, bytesOfNextBest=1536
// CHECK-DAG: [Passed] Collective {{.*}} Reason="nn.einsum is {{.*}}, unreduced={"x"} and wanted {{[^,]*, [^,]*}}", Remark="all_reduce over {"x"}", bytes=96, cause="nn.einsum reduces factor k", runnerUp="reduce_scatter over {"x"}; all_gather over {"x"}", us=2.000960e+00, usMore=2.000000e+00
func.func @contract(%x: tensor<4x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}, %w: tensor<64x4xf32>) -> tensor<4x4xf32> {
  %0 = nn.einsum "ik,kj->ij" %x, %w : tensor<4x64xf32>, tensor<64x4xf32> -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// CHECK-DAG: pad: padded arguments and results hold 160 elements for 136 true ones (17.6 % waste)
func.func @pad(%x: tensor<17x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<17x4xf32> {
  %0 = math.exp %x : tensor<17x4xf32>
  return %0 : tensor<17x4xf32>
}

// The reason against a choice that moves less: it would repeat the work.
// CHECK-DAG: [Analysis] FactorSharding {{.*}}Reason="the next best moves data for a shorter time, but divides the work by 1 and not by 4", Remark="nn.einsum runs with k {"x"}"
func.func @repeated(%x: tensor<64x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}, %w: tensor<8x1024xf32>) -> tensor<64x1024xf32> {
  %0 = nn.einsum "ik,kj->ij" %x, %w : tensor<64x8xf32>, tensor<8x1024xf32> -> tensor<64x1024xf32>
  return %0 : tensor<64x1024xf32>
}
