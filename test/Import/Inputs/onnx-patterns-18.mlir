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
    %arg20: tensor<16x32xf32> {nn.param = "permute", nn.source = #nn.source<"permute", [16, 32], offset 0, strides [32, 1]>},
    %arg21: tensor<2x8xi64> {nn.input = "tokens", nn.vocab = 32 : i64},
    %arg22: tensor<2x8xi64> {nn.input = "labels"})
      -> (tensor<f32> {nn.output = "loss"}, tensor<f32> {nn.output = "loss_sum"}, tensor<f32> {nn.output = "tokens"}) {
    %0 = nn.embedding %arg1, %arg21 : tensor<32x16xf32>, tensor<2x8xi64> -> tensor<2x8x16xf32>
    %1 = arith.mulf %0, %0 : tensor<2x8x16xf32>
    %2 = nn.reduce <sum> %1 dims [2] : tensor<2x8x16xf32> -> tensor<2x8xf32>
    %3 = arith.constant dense<16.0> : tensor<2x8xf32>
    %4 = arith.divf %2, %3 : tensor<2x8xf32>
    %5 = tensor.expand_shape %4 [[0], [1, 2]] output_shape [2, 8, 1] : tensor<2x8xf32> into tensor<2x8x1xf32>
    %6 = arith.constant dense<9.999999974752427e-07> : tensor<f32>
    %7 = nn.broadcast %6 dims [] : tensor<f32> -> tensor<2x8x1xf32>
    %8 = arith.addf %5, %7 : tensor<2x8x1xf32>
    %9 = math.sqrt %8 : tensor<2x8x1xf32>
    %10 = arith.constant dense<1.0> : tensor<2x8x1xf32>
    %11 = arith.divf %10, %9 : tensor<2x8x1xf32>
    %12 = tensor.collapse_shape %11 [[0], [1, 2]] : tensor<2x8x1xf32> into tensor<2x8xf32>
    %13 = nn.broadcast %12 dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x16xf32>
    %14 = arith.mulf %0, %13 : tensor<2x8x16xf32>
    %15 = nn.broadcast %arg0 dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    %16 = arith.mulf %14, %15 : tensor<2x8x16xf32>
    %17 = nn.einsum "cda,ab->cdb" %16, %arg12 : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
    %18 = nn.broadcast %arg4 dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    %19 = arith.addf %17, %18 : tensor<2x8x16xf32>
    %20 = tensor.expand_shape %19 [[0], [1], [2, 3]] output_shape [2, 8, 4, 4] : tensor<2x8x16xf32> into tensor<2x8x4x4xf32>
    %21 = nn.transpose %20 [0, 2, 1, 3] : tensor<2x8x4x4xf32> -> tensor<2x4x8x4xf32>
    %22 = nn.einsum "cda,ab->cdb" %16, %arg13 : tensor<2x8x16xf32>, tensor<16x8xf32> -> tensor<2x8x8xf32>
    %23 = nn.broadcast %arg5 dims [2] : tensor<8xf32> -> tensor<2x8x8xf32>
    %24 = arith.addf %22, %23 : tensor<2x8x8xf32>
    %25 = tensor.expand_shape %24 [[0], [1], [2, 3]] output_shape [2, 8, 2, 4] : tensor<2x8x8xf32> into tensor<2x8x2x4xf32>
    %26 = nn.transpose %25 [0, 2, 1, 3] : tensor<2x8x2x4xf32> -> tensor<2x2x8x4xf32>
    %27 = nn.einsum "cda,ab->cdb" %16, %arg14 : tensor<2x8x16xf32>, tensor<16x8xf32> -> tensor<2x8x8xf32>
    %28 = nn.broadcast %arg6 dims [2] : tensor<8xf32> -> tensor<2x8x8xf32>
    %29 = arith.addf %27, %28 : tensor<2x8x8xf32>
    %30 = tensor.expand_shape %29 [[0], [1], [2, 3]] output_shape [2, 8, 2, 4] : tensor<2x8x8xf32> into tensor<2x8x2x4xf32>
    %31 = nn.transpose %30 [0, 2, 1, 3] : tensor<2x8x2x4xf32> -> tensor<2x2x8x4xf32>
    %32 = tensor.extract_slice %21[0, 0, 0, 0] [2, 4, 8, 2] [1, 1, 1, 1] : tensor<2x4x8x4xf32> to tensor<2x4x8x2xf32>
    %33 = tensor.extract_slice %21[0, 0, 0, 2] [2, 4, 8, 2] [1, 1, 1, 1] : tensor<2x4x8x4xf32> to tensor<2x4x8x2xf32>
    %34 = arith.constant dense<"0x0000803F0000803F0000803F0000803F40510A3F98B87E3F40510A3F98B87E3F3211D5BEA5E57A3F3211D5BEA5E57A3F26707DBFEF90743F26707DBFEF90743F305527BFA7CA6B3F305527BFA7CA6B3F2B3C913E40A9603F2B3C913E40A9603FB8CD753F3249533FB8CD753F3249533FBDFF403FB3CC433FBDFF403FB3CC433F"> : tensor<8x4xf32>
    %35 = nn.broadcast %34 dims [2, 3] : tensor<8x4xf32> -> tensor<2x4x8x4xf32>
    %36 = arith.mulf %21, %35 : tensor<2x4x8x4xf32>
    %37 = arith.negf %33 : tensor<2x4x8x2xf32>
    %38 = tensor.concat dim(3) %37, %32 : (tensor<2x4x8x2xf32>, tensor<2x4x8x2xf32>) -> tensor<2x4x8x4xf32>
    %39 = arith.constant dense<"0x00000000000000000000000000000000A56A573F7775CC3DA56A573F7775CC3DB7C7683FF96F4B3EB7C7683FF96F4B3EC381103E6D4E973EC381103E6D4E973ECFBD41BFD761C73ECFBD41BFD761C73E107C75BF4477F53E107C75BF4477F53E8C0F8FBE698C103F8C0F8FBE698C103F4630283F73EB243F4630283F73EB243F"> : tensor<8x4xf32>
    %40 = nn.broadcast %39 dims [2, 3] : tensor<8x4xf32> -> tensor<2x4x8x4xf32>
    %41 = arith.mulf %38, %40 : tensor<2x4x8x4xf32>
    %42 = arith.addf %36, %41 : tensor<2x4x8x4xf32>
    %43 = tensor.extract_slice %26[0, 0, 0, 0] [2, 2, 8, 2] [1, 1, 1, 1] : tensor<2x2x8x4xf32> to tensor<2x2x8x2xf32>
    %44 = tensor.extract_slice %26[0, 0, 0, 2] [2, 2, 8, 2] [1, 1, 1, 1] : tensor<2x2x8x4xf32> to tensor<2x2x8x2xf32>
    %45 = nn.broadcast %34 dims [2, 3] : tensor<8x4xf32> -> tensor<2x2x8x4xf32>
    %46 = arith.mulf %26, %45 : tensor<2x2x8x4xf32>
    %47 = arith.negf %44 : tensor<2x2x8x2xf32>
    %48 = tensor.concat dim(3) %47, %43 : (tensor<2x2x8x2xf32>, tensor<2x2x8x2xf32>) -> tensor<2x2x8x4xf32>
    %49 = nn.broadcast %39 dims [2, 3] : tensor<8x4xf32> -> tensor<2x2x8x4xf32>
    %50 = arith.mulf %48, %49 : tensor<2x2x8x4xf32>
    %51 = arith.addf %46, %50 : tensor<2x2x8x4xf32>
    %52 = tensor.expand_shape %51 [[0], [1], [2, 3], [4]] output_shape [2, 2, 1, 8, 4] : tensor<2x2x8x4xf32> into tensor<2x2x1x8x4xf32>
    %53 = tensor.collapse_shape %52 [[0], [1], [2, 3], [4]] : tensor<2x2x1x8x4xf32> into tensor<2x2x8x4xf32>
    %54 = nn.broadcast %53 dims [0, 1, 3, 4] : tensor<2x2x8x4xf32> -> tensor<2x2x2x8x4xf32>
    %55 = tensor.collapse_shape %52 [[0], [1], [2, 3], [4]] : tensor<2x2x1x8x4xf32> into tensor<2x2x8x4xf32>
    %56 = tensor.expand_shape %31 [[0], [1], [2, 3], [4]] output_shape [2, 2, 1, 8, 4] : tensor<2x2x8x4xf32> into tensor<2x2x1x8x4xf32>
    %57 = tensor.collapse_shape %56 [[0], [1], [2, 3], [4]] : tensor<2x2x1x8x4xf32> into tensor<2x2x8x4xf32>
    %58 = nn.broadcast %57 dims [0, 1, 3, 4] : tensor<2x2x8x4xf32> -> tensor<2x2x2x8x4xf32>
    %59 = tensor.collapse_shape %56 [[0], [1], [2, 3], [4]] : tensor<2x2x1x8x4xf32> into tensor<2x2x8x4xf32>
    %60 = tensor.collapse_shape %58 [[0], [1, 2], [3], [4]] : tensor<2x2x2x8x4xf32> into tensor<2x4x8x4xf32>
    %61 = tensor.collapse_shape %54 [[0, 1, 2], [3], [4]] : tensor<2x2x2x8x4xf32> into tensor<8x8x4xf32>
    %62 = nn.transpose %61 [0, 2, 1] : tensor<8x8x4xf32> -> tensor<8x4x8xf32>
    %63 = tensor.expand_shape %62 [[0, 1], [2], [3]] output_shape [2, 4, 4, 8] : tensor<8x4x8xf32> into tensor<2x4x4x8xf32>
    %64 = arith.constant dense<0.7071067690849304> : tensor<1xf32>
    %65 = tensor.collapse_shape %64 [] : tensor<1xf32> into tensor<f32>
    %66 = nn.broadcast %65 dims [] : tensor<f32> -> tensor<2x4x8x4xf32>
    %67 = arith.mulf %42, %66 : tensor<2x4x8x4xf32>
    %68 = tensor.collapse_shape %64 [] : tensor<1xf32> into tensor<f32>
    %69 = nn.broadcast %68 dims [] : tensor<f32> -> tensor<2x4x4x8xf32>
    %70 = arith.mulf %63, %69 : tensor<2x4x4x8xf32>
    %71 = nn.einsum "debc,deca->deba" %67, %70 : tensor<2x4x8x4xf32>, tensor<2x4x4x8xf32> -> tensor<2x4x8x8xf32>
    %72 = arith.constant dense<"0x00000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF0000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF00000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF0000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFF000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFF00000000000000000000000000000000000000000000000000000000FFFF7FFF0000000000000000000000000000000000000000000000000000000000000000"> : tensor<8x8xf32>
    %73 = nn.broadcast %72 dims [2, 3] : tensor<8x8xf32> -> tensor<2x4x8x8xf32>
    %74 = arith.addf %71, %73 : tensor<2x4x8x8xf32>
    %75 = nn.softmax %74 dim 3 : tensor<2x4x8x8xf32>
    %76 = nn.einsum "debc,deca->deba" %75, %60 : tensor<2x4x8x8xf32>, tensor<2x4x8x4xf32> -> tensor<2x4x8x4xf32>
    %77 = nn.transpose %76 [0, 2, 1, 3] : tensor<2x4x8x4xf32> -> tensor<2x8x4x4xf32>
    %78 = tensor.collapse_shape %77 [[0], [1], [2, 3]] : tensor<2x8x4x4xf32> into tensor<2x8x16xf32>
    %79 = nn.einsum "cda,ab->cdb" %78, %arg15 : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
    %80 = nn.broadcast %arg7 dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    %81 = arith.addf %79, %80 : tensor<2x8x16xf32>
    %82 = arith.addf %0, %81 : tensor<2x8x16xf32>
    %83 = nn.layer_norm %82, %arg2, %arg3 eps 1.0e-05 : tensor<2x8x16xf32>, tensor<16xf32>, tensor<16xf32>
    %84 = nn.einsum "cda,ab->cdb" %83, %arg16 : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
    %85 = nn.broadcast %arg8 dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    %86 = arith.addf %84, %85 : tensor<2x8x16xf32>
    %87 = arith.constant dense<0.5> : tensor<2x8x16xf32>
    %88 = arith.mulf %86, %87 : tensor<2x8x16xf32>
    %89 = math.tanh %88 : tensor<2x8x16xf32>
    %90 = arith.mulf %89, %87 : tensor<2x8x16xf32>
    %91 = arith.addf %90, %87 : tensor<2x8x16xf32>
    %92 = arith.mulf %86, %91 : tensor<2x8x16xf32>
    %93 = nn.einsum "cda,ab->cdb" %83, %arg17 : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
    %94 = nn.broadcast %arg9 dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    %95 = arith.addf %93, %94 : tensor<2x8x16xf32>
    %96 = arith.mulf %92, %95 : tensor<2x8x16xf32>
    %97 = arith.addf %82, %96 : tensor<2x8x16xf32>
    %98 = nn.einsum "cda,ab->cdb" %97, %arg18 : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
    %99 = nn.broadcast %arg10 dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    %100 = arith.addf %98, %99 : tensor<2x8x16xf32>
    %101 = arith.constant dense<1.4142135381698608> : tensor<f32>
    %102 = nn.broadcast %101 dims [] : tensor<f32> -> tensor<2x8x16xf32>
    %103 = arith.divf %100, %102 : tensor<2x8x16xf32>
    %104 = math.erf %103 : tensor<2x8x16xf32>
    %105 = arith.constant dense<1.0> : tensor<f32>
    %106 = nn.broadcast %105 dims [] : tensor<f32> -> tensor<2x8x16xf32>
    %107 = arith.addf %104, %106 : tensor<2x8x16xf32>
    %108 = arith.constant dense<0.5> : tensor<f32>
    %109 = nn.broadcast %108 dims [] : tensor<f32> -> tensor<2x8x16xf32>
    %110 = arith.mulf %109, %107 : tensor<2x8x16xf32>
    %111 = arith.mulf %100, %110 : tensor<2x8x16xf32>
    %112 = arith.addf %97, %111 : tensor<2x8x16xf32>
    %113 = nn.einsum "cda,ab->cdb" %112, %arg19 : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
    %114 = nn.broadcast %arg11 dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    %115 = arith.addf %113, %114 : tensor<2x8x16xf32>
    %116 = arith.mulf %115, %115 : tensor<2x8x16xf32>
    %117 = arith.mulf %116, %115 : tensor<2x8x16xf32>
    %118 = arith.constant dense<0.044714998453855515> : tensor<f32>
    %119 = nn.broadcast %118 dims [] : tensor<f32> -> tensor<2x8x16xf32>
    %120 = arith.mulf %119, %117 : tensor<2x8x16xf32>
    %121 = arith.addf %115, %120 : tensor<2x8x16xf32>
    %122 = arith.constant dense<0.7978845834732056> : tensor<f32>
    %123 = nn.broadcast %122 dims [] : tensor<f32> -> tensor<2x8x16xf32>
    %124 = arith.mulf %123, %121 : tensor<2x8x16xf32>
    %125 = math.tanh %124 : tensor<2x8x16xf32>
    %126 = nn.broadcast %105 dims [] : tensor<f32> -> tensor<2x8x16xf32>
    %127 = arith.addf %125, %126 : tensor<2x8x16xf32>
    %128 = nn.broadcast %108 dims [] : tensor<f32> -> tensor<2x8x16xf32>
    %129 = arith.mulf %128, %127 : tensor<2x8x16xf32>
    %130 = arith.mulf %115, %129 : tensor<2x8x16xf32>
    %131 = arith.addf %112, %130 : tensor<2x8x16xf32>
    %132 = nn.softmax %131 dim 2 : tensor<2x8x16xf32>
    %133 = arith.mulf %131, %132 : tensor<2x8x16xf32>
    %134 = nn.einsum "cda,ab->cdb" %133, %arg20 : tensor<2x8x16xf32>, tensor<16x32xf32> -> tensor<2x8x32xf32>
    %135 = tensor.collapse_shape %134 [[0, 1], [2]] : tensor<2x8x32xf32> into tensor<16x32xf32>
    %136 = tensor.collapse_shape %arg22 [[0, 1]] : tensor<2x8xi64> into tensor<16xi64>
    %137 = nn.cross_entropy %134, %arg22 ignore -100 : tensor<2x8x32xf32>, tensor<2x8xi64> -> tensor<2x8xf32>
    %138 = nn.reduce <sum> %137 dims [0, 1] : tensor<2x8xf32> -> tensor<f32>
    %139 = arith.constant dense<-100> : tensor<2x8xi64>
    %140 = arith.cmpi ne, %arg22, %139 : tensor<2x8xi64>
    %141 = arith.uitofp %140 : tensor<2x8xi1> to tensor<2x8xf32>
    %142 = nn.reduce <sum> %141 dims [0, 1] : tensor<2x8xf32> -> tensor<f32>
    %143 = arith.divf %138, %142 : tensor<f32>
    return %143, %138, %142 : tensor<f32>, tensor<f32>, tensor<f32>
  }
}
