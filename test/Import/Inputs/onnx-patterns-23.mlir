module @"main_graph" {
  func.func @forward(%arg0: tensor<16xf32> {nn.param = "gain", nn.source = #nn.source<"gain", [16], offset 0, strides [1]>},
    %arg1: tensor<32x16xf32> {nn.param = "embed.weight", nn.source = #nn.source<"embed.weight", [32, 16], offset 0, strides [16, 1]>},
    %arg2: tensor<16xf32> {nn.param = "norm.weight", nn.source = #nn.source<"norm.weight", [16], offset 0, strides [1]>},
    %arg3: tensor<16xf32> {nn.param = "norm.bias", nn.source = #nn.source<"norm.bias", [16], offset 0, strides [1]>},
    %arg4: tensor<16xf32> {nn.param = "q.bias", nn.source = #nn.source<"q.bias", [16], offset 0, strides [1]>},
    %arg5: tensor<8xf32> {nn.param = "k.bias", nn.source = #nn.source<"k.bias", [8], offset 0, strides [1]>},
    %arg6: tensor<8xf32> {nn.param = "v.bias", nn.source = #nn.source<"v.bias", [8], offset 0, strides [1]>},
    %arg7: tensor<16xf32> {nn.param = "out.bias", nn.source = #nn.source<"out.bias", [16], offset 0, strides [1]>},
    %arg8: tensor<16xf32> {nn.param = "gate.bias", nn.source = #nn.source<"gate.bias", [16], offset 0, strides [1]>},
    %arg9: tensor<16xf32> {nn.param = "up.bias", nn.source = #nn.source<"up.bias", [16], offset 0, strides [1]>},
    %arg10: tensor<16xf32> {nn.param = "erf.bias", nn.source = #nn.source<"erf.bias", [16], offset 0, strides [1]>},
    %arg11: tensor<16xf32> {nn.param = "tanh.bias", nn.source = #nn.source<"tanh.bias", [16], offset 0, strides [1]>},
    %arg12: tensor<16x16xf32> {nn.param = "val_6", nn.source = #nn.source<"val_6", [16, 16], offset 0, strides [16, 1]>},
    %arg13: tensor<16x8xf32> {nn.param = "val_14", nn.source = #nn.source<"val_14", [16, 8], offset 0, strides [8, 1]>},
    %arg14: tensor<16x8xf32> {nn.param = "val_22", nn.source = #nn.source<"val_22", [16, 8], offset 0, strides [8, 1]>},
    %arg15: tensor<16x16xf32> {nn.param = "val_64", nn.source = #nn.source<"val_64", [16, 16], offset 0, strides [16, 1]>},
    %arg16: tensor<16x16xf32> {nn.param = "val_68", nn.source = #nn.source<"val_68", [16, 16], offset 0, strides [16, 1]>},
    %arg17: tensor<16x16xf32> {nn.param = "val_71", nn.source = #nn.source<"val_71", [16, 16], offset 0, strides [16, 1]>},
    %arg18: tensor<16x16xf32> {nn.param = "val_73", nn.source = #nn.source<"val_73", [16, 16], offset 0, strides [16, 1]>},
    %arg19: tensor<16x16xf32> {nn.param = "val_75", nn.source = #nn.source<"val_75", [16, 16], offset 0, strides [16, 1]>},
    %arg20: tensor<2x8xi64> {nn.input = "tokens", nn.vocab = 32 : i64},
    %arg21: tensor<2x8xi64> {nn.input = "labels"})
      -> (tensor<f32> {nn.output = "loss"}, tensor<f32> {nn.output = "loss_sum"}, tensor<f32> {nn.output = "tokens"}) {
    %0 = nn.transpose %arg1 [1, 0] : tensor<32x16xf32> -> tensor<16x32xf32>
    %1 = nn.embedding %arg1, %arg20 : tensor<32x16xf32>, tensor<2x8xi64> -> tensor<2x8x16xf32>
    %2 = nn.rms_norm %1, %arg0 eps 1.0e-06 : tensor<2x8x16xf32>, tensor<16xf32>
    %3 = nn.einsum "cda,ab->cdb" %2, %arg12 : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
    %4 = nn.broadcast %arg4 dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    %5 = arith.addf %3, %4 : tensor<2x8x16xf32>
    %6 = tensor.expand_shape %5 [[0], [1], [2, 3]] output_shape [2, 8, 4, 4] : tensor<2x8x16xf32> into tensor<2x8x4x4xf32>
    %7 = nn.transpose %6 [0, 2, 1, 3] : tensor<2x8x4x4xf32> -> tensor<2x4x8x4xf32>
    %8 = nn.einsum "cda,ab->cdb" %2, %arg13 : tensor<2x8x16xf32>, tensor<16x8xf32> -> tensor<2x8x8xf32>
    %9 = nn.broadcast %arg5 dims [2] : tensor<8xf32> -> tensor<2x8x8xf32>
    %10 = arith.addf %8, %9 : tensor<2x8x8xf32>
    %11 = tensor.expand_shape %10 [[0], [1], [2, 3]] output_shape [2, 8, 2, 4] : tensor<2x8x8xf32> into tensor<2x8x2x4xf32>
    %12 = nn.transpose %11 [0, 2, 1, 3] : tensor<2x8x2x4xf32> -> tensor<2x2x8x4xf32>
    %13 = nn.einsum "cda,ab->cdb" %2, %arg14 : tensor<2x8x16xf32>, tensor<16x8xf32> -> tensor<2x8x8xf32>
    %14 = nn.broadcast %arg6 dims [2] : tensor<8xf32> -> tensor<2x8x8xf32>
    %15 = arith.addf %13, %14 : tensor<2x8x8xf32>
    %16 = tensor.expand_shape %15 [[0], [1], [2, 3]] output_shape [2, 8, 2, 4] : tensor<2x8x8xf32> into tensor<2x8x2x4xf32>
    %17 = nn.transpose %16 [0, 2, 1, 3] : tensor<2x8x2x4xf32> -> tensor<2x2x8x4xf32>
    %18 = tensor.extract_slice %7[0, 0, 0, 0] [2, 4, 8, 2] [1, 1, 1, 1] : tensor<2x4x8x4xf32> to tensor<2x4x8x2xf32>
    %19 = tensor.extract_slice %7[0, 0, 0, 2] [2, 4, 8, 2] [1, 1, 1, 1] : tensor<2x4x8x4xf32> to tensor<2x4x8x2xf32>
    %20 = arith.constant dense<"0x0000803F0000803F0000803F0000803F40510A3F98B87E3F40510A3F98B87E3F3211D5BEA5E57A3F3211D5BEA5E57A3F26707DBFEF90743F26707DBFEF90743F305527BFA7CA6B3F305527BFA7CA6B3F2B3C913E40A9603F2B3C913E40A9603FB8CD753F3249533FB8CD753F3249533FBDFF403FB3CC433FBDFF403FB3CC433F"> : tensor<8x4xf32>
    %21 = nn.broadcast %20 dims [2, 3] : tensor<8x4xf32> -> tensor<2x4x8x4xf32>
    %22 = arith.mulf %7, %21 : tensor<2x4x8x4xf32>
    %23 = arith.negf %19 : tensor<2x4x8x2xf32>
    %24 = tensor.concat dim(3) %23, %18 : (tensor<2x4x8x2xf32>, tensor<2x4x8x2xf32>) -> tensor<2x4x8x4xf32>
    %25 = arith.constant dense<"0x00000000000000000000000000000000A56A573F7775CC3DA56A573F7775CC3DB7C7683FF96F4B3EB7C7683FF96F4B3EC381103E6D4E973EC381103E6D4E973ECFBD41BFD761C73ECFBD41BFD761C73E107C75BF4477F53E107C75BF4477F53E8C0F8FBE698C103F8C0F8FBE698C103F4630283F73EB243F4630283F73EB243F"> : tensor<8x4xf32>
    %26 = nn.broadcast %25 dims [2, 3] : tensor<8x4xf32> -> tensor<2x4x8x4xf32>
    %27 = arith.mulf %24, %26 : tensor<2x4x8x4xf32>
    %28 = arith.addf %22, %27 : tensor<2x4x8x4xf32>
    %29 = tensor.extract_slice %12[0, 0, 0, 0] [2, 2, 8, 2] [1, 1, 1, 1] : tensor<2x2x8x4xf32> to tensor<2x2x8x2xf32>
    %30 = tensor.extract_slice %12[0, 0, 0, 2] [2, 2, 8, 2] [1, 1, 1, 1] : tensor<2x2x8x4xf32> to tensor<2x2x8x2xf32>
    %31 = nn.broadcast %20 dims [2, 3] : tensor<8x4xf32> -> tensor<2x2x8x4xf32>
    %32 = arith.mulf %12, %31 : tensor<2x2x8x4xf32>
    %33 = arith.negf %30 : tensor<2x2x8x2xf32>
    %34 = tensor.concat dim(3) %33, %29 : (tensor<2x2x8x2xf32>, tensor<2x2x8x2xf32>) -> tensor<2x2x8x4xf32>
    %35 = nn.broadcast %25 dims [2, 3] : tensor<8x4xf32> -> tensor<2x2x8x4xf32>
    %36 = arith.mulf %34, %35 : tensor<2x2x8x4xf32>
    %37 = arith.addf %32, %36 : tensor<2x2x8x4xf32>
    %38 = tensor.expand_shape %37 [[0], [1], [2, 3], [4]] output_shape [2, 2, 1, 8, 4] : tensor<2x2x8x4xf32> into tensor<2x2x1x8x4xf32>
    %39 = tensor.collapse_shape %38 [[0], [1], [2, 3], [4]] : tensor<2x2x1x8x4xf32> into tensor<2x2x8x4xf32>
    %40 = nn.broadcast %39 dims [0, 1, 3, 4] : tensor<2x2x8x4xf32> -> tensor<2x2x2x8x4xf32>
    %41 = tensor.collapse_shape %38 [[0], [1], [2, 3], [4]] : tensor<2x2x1x8x4xf32> into tensor<2x2x8x4xf32>
    %42 = tensor.collapse_shape %40 [[0], [1, 2], [3], [4]] : tensor<2x2x2x8x4xf32> into tensor<2x4x8x4xf32>
    %43 = tensor.expand_shape %17 [[0], [1], [2, 3], [4]] output_shape [2, 2, 1, 8, 4] : tensor<2x2x8x4xf32> into tensor<2x2x1x8x4xf32>
    %44 = tensor.collapse_shape %43 [[0], [1], [2, 3], [4]] : tensor<2x2x1x8x4xf32> into tensor<2x2x8x4xf32>
    %45 = nn.broadcast %44 dims [0, 1, 3, 4] : tensor<2x2x8x4xf32> -> tensor<2x2x2x8x4xf32>
    %46 = tensor.collapse_shape %43 [[0], [1], [2, 3], [4]] : tensor<2x2x1x8x4xf32> into tensor<2x2x8x4xf32>
    %47 = tensor.collapse_shape %45 [[0], [1, 2], [3], [4]] : tensor<2x2x2x8x4xf32> into tensor<2x4x8x4xf32>
    %48 = tensor.expand_shape %28 [[0], [1, 2], [3], [4]] output_shape [2, 2, 2, 8, 4] : tensor<2x4x8x4xf32> into tensor<2x2x2x8x4xf32>
    %49 = nn.transpose %48 [0, 3, 1, 2, 4] : tensor<2x2x2x8x4xf32> -> tensor<2x8x2x2x4xf32>
    %50 = nn.transpose %41 [0, 2, 1, 3] : tensor<2x2x8x4xf32> -> tensor<2x8x2x4xf32>
    %51 = nn.transpose %46 [0, 2, 1, 3] : tensor<2x2x8x4xf32> -> tensor<2x8x2x4xf32>
    %52 = nn.attention causal scale 0.5 %49, %50, %51 : tensor<2x8x2x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32> -> tensor<2x8x2x2x4xf32>
    %53 = nn.transpose %52 [0, 2, 3, 1, 4] : tensor<2x8x2x2x4xf32> -> tensor<2x2x2x8x4xf32>
    %54 = tensor.collapse_shape %53 [[0], [1, 2], [3], [4]] : tensor<2x2x2x8x4xf32> into tensor<2x4x8x4xf32>
    %55 = nn.transpose %54 [0, 2, 1, 3] : tensor<2x4x8x4xf32> -> tensor<2x8x4x4xf32>
    %56 = tensor.collapse_shape %55 [[0], [1], [2, 3]] : tensor<2x8x4x4xf32> into tensor<2x8x16xf32>
    %57 = nn.einsum "cda,ab->cdb" %56, %arg15 : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
    %58 = nn.broadcast %arg7 dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    %59 = arith.addf %57, %58 : tensor<2x8x16xf32>
    %60 = arith.addf %1, %59 : tensor<2x8x16xf32>
    %61 = nn.layer_norm %60, %arg2, %arg3 eps 1.0e-05 : tensor<2x8x16xf32>, tensor<16xf32>, tensor<16xf32>
    %62 = nn.einsum "cda,ab->cdb" %61, %arg16 : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
    %63 = nn.broadcast %arg8 dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    %64 = arith.addf %62, %63 : tensor<2x8x16xf32>
    %65 = arith.constant dense<1.0> : tensor<2x8x16xf32>
    %66 = arith.constant dense<0.0> : tensor<2x8x16xf32>
    %67 = arith.cmpf olt, %64, %66 : tensor<2x8x16xf32>
    %68 = arith.negf %64 : tensor<2x8x16xf32>
    %69 = arith.select %67, %64, %68 : tensor<2x8x16xi1>, tensor<2x8x16xf32>
    %70 = math.exp %69 : tensor<2x8x16xf32>
    %71 = arith.select %67, %70, %65 : tensor<2x8x16xi1>, tensor<2x8x16xf32>
    %72 = arith.addf %65, %70 : tensor<2x8x16xf32>
    %73 = arith.divf %71, %72 : tensor<2x8x16xf32>
    %74 = arith.mulf %64, %73 : tensor<2x8x16xf32>
    %75 = nn.einsum "cda,ab->cdb" %61, %arg17 : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
    %76 = nn.broadcast %arg9 dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    %77 = arith.addf %75, %76 : tensor<2x8x16xf32>
    %78 = arith.mulf %74, %77 : tensor<2x8x16xf32>
    %79 = arith.addf %60, %78 : tensor<2x8x16xf32>
    %80 = nn.einsum "cda,ab->cdb" %79, %arg18 : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
    %81 = nn.broadcast %arg10 dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    %82 = arith.addf %80, %81 : tensor<2x8x16xf32>
    %83 = nn.gelu <erf> %82 : tensor<2x8x16xf32>
    %84 = arith.addf %79, %83 : tensor<2x8x16xf32>
    %85 = nn.einsum "cda,ab->cdb" %84, %arg19 : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
    %86 = nn.broadcast %arg11 dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    %87 = arith.addf %85, %86 : tensor<2x8x16xf32>
    %88 = nn.gelu <tanh> %87 : tensor<2x8x16xf32>
    %89 = arith.addf %84, %88 : tensor<2x8x16xf32>
    %90 = nn.softmax %89 dim 2 : tensor<2x8x16xf32>
    %91 = arith.mulf %89, %90 : tensor<2x8x16xf32>
    %92 = nn.einsum "cda,ab->cdb" %91, %0 : tensor<2x8x16xf32>, tensor<16x32xf32> -> tensor<2x8x32xf32>
    %93 = tensor.collapse_shape %92 [[0, 1], [2]] : tensor<2x8x32xf32> into tensor<16x32xf32>
    %94 = tensor.collapse_shape %arg21 [[0, 1]] : tensor<2x8xi64> into tensor<16xi64>
    %95 = nn.cross_entropy %92, %arg21 ignore -100 : tensor<2x8x32xf32>, tensor<2x8xi64> -> tensor<2x8xf32>
    %96 = nn.reduce <sum> %95 dims [0, 1] : tensor<2x8xf32> -> tensor<f32>
    %97 = arith.constant dense<-100> : tensor<2x8xi64>
    %98 = arith.cmpi ne, %arg21, %97 : tensor<2x8xi64>
    %99 = arith.uitofp %98 : tensor<2x8xi1> to tensor<2x8xf32>
    %100 = nn.reduce <sum> %99 dims [0, 1] : tensor<2x8xf32> -> tensor<f32>
    %101 = arith.divf %96, %100 : tensor<f32>
    return %101, %96, %100 : tensor<f32>, tensor<f32>, tensor<f32>
  }
}
