// RUN: tessera-opt %s --rt-set-target=target=cuda | FileCheck %s
// RUN: not tessera-opt %s --rt-set-target=target=tpu 2>&1 | FileCheck %s --check-prefix=ERROR

// CHECK: module attributes {rt.target = "cuda"}
// ERROR: expects target host, cuda or cuda-emulated but got 'tpu'
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
