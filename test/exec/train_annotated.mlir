// A forward function with its own shardings is trained without a strategy:
// state has its parameter's sharding, donated arguments keep theirs.
// RUN: tessera verify %s --micro-batches 2 --optimizer sgd --momentum 0.5 --steps 3 | FileCheck %s
// RUN: tessera-opt %s --compile-to="partition training=micro-batches=2" | FileCheck %s --check-prefix=LOCAL

// CHECK: @train_step: 8 ranks (x=4, y=2)
// CHECK-NOT: NO
// CHECK: w2.velocity {{.*}} yes
// CHECK: loss {{.*}} yes

// LOCAL: %arg0: tensor<7x3xf32> {dist.donate = 0 : i64, dist.global_shape = array<i64: 7, 12>, dist.sharding = #dist.sharding<@mesh, [{}, {"y", "x":(1)2}]>, nn.param = "w1"}
// LOCAL-SAME: tensor<7x3xf32> {dist.donate = 3 : i64, dist.global_shape = array<i64: 7, 12>, dist.sharding = #dist.sharding<@mesh, [{}, {"y", "x":(1)2}]>{{[^}]*}}nn.state = "w1.m"
dist.mesh @mesh ["x"=4, "y"=2]

func.func @forward(%x: tensor<8x7xf32> {dist.sharding = #dist.sharding<@mesh, [{"x":(2)2}, {?}]>}, %y: tensor<8x3xf32>,
    %w1: tensor<7x12xf32> {nn.param = "w1", dist.sharding = #dist.sharding<@mesh, [{}, {"y", "x":(1)2}]>},
    %b1: tensor<12xf32> {nn.param = "b1"}, %w2: tensor<12x3xf32> {nn.param = "w2"})
    -> (tensor<f32> {nn.output = "loss"}) {
  %0 = nn.einsum "bi,ij->bj" %x, %w1 : tensor<8x7xf32>, tensor<7x12xf32> -> tensor<8x12xf32>
  %1 = nn.broadcast %b1 dims [1] : tensor<12xf32> -> tensor<8x12xf32>
  %2 = arith.addf %0, %1 : tensor<8x12xf32>
  %3 = math.tanh %2 : tensor<8x12xf32>
  %4 = nn.einsum "bj,jk->bk" %3, %w2 : tensor<8x12xf32>, tensor<12x3xf32> -> tensor<8x3xf32>
  %5 = arith.subf %4, %y : tensor<8x3xf32>
  %6 = arith.mulf %5, %5 : tensor<8x3xf32>
  %7 = nn.reduce <sum> %6 dims [0, 1] : tensor<8x3xf32> -> tensor<f32>
  return %7 : tensor<f32>
}
