// RUN: tessera-opt %s --dist-build-train-step --split-input-file --verify-diagnostics

module attributes {dist.plan = #dist.plan<micro_batches = 4>} {
func.func @uneven(%x: tensor<6x8xf32>, %w: tensor<8xf32> {nn.param = "w"}) -> (tensor<f32> {nn.output = "loss"}) {
  // expected-error @+1 {{'nn.einsum' op expects a batch that 4 micro-batches divide but got 6}}
  %0 = nn.einsum "bd,d->b" %x, %w : tensor<6x8xf32>, tensor<8xf32> -> tensor<6xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<6xf32> -> tensor<f32>
  return %1 : tensor<f32>
}
}
// -----
module attributes {dist.plan = #dist.plan<micro_batches = 2>} {
func.func @mixes_samples(%x: tensor<6x8xf32>, %w: tensor<8xf32> {nn.param = "w"}) -> (tensor<f32> {nn.output = "loss"}) {
  %0 = nn.einsum "bd,d->b" %x, %w : tensor<6x8xf32>, tensor<8xf32> -> tensor<6xf32>
  // expected-error @+1 {{'nn.softmax' op expects the samples of a batch to be independent or summed where micro-batches are used}}
  %1 = nn.softmax %0 dim 0 : tensor<6xf32>
  %2 = nn.reduce <sum> %1 dims [0] : tensor<6xf32> -> tensor<f32>
  return %2 : tensor<f32>
}
}
// -----
module attributes {dist.plan = #dist.plan<micro_batches = 2>} {
func.func @not_linear(%x: tensor<6x8xf32>, %w: tensor<8xf32> {nn.param = "w"}) -> (tensor<f32> {nn.output = "loss"}) {
  %0 = nn.einsum "bd,d->b" %x, %w : tensor<6x8xf32>, tensor<8xf32> -> tensor<6xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<6xf32> -> tensor<f32>
  // expected-error @+1 {{'math.exp' op expects to be linear in a sum over the batch where micro-batches are used}}
  %2 = math.exp %1 : tensor<f32>
  return %2 : tensor<f32>
}
}
// -----
module attributes {dist.plan = #dist.plan<micro_batches = 2>} {
// expected-error @+1 {{expects a loss that is a sum over the batch where micro-batches are used}}
func.func @no_sum(%x: tensor<6x8xf32>, %w: tensor<8xf32> {nn.param = "w"}) -> (tensor<f32> {nn.output = "loss"}) {
  %0 = nn.reduce <sum> %w dims [0] : tensor<8xf32> -> tensor<f32>
  return %0 : tensor<f32>
}
}
// -----
module attributes {dist.plan = #dist.plan<>} {
// expected-error @+1 {{parameter 'w' expects precision f32 but got 'tensor<8xbf16>'}}
func.func @precision(%x: tensor<6x8xbf16>, %w: tensor<8xbf16> {nn.param = "w"}) -> (tensor<f32> {nn.output = "loss"}) {
  %0 = nn.einsum "bd,d->b" %x, %w : tensor<6x8xbf16>, tensor<8xbf16> -> tensor<6xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<6xf32> -> tensor<f32>
  return %1 : tensor<f32>
}
}
// -----
module attributes {dist.plan = #dist.plan<groups = "w:decay=0;v:decay=0">} {
// expected-error @+1 {{expects a parameter that the group 'v' matches but got 'w'; did you mean 'w'?}}
func.func @unmatched(%x: tensor<6x8xf32>, %w: tensor<8xf32> {nn.param = "w"}) -> (tensor<f32> {nn.output = "loss"}) {
  %0 = nn.reduce <sum> %w dims [0] : tensor<8xf32> -> tensor<f32>
  return %0 : tensor<f32>
}
}
// -----
module attributes {dist.plan = #dist.plan<groups = "[w:decay=0">} {
// expected-error @+1 {{expects a pattern of names but got '[w'}}
func.func @pattern(%x: tensor<6x8xf32>, %w: tensor<8xf32> {nn.param = "w"}) -> (tensor<f32> {nn.output = "loss"}) {
  %0 = nn.reduce <sum> %w dims [0] : tensor<8xf32> -> tensor<f32>
  return %0 : tensor<f32>
}
}
// -----
module attributes {dist.plan = #dist.plan<>} {
func.func @one(%x: tensor<6xf32>, %w: tensor<6xf32> {nn.param = "w"}) -> (tensor<f32> {nn.output = "loss"}) {
  %0 = nn.reduce <sum> %w dims [0] : tensor<6xf32> -> tensor<f32>
  return %0 : tensor<f32>
}
// expected-error @+1 {{expects one function with parameters and a loss but got @one and @two}}
func.func @two(%x: tensor<6xf32>, %w: tensor<6xf32> {nn.param = "w"}) -> (tensor<f32> {nn.output = "loss_sum"}) {
  %0 = nn.reduce <sum> %w dims [0] : tensor<6xf32> -> tensor<f32>
  return %0 : tensor<f32>
}
}
// -----
module attributes {dist.plan = #dist.plan<>} {
// expected-error @+1 {{expects a loss and a number of tokens that are float tensors of rank 0 but got 'tensor<6xf32>'}}
func.func @vector(%x: tensor<6xf32>, %w: tensor<6xf32> {nn.param = "w"}) -> (tensor<6xf32> {nn.output = "loss"}) {
  return %w : tensor<6xf32>
}
}
// -----
// A field that only the cost model supports.
// expected-error @+1 {{offload: expects none to be compiled but got host}}
module attributes {dist.plan = #dist.plan<offload = "host">} {}
// -----
// expected-error @+1 {{optimizer: expects adamw or sgd to be compiled but got adamw-8bit}}
module attributes {dist.plan = #dist.plan<optimizer = "adamw-8bit">} {}
