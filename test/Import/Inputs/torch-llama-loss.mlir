module @"Loss" {
  func.func @forward(%arg0: tensor<259x48xf32> {nn.param = "model.model.embed_tokens.weight", nn.source = #nn.source<"model.model.embed_tokens.weight", [259, 48], offset 0, strides [48, 1]>},
    %arg1: tensor<48xf32> {nn.param = "model.model.layers.0.input_layernorm.weight", nn.source = #nn.source<"model.model.layers.0.input_layernorm.weight", [48], offset 0, strides [1]>},
    %arg2: tensor<48x48xf32> {nn.param = "model.model.layers.0.self_attn.q_proj.weight", nn.source = #nn.source<"model.model.layers.0.self_attn.q_proj.weight", [48, 48], offset 0, strides [48, 1]>},
    %arg3: tensor<24x48xf32> {nn.param = "model.model.layers.0.self_attn.k_proj.weight", nn.source = #nn.source<"model.model.layers.0.self_attn.k_proj.weight", [24, 48], offset 0, strides [48, 1]>},
    %arg4: tensor<24x48xf32> {nn.param = "model.model.layers.0.self_attn.v_proj.weight", nn.source = #nn.source<"model.model.layers.0.self_attn.v_proj.weight", [24, 48], offset 0, strides [48, 1]>},
    %arg5: tensor<48x48xf32> {nn.param = "model.model.layers.0.self_attn.o_proj.weight", nn.source = #nn.source<"model.model.layers.0.self_attn.o_proj.weight", [48, 48], offset 0, strides [48, 1]>},
    %arg6: tensor<48xf32> {nn.param = "model.model.layers.0.post_attention_layernorm.weight", nn.source = #nn.source<"model.model.layers.0.post_attention_layernorm.weight", [48], offset 0, strides [1]>},
    %arg7: tensor<96x48xf32> {nn.param = "model.model.layers.0.mlp.gate_proj.weight", nn.source = #nn.source<"model.model.layers.0.mlp.gate_proj.weight", [96, 48], offset 0, strides [48, 1]>},
    %arg8: tensor<96x48xf32> {nn.param = "model.model.layers.0.mlp.up_proj.weight", nn.source = #nn.source<"model.model.layers.0.mlp.up_proj.weight", [96, 48], offset 0, strides [48, 1]>},
    %arg9: tensor<48x96xf32> {nn.param = "model.model.layers.0.mlp.down_proj.weight", nn.source = #nn.source<"model.model.layers.0.mlp.down_proj.weight", [48, 96], offset 0, strides [96, 1]>},
    %arg10: tensor<48xf32> {nn.param = "model.model.layers.1.input_layernorm.weight", nn.source = #nn.source<"model.model.layers.1.input_layernorm.weight", [48], offset 0, strides [1]>},
    %arg11: tensor<48x48xf32> {nn.param = "model.model.layers.1.self_attn.q_proj.weight", nn.source = #nn.source<"model.model.layers.1.self_attn.q_proj.weight", [48, 48], offset 0, strides [48, 1]>},
    %arg12: tensor<24x48xf32> {nn.param = "model.model.layers.1.self_attn.k_proj.weight", nn.source = #nn.source<"model.model.layers.1.self_attn.k_proj.weight", [24, 48], offset 0, strides [48, 1]>},
    %arg13: tensor<24x48xf32> {nn.param = "model.model.layers.1.self_attn.v_proj.weight", nn.source = #nn.source<"model.model.layers.1.self_attn.v_proj.weight", [24, 48], offset 0, strides [48, 1]>},
    %arg14: tensor<48x48xf32> {nn.param = "model.model.layers.1.self_attn.o_proj.weight", nn.source = #nn.source<"model.model.layers.1.self_attn.o_proj.weight", [48, 48], offset 0, strides [48, 1]>},
    %arg15: tensor<48xf32> {nn.param = "model.model.layers.1.post_attention_layernorm.weight", nn.source = #nn.source<"model.model.layers.1.post_attention_layernorm.weight", [48], offset 0, strides [1]>},
    %arg16: tensor<96x48xf32> {nn.param = "model.model.layers.1.mlp.gate_proj.weight", nn.source = #nn.source<"model.model.layers.1.mlp.gate_proj.weight", [96, 48], offset 0, strides [48, 1]>},
    %arg17: tensor<96x48xf32> {nn.param = "model.model.layers.1.mlp.up_proj.weight", nn.source = #nn.source<"model.model.layers.1.mlp.up_proj.weight", [96, 48], offset 0, strides [48, 1]>},
    %arg18: tensor<48x96xf32> {nn.param = "model.model.layers.1.mlp.down_proj.weight", nn.source = #nn.source<"model.model.layers.1.mlp.down_proj.weight", [48, 96], offset 0, strides [96, 1]>},
    %arg19: tensor<48xf32> {nn.param = "model.model.norm.weight", nn.source = #nn.source<"model.model.norm.weight", [48], offset 0, strides [1]>},
    %arg20: tensor<259x48xf32> {nn.param = "model.lm_head.weight", nn.source = #nn.source<"model.lm_head.weight", [259, 48], offset 0, strides [48, 1]>},
    %arg21: tensor<2x24xi64> {nn.input = "tokens", nn.vocab = 259 : i64},
    %arg22: tensor<2x24xi64> {nn.input = "labels"})
      -> (tensor<f32> {nn.output = "loss"}, tensor<f32> {nn.output = "loss_sum"}, tensor<f32> {nn.output = "tokens"}) {
    %0 = nn.embedding %arg0, %arg21 : tensor<259x48xf32>, tensor<2x24xi64> -> tensor<2x24x48xf32>
    %1 = arith.mulf %0, %0 : tensor<2x24x48xf32>
    %2 = nn.reduce <sum> %1 dims [2] : tensor<2x24x48xf32> -> tensor<2x24xf32>
    %3 = arith.constant dense<48.0> : tensor<2x24xf32>
    %4 = arith.divf %2, %3 : tensor<2x24xf32>
    %5 = tensor.expand_shape %4 [[0], [1, 2]] output_shape [2, 24, 1] : tensor<2x24xf32> into tensor<2x24x1xf32>
    %6 = arith.constant dense<1.0e-06> : tensor<2x24x1xf32>
    %7 = arith.addf %5, %6 : tensor<2x24x1xf32>
    %8 = math.rsqrt %7 : tensor<2x24x1xf32>
    %9 = tensor.collapse_shape %8 [[0], [1, 2]] : tensor<2x24x1xf32> into tensor<2x24xf32>
    %10 = nn.broadcast %9 dims [0, 1] : tensor<2x24xf32> -> tensor<2x24x48xf32>
    %11 = arith.mulf %0, %10 : tensor<2x24x48xf32>
    %12 = nn.broadcast %arg1 dims [2] : tensor<48xf32> -> tensor<2x24x48xf32>
    %13 = arith.mulf %12, %11 : tensor<2x24x48xf32>
    %14 = nn.einsum "cda,ba->cdb" %13, %arg2 : tensor<2x24x48xf32>, tensor<48x48xf32> -> tensor<2x24x48xf32>
    %15 = tensor.expand_shape %14 [[0], [1], [2, 3]] output_shape [2, 24, 4, 12] : tensor<2x24x48xf32> into tensor<2x24x4x12xf32>
    %16 = nn.transpose %15 [0, 2, 1, 3] : tensor<2x24x4x12xf32> -> tensor<2x4x24x12xf32>
    %17 = nn.einsum "cda,ba->cdb" %13, %arg3 : tensor<2x24x48xf32>, tensor<24x48xf32> -> tensor<2x24x24xf32>
    %18 = tensor.expand_shape %17 [[0], [1], [2, 3]] output_shape [2, 24, 2, 12] : tensor<2x24x24xf32> into tensor<2x24x2x12xf32>
    %19 = nn.transpose %18 [0, 2, 1, 3] : tensor<2x24x2x12xf32> -> tensor<2x2x24x12xf32>
    %20 = nn.einsum "cda,ba->cdb" %13, %arg4 : tensor<2x24x48xf32>, tensor<24x48xf32> -> tensor<2x24x24xf32>
    %21 = tensor.expand_shape %20 [[0], [1], [2, 3]] output_shape [2, 24, 2, 12] : tensor<2x24x24xf32> into tensor<2x24x2x12xf32>
    %22 = nn.transpose %21 [0, 2, 1, 3] : tensor<2x24x2x12xf32> -> tensor<2x2x24x12xf32>
    %23 = arith.constant dense<"0x0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803FA0AF563F3DE87F3FE6FE7F3FF3FF7F3FFFFF7F3F0000803FA0AF563F3DE87F3FE6FE7F3FF3FF7F3FFFFF7F3F0000803F6328D03EF7A07F3F97FB7F3FCCFF7F3FFEFF7F3F0000803F6328D03EF7A07F3F97FB7F3FCCFF7F3FFEFF7F3F0000803F407C20BE3B2A7F3F13F67F3F8AFF7F3FFBFF7F3F0000803F407C20BE3B2A7F3F13F67F3F8AFF7F3FFBFF7F3F0000803F2D5F2BBF21847E3F5AEE7F3F2EFF7F3FF6FF7F3F0000803F2D5F2BBF21847E3F5AEE7F3F2EFF7F3FF6FF7F3F0000803F324F77BFC6AE7D3F6DE47F3FB8FE7F3FF1FF7F3FFFFF7F3F324F77BFC6AE7D3F6DE47F3FB8FE7F3FF1FF7F3FFFFF7F3F8F6C73BF53AA7C3F4BD87F3F28FE7F3FEAFF7F3FFFFF7F3F8F6C73BF53AA7C3F4BD87F3F28FE7F3FEAFF7F3FFFFF7F3F4EF820BFF7767B3FF5C97F3F7EFD7F3FE2FF7F3FFFFF7F3F4EF820BFF7767B3FF5C97F3F7EFD7F3FE2FF7F3FFFFF7F3F6E7BD4BDEB147A3F6AB97F3FB9FC7F3FD9FF7F3FFEFF7F3F6E7BD4BDEB147A3F6AB97F3FB9FC7F3FD9FF7F3FFEFF7F3F22D8E83E7284783FACA67F3FDAFB7F3FCFFF7F3FFEFF7F3F22D8E83E7284783FACA67F3FDAFB7F3FCFFF7F3FFEFF7F3FD7D35D3FD6C5763FB9917F3FE1FA7F3FC3FF7F3FFDFF7F3FD7D35D3FD6C5763FB9917F3FE1FA7F3FC3FF7F3FFDFF7F3F76A27F3F69D9743F937A7F3FCEF97F3FB6FF7F3FFDFF7F3F76A27F3F69D9743F937A7F3FCEF97F3FB6FF7F3FFDFF7F3F89EE4E3F88BF723F39617F3FA1F87F3FA8FF7F3FFCFF7F3F89EE4E3F88BF723F39617F3FA1F87F3FA8FF7F3FFCFF7F3F86E0B63E9578703FAB457F3F59F77F3F99FF7F3FFBFF7F3F86E0B63E9578703FAB457F3F59F77F3F99FF7F3FFBFF7F3F724556BEFD046E3FEB277F3FF7F57F3F89FF7F3FFBFF7F3F724556BEFD046E3FEB277F3FF7F57F3F89FF7F3FFBFF7F3FD04835BF35656B3FF7077F3F7BF47F3F77FF7F3FFAFF7F3FD04835BF35656B3FF7077F3F7BF47F3F77FF7F3FFAFF7F3F1B7D7ABFBA99683FD1E57E3FE5F27F3F64FF7F3FF9FF7F3F1B7D7ABFBA99683FD1E57E3FE5F27F3F64FF7F3FF9FF7F3F07D86EBF10A3653F78C17E3F34F17F3F50FF7F3FF8FF7F3F07D86EBF10A3653F78C17E3F34F17F3F50FF7F3FF8FF7F3FC61B16BFC381623FEE9A7E3F69EF7F3F3BFF7F3FF7FF7F3FC61B16BFC381623FEE9A7E3F69EF7F3F3BFF7F3FF7FF7F3FCCC54EBD6A365F3F32727E3F85ED7F3F24FF7F3FF6FF7F3FCCC54EBD6A365F3F32727E3F85ED7F3F24FF7F3FF6FF7F3FE06E003FA0C15B3F44477E3F85EB7F3F0DFF7F3FF5FF7F3FE06E003FA0C15B3F44477E3F85EB7F3F0DFF7F3FF5FF7F3FEB55643F0924583F261A7E3F6CE97F3FF4FE7F3FF4FF7F3FEB55643F0924583F261A7E3F6CE97F3FF4FE7F3FF4FF7F3F1D8A7E3F525E543FD7EA7D3F38E77F3FDAFE7F3FF2FF7F3F1D8A7E3F525E543FD7EA7D3F38E77F3FDAFE7F3FF2FF7F3F3B96463F2E71503F57B97D3FEBE47F3FBEFE7F3FF1FF7F3F3B96463F2E71503F57B97D3FEBE47F3FBEFE7F3FF1FF7F3F"> : tensor<24x12xf32>
    %24 = nn.broadcast %23 dims [2, 3] : tensor<24x12xf32> -> tensor<1x1x24x12xf32>
    %25 = tensor.collapse_shape %24 [[0, 1, 2], [3]] : tensor<1x1x24x12xf32> into tensor<24x12xf32>
    %26 = nn.broadcast %25 dims [2, 3] : tensor<24x12xf32> -> tensor<2x4x24x12xf32>
    %27 = arith.mulf %16, %26 : tensor<2x4x24x12xf32>
    %28 = tensor.extract_slice %16[0, 0, 0, 0] [2, 4, 24, 6] [1, 1, 1, 1] : tensor<2x4x24x12xf32> to tensor<2x4x24x6xf32>
    %29 = tensor.extract_slice %16[0, 0, 0, 6] [2, 4, 24, 6] [1, 1, 1, 1] : tensor<2x4x24x12xf32> to tensor<2x4x24x6xf32>
    %30 = arith.negf %29 : tensor<2x4x24x6xf32>
    %31 = tensor.concat dim(3) %30, %28 : (tensor<2x4x24x6xf32>, tensor<2x4x24x6xf32>) -> tensor<2x4x24x12xf32>
    %32 = arith.constant dense<"0x000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000D6720B3F6196DC3C4F1EBE3B07D7A33A69318D395C5A7338D6720B3F6196DC3C4F1EBE3B07D7A33A69318D395C5A733853E3693FE8815C3D7D1D3E3CFFD6233B69310D3A5C5AF33853E3693FE8815C3D7D1D3E3CFFD6233B69310D3A5C5AF33823D67C3FD747A53D18958E3C69C2753B1CCA533AC583363923D67C3FD747A53D18958E3C69C2753B1CCA533AC5833639992D3E3F0B30DC3D371ABE3CDDD6A33B67318D3A5C5A7339992D3E3F0B30DC3D371ABE3CDDD6A33B67318D3A5C5A73390F46843EAF77093EB29DED3C75CCCC3BC07DB03A7A1898390F46843EAF77093EB29DED3C75CCCC3BC07DB03A7A1898398C809EBED4BD243E918F0E3DF8C1F53B18CAD33AC583B6398C809EBED4BD243E918F0E3DF8C1F53B18CAD33AC583B6393B0F47BF62E53F3E0D4F263DB15B0F3C6E16F73A10EFD4393B0F47BF62E53F3E0D4F263DB15B0F3C6E16F73A10EFD439529E7EBF50E95A3E1C0D3E3D57D6233C62310D3B5B5AF339529E7EBF50E95A3E1C0D3E3D57D6233C62310D3B5B5AF339D0FE63BF9BC4753E87C9553DEC50383C8CD71E3BD4E2083AD0FE63BF9BC4753E87C9553DEC50383C8CD71E3BD4E2083A0891FFBE2239883E19846D3D6ECB4C3CB57D303B7918183A0891FFBE2239883E19846D3D6ECB4C3CB57D303B7918183A86C35A3DAC76953E509E823DDD45613CDD23423B1E4E273A86C35A3DAC76953E509E823DDD45613CDD23423B1E4E273A3CB7163F7898A23E74798E3D33C0753C06CA533BC483363A3CB7163F7898A23E74798E3D33C0753C06CA533BC483363AEA1C6F3F129CAF3E5D539A3D381D853C2C70653B6AB9453AEA1C6F3F129CAF3E5D539A3D381D853C2C70653B6AB9453A30557A3F137FBC3EF12BA63D495A8F3C5216773B0EEF543A30557A3F137FBC3EF12BA63D495A8F3C5216773B0EEF543AFDC0343F163FC93E1803B23D4B97993C3A5E843BB424643AFDC0343F163FC93E1803B23D4B97993C3A5E843BB424643AE055533EBCD9D53EB5D8BD3D3ED4A33C4C318D3B5A5A733AE055533EBCD9D53EB5D8BD3D3ED4A33C4C318D3B5A5A733A3547B8BEAD4CE23EAFACC93D2011AE3C5E04963B0048813A3547B8BEAD4CE23EAFACC93D2011AE3C5E04963B0048813A6A5F4FBF9D95EE3EEE7ED53DF04DB83C6DD79E3BD2E2883A6A5F4FBF9D95EE3EEE7ED53DF04DB83C6DD79E3BD2E2883A71AC7FBF3FB2FA3E544FE13DAD8AC23C7DAAA73BA57D903A71AC7FBF3FB2FA3E544FE13DAD8AC23C7DAAA73BA57D903AAF735DBF2C50033FC91DED3D56C7CC3C8B7DB03B7818983AAF735DBF2C50033FC91DED3D56C7CC3C8B7DB03B7818983ABB81E7BED82E093F34EAF83DEB03D73C9950B93B49B39F3ABB81E7BED82E093F34EAF83DEB03D73C9950B93B49B39F3A9773DA3D0BF40E3F3C5A023E6940E13CA623C23B1C4EA73A9773DA3D0BF40E3F3C5A023E6940E13CA623C23B1C4EA73A7D8D213FB59E143F3F3E083ED07CEB3CB2F6CA3BEFE8AE3A7D8D213FB59E143F3F3E083ED07CEB3CB2F6CA3BEFE8AE3A"> : tensor<24x12xf32>
    %33 = nn.broadcast %32 dims [2, 3] : tensor<24x12xf32> -> tensor<1x1x24x12xf32>
    %34 = tensor.collapse_shape %33 [[0, 1, 2], [3]] : tensor<1x1x24x12xf32> into tensor<24x12xf32>
    %35 = nn.broadcast %34 dims [2, 3] : tensor<24x12xf32> -> tensor<2x4x24x12xf32>
    %36 = arith.mulf %31, %35 : tensor<2x4x24x12xf32>
    %37 = arith.addf %27, %36 : tensor<2x4x24x12xf32>
    %38 = tensor.collapse_shape %24 [[0, 1, 2], [3]] : tensor<1x1x24x12xf32> into tensor<24x12xf32>
    %39 = nn.broadcast %38 dims [2, 3] : tensor<24x12xf32> -> tensor<2x2x24x12xf32>
    %40 = arith.mulf %19, %39 : tensor<2x2x24x12xf32>
    %41 = tensor.extract_slice %19[0, 0, 0, 0] [2, 2, 24, 6] [1, 1, 1, 1] : tensor<2x2x24x12xf32> to tensor<2x2x24x6xf32>
    %42 = tensor.extract_slice %19[0, 0, 0, 6] [2, 2, 24, 6] [1, 1, 1, 1] : tensor<2x2x24x12xf32> to tensor<2x2x24x6xf32>
    %43 = arith.negf %42 : tensor<2x2x24x6xf32>
    %44 = tensor.concat dim(3) %43, %41 : (tensor<2x2x24x6xf32>, tensor<2x2x24x6xf32>) -> tensor<2x2x24x12xf32>
    %45 = tensor.collapse_shape %33 [[0, 1, 2], [3]] : tensor<1x1x24x12xf32> into tensor<24x12xf32>
    %46 = nn.broadcast %45 dims [2, 3] : tensor<24x12xf32> -> tensor<2x2x24x12xf32>
    %47 = arith.mulf %44, %46 : tensor<2x2x24x12xf32>
    %48 = arith.addf %40, %47 : tensor<2x2x24x12xf32>
    %49 = tensor.expand_shape %48 [[0], [1], [2, 3], [4]] output_shape [2, 2, 1, 24, 12] : tensor<2x2x24x12xf32> into tensor<2x2x1x24x12xf32>
    %50 = tensor.collapse_shape %49 [[0], [1], [2, 3], [4]] : tensor<2x2x1x24x12xf32> into tensor<2x2x24x12xf32>
    %51 = nn.broadcast %50 dims [0, 1, 3, 4] : tensor<2x2x24x12xf32> -> tensor<2x2x2x24x12xf32>
    %52 = tensor.collapse_shape %49 [[0], [1], [2, 3], [4]] : tensor<2x2x1x24x12xf32> into tensor<2x2x24x12xf32>
    %53 = tensor.collapse_shape %51 [[0], [1, 2], [3], [4]] : tensor<2x2x2x24x12xf32> into tensor<2x4x24x12xf32>
    %54 = tensor.expand_shape %22 [[0], [1], [2, 3], [4]] output_shape [2, 2, 1, 24, 12] : tensor<2x2x24x12xf32> into tensor<2x2x1x24x12xf32>
    %55 = tensor.collapse_shape %54 [[0], [1], [2, 3], [4]] : tensor<2x2x1x24x12xf32> into tensor<2x2x24x12xf32>
    %56 = nn.broadcast %55 dims [0, 1, 3, 4] : tensor<2x2x24x12xf32> -> tensor<2x2x2x24x12xf32>
    %57 = tensor.collapse_shape %54 [[0], [1], [2, 3], [4]] : tensor<2x2x1x24x12xf32> into tensor<2x2x24x12xf32>
    %58 = tensor.collapse_shape %56 [[0], [1, 2], [3], [4]] : tensor<2x2x2x24x12xf32> into tensor<2x4x24x12xf32>
    %59 = tensor.expand_shape %37 [[0], [1, 2], [3], [4]] output_shape [2, 2, 2, 24, 12] : tensor<2x4x24x12xf32> into tensor<2x2x2x24x12xf32>
    %60 = nn.transpose %59 [0, 3, 1, 2, 4] : tensor<2x2x2x24x12xf32> -> tensor<2x24x2x2x12xf32>
    %61 = nn.transpose %52 [0, 2, 1, 3] : tensor<2x2x24x12xf32> -> tensor<2x24x2x12xf32>
    %62 = nn.transpose %57 [0, 2, 1, 3] : tensor<2x2x24x12xf32> -> tensor<2x24x2x12xf32>
    %63 = nn.attention causal scale 0.28867513459481287 %60, %61, %62 : tensor<2x24x2x2x12xf32>, tensor<2x24x2x12xf32>, tensor<2x24x2x12xf32> -> tensor<2x24x2x2x12xf32>
    %64 = nn.transpose %63 [0, 2, 3, 1, 4] : tensor<2x24x2x2x12xf32> -> tensor<2x2x2x24x12xf32>
    %65 = tensor.collapse_shape %64 [[0], [1, 2], [3], [4]] : tensor<2x2x2x24x12xf32> into tensor<2x4x24x12xf32>
    %66 = nn.transpose %65 [0, 2, 1, 3] : tensor<2x4x24x12xf32> -> tensor<2x24x4x12xf32>
    %67 = tensor.collapse_shape %66 [[0], [1], [2, 3]] : tensor<2x24x4x12xf32> into tensor<2x24x48xf32>
    %68 = nn.einsum "cda,ba->cdb" %67, %arg5 : tensor<2x24x48xf32>, tensor<48x48xf32> -> tensor<2x24x48xf32>
    %69 = arith.addf %0, %68 : tensor<2x24x48xf32>
    %70 = arith.mulf %69, %69 : tensor<2x24x48xf32>
    %71 = nn.reduce <sum> %70 dims [2] : tensor<2x24x48xf32> -> tensor<2x24xf32>
    %72 = arith.constant dense<48.0> : tensor<2x24xf32>
    %73 = arith.divf %71, %72 : tensor<2x24xf32>
    %74 = tensor.expand_shape %73 [[0], [1, 2]] output_shape [2, 24, 1] : tensor<2x24xf32> into tensor<2x24x1xf32>
    %75 = arith.constant dense<1.0e-06> : tensor<2x24x1xf32>
    %76 = arith.addf %74, %75 : tensor<2x24x1xf32>
    %77 = math.rsqrt %76 : tensor<2x24x1xf32>
    %78 = tensor.collapse_shape %77 [[0], [1, 2]] : tensor<2x24x1xf32> into tensor<2x24xf32>
    %79 = nn.broadcast %78 dims [0, 1] : tensor<2x24xf32> -> tensor<2x24x48xf32>
    %80 = arith.mulf %69, %79 : tensor<2x24x48xf32>
    %81 = nn.broadcast %arg6 dims [2] : tensor<48xf32> -> tensor<2x24x48xf32>
    %82 = arith.mulf %81, %80 : tensor<2x24x48xf32>
    %83 = nn.einsum "cda,ba->cdb" %82, %arg7 : tensor<2x24x48xf32>, tensor<96x48xf32> -> tensor<2x24x96xf32>
    %84 = nn.silu %83 : tensor<2x24x96xf32>
    %85 = nn.einsum "cda,ba->cdb" %82, %arg8 : tensor<2x24x48xf32>, tensor<96x48xf32> -> tensor<2x24x96xf32>
    %86 = arith.mulf %84, %85 : tensor<2x24x96xf32>
    %87 = nn.einsum "cda,ba->cdb" %86, %arg9 : tensor<2x24x96xf32>, tensor<48x96xf32> -> tensor<2x24x48xf32>
    %88 = arith.addf %69, %87 : tensor<2x24x48xf32>
    %89 = arith.mulf %88, %88 : tensor<2x24x48xf32>
    %90 = nn.reduce <sum> %89 dims [2] : tensor<2x24x48xf32> -> tensor<2x24xf32>
    %91 = arith.constant dense<48.0> : tensor<2x24xf32>
    %92 = arith.divf %90, %91 : tensor<2x24xf32>
    %93 = tensor.expand_shape %92 [[0], [1, 2]] output_shape [2, 24, 1] : tensor<2x24xf32> into tensor<2x24x1xf32>
    %94 = arith.constant dense<1.0e-06> : tensor<2x24x1xf32>
    %95 = arith.addf %93, %94 : tensor<2x24x1xf32>
    %96 = math.rsqrt %95 : tensor<2x24x1xf32>
    %97 = tensor.collapse_shape %96 [[0], [1, 2]] : tensor<2x24x1xf32> into tensor<2x24xf32>
    %98 = nn.broadcast %97 dims [0, 1] : tensor<2x24xf32> -> tensor<2x24x48xf32>
    %99 = arith.mulf %88, %98 : tensor<2x24x48xf32>
    %100 = nn.broadcast %arg10 dims [2] : tensor<48xf32> -> tensor<2x24x48xf32>
    %101 = arith.mulf %100, %99 : tensor<2x24x48xf32>
    %102 = nn.einsum "cda,ba->cdb" %101, %arg11 : tensor<2x24x48xf32>, tensor<48x48xf32> -> tensor<2x24x48xf32>
    %103 = tensor.expand_shape %102 [[0], [1], [2, 3]] output_shape [2, 24, 4, 12] : tensor<2x24x48xf32> into tensor<2x24x4x12xf32>
    %104 = nn.transpose %103 [0, 2, 1, 3] : tensor<2x24x4x12xf32> -> tensor<2x4x24x12xf32>
    %105 = nn.einsum "cda,ba->cdb" %101, %arg12 : tensor<2x24x48xf32>, tensor<24x48xf32> -> tensor<2x24x24xf32>
    %106 = tensor.expand_shape %105 [[0], [1], [2, 3]] output_shape [2, 24, 2, 12] : tensor<2x24x24xf32> into tensor<2x24x2x12xf32>
    %107 = nn.transpose %106 [0, 2, 1, 3] : tensor<2x24x2x12xf32> -> tensor<2x2x24x12xf32>
    %108 = nn.einsum "cda,ba->cdb" %101, %arg13 : tensor<2x24x48xf32>, tensor<24x48xf32> -> tensor<2x24x24xf32>
    %109 = tensor.expand_shape %108 [[0], [1], [2, 3]] output_shape [2, 24, 2, 12] : tensor<2x24x24xf32> into tensor<2x24x2x12xf32>
    %110 = nn.transpose %109 [0, 2, 1, 3] : tensor<2x24x2x12xf32> -> tensor<2x2x24x12xf32>
    %111 = nn.broadcast %23 dims [2, 3] : tensor<24x12xf32> -> tensor<1x1x24x12xf32>
    %112 = tensor.collapse_shape %111 [[0, 1, 2], [3]] : tensor<1x1x24x12xf32> into tensor<24x12xf32>
    %113 = nn.broadcast %112 dims [2, 3] : tensor<24x12xf32> -> tensor<2x4x24x12xf32>
    %114 = arith.mulf %104, %113 : tensor<2x4x24x12xf32>
    %115 = tensor.extract_slice %104[0, 0, 0, 0] [2, 4, 24, 6] [1, 1, 1, 1] : tensor<2x4x24x12xf32> to tensor<2x4x24x6xf32>
    %116 = tensor.extract_slice %104[0, 0, 0, 6] [2, 4, 24, 6] [1, 1, 1, 1] : tensor<2x4x24x12xf32> to tensor<2x4x24x6xf32>
    %117 = arith.negf %116 : tensor<2x4x24x6xf32>
    %118 = tensor.concat dim(3) %117, %115 : (tensor<2x4x24x6xf32>, tensor<2x4x24x6xf32>) -> tensor<2x4x24x12xf32>
    %119 = nn.broadcast %32 dims [2, 3] : tensor<24x12xf32> -> tensor<1x1x24x12xf32>
    %120 = tensor.collapse_shape %119 [[0, 1, 2], [3]] : tensor<1x1x24x12xf32> into tensor<24x12xf32>
    %121 = nn.broadcast %120 dims [2, 3] : tensor<24x12xf32> -> tensor<2x4x24x12xf32>
    %122 = arith.mulf %118, %121 : tensor<2x4x24x12xf32>
    %123 = arith.addf %114, %122 : tensor<2x4x24x12xf32>
    %124 = tensor.collapse_shape %111 [[0, 1, 2], [3]] : tensor<1x1x24x12xf32> into tensor<24x12xf32>
    %125 = nn.broadcast %124 dims [2, 3] : tensor<24x12xf32> -> tensor<2x2x24x12xf32>
    %126 = arith.mulf %107, %125 : tensor<2x2x24x12xf32>
    %127 = tensor.extract_slice %107[0, 0, 0, 0] [2, 2, 24, 6] [1, 1, 1, 1] : tensor<2x2x24x12xf32> to tensor<2x2x24x6xf32>
    %128 = tensor.extract_slice %107[0, 0, 0, 6] [2, 2, 24, 6] [1, 1, 1, 1] : tensor<2x2x24x12xf32> to tensor<2x2x24x6xf32>
    %129 = arith.negf %128 : tensor<2x2x24x6xf32>
    %130 = tensor.concat dim(3) %129, %127 : (tensor<2x2x24x6xf32>, tensor<2x2x24x6xf32>) -> tensor<2x2x24x12xf32>
    %131 = tensor.collapse_shape %119 [[0, 1, 2], [3]] : tensor<1x1x24x12xf32> into tensor<24x12xf32>
    %132 = nn.broadcast %131 dims [2, 3] : tensor<24x12xf32> -> tensor<2x2x24x12xf32>
    %133 = arith.mulf %130, %132 : tensor<2x2x24x12xf32>
    %134 = arith.addf %126, %133 : tensor<2x2x24x12xf32>
    %135 = tensor.expand_shape %134 [[0], [1], [2, 3], [4]] output_shape [2, 2, 1, 24, 12] : tensor<2x2x24x12xf32> into tensor<2x2x1x24x12xf32>
    %136 = tensor.collapse_shape %135 [[0], [1], [2, 3], [4]] : tensor<2x2x1x24x12xf32> into tensor<2x2x24x12xf32>
    %137 = nn.broadcast %136 dims [0, 1, 3, 4] : tensor<2x2x24x12xf32> -> tensor<2x2x2x24x12xf32>
    %138 = tensor.collapse_shape %135 [[0], [1], [2, 3], [4]] : tensor<2x2x1x24x12xf32> into tensor<2x2x24x12xf32>
    %139 = tensor.collapse_shape %137 [[0], [1, 2], [3], [4]] : tensor<2x2x2x24x12xf32> into tensor<2x4x24x12xf32>
    %140 = tensor.expand_shape %110 [[0], [1], [2, 3], [4]] output_shape [2, 2, 1, 24, 12] : tensor<2x2x24x12xf32> into tensor<2x2x1x24x12xf32>
    %141 = tensor.collapse_shape %140 [[0], [1], [2, 3], [4]] : tensor<2x2x1x24x12xf32> into tensor<2x2x24x12xf32>
    %142 = nn.broadcast %141 dims [0, 1, 3, 4] : tensor<2x2x24x12xf32> -> tensor<2x2x2x24x12xf32>
    %143 = tensor.collapse_shape %140 [[0], [1], [2, 3], [4]] : tensor<2x2x1x24x12xf32> into tensor<2x2x24x12xf32>
    %144 = tensor.collapse_shape %142 [[0], [1, 2], [3], [4]] : tensor<2x2x2x24x12xf32> into tensor<2x4x24x12xf32>
    %145 = tensor.expand_shape %123 [[0], [1, 2], [3], [4]] output_shape [2, 2, 2, 24, 12] : tensor<2x4x24x12xf32> into tensor<2x2x2x24x12xf32>
    %146 = nn.transpose %145 [0, 3, 1, 2, 4] : tensor<2x2x2x24x12xf32> -> tensor<2x24x2x2x12xf32>
    %147 = nn.transpose %138 [0, 2, 1, 3] : tensor<2x2x24x12xf32> -> tensor<2x24x2x12xf32>
    %148 = nn.transpose %143 [0, 2, 1, 3] : tensor<2x2x24x12xf32> -> tensor<2x24x2x12xf32>
    %149 = nn.attention causal scale 0.28867513459481287 %146, %147, %148 : tensor<2x24x2x2x12xf32>, tensor<2x24x2x12xf32>, tensor<2x24x2x12xf32> -> tensor<2x24x2x2x12xf32>
    %150 = nn.transpose %149 [0, 2, 3, 1, 4] : tensor<2x24x2x2x12xf32> -> tensor<2x2x2x24x12xf32>
    %151 = tensor.collapse_shape %150 [[0], [1, 2], [3], [4]] : tensor<2x2x2x24x12xf32> into tensor<2x4x24x12xf32>
    %152 = nn.transpose %151 [0, 2, 1, 3] : tensor<2x4x24x12xf32> -> tensor<2x24x4x12xf32>
    %153 = tensor.collapse_shape %152 [[0], [1], [2, 3]] : tensor<2x24x4x12xf32> into tensor<2x24x48xf32>
    %154 = nn.einsum "cda,ba->cdb" %153, %arg14 : tensor<2x24x48xf32>, tensor<48x48xf32> -> tensor<2x24x48xf32>
    %155 = arith.addf %88, %154 : tensor<2x24x48xf32>
    %156 = arith.mulf %155, %155 : tensor<2x24x48xf32>
    %157 = nn.reduce <sum> %156 dims [2] : tensor<2x24x48xf32> -> tensor<2x24xf32>
    %158 = arith.constant dense<48.0> : tensor<2x24xf32>
    %159 = arith.divf %157, %158 : tensor<2x24xf32>
    %160 = tensor.expand_shape %159 [[0], [1, 2]] output_shape [2, 24, 1] : tensor<2x24xf32> into tensor<2x24x1xf32>
    %161 = arith.constant dense<1.0e-06> : tensor<2x24x1xf32>
    %162 = arith.addf %160, %161 : tensor<2x24x1xf32>
    %163 = math.rsqrt %162 : tensor<2x24x1xf32>
    %164 = tensor.collapse_shape %163 [[0], [1, 2]] : tensor<2x24x1xf32> into tensor<2x24xf32>
    %165 = nn.broadcast %164 dims [0, 1] : tensor<2x24xf32> -> tensor<2x24x48xf32>
    %166 = arith.mulf %155, %165 : tensor<2x24x48xf32>
    %167 = nn.broadcast %arg15 dims [2] : tensor<48xf32> -> tensor<2x24x48xf32>
    %168 = arith.mulf %167, %166 : tensor<2x24x48xf32>
    %169 = nn.einsum "cda,ba->cdb" %168, %arg16 : tensor<2x24x48xf32>, tensor<96x48xf32> -> tensor<2x24x96xf32>
    %170 = nn.silu %169 : tensor<2x24x96xf32>
    %171 = nn.einsum "cda,ba->cdb" %168, %arg17 : tensor<2x24x48xf32>, tensor<96x48xf32> -> tensor<2x24x96xf32>
    %172 = arith.mulf %170, %171 : tensor<2x24x96xf32>
    %173 = nn.einsum "cda,ba->cdb" %172, %arg18 : tensor<2x24x96xf32>, tensor<48x96xf32> -> tensor<2x24x48xf32>
    %174 = arith.addf %155, %173 : tensor<2x24x48xf32>
    %175 = arith.mulf %174, %174 : tensor<2x24x48xf32>
    %176 = nn.reduce <sum> %175 dims [2] : tensor<2x24x48xf32> -> tensor<2x24xf32>
    %177 = arith.constant dense<48.0> : tensor<2x24xf32>
    %178 = arith.divf %176, %177 : tensor<2x24xf32>
    %179 = tensor.expand_shape %178 [[0], [1, 2]] output_shape [2, 24, 1] : tensor<2x24xf32> into tensor<2x24x1xf32>
    %180 = arith.constant dense<1.0e-06> : tensor<2x24x1xf32>
    %181 = arith.addf %179, %180 : tensor<2x24x1xf32>
    %182 = math.rsqrt %181 : tensor<2x24x1xf32>
    %183 = tensor.collapse_shape %182 [[0], [1, 2]] : tensor<2x24x1xf32> into tensor<2x24xf32>
    %184 = nn.broadcast %183 dims [0, 1] : tensor<2x24xf32> -> tensor<2x24x48xf32>
    %185 = arith.mulf %174, %184 : tensor<2x24x48xf32>
    %186 = nn.broadcast %arg19 dims [2] : tensor<48xf32> -> tensor<2x24x48xf32>
    %187 = arith.mulf %186, %185 : tensor<2x24x48xf32>
    %188 = nn.einsum "cda,ba->cdb" %187, %arg20 : tensor<2x24x48xf32>, tensor<259x48xf32> -> tensor<2x24x259xf32>
    %189 = arith.constant dense<-100> : tensor<2x1xi64>
    %190 = tensor.concat dim(1) %arg22, %189 : (tensor<2x24xi64>, tensor<2x1xi64>) -> tensor<2x25xi64>
    %191 = tensor.extract_slice %190[0, 1] [2, 24] [1, 1] : tensor<2x25xi64> to tensor<2x24xi64>
    %192 = tensor.collapse_shape %188 [[0, 1], [2]] : tensor<2x24x259xf32> into tensor<48x259xf32>
    %193 = tensor.collapse_shape %191 [[0, 1]] : tensor<2x24xi64> into tensor<48xi64>
    %194 = nn.cross_entropy %188, %191 ignore -100 : tensor<2x24x259xf32>, tensor<2x24xi64> -> tensor<2x24xf32>
    %195 = nn.reduce <sum> %194 dims [0, 1] : tensor<2x24xf32> -> tensor<f32>
    %196 = arith.constant dense<-100> : tensor<2x24xi64>
    %197 = arith.cmpi ne, %191, %196 : tensor<2x24xi64>
    %198 = arith.uitofp %197 : tensor<2x24xi1> to tensor<2x24xf32>
    %199 = nn.reduce <sum> %198 dims [0, 1] : tensor<2x24xf32> -> tensor<f32>
    %200 = arith.divf %195, %199 : tensor<f32>
    return %200, %195, %199 : tensor<f32>, tensor<f32>, tensor<f32>
  }
}
