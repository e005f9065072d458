// Every op that the host supports, compiled, against the interpreter:
// differences of a few units in the last place.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --partitioned %s --dump %t/data
// RUN: tessera compile %s --quiet -o %t/prog
// RUN: %t/prog --inputs %t/data --compare %t/data/expected | FileCheck %s

// In bf16 the results are the same: sums are in f32 and rounded once.
// RUN: sed 's/xf32/xbf16/g; s/: f32/: bf16/g; s/<f32>/<bf16>/g' %s > %t/bf16.mlir
// RUN: tessera verify %t/bf16.mlir --partitioned %t/bf16.mlir --dump %t/bf16.data
// RUN: tessera compile %t/bf16.mlir --quiet -o %t/bf16
// RUN: %t/bf16 --inputs %t/bf16.data --compare %t/bf16.data/expected | FileCheck %s

// CHECK-COUNT-37: {{[a-z0-9_]+}}: largest difference {{(0,|[0-9.]+e-(0[5-9]|[1-9][0-9]),|0.000[0-9]+, largest magnitude [0-9][0-9][0-9]|0.[0-9]+, largest magnitude [0-9.]+e.0[5-9])}}
// CHECK-NOT: largest difference

dist.mesh @mesh ["x"=1]
func.func @ops(%x: tensor<6x10x24xf32>, %y: tensor<6x10x24xf32>, %b: tensor<24xf32>, %g: tensor<24xf32>,
               %q: tensor<2x5x3x2x8xf32>, %k: tensor<2x5x3x8xf32>, %w: tensor<24x7xf32>) -> (
    tensor<6x10x24xf32> {nn.output = "layer_norm"}, tensor<6x10x24xf32> {nn.output = "rms_norm"},
    tensor<6x10x24xf32> {nn.output = "softmax2"}, tensor<6x10x24xf32> {nn.output = "softmax1"}, tensor<6x10x24xf32> {nn.output = "softmax0"},
    tensor<6x10x24xf32> {nn.output = "gelu_tanh"}, tensor<6x10x24xf32> {nn.output = "gelu_erf"}, tensor<6x10x24xf32> {nn.output = "silu"},
    tensor<10x24xf32> {nn.output = "sum0"}, tensor<6x24xf32> {nn.output = "max1"}, tensor<10xf32> {nn.output = "min02"}, tensor<f32> {nn.output = "sum_all"},
    tensor<24x6x10xf32> {nn.output = "transpose"}, tensor<6x10x24xf32> {nn.output = "broadcast"},
    tensor<2x5x3x2x8xf32> {nn.output = "rope"}, tensor<2x5x3x2x8xf32> {nn.output = "rope_first"}, tensor<2x5x3x2x8xf32> {nn.output = "rope_given"}, tensor<2x5x3x2x8xf32> {nn.output = "rope_neighbours"}, tensor<2x5x3x2x8xf32> {nn.output = "rope_first_neighbours"}, tensor<2x5x3x2x8xf32> {nn.output = "attention"}, tensor<2x5x3x2x8xf32> {nn.output = "attention_padded"},
    tensor<10xi32> {nn.output = "iota"}, tensor<6x10x24xf32> {nn.output = "mask"}, tensor<6x10x7xf32> {nn.output = "einsum"}, tensor<7x10x6xf32> {nn.output = "einsum_t"},
    tensor<10x24xf32> {nn.output = "embedding"}, tensor<6x10xf32> {nn.output = "pick"},
    tensor<6x10x24xf32> {nn.output = "transcendental"}, tensor<3x5x24xf32> {nn.output = "slice"}, tensor<6x20x24xf32> {nn.output = "concat"}, tensor<8x10x24xf32> {nn.output = "pad"},
    tensor<60x24xf32> {nn.output = "collapsed"}, tensor<6x10x24xf32> {nn.output = "inserted"}, tensor<6x10x24xi1> {nn.output = "compare"}, tensor<6x10x24xf32> {nn.output = "select"}, tensor<24x24xf32> {nn.output="gram"}, tensor<24xf32> {nn.output="column_sums"}) attributes {dist.local} {
  %0 = nn.layer_norm %x, %g, %b eps 1.0e-5 : tensor<6x10x24xf32>, tensor<24xf32>, tensor<24xf32>
  %1 = nn.rms_norm %x, %g eps 1.0e-5 : tensor<6x10x24xf32>, tensor<24xf32>
  %2 = nn.softmax %x dim 2 : tensor<6x10x24xf32>
  %3 = nn.softmax %x dim 1 : tensor<6x10x24xf32>
  %4 = nn.softmax %x dim 0 : tensor<6x10x24xf32>
  %5 = nn.gelu <tanh> %x : tensor<6x10x24xf32>
  %6 = nn.gelu <erf> %x : tensor<6x10x24xf32>
  %7 = nn.silu %x : tensor<6x10x24xf32>
  %8 = nn.reduce <sum> %x dims [0] : tensor<6x10x24xf32> -> tensor<10x24xf32>
  %9 = nn.reduce <max> %x dims [1] : tensor<6x10x24xf32> -> tensor<6x24xf32>
  %10 = nn.reduce <min> %x dims [0, 2] : tensor<6x10x24xf32> -> tensor<10xf32>
  %11 = nn.reduce <sum> %x dims [0, 1, 2] : tensor<6x10x24xf32> -> tensor<f32>
  %12 = nn.transpose %x [2, 0, 1] : tensor<6x10x24xf32> -> tensor<24x6x10xf32>
  %13 = nn.broadcast %b dims [2] : tensor<24xf32> -> tensor<6x10x24xf32>
  %14 = nn.rope %q dim 1 theta 1.0e4 : tensor<2x5x3x2x8xf32>
  %rope_first = nn.rope %q dim 1 theta 1.0e4 scaling <factor = 2.0> width 6 : tensor<2x5x3x2x8xf32>
  %rope_given = nn.rope %q dim 1 frequencies [2.5, 0.3, -0.01] width 6 : tensor<2x5x3x2x8xf32>
  %rope_neighbours = nn.rope %q dim 1 theta 1.0e4 interleaved : tensor<2x5x3x2x8xf32>
  %rope_first_neighbours = nn.rope %q dim 1 theta 1.0e4 width 6 interleaved : tensor<2x5x3x2x8xf32>
  %15 = nn.attention causal scale 0.35 %q, %k, %k : tensor<2x5x3x2x8xf32>, tensor<2x5x3x8xf32>, tensor<2x5x3x8xf32> -> tensor<2x5x3x2x8xf32>
  %c2 = arith.constant 2 : index
  %16 = nn.attention causal scale 0.35 keys 5 %q, %k, %k q_offset %c2 k_offset %c2 : tensor<2x5x3x2x8xf32>, tensor<2x5x3x8xf32>, tensor<2x5x3x8xf32> -> tensor<2x5x3x2x8xf32>
  %17 = nn.iota offset %c2 : tensor<10xi32>
  %18 = nn.mask_padding %x dim 1 size 7 value 5.0 : f32 : tensor<6x10x24xf32>
  %19 = nn.einsum "bsd,df->bsf" %x, %w : tensor<6x10x24xf32>, tensor<24x7xf32> -> tensor<6x10x7xf32>
  %20 = nn.einsum "bsd,df->fsb" %x, %w : tensor<6x10x24xf32>, tensor<24x7xf32> -> tensor<7x10x6xf32>
  %t = tensor.extract_slice %x[0, 0, 0] [1, 10, 24] [1, 1, 1] : tensor<6x10x24xf32> to tensor<10x24xf32>
  %i = nn.iota : tensor<10xi32>
  %i2 = arith.addi %i, %i : tensor<10xi32>
  %c = arith.constant dense<9> : tensor<10xi32>
  %i3 = arith.minsi %i2, %c : tensor<10xi32>
  %21 = nn.embedding %t, %i3 : tensor<10x24xf32>, tensor<10xi32> -> tensor<10x24xf32>
  %i4 = nn.broadcast %i2 dims [1] : tensor<10xi32> -> tensor<6x10xi32>
  %22 = nn.take_along_axis %x, %i4 offset %c2 : tensor<6x10x24xf32>, tensor<6x10xi32> -> tensor<6x10xf32>
  %e = math.exp %x : tensor<6x10x24xf32>
  %l = math.log %e : tensor<6x10x24xf32>
  %s = math.sin %l : tensor<6x10x24xf32>
  %r = math.rsqrt %e : tensor<6x10x24xf32>
  %a = math.absf %s : tensor<6x10x24xf32>
  %p = math.powf %e, %a : tensor<6x10x24xf32>
  %24 = arith.addf %p, %r : tensor<6x10x24xf32>
  %25 = tensor.extract_slice %x[1, 2, 0] [3, 5, 24] [2, 1, 1] : tensor<6x10x24xf32> to tensor<3x5x24xf32>
  %26 = tensor.concat dim(1) %x, %y : (tensor<6x10x24xf32>, tensor<6x10x24xf32>) -> tensor<6x20x24xf32>
  %z = arith.constant 3.0 : f32
  %27 = tensor.pad %x low[1, 0, 0] high[1, 0, 0] {
  ^bb0(%u: index, %v: index, %o: index):
    tensor.yield %z : f32
  } : tensor<6x10x24xf32> to tensor<8x10x24xf32>
  %28 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<6x10x24xf32> into tensor<60x24xf32>
  %29 = tensor.insert_slice %25 into %y[2, 3, 0] [3, 5, 24] [1, 1, 1] : tensor<3x5x24xf32> into tensor<6x10x24xf32>
  %30 = arith.cmpf olt, %x, %y : tensor<6x10x24xf32>
  %31 = arith.select %30, %x, %y : tensor<6x10x24xi1>, tensor<6x10x24xf32>
  %32 = nn.einsum "id,if->df" %28, %28 : tensor<60x24xf32>, tensor<60x24xf32> -> tensor<24x24xf32>
  %33 = nn.reduce <sum> %28 dims [0] : tensor<60x24xf32> -> tensor<24xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %rope_first, %rope_given, %rope_neighbours, %rope_first_neighbours, %15, %16, %17, %18, %19, %20, %21, %22, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33 : tensor<6x10x24xf32>, tensor<6x10x24xf32>, tensor<6x10x24xf32>, tensor<6x10x24xf32>, tensor<6x10x24xf32>, tensor<6x10x24xf32>, tensor<6x10x24xf32>, tensor<6x10x24xf32>, tensor<10x24xf32>, tensor<6x24xf32>, tensor<10xf32>, tensor<f32>, tensor<24x6x10xf32>, tensor<6x10x24xf32>, tensor<2x5x3x2x8xf32>, tensor<2x5x3x2x8xf32>, tensor<2x5x3x2x8xf32>, tensor<2x5x3x2x8xf32>, tensor<2x5x3x2x8xf32>, tensor<2x5x3x2x8xf32>, tensor<2x5x3x2x8xf32>, tensor<10xi32>, tensor<6x10x24xf32>, tensor<6x10x7xf32>, tensor<7x10x6xf32>, tensor<10x24xf32>, tensor<6x10xf32>, tensor<6x10x24xf32>, tensor<3x5x24xf32>, tensor<6x20x24xf32>, tensor<8x10x24xf32>, tensor<60x24xf32>, tensor<6x10x24xf32>, tensor<6x10x24xi1>, tensor<6x10x24xf32>, tensor<24x24xf32>, tensor<24xf32>
}
