// A small model with a loss: an embedding, norms, linear layers, activations.
func.func @forward(%table: tensor<32x16xf32> {nn.param = "table", nn.init = #nn.init<normal, 0.1>},
                   %w1: tensor<16x48xf32> {nn.param = "w1", nn.init = #nn.init<normal, 0.1>},
                   %b1: tensor<48xf32> {nn.param = "b1", nn.init = #nn.init<zeros>},
                   %w2: tensor<48x16xf32> {nn.param = "w2", nn.init = #nn.init<normal, 0.1>},
                   %gain: tensor<16xf32> {nn.param = "gain", nn.init = #nn.init<ones>},
                   %tokens: tensor<10xi32> {nn.input = "tokens", nn.vocab = 32, nn.dims = ["batch"]},
                   %labels: tensor<10xi32> {nn.input = "labels", nn.vocab = 32, nn.dims = ["batch"]})
    -> (tensor<f32> {nn.output = "loss"}) {
  %0 = nn.embedding %table, %tokens : tensor<32x16xf32>, tensor<10xi32> -> tensor<10x16xf32>
  %1 = nn.rms_norm %0, %gain eps 1.0e-5 : tensor<10x16xf32>, tensor<16xf32>
  %2 = nn.einsum "sd,df->sf" %1, %w1 : tensor<10x16xf32>, tensor<16x48xf32> -> tensor<10x48xf32>
  %3 = nn.broadcast %b1 dims [1] : tensor<48xf32> -> tensor<10x48xf32>
  %4 = arith.addf %2, %3 : tensor<10x48xf32>
  %5 = nn.gelu <tanh> %4 : tensor<10x48xf32>
  %6 = nn.einsum "sf,fd->sd" %5, %w2 : tensor<10x48xf32>, tensor<48x16xf32> -> tensor<10x16xf32>
  %7 = arith.addf %0, %6 : tensor<10x16xf32>
  %8 = nn.einsum "sd,vd->sv" %7, %table : tensor<10x16xf32>, tensor<32x16xf32> -> tensor<10x32xf32>
  %9 = nn.cross_entropy %8, %labels ignore -100 : tensor<10x32xf32>, tensor<10xi32> -> tensor<10xf32>
  %10 = nn.reduce <sum> %9 dims [0] : tensor<10xf32> -> tensor<f32>
  return %10 : tensor<f32>
}
