// RUN: tessera-opt %s --dist-print-sharding-rules -verify-diagnostics -o /dev/null

func.func @elementwise(%x: tensor<8x16xf32>, %y: tensor<8x16xf32>, %c: i1) {
  // Sums of partial values: both or none.
  // expected-remark @+1 {{([i,j],[i,j])->([i,j]) {i=8, j=16}; partial sum in {0, 1}}}
  %0 = arith.addf %x, %y : tensor<8x16xf32>
  // expected-remark @+1 {{; partial sum in {0, 1}}}
  %1 = arith.subf %x, %y : tensor<8x16xf32>
  // Products: exactly one.
  // expected-remark @+1 {{; partial sum in {0} {1}}}
  %2 = arith.mulf %x, %y : tensor<8x16xf32>
  // A divisor may be 0, and 0 / 0 is NaN.
  // expected-remark @+1 {{([i,j],[i,j])->([i,j]) {i=8, j=16}}}
  %3 = arith.divf %x, %y : tensor<8x16xf32>
  // expected-remark @+1 {{; partial max in {0} {1} {0, 1}}}
  %4 = arith.maximumf %x, %y : tensor<8x16xf32>
  // expected-remark @+1 {{; partial min in {0} {1} {0, 1}}}
  %5 = arith.minimumf %x, %y : tensor<8x16xf32>
  // An increasing function commutes with a maximum, but not with a sum.
  // expected-remark @+1 {{; partial max in {0}; partial min in {0}}}
  %6 = math.exp %x : tensor<8x16xf32>
  // expected-remark @+1 {{; partial sum in {0}}}
  %7 = arith.negf %x : tensor<8x16xf32>
  // A wider type holds the same value, a narrower one rounds.
  // expected-remark @+1 {{; partial sum in {0}; partial max in {0}; partial min in {0}}}
  %8 = arith.extf %x : tensor<8x16xf32> to tensor<8x16xf64>
  // expected-remark @+1 {{([i,j])->([i,j]) {i=8, j=16}; partial max in {0}; partial min in {0}}}
  %9 = arith.truncf %x : tensor<8x16xf32> to tensor<8x16xbf16>
  // A scalar condition has no factor.
  // expected-remark @+1 {{([],[i,j],[i,j])->([i,j]) {i=8, j=16}}}
  %10 = arith.select %c, %x, %y : tensor<8x16xf32>
  // expected-remark @+1 {{()->([i,j]) {i=8, j=16}}}
  %11 = arith.constant dense<1.0> : tensor<8x16xf32>
  return
}

func.func @shapes(%x: tensor<32x6xf32>, %y: tensor<4x8x6xf32>) {
  // A dimension with two factors, major to minor.
  // expected-remark @+1 {{([ij,k])->([i,j,k]) {i=4, j=8, k=6}; partial sum in {0}}}
  %0 = tensor.expand_shape %x [[0, 1], [2]] output_shape [4, 8, 6] : tensor<32x6xf32> into tensor<4x8x6xf32>
  // expected-remark @+1 {{([i,j,k])->([ij,k]) {i=4, j=8, k=6}; partial sum in {0}}}
  %1 = tensor.collapse_shape %y [[0, 1], [2]] : tensor<4x8x6xf32> into tensor<32x6xf32>
  // A sliced dimension is replicated, a whole one is not.
  // expected-remark @+1 {{([i,k])->([j,k]) {i=32 replicated, j=4 replicated, k=6}; partial sum in {0}}}
  %2 = tensor.extract_slice %x[8, 0] [4, 6] [1, 1] : tensor<32x6xf32> to tensor<4x6xf32>
  // expected-remark @+1 {{([k,j],[l,j])->([i,j]) {i=36 replicated, j=6, k=4 replicated, l=32 replicated}; partial sum in {0, 1}}}
  %3 = tensor.concat dim(0) %2, %x : (tensor<4x6xf32>, tensor<32x6xf32>) -> tensor<36x6xf32>
  return
}

