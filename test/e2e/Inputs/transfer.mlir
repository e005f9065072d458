dist.mesh @mesh ["pp"=2]
func.func @transfer(
    %x: tensor<4xf32> {nn.param = "x", nn.init = #nn.init<ones>,
                       dist.sharding = #dist.sharding<@mesh, [{}]>, dist.global_shape = array<i64: 4>})
    -> (tensor<4xf32> {nn.output = "y",
                       dist.sharding = #dist.sharding<@mesh, [{"pp"}]>, dist.global_shape = array<i64: 8>})
    attributes {dist.local} {
  dist.send %x along "pp" 0 to 1 tag 7 on @mesh : tensor<4xf32>
  %0 = dist.recv along "pp" 0 to 1 tag 7 on @mesh : tensor<4xf32>
  return %0 : tensor<4xf32>
}
