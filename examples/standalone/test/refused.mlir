// An op that does not say what it computes is refused by name where it would be
// computed.
//
// RUN: not toy-run %s --mesh dp=2 --strategy dp 2>&1 | FileCheck %s
// CHECK: refused.mlir:[[@LINE+4]]:8: error: the interpreter does not know 'toy.row_scale'

func.func @f(%x: tensor<8x64xf32> {nn.input = "x", nn.dims = ["batch", "embed"]},
             %s: tensor<8xf32> {nn.input = "s", nn.dims = ["batch"]}) -> tensor<8x64xf32> {
  %y = toy.row_scale %x, %s : tensor<8x64xf32>, tensor<8xf32>
  return %y : tensor<8x64xf32>
}
