module @"Padded" {
  func.func @forward(%arg0: tensor<4x16xf32> {nn.param = "table.weight", nn.source = #nn.source<"table.weight", [4, 16], offset 0, strides [16, 1]>},
    %arg1: tensor<16x16xf32> {nn.param = "q.weight", nn.source = #nn.source<"q.weight", [16, 16], offset 0, strides [16, 1]>},
    %arg2: tensor<16xf32> {nn.param = "q.bias", nn.source = #nn.source<"q.bias", [16], offset 0, strides [1]>},
    %arg3: tensor<8x16xf32> {nn.param = "k.weight", nn.source = #nn.source<"k.weight", [8, 16], offset 0, strides [16, 1]>},
    %arg4: tensor<8xf32> {nn.param = "k.bias", nn.source = #nn.source<"k.bias", [8], offset 0, strides [1]>},
    %arg5: tensor<8x16xf32> {nn.param = "v.weight", nn.source = #nn.source<"v.weight", [8, 16], offset 0, strides [16, 1]>},
    %arg6: tensor<8xf32> {nn.param = "v.bias", nn.source = #nn.source<"v.bias", [8], offset 0, strides [1]>},
    %arg7: tensor<8x16xf32> {nn.param = "out.weight", nn.source = #nn.source<"out.weight", [8, 16], offset 0, strides [16, 1]>},
    %arg8: tensor<8xf32> {nn.param = "out.bias", nn.source = #nn.source<"out.bias", [8], offset 0, strides [1]>},
    %arg9: tensor<4x6xi64> {nn.input = "tokens", nn.vocab = 4 : i64},
    %arg10: tensor<4x6xi64> {nn.input = "labels"})
      -> (tensor<f32> {nn.output = "loss"}, tensor<f32> {nn.output = "loss_sum"}, tensor<f32> {nn.output = "tokens"}) {
    %0 = nn.embedding %arg0, %arg9 : tensor<4x16xf32>, tensor<4x6xi64> -> tensor<4x6x16xf32>
    %1 = nn.einsum "cda,ba->cdb" %0, %arg1 : tensor<4x6x16xf32>, tensor<16x16xf32> -> tensor<4x6x16xf32>
    %2 = nn.broadcast %arg2 dims [2] : tensor<16xf32> -> tensor<4x6x16xf32>
    %3 = arith.addf %1, %2 : tensor<4x6x16xf32>
    %4 = tensor.expand_shape %3 [[0], [1], [2, 3]] output_shape [4, 6, 4, 4] : tensor<4x6x16xf32> into tensor<4x6x4x4xf32>
    %5 = nn.transpose %4 [0, 2, 1, 3] : tensor<4x6x4x4xf32> -> tensor<4x4x6x4xf32>
    %6 = nn.einsum "cda,ba->cdb" %0, %arg3 : tensor<4x6x16xf32>, tensor<8x16xf32> -> tensor<4x6x8xf32>
    %7 = nn.broadcast %arg4 dims [2] : tensor<8xf32> -> tensor<4x6x8xf32>
    %8 = arith.addf %6, %7 : tensor<4x6x8xf32>
    %9 = tensor.expand_shape %8 [[0], [1], [2, 3]] output_shape [4, 6, 2, 4] : tensor<4x6x8xf32> into tensor<4x6x2x4xf32>
    %10 = nn.transpose %9 [0, 2, 1, 3] : tensor<4x6x2x4xf32> -> tensor<4x2x6x4xf32>
    %11 = nn.einsum "cda,ba->cdb" %0, %arg5 : tensor<4x6x16xf32>, tensor<8x16xf32> -> tensor<4x6x8xf32>
    %12 = nn.broadcast %arg6 dims [2] : tensor<8xf32> -> tensor<4x6x8xf32>
    %13 = arith.addf %11, %12 : tensor<4x6x8xf32>
    %14 = tensor.expand_shape %13 [[0], [1], [2, 3]] output_shape [4, 6, 2, 4] : tensor<4x6x8xf32> into tensor<4x6x2x4xf32>
    %15 = nn.transpose %14 [0, 2, 1, 3] : tensor<4x6x2x4xf32> -> tensor<4x2x6x4xf32>
    %16 = arith.constant dense<0> : tensor<4x6xi64>
    %17 = arith.cmpi ne, %arg9, %16 : tensor<4x6xi64>
    %18 = tensor.expand_shape %17 [[0], [1, 2]] output_shape [4, 1, 6] : tensor<4x6xi1> into tensor<4x1x6xi1>
    %19 = tensor.expand_shape %18 [[0], [1], [2, 3]] output_shape [4, 1, 1, 6] : tensor<4x1x6xi1> into tensor<4x1x1x6xi1>
    %20 = arith.constant dense<true> : tensor<4x1x1x6xi1>
    %21 = arith.xori %19, %20 : tensor<4x1x1x6xi1>
    %22 = arith.constant dense<0.0> : tensor<1xf32>
    %23 = tensor.collapse_shape %22 [] : tensor<1xf32> into tensor<f32>
    %24 = nn.broadcast %23 dims [] : tensor<f32> -> tensor<4x1x1x6xf32>
    %25 = arith.constant dense<0xFF800000> : tensor<4x1x1x6xf32>
    %26 = arith.select %21, %25, %24 : tensor<4x1x1x6xi1>, tensor<4x1x1x6xf32>
    %27 = tensor.collapse_shape %26 [[0], [1], [2, 3]] : tensor<4x1x1x6xf32> into tensor<4x1x6xf32>
    %28 = nn.broadcast %27 dims [0, 1, 3] : tensor<4x1x6xf32> -> tensor<4x1x6x6xf32>
    %29 = nn.broadcast %10 dims [0, 1, 3, 4] : tensor<4x2x6x4xf32> -> tensor<4x2x2x6x4xf32>
    %30 = tensor.collapse_shape %29 [[0], [1, 2], [3], [4]] : tensor<4x2x2x6x4xf32> into tensor<4x4x6x4xf32>
    %31 = nn.broadcast %15 dims [0, 1, 3, 4] : tensor<4x2x6x4xf32> -> tensor<4x2x2x6x4xf32>
    %32 = tensor.collapse_shape %31 [[0], [1, 2], [3], [4]] : tensor<4x2x2x6x4xf32> into tensor<4x4x6x4xf32>
    %33 = nn.einsum "abcd,abed->abce" %5, %30 : tensor<4x4x6x4xf32>, tensor<4x4x6x4xf32> -> tensor<4x4x6x6xf32>
    %34 = arith.constant dense<0.5> : tensor<4x4x6x6xf32>
    %35 = arith.mulf %33, %34 : tensor<4x4x6x6xf32>
    %36 = tensor.collapse_shape %28 [[0], [1, 2], [3]] : tensor<4x1x6x6xf32> into tensor<4x6x6xf32>
    %37 = nn.broadcast %36 dims [0, 2, 3] : tensor<4x6x6xf32> -> tensor<4x4x6x6xf32>
    %38 = arith.addf %35, %37 : tensor<4x4x6x6xf32>
    %39 = arith.constant dense<0xFF800000> : tensor<4x1x6x6xf32>
    %40 = arith.cmpf une, %28, %39 : tensor<4x1x6x6xf32>
    %41 = arith.constant dense<[[true, false, false, false, false, false], [true, true, false, false, false, false], [true, true, true, false, false, false], [true, true, true, true, false, false], [true, true, true, true, true, false], [true, true, true, true, true, true]]> : tensor<6x6xi1>
    %42 = nn.broadcast %41 dims [2, 3] : tensor<6x6xi1> -> tensor<4x1x6x6xi1>
    %43 = arith.andi %40, %42 : tensor<4x1x6x6xi1>
    %44 = tensor.collapse_shape %43 [[0], [1, 2], [3]] : tensor<4x1x6x6xi1> into tensor<4x6x6xi1>
    %45 = nn.broadcast %44 dims [0, 2, 3] : tensor<4x6x6xi1> -> tensor<4x4x6x6xi1>
    %46 = arith.constant dense<-1.0e+30> : tensor<4x4x6x6xf32>
    %47 = arith.select %45, %38, %46 : tensor<4x4x6x6xi1>, tensor<4x4x6x6xf32>
    %48 = nn.softmax %47 dim 3 : tensor<4x4x6x6xf32>
    %49 = arith.constant dense<0.0> : tensor<4x4x6x6xf32>
    %50 = arith.select %45, %48, %49 : tensor<4x4x6x6xi1>, tensor<4x4x6x6xf32>
    %51 = nn.einsum "abce,abef->abcf" %50, %32 : tensor<4x4x6x6xf32>, tensor<4x4x6x4xf32> -> tensor<4x4x6x4xf32>
    %52 = nn.transpose %51 [0, 2, 1, 3] : tensor<4x4x6x4xf32> -> tensor<4x6x4x4xf32>
    %53 = tensor.collapse_shape %52 [[0], [1], [2, 3]] : tensor<4x6x4x4xf32> into tensor<4x6x16xf32>
    %54 = nn.einsum "cda,ba->cdb" %53, %arg7 : tensor<4x6x16xf32>, tensor<8x16xf32> -> tensor<4x6x8xf32>
    %55 = nn.broadcast %arg8 dims [2] : tensor<8xf32> -> tensor<4x6x8xf32>
    %56 = arith.addf %54, %55 : tensor<4x6x8xf32>
    %57 = tensor.collapse_shape %56 [[0, 1], [2]] : tensor<4x6x8xf32> into tensor<24x8xf32>
    %58 = tensor.collapse_shape %arg10 [[0, 1]] : tensor<4x6xi64> into tensor<24xi64>
    %59 = nn.cross_entropy %56, %arg10 ignore -100 : tensor<4x6x8xf32>, tensor<4x6xi64> -> tensor<4x6xf32>
    %60 = nn.reduce <sum> %59 dims [0, 1] : tensor<4x6xf32> -> tensor<f32>
    %61 = arith.constant dense<-100> : tensor<4x6xi64>
    %62 = arith.cmpi ne, %arg10, %61 : tensor<4x6xi64>
    %63 = arith.uitofp %62 : tensor<4x6xi1> to tensor<4x6xf32>
    %64 = nn.reduce <sum> %63 dims [0, 1] : tensor<4x6xf32> -> tensor<f32>
    %65 = arith.divf %60, %64 : tensor<f32>
    return %65, %60, %64 : tensor<f32>, tensor<f32>, tensor<f32>
  }
}
