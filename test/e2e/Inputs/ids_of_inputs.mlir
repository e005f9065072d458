dist.mesh @mesh ["x"=1]
func.func @ids(%table: tensor<11x4xf32> {nn.input = "table", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
               %ids: tensor<2x3xi32> {nn.input = "ids"}, %scores: tensor<2x3x7xf32> {nn.input = "scores"},
               %targets: tensor<2x3xi64> {nn.input = "targets"},
               %free: tensor<3xi32> {nn.input = "free"})
    -> (tensor<3x2x4xf32> {nn.output = "rows"}, tensor<2x3xf32> {nn.output = "loss"}, tensor<3xi32> {nn.output = "same"}) {
  %turned = nn.transpose %ids [1, 0] : tensor<2x3xi32> -> tensor<3x2xi32>
  %0 = nn.embedding %table, %turned : tensor<11x4xf32>, tensor<3x2xi32> -> tensor<3x2x4xf32>
  %1 = nn.cross_entropy %scores, %targets ignore -1 : tensor<2x3x7xf32>, tensor<2x3xi64> -> tensor<2x3xf32>
  return %0, %1, %free : tensor<3x2x4xf32>, tensor<2x3xf32>, tensor<3xi32>
}
