module @"Loss" {
  func.func @forward(%arg0: tensor<259x48xf32> {nn.param = "model.transformer.wte.weight", nn.source = #nn.source<"model.transformer.wte.weight", [259, 48], offset 0, strides [48, 1]>},
    %arg1: tensor<64x48xf32> {nn.param = "model.transformer.wpe.weight", nn.source = #nn.source<"model.transformer.wpe.weight", [64, 48], offset 0, strides [48, 1]>},
    %arg2: tensor<48xf32> {nn.param = "model.transformer.h.0.ln_1.weight", nn.source = #nn.source<"model.transformer.h.0.ln_1.weight", [48], offset 0, strides [1]>},
    %arg3: tensor<48xf32> {nn.param = "model.transformer.h.0.ln_1.bias", nn.source = #nn.source<"model.transformer.h.0.ln_1.bias", [48], offset 0, strides [1]>},
    %arg4: tensor<48x144xf32> {nn.param = "model.transformer.h.0.attn.c_attn.weight", nn.source = #nn.source<"model.transformer.h.0.attn.c_attn.weight", [48, 144], offset 0, strides [144, 1]>},
    %arg5: tensor<144xf32> {nn.param = "model.transformer.h.0.attn.c_attn.bias", nn.source = #nn.source<"model.transformer.h.0.attn.c_attn.bias", [144], offset 0, strides [1]>},
    %arg6: tensor<48x48xf32> {nn.param = "model.transformer.h.0.attn.c_proj.weight", nn.source = #nn.source<"model.transformer.h.0.attn.c_proj.weight", [48, 48], offset 0, strides [48, 1]>},
    %arg7: tensor<48xf32> {nn.param = "model.transformer.h.0.attn.c_proj.bias", nn.source = #nn.source<"model.transformer.h.0.attn.c_proj.bias", [48], offset 0, strides [1]>},
    %arg8: tensor<48xf32> {nn.param = "model.transformer.h.0.ln_2.weight", nn.source = #nn.source<"model.transformer.h.0.ln_2.weight", [48], offset 0, strides [1]>},
    %arg9: tensor<48xf32> {nn.param = "model.transformer.h.0.ln_2.bias", nn.source = #nn.source<"model.transformer.h.0.ln_2.bias", [48], offset 0, strides [1]>},
    %arg10: tensor<48x192xf32> {nn.param = "model.transformer.h.0.mlp.c_fc.weight", nn.source = #nn.source<"model.transformer.h.0.mlp.c_fc.weight", [48, 192], offset 0, strides [192, 1]>},
    %arg11: tensor<192xf32> {nn.param = "model.transformer.h.0.mlp.c_fc.bias", nn.source = #nn.source<"model.transformer.h.0.mlp.c_fc.bias", [192], offset 0, strides [1]>},
    %arg12: tensor<192x48xf32> {nn.param = "model.transformer.h.0.mlp.c_proj.weight", nn.source = #nn.source<"model.transformer.h.0.mlp.c_proj.weight", [192, 48], offset 0, strides [48, 1]>},
    %arg13: tensor<48xf32> {nn.param = "model.transformer.h.0.mlp.c_proj.bias", nn.source = #nn.source<"model.transformer.h.0.mlp.c_proj.bias", [48], offset 0, strides [1]>},
    %arg14: tensor<48xf32> {nn.param = "model.transformer.h.1.ln_1.weight", nn.source = #nn.source<"model.transformer.h.1.ln_1.weight", [48], offset 0, strides [1]>},
    %arg15: tensor<48xf32> {nn.param = "model.transformer.h.1.ln_1.bias", nn.source = #nn.source<"model.transformer.h.1.ln_1.bias", [48], offset 0, strides [1]>},
    %arg16: tensor<48x144xf32> {nn.param = "model.transformer.h.1.attn.c_attn.weight", nn.source = #nn.source<"model.transformer.h.1.attn.c_attn.weight", [48, 144], offset 0, strides [144, 1]>},
    %arg17: tensor<144xf32> {nn.param = "model.transformer.h.1.attn.c_attn.bias", nn.source = #nn.source<"model.transformer.h.1.attn.c_attn.bias", [144], offset 0, strides [1]>},
    %arg18: tensor<48x48xf32> {nn.param = "model.transformer.h.1.attn.c_proj.weight", nn.source = #nn.source<"model.transformer.h.1.attn.c_proj.weight", [48, 48], offset 0, strides [48, 1]>},
    %arg19: tensor<48xf32> {nn.param = "model.transformer.h.1.attn.c_proj.bias", nn.source = #nn.source<"model.transformer.h.1.attn.c_proj.bias", [48], offset 0, strides [1]>},
    %arg20: tensor<48xf32> {nn.param = "model.transformer.h.1.ln_2.weight", nn.source = #nn.source<"model.transformer.h.1.ln_2.weight", [48], offset 0, strides [1]>},
    %arg21: tensor<48xf32> {nn.param = "model.transformer.h.1.ln_2.bias", nn.source = #nn.source<"model.transformer.h.1.ln_2.bias", [48], offset 0, strides [1]>},
    %arg22: tensor<48x192xf32> {nn.param = "model.transformer.h.1.mlp.c_fc.weight", nn.source = #nn.source<"model.transformer.h.1.mlp.c_fc.weight", [48, 192], offset 0, strides [192, 1]>},
    %arg23: tensor<192xf32> {nn.param = "model.transformer.h.1.mlp.c_fc.bias", nn.source = #nn.source<"model.transformer.h.1.mlp.c_fc.bias", [192], offset 0, strides [1]>},
    %arg24: tensor<192x48xf32> {nn.param = "model.transformer.h.1.mlp.c_proj.weight", nn.source = #nn.source<"model.transformer.h.1.mlp.c_proj.weight", [192, 48], offset 0, strides [48, 1]>},
    %arg25: tensor<48xf32> {nn.param = "model.transformer.h.1.mlp.c_proj.bias", nn.source = #nn.source<"model.transformer.h.1.mlp.c_proj.bias", [48], offset 0, strides [1]>},
    %arg26: tensor<48xf32> {nn.param = "model.transformer.ln_f.weight", nn.source = #nn.source<"model.transformer.ln_f.weight", [48], offset 0, strides [1]>},
    %arg27: tensor<48xf32> {nn.param = "model.transformer.ln_f.bias", nn.source = #nn.source<"model.transformer.ln_f.bias", [48], offset 0, strides [1]>},
    %arg28: tensor<2x24xi64> {nn.input = "tokens", nn.vocab = 259 : i64},
    %arg29: tensor<2x24xi64> {nn.input = "labels"})
      -> (tensor<f32> {nn.output = "loss"}, tensor<f32> {nn.output = "loss_sum"}, tensor<f32> {nn.output = "tokens"}) {
    %0 = nn.embedding %arg0, %arg28 : tensor<259x48xf32>, tensor<2x24xi64> -> tensor<2x24x48xf32>
    %1 = arith.constant dense<"0x00000000000000000100000000000000020000000000000003000000000000000400000000000000050000000000000006000000000000000700000000000000080000000000000009000000000000000A000000000000000B000000000000000C000000000000000D000000000000000E000000000000000F0000000000000010000000000000001100000000000000120000000000000013000000000000001400000000000000150000000000000016000000000000001700000000000000"> : tensor<24xi64>
    %2 = nn.broadcast %1 dims [1] : tensor<24xi64> -> tensor<1x24xi64>
    %3 = nn.embedding %arg1, %2 : tensor<64x48xf32>, tensor<1x24xi64> -> tensor<1x24x48xf32>
    %4 = tensor.collapse_shape %3 [[0, 1], [2]] : tensor<1x24x48xf32> into tensor<24x48xf32>
    %5 = nn.broadcast %4 dims [1, 2] : tensor<24x48xf32> -> tensor<2x24x48xf32>
    %6 = arith.addf %0, %5 : tensor<2x24x48xf32>
    %7 = nn.layer_norm %6, %arg2, %arg3 eps 1.0e-05 : tensor<2x24x48xf32>, tensor<48xf32>, tensor<48xf32>
    %8 = tensor.collapse_shape %7 [[0, 1], [2]] : tensor<2x24x48xf32> into tensor<48x48xf32>
    %9 = nn.einsum "cda,ab->cdb" %7, %arg4 : tensor<2x24x48xf32>, tensor<48x144xf32> -> tensor<2x24x144xf32>
    %10 = nn.broadcast %arg5 dims [2] : tensor<144xf32> -> tensor<2x24x144xf32>
    %11 = arith.addf %9, %10 : tensor<2x24x144xf32>
    %12 = tensor.collapse_shape %11 [[0, 1], [2]] : tensor<2x24x144xf32> into tensor<48x144xf32>
    %13 = tensor.extract_slice %11[0, 0, 0] [2, 24, 48] [1, 1, 1] : tensor<2x24x144xf32> to tensor<2x24x48xf32>
    %14 = tensor.extract_slice %11[0, 0, 48] [2, 24, 48] [1, 1, 1] : tensor<2x24x144xf32> to tensor<2x24x48xf32>
    %15 = tensor.extract_slice %11[0, 0, 96] [2, 24, 48] [1, 1, 1] : tensor<2x24x144xf32> to tensor<2x24x48xf32>
    %16 = tensor.expand_shape %14 [[0], [1], [2, 3]] output_shape [2, 24, 4, 12] : tensor<2x24x48xf32> into tensor<2x24x4x12xf32>
    %17 = nn.transpose %16 [0, 2, 1, 3] : tensor<2x24x4x12xf32> -> tensor<2x4x24x12xf32>
    %18 = tensor.expand_shape %15 [[0], [1], [2, 3]] output_shape [2, 24, 4, 12] : tensor<2x24x48xf32> into tensor<2x24x4x12xf32>
    %19 = nn.transpose %18 [0, 2, 1, 3] : tensor<2x24x4x12xf32> -> tensor<2x4x24x12xf32>
    %20 = tensor.expand_shape %13 [[0], [1], [2, 3]] output_shape [2, 24, 4, 12] : tensor<2x24x48xf32> into tensor<2x24x4x12xf32>
    %21 = nn.transpose %20 [0, 2, 1, 3] : tensor<2x24x4x12xf32> -> tensor<2x4x24x12xf32>
    %22 = tensor.expand_shape %21 [[0], [1], [2, 3], [4]] output_shape [2, 4, 1, 24, 12] : tensor<2x4x24x12xf32> into tensor<2x4x1x24x12xf32>
    %23 = nn.transpose %22 [0, 3, 1, 2, 4] : tensor<2x4x1x24x12xf32> -> tensor<2x24x4x1x12xf32>
    %24 = nn.transpose %17 [0, 2, 1, 3] : tensor<2x4x24x12xf32> -> tensor<2x24x4x12xf32>
    %25 = nn.transpose %19 [0, 2, 1, 3] : tensor<2x4x24x12xf32> -> tensor<2x24x4x12xf32>
    %26 = nn.attention causal scale 0.28867513459481287 %23, %24, %25 : tensor<2x24x4x1x12xf32>, tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32> -> tensor<2x24x4x1x12xf32>
    %27 = nn.transpose %26 [0, 2, 3, 1, 4] : tensor<2x24x4x1x12xf32> -> tensor<2x4x1x24x12xf32>
    %28 = tensor.collapse_shape %27 [[0], [1], [2, 3], [4]] : tensor<2x4x1x24x12xf32> into tensor<2x4x24x12xf32>
    %29 = nn.transpose %28 [0, 2, 1, 3] : tensor<2x4x24x12xf32> -> tensor<2x24x4x12xf32>
    %30 = tensor.collapse_shape %29 [[0], [1], [2, 3]] : tensor<2x24x4x12xf32> into tensor<2x24x48xf32>
    %31 = tensor.collapse_shape %30 [[0, 1], [2]] : tensor<2x24x48xf32> into tensor<48x48xf32>
    %32 = nn.einsum "ca,ab->cb" %31, %arg6 : tensor<48x48xf32>, tensor<48x48xf32> -> tensor<48x48xf32>
    %33 = nn.broadcast %arg7 dims [1] : tensor<48xf32> -> tensor<48x48xf32>
    %34 = arith.addf %32, %33 : tensor<48x48xf32>
    %35 = tensor.expand_shape %34 [[0, 1], [2]] output_shape [2, 24, 48] : tensor<48x48xf32> into tensor<2x24x48xf32>
    %36 = arith.addf %35, %6 : tensor<2x24x48xf32>
    %37 = nn.layer_norm %36, %arg8, %arg9 eps 1.0e-05 : tensor<2x24x48xf32>, tensor<48xf32>, tensor<48xf32>
    %38 = tensor.collapse_shape %37 [[0, 1], [2]] : tensor<2x24x48xf32> into tensor<48x48xf32>
    %39 = nn.einsum "cda,ab->cdb" %37, %arg10 : tensor<2x24x48xf32>, tensor<48x192xf32> -> tensor<2x24x192xf32>
    %40 = nn.broadcast %arg11 dims [2] : tensor<192xf32> -> tensor<2x24x192xf32>
    %41 = arith.addf %39, %40 : tensor<2x24x192xf32>
    %42 = tensor.collapse_shape %41 [[0, 1], [2]] : tensor<2x24x192xf32> into tensor<48x192xf32>
    %43 = arith.constant dense<0.5> : tensor<2x24x192xf32>
    %44 = arith.mulf %41, %43 : tensor<2x24x192xf32>
    %45 = arith.mulf %41, %41 : tensor<2x24x192xf32>
    %46 = arith.mulf %45, %41 : tensor<2x24x192xf32>
    %47 = arith.constant dense<0.044715> : tensor<2x24x192xf32>
    %48 = arith.mulf %46, %47 : tensor<2x24x192xf32>
    %49 = arith.addf %41, %48 : tensor<2x24x192xf32>
    %50 = arith.constant dense<0.7978845608028654> : tensor<2x24x192xf32>
    %51 = arith.mulf %49, %50 : tensor<2x24x192xf32>
    %52 = math.tanh %51 : tensor<2x24x192xf32>
    %53 = arith.constant dense<1.0> : tensor<2x24x192xf32>
    %54 = arith.addf %52, %53 : tensor<2x24x192xf32>
    %55 = arith.mulf %44, %54 : tensor<2x24x192xf32>
    %56 = tensor.collapse_shape %55 [[0, 1], [2]] : tensor<2x24x192xf32> into tensor<48x192xf32>
    %57 = nn.einsum "cda,ab->cdb" %55, %arg12 : tensor<2x24x192xf32>, tensor<192x48xf32> -> tensor<2x24x48xf32>
    %58 = nn.broadcast %arg13 dims [2] : tensor<48xf32> -> tensor<2x24x48xf32>
    %59 = arith.addf %57, %58 : tensor<2x24x48xf32>
    %60 = tensor.collapse_shape %59 [[0, 1], [2]] : tensor<2x24x48xf32> into tensor<48x48xf32>
    %61 = arith.addf %36, %59 : tensor<2x24x48xf32>
    %62 = nn.layer_norm %61, %arg14, %arg15 eps 1.0e-05 : tensor<2x24x48xf32>, tensor<48xf32>, tensor<48xf32>
    %63 = tensor.collapse_shape %62 [[0, 1], [2]] : tensor<2x24x48xf32> into tensor<48x48xf32>
    %64 = nn.einsum "cda,ab->cdb" %62, %arg16 : tensor<2x24x48xf32>, tensor<48x144xf32> -> tensor<2x24x144xf32>
    %65 = nn.broadcast %arg17 dims [2] : tensor<144xf32> -> tensor<2x24x144xf32>
    %66 = arith.addf %64, %65 : tensor<2x24x144xf32>
    %67 = tensor.collapse_shape %66 [[0, 1], [2]] : tensor<2x24x144xf32> into tensor<48x144xf32>
    %68 = tensor.extract_slice %66[0, 0, 0] [2, 24, 48] [1, 1, 1] : tensor<2x24x144xf32> to tensor<2x24x48xf32>
    %69 = tensor.extract_slice %66[0, 0, 48] [2, 24, 48] [1, 1, 1] : tensor<2x24x144xf32> to tensor<2x24x48xf32>
    %70 = tensor.extract_slice %66[0, 0, 96] [2, 24, 48] [1, 1, 1] : tensor<2x24x144xf32> to tensor<2x24x48xf32>
    %71 = tensor.expand_shape %69 [[0], [1], [2, 3]] output_shape [2, 24, 4, 12] : tensor<2x24x48xf32> into tensor<2x24x4x12xf32>
    %72 = nn.transpose %71 [0, 2, 1, 3] : tensor<2x24x4x12xf32> -> tensor<2x4x24x12xf32>
    %73 = tensor.expand_shape %70 [[0], [1], [2, 3]] output_shape [2, 24, 4, 12] : tensor<2x24x48xf32> into tensor<2x24x4x12xf32>
    %74 = nn.transpose %73 [0, 2, 1, 3] : tensor<2x24x4x12xf32> -> tensor<2x4x24x12xf32>
    %75 = tensor.expand_shape %68 [[0], [1], [2, 3]] output_shape [2, 24, 4, 12] : tensor<2x24x48xf32> into tensor<2x24x4x12xf32>
    %76 = nn.transpose %75 [0, 2, 1, 3] : tensor<2x24x4x12xf32> -> tensor<2x4x24x12xf32>
    %77 = tensor.expand_shape %76 [[0], [1], [2, 3], [4]] output_shape [2, 4, 1, 24, 12] : tensor<2x4x24x12xf32> into tensor<2x4x1x24x12xf32>
    %78 = nn.transpose %77 [0, 3, 1, 2, 4] : tensor<2x4x1x24x12xf32> -> tensor<2x24x4x1x12xf32>
    %79 = nn.transpose %72 [0, 2, 1, 3] : tensor<2x4x24x12xf32> -> tensor<2x24x4x12xf32>
    %80 = nn.transpose %74 [0, 2, 1, 3] : tensor<2x4x24x12xf32> -> tensor<2x24x4x12xf32>
    %81 = nn.attention causal scale 0.28867513459481287 %78, %79, %80 : tensor<2x24x4x1x12xf32>, tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32> -> tensor<2x24x4x1x12xf32>
    %82 = nn.transpose %81 [0, 2, 3, 1, 4] : tensor<2x24x4x1x12xf32> -> tensor<2x4x1x24x12xf32>
    %83 = tensor.collapse_shape %82 [[0], [1], [2, 3], [4]] : tensor<2x4x1x24x12xf32> into tensor<2x4x24x12xf32>
    %84 = nn.transpose %83 [0, 2, 1, 3] : tensor<2x4x24x12xf32> -> tensor<2x24x4x12xf32>
    %85 = tensor.collapse_shape %84 [[0], [1], [2, 3]] : tensor<2x24x4x12xf32> into tensor<2x24x48xf32>
    %86 = tensor.collapse_shape %85 [[0, 1], [2]] : tensor<2x24x48xf32> into tensor<48x48xf32>
    %87 = nn.einsum "ca,ab->cb" %86, %arg18 : tensor<48x48xf32>, tensor<48x48xf32> -> tensor<48x48xf32>
    %88 = nn.broadcast %arg19 dims [1] : tensor<48xf32> -> tensor<48x48xf32>
    %89 = arith.addf %87, %88 : tensor<48x48xf32>
    %90 = tensor.expand_shape %89 [[0, 1], [2]] output_shape [2, 24, 48] : tensor<48x48xf32> into tensor<2x24x48xf32>
    %91 = arith.addf %90, %61 : tensor<2x24x48xf32>
    %92 = nn.layer_norm %91, %arg20, %arg21 eps 1.0e-05 : tensor<2x24x48xf32>, tensor<48xf32>, tensor<48xf32>
    %93 = tensor.collapse_shape %92 [[0, 1], [2]] : tensor<2x24x48xf32> into tensor<48x48xf32>
    %94 = nn.einsum "cda,ab->cdb" %92, %arg22 : tensor<2x24x48xf32>, tensor<48x192xf32> -> tensor<2x24x192xf32>
    %95 = nn.broadcast %arg23 dims [2] : tensor<192xf32> -> tensor<2x24x192xf32>
    %96 = arith.addf %94, %95 : tensor<2x24x192xf32>
    %97 = tensor.collapse_shape %96 [[0, 1], [2]] : tensor<2x24x192xf32> into tensor<48x192xf32>
    %98 = arith.constant dense<0.5> : tensor<2x24x192xf32>
    %99 = arith.mulf %96, %98 : tensor<2x24x192xf32>
    %100 = arith.mulf %96, %96 : tensor<2x24x192xf32>
    %101 = arith.mulf %100, %96 : tensor<2x24x192xf32>
    %102 = arith.constant dense<0.044715> : tensor<2x24x192xf32>
    %103 = arith.mulf %101, %102 : tensor<2x24x192xf32>
    %104 = arith.addf %96, %103 : tensor<2x24x192xf32>
    %105 = arith.constant dense<0.7978845608028654> : tensor<2x24x192xf32>
    %106 = arith.mulf %104, %105 : tensor<2x24x192xf32>
    %107 = math.tanh %106 : tensor<2x24x192xf32>
    %108 = arith.constant dense<1.0> : tensor<2x24x192xf32>
    %109 = arith.addf %107, %108 : tensor<2x24x192xf32>
    %110 = arith.mulf %99, %109 : tensor<2x24x192xf32>
    %111 = tensor.collapse_shape %110 [[0, 1], [2]] : tensor<2x24x192xf32> into tensor<48x192xf32>
    %112 = nn.einsum "cda,ab->cdb" %110, %arg24 : tensor<2x24x192xf32>, tensor<192x48xf32> -> tensor<2x24x48xf32>
    %113 = nn.broadcast %arg25 dims [2] : tensor<48xf32> -> tensor<2x24x48xf32>
    %114 = arith.addf %112, %113 : tensor<2x24x48xf32>
    %115 = tensor.collapse_shape %114 [[0, 1], [2]] : tensor<2x24x48xf32> into tensor<48x48xf32>
    %116 = arith.addf %91, %114 : tensor<2x24x48xf32>
    %117 = nn.layer_norm %116, %arg26, %arg27 eps 1.0e-05 : tensor<2x24x48xf32>, tensor<48xf32>, tensor<48xf32>
    %118 = nn.einsum "cda,ba->cdb" %117, %arg0 : tensor<2x24x48xf32>, tensor<259x48xf32> -> tensor<2x24x259xf32>
    %119 = arith.constant dense<-100> : tensor<2x1xi64>
    %120 = tensor.concat dim(1) %arg29, %119 : (tensor<2x24xi64>, tensor<2x1xi64>) -> tensor<2x25xi64>
    %121 = tensor.extract_slice %120[0, 1] [2, 24] [1, 1] : tensor<2x25xi64> to tensor<2x24xi64>
    %122 = tensor.collapse_shape %118 [[0, 1], [2]] : tensor<2x24x259xf32> into tensor<48x259xf32>
    %123 = tensor.collapse_shape %121 [[0, 1]] : tensor<2x24xi64> into tensor<48xi64>
    %124 = nn.cross_entropy %118, %121 ignore -100 : tensor<2x24x259xf32>, tensor<2x24xi64> -> tensor<2x24xf32>
    %125 = nn.reduce <sum> %124 dims [0, 1] : tensor<2x24xf32> -> tensor<f32>
    %126 = arith.constant dense<-100> : tensor<2x24xi64>
    %127 = arith.cmpi ne, %121, %126 : tensor<2x24xi64>
    %128 = arith.uitofp %127 : tensor<2x24xi1> to tensor<2x24xf32>
    %129 = nn.reduce <sum> %128 dims [0, 1] : tensor<2x24xf32> -> tensor<f32>
    %130 = arith.divf %125, %129 : tensor<f32>
    return %130, %125, %129 : tensor<f32>, tensor<f32>, tensor<f32>
  }
}
