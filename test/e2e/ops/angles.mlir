// The angle of every pair of infinities, NaN, zeros of both signs and ordinary
// numbers, compiled: sign and quadrant equal the interpreter's. So do their
// cube roots.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --partitioned %s --no-proof --dump %t/data
// RUN: tessera compile %s --quiet -o %t/prog
// RUN: tessera run %t/prog --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera compile %s --target cuda-emulated --quiet -o %t/emulated
// RUN: tessera run %t/emulated --inputs %t/data --compare %t/data/expected | FileCheck %s
// CHECK-COUNT-5: {{[a-z0-9_]+}}: largest difference {{(0,|[0-9.]+e-(0[7-9]|[1-9][0-9]),)}}
// CHECK-NOT: largest difference

#pair = affine_map<(i, j) -> (i, j)>
#y = affine_map<(i, j) -> (i)>
#x = affine_map<(i, j) -> (j)>
func.func @f(%unit: tensor<9xi32>) -> (
    tensor<9x9xf32> {nn.output = "f32"}, tensor<9x9xf64> {nn.output = "f64"},
    tensor<9x9xf32> {nn.output = "narrow"}, tensor<9x9xi32> {nn.output = "signs"},
    tensor<9xf32> {nn.output = "cube_roots"}) attributes {dist.local} {
  // Infinity, -infinity, NaN, 0, -0, 1, -1, the smallest number, -3e38.
  %bits = arith.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 0, 0x80000000, 0x3F800000, 0xBF800000, 1, 0xFF61B1E6]> : tensor<9xi32>
  %zero = arith.constant dense<0> : tensor<9xi32>
  %none = arith.andi %unit, %zero : tensor<9xi32>
  %same = arith.ori %bits, %none : tensor<9xi32>
  %v = arith.bitcast %same : tensor<9xi32> to tensor<9xf32>
  %e = tensor.empty() : tensor<9x9xf32>
  %single = linalg.generic {indexing_maps = [#y, #x, #pair], iterator_types = ["parallel", "parallel"]} ins(%v, %v : tensor<9xf32>, tensor<9xf32>) outs(%e : tensor<9x9xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = math.atan2 %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<9x9xf32>
  %w = arith.extf %v : tensor<9xf32> to tensor<9xf64>
  %e64 = tensor.empty() : tensor<9x9xf64>
  %double = linalg.generic {indexing_maps = [#y, #x, #pair], iterator_types = ["parallel", "parallel"]} ins(%w, %w : tensor<9xf64>, tensor<9xf64>) outs(%e64 : tensor<9x9xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %t = math.atan2 %a, %b : f64
    linalg.yield %t : f64
  } -> tensor<9x9xf64>
  %h = arith.truncf %v : tensor<9xf32> to tensor<9xbf16>
  %half = linalg.generic {indexing_maps = [#y, #x, #pair], iterator_types = ["parallel", "parallel"]} ins(%h, %h : tensor<9xbf16>, tensor<9xbf16>) outs(%e : tensor<9x9xf32>) {
  ^bb0(%a: bf16, %b: bf16, %o: f32):
    %t = math.atan2 %a, %b : bf16
    %s = arith.extf %t : bf16 to f32
    linalg.yield %s : f32
  } -> tensor<9x9xf32>
  // The sign, if it is a number.
  %isNumber = arith.cmpf ord, %single, %single : tensor<9x9xf32>
  %word = arith.bitcast %single : tensor<9x9xf32> to tensor<9x9xi32>
  %shift = arith.constant dense<31> : tensor<9x9xi32>
  %sign = arith.shrui %word, %shift : tensor<9x9xi32>
  %any = arith.constant dense<2> : tensor<9x9xi32>
  %signs = arith.select %isNumber, %sign, %any : tensor<9x9xi1>, tensor<9x9xi32>
  %roots = math.cbrt %v : tensor<9xf32>
  return %single, %double, %half, %signs, %roots : tensor<9x9xf32>, tensor<9x9xf64>, tensor<9x9xf32>, tensor<9x9xi32>, tensor<9xf32>
}
