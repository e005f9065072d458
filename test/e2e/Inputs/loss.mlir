dist.mesh @mesh ["y"=4]
func.func @main(
    %x: tensor<16x9xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>}, %l: tensor<16xi32>)
    -> (tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %0 = nn.cross_entropy %x, %l ignore -100 : tensor<16x9xf32>, tensor<16xi32> -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
