// Buckets, and their expansions: members of any size and rank, along any
// dimension, with unaligned sizes; gathers and scatters over some of the axes.
// One device's result is the same with and without. A bucket is proven as it
// is; the buffer of an expanded one has no counterpart in the reference.
// RUN: tessera verify %s --integers --tolerance 0 | FileCheck %s
// RUN: tessera verify %s --integers --tolerance 0 | FileCheck %s --check-prefix=PROVEN
// PROVEN-COUNT-4: partition proven
// RUN: not tessera verify %s --integers --tolerance 0 --passes "builtin.module(tessera-propagate,tessera-partition,func.func(dist-expand-buckets))" | FileCheck %s
// RUN: tessera-opt %s --tessera-propagate --tessera-partition | FileCheck %s --check-prefix=BUCKETS
// RUN: tessera-opt %s --pass-pipeline="builtin.module(tessera-propagate,tessera-partition,func.func(dist-expand-buckets))" | FileCheck %s --check-prefix=EXPANDED

dist.mesh @mesh ["x"=2, "y"=4]

// EXPANDED-NOT: dist.bucket
// CHECK-LABEL: @reduced:
// CHECK-COUNT-6: yes
// CHECK: all_reduce 1
// BUCKETS-LABEL: func.func @reduced(
// BUCKETS: dist.bucket
func.func @reduced(%a0: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}, %a1: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>}, %a2: tensor<8x3x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}]>}, %a3: tensor<8x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}]>}, %a4: tensor<8x7xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}, %a5: tensor<8x2x3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}, {}]>})
    -> (tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}, tensor<f32> {dist.sharding = #dist.sharding<@mesh, []>}, tensor<3x5xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}, tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}, tensor<7xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}, tensor<2x3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}]>}) {
  %0 = nn.reduce <sum> %a0 dims [0] : tensor<8x16xf32> -> tensor<16xf32>
  %1 = nn.reduce <sum> %a1 dims [0] : tensor<8xf32> -> tensor<f32>
  %2 = nn.reduce <sum> %a2 dims [0] : tensor<8x3x5xf32> -> tensor<3x5xf32>
  %3 = nn.reduce <sum> %a3 dims [0] : tensor<8x4x4xf32> -> tensor<4x4xf32>
  %4 = nn.reduce <sum> %a4 dims [0] : tensor<8x7xf32> -> tensor<7xf32>
  %5 = nn.reduce <sum> %a5 dims [0] : tensor<8x2x3x4xf32> -> tensor<2x3x4xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<16xf32>, tensor<f32>, tensor<3x5xf32>, tensor<4x4xf32>, tensor<7xf32>, tensor<2x3x4xf32>
}

// CHECK-LABEL: @largest:
// CHECK-COUNT-3: yes
// CHECK: all_reduce 1
// BUCKETS-LABEL: func.func @largest(
// BUCKETS: dist.bucket
func.func @largest(%a0: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}, %a1: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>}, %a2: tensor<8x3x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}]>})
    -> (tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}, tensor<f32> {dist.sharding = #dist.sharding<@mesh, []>}, tensor<3x5xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = nn.reduce <max> %a0 dims [0] : tensor<8x16xf32> -> tensor<16xf32>
  %1 = nn.reduce <max> %a1 dims [0] : tensor<8xf32> -> tensor<f32>
  %2 = nn.reduce <max> %a2 dims [0] : tensor<8x3x5xf32> -> tensor<3x5xf32>
  return %0, %1, %2 : tensor<16xf32>, tensor<f32>, tensor<3x5xf32>
}

// Shards of any dimension.
// CHECK-LABEL: @scattered:
// CHECK-COUNT-6: yes
// CHECK: reduce_scatter 1
// BUCKETS-LABEL: func.func @scattered(
// BUCKETS: dist.bucket
func.func @scattered(%a0: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced={"y"}>}, %a1: tensor<8x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], unreduced={"y"}>}, %a2: tensor<3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], unreduced={"y"}>}, %a3: tensor<2x8x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}], unreduced={"y"}>}, %a4: tensor<3x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}], unreduced={"y"}>}, %a5: tensor<16x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], unreduced={"y"}>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>}, tensor<8x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}, tensor<3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>}, tensor<2x8x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}]>}, tensor<3x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}]>}, tensor<16x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  %0 = arith.addf %a0, %a0 : tensor<4xf32>
  %1 = arith.addf %a1, %a1 : tensor<8x3xf32>
  %2 = arith.addf %a2, %a2 : tensor<3x4xf32>
  %3 = arith.addf %a3, %a3 : tensor<2x8x3xf32>
  %4 = arith.addf %a4, %a4 : tensor<3x2x4xf32>
  %5 = arith.addf %a5, %a5 : tensor<16x4xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<4xf32>, tensor<8x3xf32>, tensor<3x4xf32>, tensor<2x8x3xf32>, tensor<3x2x4xf32>, tensor<16x4xf32>
}

// CHECK-LABEL: @gathered:
// CHECK-COUNT-12: yes
// CHECK: all_gather 1
// BUCKETS-LABEL: func.func @gathered(
// BUCKETS: dist.bucket
func.func @gathered(%a0: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>}, %a1: tensor<8x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}, %a2: tensor<3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>}, %a3: tensor<2x8x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}]>}, %a4: tensor<3x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}]>}, %a5: tensor<16x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}, tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>}, tensor<8x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}, tensor<8x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}, tensor<3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}, tensor<3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>}, tensor<2x8x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}]>}, tensor<2x8x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}]>}, tensor<3x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}]>}, tensor<3x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}]>}, tensor<16x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}, tensor<16x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  %0 = arith.mulf %a0, %a0 : tensor<4xf32>
  %g0 = dist.constraint %0 <@mesh, [{}]> : tensor<4xf32>
  %1 = arith.mulf %a1, %a1 : tensor<8x3xf32>
  %g1 = dist.constraint %1 <@mesh, [{}, {}]> : tensor<8x3xf32>
  %2 = arith.mulf %a2, %a2 : tensor<3x4xf32>
  %g2 = dist.constraint %2 <@mesh, [{}, {}]> : tensor<3x4xf32>
  %3 = arith.mulf %a3, %a3 : tensor<2x8x3xf32>
  %g3 = dist.constraint %3 <@mesh, [{}, {}, {}]> : tensor<2x8x3xf32>
  %4 = arith.mulf %a4, %a4 : tensor<3x2x4xf32>
  %g4 = dist.constraint %4 <@mesh, [{}, {}, {}]> : tensor<3x2x4xf32>
  %5 = arith.mulf %a5, %a5 : tensor<16x4xf32>
  %g5 = dist.constraint %5 <@mesh, [{}, {}]> : tensor<16x4xf32>
  return %g0, %0, %g1, %1, %g2, %2, %g3, %3, %g4, %4, %g5, %5 : tensor<4xf32>, tensor<4xf32>, tensor<8x3xf32>, tensor<8x3xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<2x8x3xf32>, tensor<2x8x3xf32>, tensor<3x2x4xf32>, tensor<3x2x4xf32>, tensor<16x4xf32>, tensor<16x4xf32>
}