#row = affine_map<(i, j) -> (i, j)>
#out = affine_map<(i, j) -> (i)>
func.func @linalg(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>, %c: tensor<8x4xf32>, %r: tensor<8xf32>, %n: tensor<8xi32>) {
  %zero = arith.constant 0.0 : f32
  // expected-remark @+1 {{([],[i,j])->([i,j]) {i=8, j=4}}}
  %fill = linalg.fill ins(%zero : f32) outs(%c : tensor<8x4xf32>) -> tensor<8x4xf32>
  // A partial operand may be combined with an init of zeros ...
  // expected-remark @+1 {{([i,k],[k,j],[i,j])->([i,j]) {i=8, j=4, k=16 sum}; partial sum in {0} {1}}}
  %0 = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x4xf32>) outs(%fill : tensor<8x4xf32>) -> tensor<8x4xf32>
  // ... another init must be partial too.
  // expected-remark @+1 {{{i=8, j=4, k=16 sum}; partial sum in {0, 2} {1, 2}}}
  %1 = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x4xf32>) outs(%c : tensor<8x4xf32>) -> tensor<8x4xf32>
  // The reduction's own kind.
  // expected-remark @+1 {{([i,j],[i])->([i]) {i=8, j=16 max}}}
  %2 = linalg.reduce { arith.maximumf } ins(%a : tensor<8x16xf32>) outs(%r : tensor<8xf32>) dimensions = [1]
  // An argmax pairs two running values: no known reduction, so replicated.
  // expected-remark @+1 {{([i,j],[i],[i])->([i],[i]) {i=8, j=16 replicated positional}}}
  %3:2 = linalg.generic {indexing_maps = [#row, #out, #out], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<8x16xf32>) outs(%r, %n : tensor<8xf32>, tensor<8xi32>) {
  ^bb0(%x: f32, %best: f32, %at: i32):
    %i = linalg.index 1 : index
    %i32 = arith.index_cast %i : index to i32
    %gt = arith.cmpf ogt, %x, %best : f32
    %v = arith.select %gt, %x, %best : f32
    %p = arith.select %gt, %i32, %at : i32
    linalg.yield %v, %p : f32, i32
  } -> (tensor<8xf32>, tensor<8xi32>)
  // A running value that is used twice is not a plain reduction.
  // expected-remark @+1 {{{i=8, j=16 replicated}}}
  %4 = linalg.generic {indexing_maps = [#row, #out], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<8x16xf32>) outs(%r : tensor<8xf32>) {
  ^bb0(%x: f32, %sum: f32):
    %twice = arith.addf %sum, %sum : f32
    %s = arith.addf %twice, %x : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return
}

#window = affine_map<(i, j) -> (i + j)>
#id = affine_map<(i, j) -> (i)>
#kernel = affine_map<(i, j) -> (j)>
func.func @window(%a: tensor<10xf32>, %k: tensor<3xf32>, %r: tensor<8xf32>) {
  // expected-remark @+1 {{([1],[j],[i])->([i]) {i=8 replicated, j=3 replicated}}}
  %0 = linalg.generic {indexing_maps = [#window, #kernel, #id], iterator_types = ["parallel", "reduction"]}
      ins(%a, %k : tensor<10xf32>, tensor<3xf32>) outs(%r : tensor<8xf32>) {
  ^bb0(%x: f32, %w: f32, %sum: f32):
    %p = arith.mulf %x, %w : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return
}

// An op without a rule.
func.func private @callee(tensor<8xf32>) -> tensor<8xf32>
func.func @unknown(%a: tensor<8xf32>) {
  // expected-remark @+1 {{([i])->([j]) {i=8 replicated, j=8 replicated}; no rule: replicated}}
  %0 = func.call @callee(%a) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// A padded dimension must be whole, others pass through; a partial sum passes
// if the padding is zeros. Positions of offsets count where they are used.
func.func @pads(%x: tensor<4x8xf32>, %one: f32) {
  %zero = arith.constant 0.0 : f32
  // expected-remark @+1 {{([i,k])->([j,k]) {i=4 replicated, j=6 replicated, k=8}; partial sum in {0}; partial max in {0}; partial min in {0}}}
  %0 = tensor.pad %x low[1, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<4x8xf32> to tensor<6x8xf32>
  // expected-remark @+1 {{([i,j])->([i,k]) {i=4, j=8 replicated, k=9 replicated}; partial max in {0}; partial min in {0}}}
  %1 = tensor.pad %x low[0, 0] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %one : f32
  } : tensor<4x8xf32> to tensor<4x9xf32>
  // expected-remark @+1 {{()->([i,j]) {i=4, j=8 positional}}}
  %2 = tensor.generate {
  ^bb0(%i: index, %j: index):
    %n = arith.index_cast %j : index to i32
    tensor.yield %n : i32
  } : tensor<4x8xi32>
  // expected-remark @+1 {{([i,j],[i,j])->([i,j]) {i=4, j=8 decomposed}}}
  %3 = linalg.softmax dimension(1) ins(%x : tensor<4x8xf32>) outs(%x : tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}
