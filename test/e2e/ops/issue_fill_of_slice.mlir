// A fill of a slice of a tensor with other uses: it does not read the tensor.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --partitioned %s --no-proof --dump %t/data
// RUN: tessera compile %s --quiet -o %t/prog
// RUN: tessera run %t/prog --inputs %t/data --compare %t/data/expected | FileCheck %s
// CHECK: y: largest difference 0,

func.func @f(%x: tensor<8x4xi64>, %z: tensor<4xi64>) -> (tensor<2xi64> {nn.output = "y"}) attributes {dist.local} {
  %zero = arith.constant 0 : i64
  %slice = tensor.extract_slice %z[2] [2] [1] : tensor<4xi64> to tensor<2xi64>
  %start = linalg.fill ins(%zero : i64) outs(%slice : tensor<2xi64>) -> tensor<2xi64>
  %half = tensor.extract_slice %x[0, 0] [8, 2] [1, 1] : tensor<8x4xi64> to tensor<8x2xi64>
  %0 = linalg.reduce { arith.addi } ins(%half : tensor<8x2xi64>) outs(%start : tensor<2xi64>) dimensions = [0]
  return %0 : tensor<2xi64>
}
