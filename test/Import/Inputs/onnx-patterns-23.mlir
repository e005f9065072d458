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
    %arg20: tensor<16x32xf32> {nn.param = "permute", nn.source = #nn.source<"permute", [16, 32], offset 0, strides [32, 1]>},
    %arg21: tensor<2x8xi64> {nn.input = "tokens", nn.vocab = 32 : i64},
    %arg22: tensor<2x8xi64> {nn.input = "labels"})
      -> (tensor<f32> {nn.output = "loss"}, tensor<f32> {nn.output = "loss_sum"}, tensor<f32> {nn.output = "tokens"}) {
    %0 = nn.embedding %arg1, %arg21 : tensor<32x16xf32>, tensor<2x8xi64> -> tensor<2x8x16xf32>
    %1 = nn.rms_norm %0, %arg0 eps 1.0e-06 : tensor<2x8x16xf32>, tensor<16xf32>
    %2 = nn.einsum "cda,ab->cdb" %1, %arg12 : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
    %3 = nn.broadcast %arg4 dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    %4 = arith.addf %2, %3 : tensor<2x8x16xf32>
    %5 = tensor.expand_shape %4 [[0], [1], [2, 3]] output_shape [2, 8, 4, 4] : tensor<2x8x16xf32> into tensor<2x8x4x4xf32>
    %6 = nn.transpose %5 [0, 2, 1, 3] : tensor<2x8x4x4xf32> -> tensor<2x4x8x4xf32>
    %7 = nn.einsum "cda,ab->cdb" %1, %arg13 : tensor<2x8x16xf32>, tensor<16x8xf32> -> tensor<2x8x8xf32>
    %8 = nn.broadcast %arg5 dims [2] : tensor<8xf32> -> tensor<2x8x8xf32>
    %9 = arith.addf %7, %8 : tensor<2x8x8xf32>
    %10 = tensor.expand_shape %9 [[0], [1], [2, 3]] output_shape [2, 8, 2, 4] : tensor<2x8x8xf32> into tensor<2x8x2x4xf32>
    %11 = nn.transpose %10 [0, 2, 1, 3] : tensor<2x8x2x4xf32> -> tensor<2x2x8x4xf32>
    %12 = nn.einsum "cda,ab->cdb" %1, %arg14 : tensor<2x8x16xf32>, tensor<16x8xf32> -> tensor<2x8x8xf32>
    %13 = nn.broadcast %arg6 dims [2] : tensor<8xf32> -> tensor<2x8x8xf32>
    %14 = arith.addf %12, %13 : tensor<2x8x8xf32>
    %15 = tensor.expand_shape %14 [[0], [1], [2, 3]] output_shape [2, 8, 2, 4] : tensor<2x8x8xf32> into tensor<2x8x2x4xf32>
    %16 = nn.transpose %15 [0, 2, 1, 3] : tensor<2x8x2x4xf32> -> tensor<2x2x8x4xf32>
    %17 = tensor.extract_slice %6[0, 0, 0, 0] [2, 4, 8, 2] [1, 1, 1, 1] : tensor<2x4x8x4xf32> to tensor<2x4x8x2xf32>
    %18 = tensor.extract_slice %6[0, 0, 0, 2] [2, 4, 8, 2] [1, 1, 1, 1] : tensor<2x4x8x4xf32> to tensor<2x4x8x2xf32>
    %19 = arith.constant dense<"0x0000803F0000803F0000803F0000803F40510A3F98B87E3F40510A3F98B87E3F3211D5BEA5E57A3F3211D5BEA5E57A3F26707DBFEF90743F26707DBFEF90743F305527BFA7CA6B3F305527BFA7CA6B3F2B3C913E40A9603F2B3C913E40A9603FB8CD753F3249533FB8CD753F3249533FBDFF403FB3CC433FBDFF403FB3CC433F"> : tensor<8x4xf32>
    %20 = nn.broadcast %19 dims [2, 3] : tensor<8x4xf32> -> tensor<2x4x8x4xf32>
    %21 = arith.mulf %6, %20 : tensor<2x4x8x4xf32>
    %22 = arith.negf %18 : tensor<2x4x8x2xf32>
    %23 = tensor.concat dim(3) %22, %17 : (tensor<2x4x8x2xf32>, tensor<2x4x8x2xf32>) -> tensor<2x4x8x4xf32>
    %24 = arith.constant dense<"0x00000000000000000000000000000000A56A573F7775CC3DA56A573F7775CC3DB7C7683FF96F4B3EB7C7683FF96F4B3EC381103E6D4E973EC381103E6D4E973ECFBD41BFD761C73ECFBD41BFD761C73E107C75BF4477F53E107C75BF4477F53E8C0F8FBE698C103F8C0F8FBE698C103F4630283F73EB243F4630283F73EB243F"> : tensor<8x4xf32>
    %25 = nn.broadcast %24 dims [2, 3] : tensor<8x4xf32> -> tensor<2x4x8x4xf32>
    %26 = arith.mulf %23, %25 : tensor<2x4x8x4xf32>
    %27 = arith.addf %21, %26 : tensor<2x4x8x4xf32>
    %28 = tensor.extract_slice %11[0, 0, 0, 0] [2, 2, 8, 2] [1, 1, 1, 1] : tensor<2x2x8x4xf32> to tensor<2x2x8x2xf32>
    %29 = tensor.extract_slice %11[0, 0, 0, 2] [2, 2, 8, 2] [1, 1, 1, 1] : tensor<2x2x8x4xf32> to tensor<2x2x8x2xf32>
    %30 = nn.broadcast %19 dims [2, 3] : tensor<8x4xf32> -> tensor<2x2x8x4xf32>
    %31 = arith.mulf %11, %30 : tensor<2x2x8x4xf32>
    %32 = arith.negf %29 : tensor<2x2x8x2xf32>
    %33 = tensor.concat dim(3) %32, %28 : (tensor<2x2x8x2xf32>, tensor<2x2x8x2xf32>) -> tensor<2x2x8x4xf32>
    %34 = nn.broadcast %24 dims [2, 3] : tensor<8x4xf32> -> tensor<2x2x8x4xf32>
    %35 = arith.mulf %33, %34 : tensor<2x2x8x4xf32>
    %36 = arith.addf %31, %35 : tensor<2x2x8x4xf32>
    %37 = tensor.expand_shape %36 [[0], [1], [2, 3], [4]] output_shape [2, 2, 1, 8, 4] : tensor<2x2x8x4xf32> into tensor<2x2x1x8x4xf32>
    %38 = tensor.collapse_shape %37 [[0], [1], [2, 3], [4]] : tensor<2x2x1x8x4xf32> into tensor<2x2x8x4xf32>
    %39 = nn.broadcast %38 dims [0, 1, 3, 4] : tensor<2x2x8x4xf32> -> tensor<2x2x2x8x4xf32>
    %40 = tensor.collapse_shape %37 [[0], [1], [2, 3], [4]] : tensor<2x2x1x8x4xf32> into tensor<2x2x8x4xf32>
    %41 = tensor.collapse_shape %39 [[0], [1, 2], [3], [4]] : tensor<2x2x2x8x4xf32> into tensor<2x4x8x4xf32>
    %42 = tensor.expand_shape %16 [[0], [1], [2, 3], [4]] output_shape [2, 2, 1, 8, 4] : tensor<2x2x8x4xf32> into tensor<2x2x1x8x4xf32>
    %43 = tensor.collapse_shape %42 [[0], [1], [2, 3], [4]] : tensor<2x2x1x8x4xf32> into tensor<2x2x8x4xf32>
    %44 = nn.broadcast %43 dims [0, 1, 3, 4] : tensor<2x2x8x4xf32> -> tensor<2x2x2x8x4xf32>
    %45 = tensor.collapse_shape %42 [[0], [1], [2, 3], [4]] : tensor<2x2x1x8x4xf32> into tensor<2x2x8x4xf32>
    %46 = tensor.collapse_shape %44 [[0], [1, 2], [3], [4]] : tensor<2x2x2x8x4xf32> into tensor<2x4x8x4xf32>
    %47 = tensor.expand_shape %27 [[0], [1, 2], [3], [4]] output_shape [2, 2, 2, 8, 4] : tensor<2x4x8x4xf32> into tensor<2x2x2x8x4xf32>
    %48 = nn.transpose %47 [0, 3, 1, 2, 4] : tensor<2x2x2x8x4xf32> -> tensor<2x8x2x2x4xf32>
    %49 = nn.transpose %40 [0, 2, 1, 3] : tensor<2x2x8x4xf32> -> tensor<2x8x2x4xf32>
    %50 = nn.transpose %45 [0, 2, 1, 3] : tensor<2x2x8x4xf32> -> tensor<2x8x2x4xf32>
    %51 = nn.attention causal scale 0.5 %48, %49, %50 : tensor<2x8x2x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32> -> tensor<2x8x2x2x4xf32>
    %52 = nn.transpose %51 [0, 2, 3, 1, 4] : tensor<2x8x2x2x4xf32> -> tensor<2x2x2x8x4xf32>
    %53 = tensor.collapse_shape %52 [[0], [1, 2], [3], [4]] : tensor<2x2x2x8x4xf32> into tensor<2x4x8x4xf32>
    %54 = nn.transpose %53 [0, 2, 1, 3] : tensor<2x4x8x4xf32> -> tensor<2x8x4x4xf32>
    %55 = tensor.collapse_shape %54 [[0], [1], [2, 3]] : tensor<2x8x4x4xf32> into tensor<2x8x16xf32>
    %56 = nn.einsum "cda,ab->cdb" %55, %arg15 : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
    %57 = nn.broadcast %arg7 dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    %58 = arith.addf %56, %57 : tensor<2x8x16xf32>
    %59 = arith.addf %0, %58 : tensor<2x8x16xf32>
    %60 = nn.layer_norm %59, %arg2, %arg3 eps 1.0e-05 : tensor<2x8x16xf32>, tensor<16xf32>, tensor<16xf32>
    %61 = nn.einsum "cda,ab->cdb" %60, %arg16 : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
    %62 = nn.broadcast %arg8 dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    %63 = arith.addf %61, %62 : tensor<2x8x16xf32>
    %64 = arith.constant dense<0.5> : tensor<2x8x16xf32>
    %65 = arith.mulf %63, %64 : tensor<2x8x16xf32>
    %66 = math.tanh %65 : tensor<2x8x16xf32>
    %67 = arith.mulf %66, %64 : tensor<2x8x16xf32>
    %68 = arith.addf %67, %64 : tensor<2x8x16xf32>
    %69 = arith.mulf %63, %68 : tensor<2x8x16xf32>
    %70 = nn.einsum "cda,ab->cdb" %60, %arg17 : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
    %71 = nn.broadcast %arg9 dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    %72 = arith.addf %70, %71 : tensor<2x8x16xf32>
    %73 = arith.mulf %69, %72 : tensor<2x8x16xf32>
    %74 = arith.addf %59, %73 : tensor<2x8x16xf32>
    %75 = nn.einsum "cda,ab->cdb" %74, %arg18 : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
    %76 = nn.broadcast %arg10 dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    %77 = arith.addf %75, %76 : tensor<2x8x16xf32>
    %78 = nn.gelu <erf> %77 : tensor<2x8x16xf32>
    %79 = arith.addf %74, %78 : tensor<2x8x16xf32>
    %80 = nn.einsum "cda,ab->cdb" %79, %arg19 : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
    %81 = nn.broadcast %arg11 dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    %82 = arith.addf %80, %81 : tensor<2x8x16xf32>
    %83 = nn.gelu <tanh> %82 : tensor<2x8x16xf32>
    %84 = arith.addf %79, %83 : tensor<2x8x16xf32>
    %85 = nn.softmax %84 dim 2 : tensor<2x8x16xf32>
    %86 = arith.mulf %84, %85 : tensor<2x8x16xf32>
    %87 = nn.einsum "cda,ab->cdb" %86, %arg20 : tensor<2x8x16xf32>, tensor<16x32xf32> -> tensor<2x8x32xf32>
    %88 = tensor.collapse_shape %87 [[0, 1], [2]] : tensor<2x8x32xf32> into tensor<16x32xf32>
    %89 = tensor.collapse_shape %arg22 [[0, 1]] : tensor<2x8xi64> into tensor<16xi64>
    %90 = nn.cross_entropy %87, %arg22 ignore -100 : tensor<2x8x32xf32>, tensor<2x8xi64> -> tensor<2x8xf32>
    %91 = nn.reduce <sum> %90 dims [0, 1] : tensor<2x8xf32> -> tensor<f32>
    %92 = arith.constant dense<-100> : tensor<2x8xi64>
    %93 = arith.cmpi ne, %arg22, %92 : tensor<2x8xi64>
    %94 = arith.uitofp %93 : tensor<2x8xi1> to tensor<2x8xf32>
    %95 = nn.reduce <sum> %94 dims [0, 1] : tensor<2x8xf32> -> tensor<f32>
    %96 = arith.divf %91, %95 : tensor<f32>
    return %96, %91, %95 : tensor<f32>, tensor<f32>, tensor<f32>
  }
}
