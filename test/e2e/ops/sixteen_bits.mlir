// Casts to bf16 and f16 from f32, f64 and i32, and arithmetic in them, for each
// level of x86-64 that this machine runs: equal in bits to rounding to the
// nearest number, ties to even. Denormals are exact, and a NaN keeps the upper
// bits of its payload.

// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/../Inputs/sixteen_bits.py %s %t | FileCheck %s

// CHECK: {{^}}x86-64: [[COUNT:[0-9]+]] numbers
// CHECK-NEXT: bf16: 0 wrong
// CHECK-NEXT: f16: 0 wrong
// CHECK-NEXT: bf16_of_f64: 0 wrong
// CHECK-NEXT: f16_of_f64: 0 wrong
// CHECK-NEXT: bf16_of_i32: 0 wrong
// CHECK-NEXT: f16_of_i32: 0 wrong
// CHECK-NEXT: bf16_sum: 0 wrong
// CHECK-NEXT: f16_sum: 0 wrong
// CHECK-NOT: {{ [1-9][0-9]*}} wrong
// CHECK: native: [[COUNT]] numbers

#map = affine_map<(i) -> (i)>
func.func @casts(%x: tensor<500000xf32> {nn.input = "x"}, %y: tensor<500000xf32> {nn.input = "y"}) -> (
    tensor<500000xf32> {nn.output = "bf16"}, tensor<500000xf32> {nn.output = "f16"},
    tensor<500000xf32> {nn.output = "bf16_of_f64"}, tensor<500000xf32> {nn.output = "f16_of_f64"},
    tensor<500000xf32> {nn.output = "bf16_of_i32"}, tensor<500000xf32> {nn.output = "f16_of_i32"},
    tensor<500000xf32> {nn.output = "bf16_sum"}, tensor<500000xf32> {nn.output = "f16_sum"}) {
  %bf16 = arith.truncf %x : tensor<500000xf32> to tensor<500000xbf16>
  %0 = arith.extf %bf16 : tensor<500000xbf16> to tensor<500000xf32>
  %f16 = arith.truncf %x : tensor<500000xf32> to tensor<500000xf16>
  %1 = arith.extf %f16 : tensor<500000xf16> to tensor<500000xf32>

  // Slightly above or below x.
  %wide = arith.extf %x : tensor<500000xf32> to tensor<500000xf64>
  %factor = arith.extf %y : tensor<500000xf32> to tensor<500000xf64>
  %c = arith.constant dense<0x3D70000000000000> : tensor<500000xf64>  // 2^-40
  %small = arith.mulf %factor, %c : tensor<500000xf64>
  %part = arith.mulf %wide, %small : tensor<500000xf64>
  %f64 = arith.addf %wide, %part : tensor<500000xf64>
  %2 = arith.truncf %f64 : tensor<500000xf64> to tensor<500000xbf16>
  %3 = arith.extf %2 : tensor<500000xbf16> to tensor<500000xf32>
  %4 = arith.truncf %f64 : tensor<500000xf64> to tensor<500000xf16>
  %5 = arith.extf %4 : tensor<500000xf16> to tensor<500000xf32>

  %i32 = arith.bitcast %x : tensor<500000xf32> to tensor<500000xi32>
  %6 = arith.sitofp %i32 : tensor<500000xi32> to tensor<500000xbf16>
  %7 = arith.extf %6 : tensor<500000xbf16> to tensor<500000xf32>
  %8 = arith.sitofp %i32 : tensor<500000xi32> to tensor<500000xf16>
  %9 = arith.extf %8 : tensor<500000xf16> to tensor<500000xf32>

  // x - y of 16-bit numbers.
  %bf16y = arith.truncf %y : tensor<500000xf32> to tensor<500000xbf16>
  %10 = arith.subf %bf16, %bf16y : tensor<500000xbf16>
  %11 = arith.extf %10 : tensor<500000xbf16> to tensor<500000xf32>
  %f16y = arith.truncf %y : tensor<500000xf32> to tensor<500000xf16>
  %12 = arith.subf %f16, %f16y : tensor<500000xf16>
  %13 = arith.extf %12 : tensor<500000xf16> to tensor<500000xf32>
  return %0, %1, %3, %5, %7, %9, %11, %13 : tensor<500000xf32>, tensor<500000xf32>, tensor<500000xf32>, tensor<500000xf32>, tensor<500000xf32>, tensor<500000xf32>, tensor<500000xf32>, tensor<500000xf32>
}
