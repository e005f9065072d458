// Sums over sub-axes that no list of axes unites, in blocks of 2 and of 3 and
// in overlapping ones, are reduced separately.
// RUN: tessera verify %s --optimizer sgd --lr 1 --clip 0 --weight-decay 0 | FileCheck %s
// CHECK: partition proven
dist.mesh @mesh ["x"=6]

func.func @f(%a: tensor<4x12x4xf64> {nn.param = "a", dist.sharding = #dist.sharding<@mesh, [{}, {"x":(3)2}, {?}]>},
             %b: tensor<4x12x4xf64> {nn.param = "b", dist.sharding = #dist.sharding<@mesh, [{}, {"x":(2)3}, {}]>})
    -> (tensor<f64> {nn.output = "loss"}) {
  %0 = math.copysign %a, %a : tensor<4x12x4xf64>
  %1 = arith.mulf %0, %b : tensor<4x12x4xf64>
  %2 = nn.reduce <sum> %1 dims [0, 1, 2] : tensor<4x12x4xf64> -> tensor<f64>
  return %2 : tensor<f64>
}
