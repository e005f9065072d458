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
    %arg15: tensor<16x16xf32> {nn.param = "val_107", nn.source = #nn.source<"val_107", [16, 16], offset 0, strides [16, 1]>},
    %arg16: tensor<16x16xf32> {nn.param = "val_111", nn.source = #nn.source<"val_111", [16, 16], offset 0, strides [16, 1]>},
    %arg17: tensor<16x16xf32> {nn.param = "val_114", nn.source = #nn.source<"val_114", [16, 16], offset 0, strides [16, 1]>},
    %arg18: tensor<16x16xf32> {nn.param = "val_116", nn.source = #nn.source<"val_116", [16, 16], offset 0, strides [16, 1]>},
    %arg19: tensor<16x16xf32> {nn.param = "val_125", nn.source = #nn.source<"val_125", [16, 16], offset 0, strides [16, 1]>},
    %arg20: tensor<2x8xi64> {nn.input = "tokens", nn.vocab = 32 : i64},
    %arg21: tensor<2x8xi64> {nn.input = "labels"})
      -> (tensor<f32> {nn.output = "loss"}, tensor<f32> {nn.output = "loss_sum"}, tensor<f32> {nn.output = "tokens"}) {
    %0 = nn.transpose %arg1 [1, 0] : tensor<32x16xf32> -> tensor<16x32xf32>
    %1 = nn.embedding %arg1, %arg20 : tensor<32x16xf32>, tensor<2x8xi64> -> tensor<2x8x16xf32>
    %2 = arith.mulf %1, %1 : tensor<2x8x16xf32>
    %3 = nn.reduce <sum> %2 dims [2] : tensor<2x8x16xf32> -> tensor<2x8xf32>
    %4 = arith.constant dense<16.0> : tensor<2x8xf32>
    %5 = arith.divf %3, %4 : tensor<2x8xf32>
    %6 = tensor.expand_shape %5 [[0], [1, 2]] output_shape [2, 8, 1] : tensor<2x8xf32> into tensor<2x8x1xf32>
    %7 = arith.constant dense<9.999999974752427e-07> : tensor<f32>
    %8 = nn.broadcast %7 dims [] : tensor<f32> -> tensor<2x8x1xf32>
    %9 = arith.addf %6, %8 : tensor<2x8x1xf32>
    %10 = math.sqrt %9 : tensor<2x8x1xf32>
    %11 = arith.constant dense<1.0> : tensor<2x8x1xf32>
    %12 = arith.divf %11, %10 : tensor<2x8x1xf32>
    %13 = tensor.collapse_shape %12 [[0], [1, 2]] : tensor<2x8x1xf32> into tensor<2x8xf32>
    %14 = nn.broadcast %13 dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x16xf32>
    %15 = arith.mulf %1, %14 : tensor<2x8x16xf32>
    %16 = nn.broadcast %arg0 dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    %17 = arith.mulf %15, %16 : tensor<2x8x16xf32>
    %18 = nn.einsum "cda,ab->cdb" %17, %arg12 : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
    %19 = nn.broadcast %arg4 dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    %20 = arith.addf %18, %19 : tensor<2x8x16xf32>
    %21 = tensor.expand_shape %20 [[0], [1], [2, 3]] output_shape [2, 8, 4, 4] : tensor<2x8x16xf32> into tensor<2x8x4x4xf32>
    %22 = nn.transpose %21 [0, 2, 1, 3] : tensor<2x8x4x4xf32> -> tensor<2x4x8x4xf32>
    %23 = nn.einsum "cda,ab->cdb" %17, %arg13 : tensor<2x8x16xf32>, tensor<16x8xf32> -> tensor<2x8x8xf32>
    %24 = nn.broadcast %arg5 dims [2] : tensor<8xf32> -> tensor<2x8x8xf32>
    %25 = arith.addf %23, %24 : tensor<2x8x8xf32>
    %26 = tensor.expand_shape %25 [[0], [1], [2, 3]] output_shape [2, 8, 2, 4] : tensor<2x8x8xf32> into tensor<2x8x2x4xf32>
    %27 = nn.transpose %26 [0, 2, 1, 3] : tensor<2x8x2x4xf32> -> tensor<2x2x8x4xf32>
    %28 = nn.einsum "cda,ab->cdb" %17, %arg14 : tensor<2x8x16xf32>, tensor<16x8xf32> -> tensor<2x8x8xf32>
    %29 = nn.broadcast %arg6 dims [2] : tensor<8xf32> -> tensor<2x8x8xf32>
    %30 = arith.addf %28, %29 : tensor<2x8x8xf32>
    %31 = tensor.expand_shape %30 [[0], [1], [2, 3]] output_shape [2, 8, 2, 4] : tensor<2x8x8xf32> into tensor<2x8x2x4xf32>
    %32 = nn.transpose %31 [0, 2, 1, 3] : tensor<2x8x2x4xf32> -> tensor<2x2x8x4xf32>
    %33 = tensor.extract_slice %22[0, 0, 0, 0] [2, 4, 8, 2] [1, 1, 1, 1] : tensor<2x4x8x4xf32> to tensor<2x4x8x2xf32>
    %34 = tensor.extract_slice %22[0, 0, 0, 2] [2, 4, 8, 2] [1, 1, 1, 1] : tensor<2x4x8x4xf32> to tensor<2x4x8x2xf32>
    %35 = arith.constant dense<"0x0000803F0000803F0000803F0000803F40510A3F98B87E3F40510A3F98B87E3F3211D5BEA5E57A3F3211D5BEA5E57A3F26707DBFEF90743F26707DBFEF90743F305527BFA7CA6B3F305527BFA7CA6B3F2B3C913E40A9603F2B3C913E40A9603FB8CD753F3249533FB8CD753F3249533FBDFF403FB3CC433FBDFF403FB3CC433F"> : tensor<8x4xf32>
    %36 = nn.broadcast %35 dims [2, 3] : tensor<8x4xf32> -> tensor<2x4x8x4xf32>
    %37 = arith.mulf %22, %36 : tensor<2x4x8x4xf32>
    %38 = arith.negf %34 : tensor<2x4x8x2xf32>
    %39 = tensor.concat dim(3) %38, %33 : (tensor<2x4x8x2xf32>, tensor<2x4x8x2xf32>) -> tensor<2x4x8x4xf32>
    %40 = arith.constant dense<"0x00000000000000000000000000000000A56A573F7775CC3DA56A573F7775CC3DB7C7683FF96F4B3EB7C7683FF96F4B3EC381103E6D4E973EC381103E6D4E973ECFBD41BFD761C73ECFBD41BFD761C73E107C75BF4477F53E107C75BF4477F53E8C0F8FBE698C103F8C0F8FBE698C103F4630283F73EB243F4630283F73EB243F"> : tensor<8x4xf32>
    %41 = nn.broadcast %40 dims [2, 3] : tensor<8x4xf32> -> tensor<2x4x8x4xf32>
    %42 = arith.mulf %39, %41 : tensor<2x4x8x4xf32>
    %43 = arith.addf %37, %42 : tensor<2x4x8x4xf32>
    %44 = tensor.extract_slice %27[0, 0, 0, 0] [2, 2, 8, 2] [1, 1, 1, 1] : tensor<2x2x8x4xf32> to tensor<2x2x8x2xf32>
    %45 = tensor.extract_slice %27[0, 0, 0, 2] [2, 2, 8, 2] [1, 1, 1, 1] : tensor<2x2x8x4xf32> to tensor<2x2x8x2xf32>
    %46 = nn.broadcast %35 dims [2, 3] : tensor<8x4xf32> -> tensor<2x2x8x4xf32>
    %47 = arith.mulf %27, %46 : tensor<2x2x8x4xf32>
    %48 = arith.negf %45 : tensor<2x2x8x2xf32>
    %49 = tensor.concat dim(3) %48, %44 : (tensor<2x2x8x2xf32>, tensor<2x2x8x2xf32>) -> tensor<2x2x8x4xf32>
    %50 = nn.broadcast %40 dims [2, 3] : tensor<8x4xf32> -> tensor<2x2x8x4xf32>
    %51 = arith.mulf %49, %50 : tensor<2x2x8x4xf32>
    %52 = arith.addf %47, %51 : tensor<2x2x8x4xf32>
    %53 = tensor.expand_shape %52 [[0], [1], [2, 3], [4]] output_shape [2, 2, 1, 8, 4] : tensor<2x2x8x4xf32> into tensor<2x2x1x8x4xf32>
    %54 = tensor.collapse_shape %53 [[0], [1], [2, 3], [4]] : tensor<2x2x1x8x4xf32> into tensor<2x2x8x4xf32>
    %55 = nn.broadcast %54 dims [0, 1, 3, 4] : tensor<2x2x8x4xf32> -> tensor<2x2x2x8x4xf32>
    %56 = tensor.collapse_shape %53 [[0], [1], [2, 3], [4]] : tensor<2x2x1x8x4xf32> into tensor<2x2x8x4xf32>
    %57 = tensor.expand_shape %32 [[0], [1], [2, 3], [4]] output_shape [2, 2, 1, 8, 4] : tensor<2x2x8x4xf32> into tensor<2x2x1x8x4xf32>
    %58 = tensor.collapse_shape %57 [[0], [1], [2, 3], [4]] : tensor<2x2x1x8x4xf32> into tensor<2x2x8x4xf32>
    %59 = nn.broadcast %58 dims [0, 1, 3, 4] : tensor<2x2x8x4xf32> -> tensor<2x2x2x8x4xf32>
    %60 = tensor.collapse_shape %57 [[0], [1], [2, 3], [4]] : tensor<2x2x1x8x4xf32> into tensor<2x2x8x4xf32>
    %61 = tensor.collapse_shape %59 [[0], [1, 2], [3], [4]] : tensor<2x2x2x8x4xf32> into tensor<2x4x8x4xf32>
    %62 = tensor.collapse_shape %55 [[0, 1, 2], [3], [4]] : tensor<2x2x2x8x4xf32> into tensor<8x8x4xf32>
    %63 = nn.transpose %62 [0, 2, 1] : tensor<8x8x4xf32> -> tensor<8x4x8xf32>
    %64 = tensor.expand_shape %63 [[0, 1], [2], [3]] output_shape [2, 4, 4, 8] : tensor<8x4x8xf32> into tensor<2x4x4x8xf32>
    %65 = arith.constant dense<0.7071067690849304> : tensor<1xf32>
    %66 = tensor.collapse_shape %65 [] : tensor<1xf32> into tensor<f32>
    %67 = nn.broadcast %66 dims [] : tensor<f32> -> tensor<2x4x8x4xf32>
    %68 = arith.mulf %43, %67 : tensor<2x4x8x4xf32>
    %69 = tensor.collapse_shape %65 [] : tensor<1xf32> into tensor<f32>
    %70 = nn.broadcast %69 dims [] : tensor<f32> -> tensor<2x4x4x8xf32>
    %71 = arith.mulf %64, %70 : tensor<2x4x4x8xf32>
    %72 = nn.einsum "debc,deca->deba" %68, %71 : tensor<2x4x8x4xf32>, tensor<2x4x4x8xf32> -> tensor<2x4x8x8xf32>
    %73 = arith.constant dense<"0x00000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF0000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF00000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF0000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFF000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFF00000000000000000000000000000000000000000000000000000000FFFF7FFF0000000000000000000000000000000000000000000000000000000000000000"> : tensor<8x8xf32>
    %74 = nn.broadcast %73 dims [2, 3] : tensor<8x8xf32> -> tensor<2x4x8x8xf32>
    %75 = arith.addf %72, %74 : tensor<2x4x8x8xf32>
    %76 = nn.softmax %75 dim 3 : tensor<2x4x8x8xf32>
    %77 = nn.einsum "debc,deca->deba" %76, %61 : tensor<2x4x8x8xf32>, tensor<2x4x8x4xf32> -> tensor<2x4x8x4xf32>
    %78 = nn.transpose %77 [0, 2, 1, 3] : tensor<2x4x8x4xf32> -> tensor<2x8x4x4xf32>
    %79 = tensor.collapse_shape %78 [[0], [1], [2, 3]] : tensor<2x8x4x4xf32> into tensor<2x8x16xf32>
    %80 = nn.einsum "cda,ab->cdb" %79, %arg15 : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
    %81 = nn.broadcast %arg7 dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    %82 = arith.addf %80, %81 : tensor<2x8x16xf32>
    %83 = arith.addf %1, %82 : tensor<2x8x16xf32>
    %84 = nn.layer_norm %83, %arg2, %arg3 eps 1.0e-05 : tensor<2x8x16xf32>, tensor<16xf32>, tensor<16xf32>
    %85 = nn.einsum "cda,ab->cdb" %84, %arg16 : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
    %86 = nn.broadcast %arg8 dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    %87 = arith.addf %85, %86 : tensor<2x8x16xf32>
    %88 = arith.constant dense<0.5> : tensor<2x8x16xf32>
    %89 = arith.mulf %87, %88 : tensor<2x8x16xf32>
    %90 = math.tanh %89 : tensor<2x8x16xf32>
    %91 = arith.mulf %90, %88 : tensor<2x8x16xf32>
    %92 = arith.addf %91, %88 : tensor<2x8x16xf32>
    %93 = arith.mulf %87, %92 : tensor<2x8x16xf32>
    %94 = nn.einsum "cda,ab->cdb" %84, %arg17 : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
    %95 = nn.broadcast %arg9 dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    %96 = arith.addf %94, %95 : tensor<2x8x16xf32>
    %97 = arith.mulf %93, %96 : tensor<2x8x16xf32>
    %98 = arith.addf %83, %97 : tensor<2x8x16xf32>
    %99 = nn.einsum "cda,ab->cdb" %98, %arg18 : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
    %100 = nn.broadcast %arg10 dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    %101 = arith.addf %99, %100 : tensor<2x8x16xf32>
    %102 = arith.constant dense<1.4142135381698608> : tensor<f32>
    %103 = nn.broadcast %102 dims [] : tensor<f32> -> tensor<2x8x16xf32>
    %104 = arith.divf %101, %103 : tensor<2x8x16xf32>
    %105 = math.erf %104 : tensor<2x8x16xf32>
    %106 = arith.constant dense<1.0> : tensor<f32>
    %107 = nn.broadcast %106 dims [] : tensor<f32> -> tensor<2x8x16xf32>
    %108 = arith.addf %105, %107 : tensor<2x8x16xf32>
    %109 = arith.constant dense<0.5> : tensor<f32>
    %110 = nn.broadcast %109 dims [] : tensor<f32> -> tensor<2x8x16xf32>
    %111 = arith.mulf %110, %108 : tensor<2x8x16xf32>
    %112 = arith.mulf %101, %111 : tensor<2x8x16xf32>
    %113 = arith.addf %98, %112 : tensor<2x8x16xf32>
    %114 = nn.einsum "cda,ab->cdb" %113, %arg19 : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
    %115 = nn.broadcast %arg11 dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    %116 = arith.addf %114, %115 : tensor<2x8x16xf32>
    %117 = arith.mulf %116, %116 : tensor<2x8x16xf32>
    %118 = arith.mulf %117, %116 : tensor<2x8x16xf32>
    %119 = arith.constant dense<0.044714998453855515> : tensor<f32>
    %120 = nn.broadcast %119 dims [] : tensor<f32> -> tensor<2x8x16xf32>
    %121 = arith.mulf %120, %118 : tensor<2x8x16xf32>
    %122 = arith.addf %116, %121 : tensor<2x8x16xf32>
    %123 = arith.constant dense<0.7978845834732056> : tensor<f32>
    %124 = nn.broadcast %123 dims [] : tensor<f32> -> tensor<2x8x16xf32>
    %125 = arith.mulf %124, %122 : tensor<2x8x16xf32>
    %126 = math.tanh %125 : tensor<2x8x16xf32>
    %127 = nn.broadcast %106 dims [] : tensor<f32> -> tensor<2x8x16xf32>
    %128 = arith.addf %126, %127 : tensor<2x8x16xf32>
    %129 = nn.broadcast %109 dims [] : tensor<f32> -> tensor<2x8x16xf32>
    %130 = arith.mulf %129, %128 : tensor<2x8x16xf32>
    %131 = arith.mulf %116, %130 : tensor<2x8x16xf32>
    %132 = arith.addf %113, %131 : tensor<2x8x16xf32>
    %133 = nn.softmax %132 dim 2 : tensor<2x8x16xf32>
    %134 = arith.mulf %132, %133 : tensor<2x8x16xf32>
    %135 = nn.einsum "cda,ab->cdb" %134, %0 : tensor<2x8x16xf32>, tensor<16x32xf32> -> tensor<2x8x32xf32>
    %136 = tensor.collapse_shape %135 [[0, 1], [2]] : tensor<2x8x32xf32> into tensor<16x32xf32>
    %137 = tensor.collapse_shape %arg21 [[0, 1]] : tensor<2x8xi64> into tensor<16xi64>
    %138 = nn.cross_entropy %135, %arg21 ignore -100 : tensor<2x8x32xf32>, tensor<2x8xi64> -> tensor<2x8xf32>
    %139 = nn.reduce <sum> %138 dims [0, 1] : tensor<2x8xf32> -> tensor<f32>
    %140 = arith.constant dense<-100> : tensor<2x8xi64>
    %141 = arith.cmpi ne, %arg21, %140 : tensor<2x8xi64>
    %142 = arith.uitofp %141 : tensor<2x8xi1> to tensor<2x8xf32>
    %143 = nn.reduce <sum> %142 dims [0, 1] : tensor<2x8xf32> -> tensor<f32>
    %144 = arith.divf %139, %143 : tensor<f32>
    return %144, %139, %143 : tensor<f32>, tensor<f32>, tensor<f32>
  }
}
