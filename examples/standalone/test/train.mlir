// Ops with a meaning are trained and compiled: the step of four ranks equals the
// one of the original, and the program of four ranks learns as that of one.
//
// RUN: rm -rf %t && mkdir %t
// RUN: toy-run %s --mesh dp=2,tp=2 --strategy dp,tp --training optimizer=sgd -o %t/four | FileCheck %s
// RUN: toy-run %s --mesh dp=2,tp=2 --strategy dp,tp,zero=3 --training optimizer=sgd | FileCheck %s
// RUN: toy-run %s --mesh dp=1 --strategy dp --training optimizer=sgd -o %t/one | FileCheck %s
// CHECK: loss
//
// RUN: %t/one --ranks 1 --data %s --steps 3 > %t/one.log
// RUN: %t/four --ranks 4 --data %s --steps 3 > %t/four.log
// RUN: FileCheck %s --check-prefix=STEPS < %t/one.log
// RUN: FileCheck %s --check-prefix=STEPS < %t/four.log
// STEPS: {{^}}      1   45.013
// STEPS: {{^}}      2   44.945
// STEPS: {{^}}      3   44.607

func.func @forward(
    %table: tensor<259x16xf32> {nn.param = "table", nn.init = #nn.init<normal, 0.2>, nn.dims = ["vocab", "embed"]},
    %w1: tensor<16x64xf32> {nn.param = "w1", nn.init = #nn.init<normal, 0.2>, nn.dims = ["embed", "ffn"]},
    %w2: tensor<16x64xf32> {nn.param = "w2", nn.init = #nn.init<normal, 0.2>, nn.dims = ["embed", "ffn"]},
    %w3: tensor<64x259xf32> {nn.param = "w3", nn.init = #nn.init<normal, 0.2>, nn.dims = ["ffn", "vocab"]},
    %tokens: tensor<8xi32> {nn.input = "tokens", nn.vocab = 259, nn.dims = ["batch"]},
    %labels: tensor<8xi32> {nn.input = "labels", nn.vocab = 259, nn.dims = ["batch"]})
    -> (tensor<f32> {nn.output = "loss"}) {
  %x = nn.embedding %table, %tokens : tensor<259x16xf32>, tensor<8xi32> -> tensor<8x16xf32>
  %n = toy.l2norm %x : tensor<8x16xf32>
  %0 = nn.einsum "bd,df->bf" %n, %w1 : tensor<8x16xf32>, tensor<16x64xf32> -> tensor<8x64xf32>
  %1 = nn.einsum "bd,df->bf" %n, %w2 : tensor<8x16xf32>, tensor<16x64xf32> -> tensor<8x64xf32>
  %2 = toy.gate %0, %1 : tensor<8x64xf32>
  %3 = toy.l2norm %2 : tensor<8x64xf32>
  %4 = nn.einsum "bf,fd->bd" %3, %w3 : tensor<8x64xf32>, tensor<64x259xf32> -> tensor<8x259xf32>
  %5 = nn.cross_entropy %4, %labels ignore -100 : tensor<8x259xf32>, tensor<8xi32> -> tensor<8xf32>
  %6 = nn.reduce <sum> %5 dims [0] : tensor<8xf32> -> tensor<f32>
  return %6 : tensor<f32>
}
