// A classifier of images: a stem, a depthwise layer beside its input, an
// expansion of channels, a layer in groups with strides and dilation. Its training
// step over data and channels is proven, and is that of one device on each target.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --mesh dp=2,tp=2 --strategy dp,tp,zero=3 | FileCheck %s --check-prefix=PROVEN
// RUN: tessera verify %s --mesh dp=3,tp=3 --strategy dp,tp,zero=1 | FileCheck %s --check-prefix=PROVEN
// PROVEN: partition proven

// RUN: tessera verify %s --mesh dp=1 --dump %t/data
// RUN: tessera compile %s --mesh dp=2,tp=2 --strategy dp,tp,zero=1 --quiet -o %t/prog
// RUN: %t/prog --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera compile %s --mesh dp=2,tp=2 --strategy dp,tp,zero=3 --recompute full --target cuda-emulated --quiet -o %t/emulated
// RUN: tessera run %t/emulated --simulate-ranks=4 --inputs %t/data --compare %t/data/expected | FileCheck %s
// CHECK-COUNT-18: {{[a-z.]+}}: largest difference {{(0,|[0-9.]+e-(0[6-9]|[1-9][0-9]))}}
// CHECK: step: largest difference 0,

// In bf16 the step runs and is finite.
// RUN: tessera compile %s --mesh dp=2,tp=2 --strategy dp,tp --precision bf16 --quiet -o %t/bf16
// RUN: %t/bf16 --inputs %t/data --steps 3 2>&1 | FileCheck %s --check-prefix=NARROW
// NARROW: {{^ +}}3 7{{[0-9.]+}}

func.func @net(%image: tensor<6x3x12x12xf32> {nn.input = "image", nn.dims = ["batch", "color", "height", "width"]},
               %labels: tensor<6xi32> {nn.input = "labels", nn.dims = ["batch"], nn.vocab = 5},
               %stem: tensor<1x8x3x3x3xf32> {nn.param = "stem", nn.dims = ["one", "embed", "color", "y", "x"]},
               %deep: tensor<8x1x1x3x3xf32> {nn.param = "deep", nn.dims = ["embed", "one", "one", "y", "x"]},
               %up: tensor<1x12x8x1x1xf32> {nn.param = "up", nn.dims = ["one", "ffn", "embed", "y", "x"]},
               %down: tensor<1x8x12x1x1xf32> {nn.param = "down", nn.dims = ["one", "embed", "ffn", "y", "x"]},
               %last: tensor<2x9x4x2x3xf32> {nn.param = "last", nn.dims = ["group", "out", "in", "y", "x"]},
               %head: tensor<18x5xf32> {nn.param = "head", nn.dims = ["out", "classes"]}) -> (tensor<f32> {nn.output = "loss"}) {
  %x = tensor.expand_shape %image [[0, 1], [2], [3], [4]] output_shape [6, 1, 3, 12, 12] : tensor<6x3x12x12xf32> into tensor<6x1x3x12x12xf32>
  %0 = nn.convolution %x, %stem strides [2, 2] low [1, 1] high [1, 1] dilation [1, 1] x_dilation [1, 1]
      : tensor<6x1x3x12x12xf32>, tensor<1x8x3x3x3xf32> -> tensor<6x1x8x6x6xf32>
  %1 = nn.gelu <tanh> %0 : tensor<6x1x8x6x6xf32>
  %2 = tensor.collapse_shape %1 [[0], [1, 2], [3], [4]] : tensor<6x1x8x6x6xf32> into tensor<6x8x6x6xf32>
  %3 = tensor.expand_shape %2 [[0], [1, 2], [3], [4]] output_shape [6, 8, 1, 6, 6] : tensor<6x8x6x6xf32> into tensor<6x8x1x6x6xf32>
  %4 = nn.convolution %3, %deep strides [1, 1] low [1, 1] high [1, 1] dilation [1, 1] x_dilation [1, 1]
      : tensor<6x8x1x6x6xf32>, tensor<8x1x1x3x3xf32> -> tensor<6x8x1x6x6xf32>
  %5 = arith.addf %3, %4 : tensor<6x8x1x6x6xf32>
  %6 = tensor.collapse_shape %5 [[0], [1, 2], [3], [4]] : tensor<6x8x1x6x6xf32> into tensor<6x8x6x6xf32>
  %7 = tensor.expand_shape %6 [[0], [1, 2], [3], [4]] output_shape [6, 1, 8, 6, 6] : tensor<6x8x6x6xf32> into tensor<6x1x8x6x6xf32>
  %8 = nn.convolution %7, %up strides [1, 1] low [0, 0] high [0, 0] dilation [1, 1] x_dilation [1, 1]
      : tensor<6x1x8x6x6xf32>, tensor<1x12x8x1x1xf32> -> tensor<6x1x12x6x6xf32>
  %9 = nn.gelu <tanh> %8 : tensor<6x1x12x6x6xf32>
  %10 = nn.convolution %9, %down strides [1, 1] low [0, 0] high [0, 0] dilation [1, 1] x_dilation [1, 1]
      : tensor<6x1x12x6x6xf32>, tensor<1x8x12x1x1xf32> -> tensor<6x1x8x6x6xf32>
  %11 = tensor.collapse_shape %10 [[0], [1, 2], [3], [4]] : tensor<6x1x8x6x6xf32> into tensor<6x8x6x6xf32>
  %12 = tensor.expand_shape %11 [[0], [1, 2], [3], [4]] output_shape [6, 2, 4, 6, 6] : tensor<6x8x6x6xf32> into tensor<6x2x4x6x6xf32>
  %13 = nn.convolution %12, %last strides [2, 1] low [0, 2] high [1, 1] dilation [2, 1] x_dilation [1, 1]
      : tensor<6x2x4x6x6xf32>, tensor<2x9x4x2x3xf32> -> tensor<6x2x9x3x7xf32>
  %14 = nn.reduce <sum> %13 dims [3, 4] : tensor<6x2x9x3x7xf32> -> tensor<6x2x9xf32>
  %15 = tensor.collapse_shape %14 [[0], [1, 2]] : tensor<6x2x9xf32> into tensor<6x18xf32>
  %16 = nn.einsum "bc,ck->bk" %15, %head : tensor<6x18xf32>, tensor<18x5xf32> -> tensor<6x5xf32>
  %17 = nn.cross_entropy %16, %labels ignore -100 : tensor<6x5xf32>, tensor<6xi32> -> tensor<6xf32>
  %18 = nn.reduce <sum> %17 dims [0] : tensor<6xf32> -> tensor<f32>
  return %18 : tensor<f32>
}
