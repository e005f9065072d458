// Polynomials instead of library calls are within a few units in the last place.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera compile %s --quiet -o %t/prog
// RUN: %python %S/Inputs/math_accuracy.py %t/prog %t/data | FileCheck %s

// CHECK: exp: {{[0-2]}}.{{[0-9]+}} ulp
// CHECK: log: {{[0-2]}}.{{[0-9]+}} ulp
// CHECK: tanh: {{[0-5]}}.{{[0-9]+}} ulp
// CHECK: erf: {{[0-5]}}.{{[0-9]+}} ulp
// CHECK: sin: {{[0-2]}}.{{[0-9]+}} ulp
// CHECK: cos: {{[0-2]}}.{{[0-9]+}} ulp
// CHECK: rsqrt: {{[0-2]}}.{{[0-9]+}} ulp

func.func @math(%x_exp: tensor<4096xf32> {nn.input = "x_exp"}, %x_log: tensor<4096xf32> {nn.input = "x_log"},
                %x_tanh: tensor<4096xf32> {nn.input = "x_tanh"}, %x_erf: tensor<4096xf32> {nn.input = "x_erf"},
                %x_sin: tensor<4096xf32> {nn.input = "x_sin"}, %x_cos: tensor<4096xf32> {nn.input = "x_cos"},
                %x_rsqrt: tensor<4096xf32> {nn.input = "x_rsqrt"}) -> (
    tensor<4096xf32> {nn.output = "exp"}, tensor<4096xf32> {nn.output = "log"}, tensor<4096xf32> {nn.output = "tanh"},
    tensor<4096xf32> {nn.output = "erf"}, tensor<4096xf32> {nn.output = "sin"}, tensor<4096xf32> {nn.output = "cos"},
    tensor<4096xf32> {nn.output = "rsqrt"}) {
  %0 = math.exp %x_exp : tensor<4096xf32>
  %1 = math.log %x_log : tensor<4096xf32>
  %2 = math.tanh %x_tanh : tensor<4096xf32>
  %3 = math.erf %x_erf : tensor<4096xf32>
  %4 = math.sin %x_sin : tensor<4096xf32>
  %5 = math.cos %x_cos : tensor<4096xf32>
  %6 = math.rsqrt %x_rsqrt : tensor<4096xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>
}
