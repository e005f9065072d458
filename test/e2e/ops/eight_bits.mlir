// 8-bit floats in kernels: casts of every bf16 number, of f32 numbers between
// them, of ties, infinities and NaN; scales and matmuls; on the host and with the
// kernels of a GPU. The reference is computed from the definitions of the types.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera compile %s --quiet -o %t/host
// RUN: %python %S/../Inputs/eight_bits.py %t/host %t/data | FileCheck %s
// RUN: tessera compile %s --target cuda-emulated --quiet -o %t/gpu
// RUN: %python %S/../Inputs/eight_bits.py %t/gpu %t/data | FileCheck %s

// CHECK: e4m3: 131072 casts, 0 wrong
// CHECK-NEXT: e5m2: 131072 casts, 0 wrong
// CHECK-NEXT: scaled by 0: 0 wrong, scale 1
// CHECK-NEXT: scaled by 1.5e-39: 0 wrong, scale 1
// CHECK-NEXT: scaled by 3: 0 wrong, scale 0.0078125
// CHECK-NEXT: scaled by 448: 0 wrong, scale 1
// CHECK-NEXT: scaled by 449: 0 wrong, scale 2
// CHECK-NEXT: scaled by 1e-37: 0 wrong, scale 1.17549e-38
// CHECK-NEXT: scaled by 3e+38: 0 wrong, scale 1.32923e+36
// CHECK-NEXT: scaled by inf: 0 wrong, scale nan
// CHECK-NEXT: scaled by nan: 0 wrong, scale nan

func.func @casts(%x: tensor<131072xf32> {nn.input = "x"}, %y: tensor<1536xf32> {nn.input = "y"},
                 %one: tensor<1xf32> {nn.input = "amax"}) -> (
    tensor<131072xf32> {nn.output = "e4m3"}, tensor<131072xf32> {nn.output = "e5m2"},
    tensor<1536xf32> {nn.output = "quantized"}, tensor<f32> {nn.output = "scale"}) {
  %0 = arith.truncf %x : tensor<131072xf32> to tensor<131072xf8E4M3FN>
  %1 = arith.extf %0 : tensor<131072xf8E4M3FN> to tensor<131072xf32>
  %2 = arith.truncf %x : tensor<131072xf32> to tensor<131072xf8E5M2>
  %3 = arith.extf %2 : tensor<131072xf8E5M2> to tensor<131072xf32>
  %amax = tensor.collapse_shape %one [] : tensor<1xf32> into tensor<f32>
  %q, %scale = nn.quantize %y by %amax : tensor<1536xf32>, tensor<f32> -> tensor<1536xf8E4M3FN>
  %4 = arith.extf %q : tensor<1536xf8E4M3FN> to tensor<1536xf32>
  return %1, %3, %4, %scale : tensor<131072xf32>, tensor<131072xf32>, tensor<1536xf32>, tensor<f32>
}
