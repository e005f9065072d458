// Powers of every pair of infinities, NaN, zeros of both signs, ones, the
// smallest and the largest numbers and ordinary numbers, compiled: as in the
// interpreter, which follows IEEE 754. So are remainders.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --partitioned %s --no-proof --dump %t/data
// RUN: tessera compile %s --quiet -o %t/prog
// RUN: tessera run %t/prog --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera compile %s --quiet --cpu x86-64 -o %t/least
// RUN: tessera run %t/least --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera compile %s --target cuda-emulated --quiet -o %t/emulated
// RUN: tessera run %t/emulated --inputs %t/data --compare %t/data/expected | FileCheck %s
// CHECK-COUNT-5: {{[a-z0-9_]+}}: largest difference {{(0,|[0-9.]+e-(0[7-9]|[1-9][0-9]),)}}
// CHECK-NOT: largest difference

#pair = affine_map<(i, j) -> (i, j)>
#y = affine_map<(i, j) -> (i)>
#x = affine_map<(i, j) -> (j)>
func.func @f(%unit: tensor<16xi32>) -> (
    tensor<16x16xf32> {nn.output = "f32"}, tensor<16x16xf64> {nn.output = "f64"},
    tensor<16x16xf32> {nn.output = "narrow"}, tensor<16x16xi32> {nn.output = "signs"},
    tensor<16x16xf32> {nn.output = "remainders"}) attributes {dist.local} {
  // Infinity, -infinity, NaN, 0, -0, 1, -1, the least number, -3e38, 0.5, 2, 3, -3, -0.5, 2.5, 88.
  %bits = arith.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 0, 0x80000000, 0x3F800000, 0xBF800000, 1, 0xFF61B1E6,
                                0x3F000000, 0x40000000, 0x40400000, 0xC0400000, 0xBF000000, 0x40200000, 0x42B00000]> : tensor<16xi32>
  %zero = arith.constant dense<0> : tensor<16xi32>
  %none = arith.andi %unit, %zero : tensor<16xi32>
  %same = arith.ori %bits, %none : tensor<16xi32>
  %v = arith.bitcast %same : tensor<16xi32> to tensor<16xf32>
  %e = tensor.empty() : tensor<16x16xf32>
  %single = linalg.generic {indexing_maps = [#y, #x, #pair], iterator_types = ["parallel", "parallel"]} ins(%v, %v : tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = math.powf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<16x16xf32>
  %w = arith.extf %v : tensor<16xf32> to tensor<16xf64>
  %e64 = tensor.empty() : tensor<16x16xf64>
  %double = linalg.generic {indexing_maps = [#y, #x, #pair], iterator_types = ["parallel", "parallel"]} ins(%w, %w : tensor<16xf64>, tensor<16xf64>) outs(%e64 : tensor<16x16xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %t = math.powf %a, %b : f64
    linalg.yield %t : f64
  } -> tensor<16x16xf64>
  %h = arith.truncf %v : tensor<16xf32> to tensor<16xbf16>
  %half = linalg.generic {indexing_maps = [#y, #x, #pair], iterator_types = ["parallel", "parallel"]} ins(%h, %h : tensor<16xbf16>, tensor<16xbf16>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%a: bf16, %b: bf16, %o: f32):
    %t = math.powf %a, %b : bf16
    %s = arith.extf %t : bf16 to f32
    linalg.yield %s : f32
  } -> tensor<16x16xf32>
  %rest = linalg.generic {indexing_maps = [#y, #x, #pair], iterator_types = ["parallel", "parallel"]} ins(%v, %v : tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.remf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<16x16xf32>
  // The sign, if it is a number.
  %isNumber = arith.cmpf ord, %single, %single : tensor<16x16xf32>
  %word = arith.bitcast %single : tensor<16x16xf32> to tensor<16x16xi32>
  %shift = arith.constant dense<31> : tensor<16x16xi32>
  %sign = arith.shrui %word, %shift : tensor<16x16xi32>
  %any = arith.constant dense<2> : tensor<16x16xi32>
  %signs = arith.select %isNumber, %sign, %any : tensor<16x16xi1>, tensor<16x16xi32>
  return %single, %double, %half, %signs, %rest : tensor<16x16xf32>, tensor<16x16xf64>, tensor<16x16xf32>, tensor<16x16xi32>, tensor<16x16xf32>
}
