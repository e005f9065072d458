// Sums over no elements, and empty tensors, on several devices: reduced over
// devices, padded, gathered.
// RUN: tessera verify %s | FileCheck %s
// CHECK-COUNT-3: partition proven
dist.mesh @mesh ["x"=3]

func.func @matmul(%a: tensor<12x7x0xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"x"}]>},
                  %b: tensor<12x0x0xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"x", ?}]>}) -> tensor<12x7x0xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<12x7x0xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<12x7x0xf32>) -> tensor<12x7x0xf32>
  %0 = linalg.batch_matmul ins(%a, %b : tensor<12x7x0xf32>, tensor<12x0x0xf32>) outs(%f : tensor<12x7x0xf32>) -> tensor<12x7x0xf32>
  return %0 : tensor<12x7x0xf32>
}

func.func @sum(%a: tensor<4x0xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) -> tensor<4xf32> {
  %0 = nn.reduce <sum> %a dims [1] : tensor<4x0xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

func.func @padded(%a: tensor<0x4xf32>, %b: tensor<0x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<0x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = arith.addf %a, %b : tensor<0x4xf32>
  return %0 : tensor<0x4xf32>
}
