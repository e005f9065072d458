//--- stride.mlir
func.func @f(%w: tensor<8x6x4xf32> {nn.param = "w", nn.source = #nn.source<"experts.*.w", [4, 6], offset 0, strides [24, 1, 6]>})
    -> (tensor<8x6x4xf32> {nn.output = "y"}) {
  %0 = nn.silu %w : tensor<8x6x4xf32>
  return %0 : tensor<8x6x4xf32>
}
//--- outside.mlir
func.func @f(%w: tensor<8x6x4xf32> {nn.param = "w", nn.source = #nn.source<"experts.*.w", [4, 5], offset 0, strides [0, 1, 6]>})
    -> (tensor<8x6x4xf32> {nn.output = "y"}) {
  %0 = nn.silu %w : tensor<8x6x4xf32>
  return %0 : tensor<8x6x4xf32>
}
