// RUN: split-file %s %t
// RUN: cat %t/zero0.mlir %t/step.mlir > %t/a.mlir && tessera-opt %t/a.mlir --dist-shard-training-state | FileCheck %s --check-prefix=ZERO0
// RUN: cat %t/searched.mlir %t/step.mlir > %t/d.mlir && tessera-opt %t/d.mlir --dist-shard-training-state | FileCheck %s --check-prefix=SEARCHED
// RUN: sed s/auto/tp/ %t/d.mlir | tessera-opt --dist-shard-training-state | FileCheck %s --check-prefix=ZERO0
// RUN: cat %t/zero1.mlir %t/step.mlir > %t/b.mlir && tessera-opt %t/b.mlir --dist-shard-training-state | FileCheck %s --check-prefix=ZERO1
// RUN: sed 's/"dp"=3, "tp"=2/"dp"=5, "tp"=2, "y"=3/; s/zero = 1>/zero = 1>, dist.state_axes = #dist.axes<{"y"}>/' %t/b.mlir | tessera-opt --dist-shard-training-state | FileCheck %s --check-prefix=AXES --implicit-check-not=state_axes
// RUN: cat %t/zero3.mlir %t/step.mlir > %t/c.mlir && tessera-opt %t/c.mlir --dist-shard-training-state | FileCheck %s --check-prefix=ZERO3

// State has its parameter's sharding; without a seed both are tied. A donated
// argument and its result are tied.
// ZERO0: %[[W:[^ ]+]]: tensor<6x8xf32> {{{.*}}dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>{{[^}]*}}nn.param = "w"
// ZERO0-SAME: %[[B:[^ ]+]]: tensor<7x2x6xf32> {dist.donate = 1 : i64, nn.param = "b"}
// ZERO0-SAME: %[[WM:[^ ]+]]: tensor<6x8xf32> {{{.*}}dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>{{[^}]*}}nn.state = "w.m"
// ZERO0-SAME: %[[BM:[^ ]+]]: tensor<7x2x6xf32> {dist.donate = 3 : i64, nn.of = "b", nn.state = "b.m"}
// ZERO0-SAME: tensor<f32> {dist.donate = 4 : i64, dist.sharding = #dist.sharding<@mesh, []>, nn.state = "step"}
// ZERO0-NOT: dist.constraint
// ZERO0: dist.accumulate 2(%{{.*}}) {dist.shardings = [#dist.sharding<@mesh, [{?}, {"tp", ?}]>]}
// ZERO0: %[[NW:.*]] = arith.addf %[[W]],
// ZERO0: dist.group %[[W]], %[[NW]]
// ZERO0: dist.group %[[BM]], %{{.*}}, %[[B]]

// A search decides the sharding of state: without a seed it is free of its parameter.
// SEARCHED: dist.group
// SEARCHED-NOT: dist.group %{{[^,]*}}, %{{[^,]*}}, %

// Over dp too, after all other seeds: the first dimension that divides.
// ZERO1: tensor<6x8xf32> {{{.*}}[{}, {"tp"}]>{{[^}]*}}nn.param = "w"
// ZERO1-SAME: tensor<6x8xf32> {{{.*}}[{"dp"}p2, {"tp"}]>{{[^}]*}}nn.state = "w.m"
// ZERO1-NOT: dist.constraint

// Over the named axes.
// AXES: tensor<6x8xf32> {{{.*}}[{"y"}p2, {"tp"}]>{{[^}]*}}nn.state = "w.m"

// The first use in a micro-batch has its own gather, the others share one.
// ZERO3: %[[W:[^ ]+]]: tensor<6x8xf32> {{{.*}}[{"dp"}p2, {"tp"}]>{{[^}]*}}nn.param = "w"
// ZERO3: dist.accumulate
// ZERO3: %[[G1:.*]] = dist.constraint %[[W]] <@mesh, [{}, {"tp"}]>
// ZERO3-NEXT: arith.negf %[[G1]]
// ZERO3: %[[G2:.*]] = dist.constraint %[[W]] <@mesh, [{}, {"tp"}]>
// ZERO3-NEXT: math.exp %[[G2]]
// ZERO3-NEXT: arith.addf %{{.*}}, %[[G2]]
// ZERO3-NOT: dist.constraint
// ZERO3: arith.addf %[[W]],

//--- zero0.mlir
module attributes {dist.plan = #dist.plan<>} {
dist.mesh @mesh ["dp"=3, "tp"=2]
//--- searched.mlir
module attributes {dist.decisions = "{\"tessera\": \"decisions\", \"version\": 2, \"strategy\": \"auto\"}", dist.plan = #dist.plan<>} {
dist.mesh @mesh ["dp"=3, "tp"=2]
//--- zero1.mlir
module attributes {dist.plan = #dist.plan<zero = 1>} {
dist.mesh @mesh ["dp"=3, "tp"=2]
//--- zero3.mlir
module attributes {dist.plan = #dist.plan<zero = 3>} {
dist.mesh @mesh ["dp"=3, "tp"=2]
//--- step.mlir
func.func @train_step(%w: tensor<6x8xf32> {nn.param = "w", dist.donate = 0 : i64, dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %b: tensor<7x2x6xf32> {nn.param = "b", dist.donate = 1 : i64},
    %wm: tensor<6x8xf32> {nn.state = "w.m", nn.of = "w", dist.donate = 2 : i64},
    %bm: tensor<7x2x6xf32> {nn.state = "b.m", nn.of = "b", dist.donate = 3 : i64},
    %step: tensor<f32> {nn.state = "step", dist.donate = 4 : i64}, %x: tensor<2x6x8xf32>)
    -> (tensor<6x8xf32>, tensor<7x2x6xf32>, tensor<6x8xf32>, tensor<7x2x6xf32>, tensor<f32>) {
  %g = dist.accumulate 2 (%x) : (tensor<2x6x8xf32>) -> tensor<6x8xf32> {
  ^bb0(%part: tensor<6x8xf32>):
    %0 = arith.negf %w : tensor<6x8xf32>
    %1 = math.exp %w : tensor<6x8xf32>
    %2 = arith.addf %1, %w : tensor<6x8xf32>
    %3 = arith.addf %0, %2 : tensor<6x8xf32>
    dist.yield %3 : tensor<6x8xf32>
  }
  %nw = arith.addf %w, %g : tensor<6x8xf32>
  %nwm = arith.addf %wm, %g : tensor<6x8xf32>
  %nb = arith.addf %b, %bm : tensor<7x2x6xf32>
  %nbm = arith.addf %bm, %bm : tensor<7x2x6xf32>
  return %nw, %nb, %nwm, %nbm, %step : tensor<6x8xf32>, tensor<7x2x6xf32>, tensor<6x8xf32>, tensor<7x2x6xf32>, tensor<f32>
}
}
