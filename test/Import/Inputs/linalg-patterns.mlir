#map = affine_map<(d0, d1, d2) -> (d0, d1)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map2 = affine_map<(d0, d1, d2) -> (d2)>
#map3 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d0)>
#map4 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>
#map5 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d4)>
#map6 = affine_map<(d0, d1) -> (d0)>
#map7 = affine_map<(d0, d1) -> (d1)>
#map8 = affine_map<(d0, d1) -> (d0, d1)>
#map9 = affine_map<(d0, d1, d2, d3) -> (d1, d3)>
#map10 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map11 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d1, d4, d2)>
#map12 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d2)>
#map13 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d0, d1, d3, d5)>
#map14 = affine_map<(d0, d1, d2, d3, d4) -> (d3)>
#map15 = affine_map<(d0, d1, d2, d3, d4) -> (d4)>
#map16 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map17 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map18 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d3)>
#map19 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d0, d1, d5, d2)>
#map20 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d0, d1, d5)>
#map21 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d4, d3)>
#map22 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d4, d0, d1, d2)>
#map23 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d5)>
#map24 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d4, d5)>
#map25 = affine_map<(d0, d1, d2, d3) -> (d1, d2, d0)>
#map26 = affine_map<(d0, d1, d2, d3) -> (d0, d3)>
#map27 = affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>
#map28 = affine_map<(d0, d1, d2, d3) -> (d1, d2)>
#map29 = affine_map<(d0, d1, d2, d3) -> (d3, d0)>
#map30 = affine_map<(d0, d1) -> ()>
#map31 = affine_map<() -> ()>
module @jit_patterns_loss {
  func.func @forward(%arg0: tensor<67x48xf32> {nn.param = "embed"}, %arg1: tensor<48x48xf32> {nn.param = "erf"}, %arg2: tensor<48xf32> {nn.param = "gain"}, %arg3: tensor<48x48xf32> {nn.param = "gate"}, %arg4: tensor<48x2x12xf32> {nn.param = "k"}, %arg5: tensor<48xf32> {nn.param = "norm.bias"}, %arg6: tensor<48xf32> {nn.param = "norm.scale"}, %arg7: tensor<48x48xf32> {nn.param = "out"}, %arg8: tensor<48x4x12xf32> {nn.param = "q"}, %arg9: tensor<48x48xf32> {nn.param = "tanh"}, %arg10: tensor<48x48xf32> {nn.param = "up"}, %arg11: tensor<48x2x12xf32> {nn.param = "v"}, %arg12: tensor<2x24xi32> {nn.input = "tokens", nn.vocab = 67 : i64}, %arg13: tensor<2x24xi32> {nn.input = "labels", nn.vocab = 67 : i64}) -> (tensor<f32> {nn.output = "loss"}) {
    %cst = arith.constant 0.797884583 : f32
    %cst_0 = arith.constant 4.471500e-02 : f32
    %cst_1 = arith.constant 0.707106769 : f32
    %cst_2 = arith.constant 5.000000e-01 : f32
    %cst_3 = arith.constant 1.000000e+00 : f32
    %cst_4 = arith.constant 9.99999974E-6 : f32
    %cst_5 = arith.constant -2.38197633E+38 : f32
    %cst_6 = arith.constant 0.288675129 : f32
    %cst_7 = arith.constant 9.99999997E-7 : f32
    %cst_8 = arith.constant 4.800000e+01 : f32
    %cst_9 = arith.constant 0xFF800000 : f32
    %cst_10 = arith.constant 0.000000e+00 : f32
    %cst_11 = arith.constant dense<[1.000000e+00, 0.215443462, 0.046415884, 0.00999999977, 0.00215443433, 4.64158977E-4]> : tensor<6xf32>
    %cst_12 = arith.constant dense<[0.000000e+00, 1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 5.000000e+00, 6.000000e+00, 7.000000e+00, 8.000000e+00, 9.000000e+00, 1.000000e+01, 1.100000e+01, 1.200000e+01, 1.300000e+01, 1.400000e+01, 1.500000e+01, 1.600000e+01, 1.700000e+01, 1.800000e+01, 1.900000e+01, 2.000000e+01, 2.100000e+01, 2.200000e+01, 2.300000e+01]> : tensor<24xf32>
    %0 = tensor.empty() : tensor<2x24x48xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg12 : tensor<2x24xi32>) outs(%0 : tensor<2x24x48xf32>) {
    ^bb0(%in: i32, %out: f32):
      %71 = arith.index_cast %in : i32 to index
      %72 = linalg.index 2 : index
      %extracted = tensor.extract %arg0[%71, %72] : tensor<67x48xf32>
      linalg.yield %extracted : f32
    } -> tensor<2x24x48xf32>
    %2 = tensor.empty() : tensor<2x24xf32>
    %3 = linalg.fill ins(%cst_10 : f32) outs(%2 : tensor<2x24xf32>) -> tensor<2x24xf32>
    %4 = linalg.generic {indexing_maps = [#map1, #map], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1 : tensor<2x24x48xf32>) outs(%3 : tensor<2x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %71 = arith.mulf %in, %in : f32
      %72 = arith.addf %71, %out : f32
      linalg.yield %72 : f32
    } -> tensor<2x24xf32>
    %5 = linalg.generic {indexing_maps = [#map1, #map, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1, %4, %arg2 : tensor<2x24x48xf32>, tensor<2x24xf32>, tensor<48xf32>) outs(%0 : tensor<2x24x48xf32>) {
    ^bb0(%in: f32, %in_18: f32, %in_19: f32, %out: f32):
      %71 = arith.divf %in_18, %cst_8 : f32
      %72 = arith.addf %71, %cst_7 : f32
      %73 = math.rsqrt %72 : f32
      %74 = arith.mulf %in, %73 : f32
      %75 = arith.mulf %74, %in_19 : f32
      linalg.yield %75 : f32
    } -> tensor<2x24x48xf32>
    %6 = tensor.empty() : tensor<2x24x4x12xf32>
    %7 = linalg.fill ins(%cst_10 : f32) outs(%6 : tensor<2x24x4x12xf32>) -> tensor<2x24x4x12xf32>
    %8 = linalg.generic {indexing_maps = [#map3, #map4, #map5], iterator_types = ["reduction", "parallel", "parallel", "parallel", "parallel"]} ins(%5, %arg8 : tensor<2x24x48xf32>, tensor<48x4x12xf32>) outs(%7 : tensor<2x24x4x12xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %71 = arith.mulf %in, %in_18 : f32
      %72 = arith.addf %out, %71 : f32
      linalg.yield %72 : f32
    } -> tensor<2x24x4x12xf32>
    %9 = tensor.empty() : tensor<2x24x2x12xf32>
    %10 = linalg.fill ins(%cst_10 : f32) outs(%9 : tensor<2x24x2x12xf32>) -> tensor<2x24x2x12xf32>
    %11 = linalg.generic {indexing_maps = [#map3, #map4, #map5], iterator_types = ["reduction", "parallel", "parallel", "parallel", "parallel"]} ins(%5, %arg4 : tensor<2x24x48xf32>, tensor<48x2x12xf32>) outs(%10 : tensor<2x24x2x12xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %71 = arith.mulf %in, %in_18 : f32
      %72 = arith.addf %out, %71 : f32
      linalg.yield %72 : f32
    } -> tensor<2x24x2x12xf32>
    %12 = linalg.generic {indexing_maps = [#map3, #map4, #map5], iterator_types = ["reduction", "parallel", "parallel", "parallel", "parallel"]} ins(%5, %arg11 : tensor<2x24x48xf32>, tensor<48x2x12xf32>) outs(%10 : tensor<2x24x2x12xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %71 = arith.mulf %in, %in_18 : f32
      %72 = arith.addf %out, %71 : f32
      linalg.yield %72 : f32
    } -> tensor<2x24x2x12xf32>
    %13 = tensor.empty() : tensor<24x6xf32>
    %14 = linalg.generic {indexing_maps = [#map6, #map7, #map8], iterator_types = ["parallel", "parallel"]} ins(%cst_12, %cst_11 : tensor<24xf32>, tensor<6xf32>) outs(%13 : tensor<24x6xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %71 = arith.mulf %in, %in_18 : f32
      linalg.yield %71 : f32
    } -> tensor<24x6xf32>
    %15 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%14 : tensor<24x6xf32>) outs(%13 : tensor<24x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %71 = math.cos %in : f32
      linalg.yield %71 : f32
    } -> tensor<24x6xf32>
    %16 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%14 : tensor<24x6xf32>) outs(%13 : tensor<24x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %71 = math.sin %in : f32
      linalg.yield %71 : f32
    } -> tensor<24x6xf32>
    %extracted_slice = tensor.extract_slice %8[0, 0, 0, 0] [2, 24, 4, 6] [1, 1, 1, 1] : tensor<2x24x4x12xf32> to tensor<2x24x4x6xf32>
    %extracted_slice_13 = tensor.extract_slice %8[0, 0, 0, 6] [2, 24, 4, 6] [1, 1, 1, 1] : tensor<2x24x4x12xf32> to tensor<2x24x4x6xf32>
    %17 = tensor.empty() : tensor<2x24x4x6xf32>
    %18 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%15 : tensor<24x6xf32>) outs(%17 : tensor<2x24x4x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x24x4x6xf32>
    %19 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16 : tensor<24x6xf32>) outs(%17 : tensor<2x24x4x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x24x4x6xf32>
    %20 = linalg.generic {indexing_maps = [#map10, #map10, #map10, #map10, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice, %18, %extracted_slice_13, %19 : tensor<2x24x4x6xf32>, tensor<2x24x4x6xf32>, tensor<2x24x4x6xf32>, tensor<2x24x4x6xf32>) outs(%17 : tensor<2x24x4x6xf32>) {
    ^bb0(%in: f32, %in_18: f32, %in_19: f32, %in_20: f32, %out: f32):
      %71 = arith.mulf %in, %in_18 : f32
      %72 = arith.mulf %in_19, %in_20 : f32
      %73 = arith.subf %71, %72 : f32
      linalg.yield %73 : f32
    } -> tensor<2x24x4x6xf32>
    %21 = linalg.generic {indexing_maps = [#map10, #map10, #map10, #map10, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_13, %18, %extracted_slice, %19 : tensor<2x24x4x6xf32>, tensor<2x24x4x6xf32>, tensor<2x24x4x6xf32>, tensor<2x24x4x6xf32>) outs(%17 : tensor<2x24x4x6xf32>) {
    ^bb0(%in: f32, %in_18: f32, %in_19: f32, %in_20: f32, %out: f32):
      %71 = arith.mulf %in, %in_18 : f32
      %72 = arith.mulf %in_19, %in_20 : f32
      %73 = arith.addf %71, %72 : f32
      linalg.yield %73 : f32
    } -> tensor<2x24x4x6xf32>
    %concat = tensor.concat dim(3) %20, %21 : (tensor<2x24x4x6xf32>, tensor<2x24x4x6xf32>) -> tensor<2x24x4x12xf32>
    %extracted_slice_14 = tensor.extract_slice %11[0, 0, 0, 0] [2, 24, 2, 6] [1, 1, 1, 1] : tensor<2x24x2x12xf32> to tensor<2x24x2x6xf32>
    %extracted_slice_15 = tensor.extract_slice %11[0, 0, 0, 6] [2, 24, 2, 6] [1, 1, 1, 1] : tensor<2x24x2x12xf32> to tensor<2x24x2x6xf32>
    %22 = tensor.empty() : tensor<2x24x2x6xf32>
    %23 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%15 : tensor<24x6xf32>) outs(%22 : tensor<2x24x2x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x24x2x6xf32>
    %24 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16 : tensor<24x6xf32>) outs(%22 : tensor<2x24x2x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x24x2x6xf32>
    %25 = linalg.generic {indexing_maps = [#map10, #map10, #map10, #map10, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_14, %23, %extracted_slice_15, %24 : tensor<2x24x2x6xf32>, tensor<2x24x2x6xf32>, tensor<2x24x2x6xf32>, tensor<2x24x2x6xf32>) outs(%22 : tensor<2x24x2x6xf32>) {
    ^bb0(%in: f32, %in_18: f32, %in_19: f32, %in_20: f32, %out: f32):
      %71 = arith.mulf %in, %in_18 : f32
      %72 = arith.mulf %in_19, %in_20 : f32
      %73 = arith.subf %71, %72 : f32
      linalg.yield %73 : f32
    } -> tensor<2x24x2x6xf32>
    %26 = linalg.generic {indexing_maps = [#map10, #map10, #map10, #map10, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_15, %23, %extracted_slice_14, %24 : tensor<2x24x2x6xf32>, tensor<2x24x2x6xf32>, tensor<2x24x2x6xf32>, tensor<2x24x2x6xf32>) outs(%22 : tensor<2x24x2x6xf32>) {
    ^bb0(%in: f32, %in_18: f32, %in_19: f32, %in_20: f32, %out: f32):
      %71 = arith.mulf %in, %in_18 : f32
      %72 = arith.mulf %in_19, %in_20 : f32
      %73 = arith.addf %71, %72 : f32
      linalg.yield %73 : f32
    } -> tensor<2x24x2x6xf32>
    %concat_16 = tensor.concat dim(3) %25, %26 : (tensor<2x24x2x6xf32>, tensor<2x24x2x6xf32>) -> tensor<2x24x2x12xf32>
    %expanded = tensor.expand_shape %concat [[0], [1], [2, 3], [4]] output_shape [2, 24, 2, 2, 12] : tensor<2x24x4x12xf32> into tensor<2x24x2x2x12xf32>
    %27 = nn.iota : tensor<24xi32>
    %28 = tensor.empty() : tensor<2x2x2x24x24xf32>
    %29 = linalg.fill ins(%cst_10 : f32) outs(%28 : tensor<2x2x2x24x24xf32>) -> tensor<2x2x2x24x24xf32>
    %30 = linalg.generic {indexing_maps = [#map11, #map12, #map13], iterator_types = ["parallel", "parallel", "reduction", "parallel", "parallel", "parallel"]} ins(%expanded, %concat_16 : tensor<2x24x2x2x12xf32>, tensor<2x24x2x12xf32>) outs(%29 : tensor<2x2x2x24x24xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %71 = arith.mulf %in, %in_18 : f32
      %72 = arith.addf %out, %71 : f32
      linalg.yield %72 : f32
    } -> tensor<2x2x2x24x24xf32>
    %31 = linalg.generic {indexing_maps = [#map14, #map15, #map16, #map16], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%27, %27, %30 : tensor<24xi32>, tensor<24xi32>, tensor<2x2x2x24x24xf32>) outs(%28 : tensor<2x2x2x24x24xf32>) {
    ^bb0(%in: i32, %in_18: i32, %in_19: f32, %out: f32):
      %71 = arith.mulf %in_19, %cst_6 : f32
      %72 = arith.cmpi sge, %in, %in_18 : i32
      %73 = arith.select %72, %71, %cst_5 : f32
      linalg.yield %73 : f32
    } -> tensor<2x2x2x24x24xf32>
    %32 = tensor.empty() : tensor<2x2x2x24xf32>
    %33 = linalg.fill ins(%cst_9 : f32) outs(%32 : tensor<2x2x2x24xf32>) -> tensor<2x2x2x24xf32>
    %34 = linalg.generic {indexing_maps = [#map16, #map17], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%31 : tensor<2x2x2x24x24xf32>) outs(%33 : tensor<2x2x2x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %71 = arith.maximumf %in, %out : f32
      linalg.yield %71 : f32
    } -> tensor<2x2x2x24xf32>
    %35 = linalg.generic {indexing_maps = [#map16, #map17, #map16], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%31, %34 : tensor<2x2x2x24x24xf32>, tensor<2x2x2x24xf32>) outs(%28 : tensor<2x2x2x24x24xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %71 = arith.subf %in, %in_18 : f32
      %72 = math.exp %71 : f32
      linalg.yield %72 : f32
    } -> tensor<2x2x2x24x24xf32>
    %36 = linalg.fill ins(%cst_10 : f32) outs(%32 : tensor<2x2x2x24xf32>) -> tensor<2x2x2x24xf32>
    %37 = linalg.generic {indexing_maps = [#map16, #map17], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%35 : tensor<2x2x2x24x24xf32>) outs(%36 : tensor<2x2x2x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %71 = arith.addf %in, %out : f32
      linalg.yield %71 : f32
    } -> tensor<2x2x2x24xf32>
    %38 = tensor.empty() : tensor<2x24x2x2x12xf32>
    %39 = linalg.fill ins(%cst_10 : f32) outs(%38 : tensor<2x24x2x2x12xf32>) -> tensor<2x24x2x2x12xf32>
    %40 = linalg.generic {indexing_maps = [#map18, #map19, #map20, #map21], iterator_types = ["parallel", "parallel", "reduction", "parallel", "parallel", "parallel"]} ins(%12, %35, %37 : tensor<2x24x2x12xf32>, tensor<2x2x2x24x24xf32>, tensor<2x2x2x24xf32>) outs(%39 : tensor<2x24x2x2x12xf32>) {
    ^bb0(%in: f32, %in_18: f32, %in_19: f32, %out: f32):
      %71 = arith.divf %in_18, %in_19 : f32
      %72 = arith.mulf %in, %71 : f32
      %73 = arith.addf %out, %72 : f32
      linalg.yield %73 : f32
    } -> tensor<2x24x2x2x12xf32>
    %41 = linalg.fill ins(%cst_10 : f32) outs(%0 : tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %expanded_17 = tensor.expand_shape %arg7 [[0, 1, 2], [3]] output_shape [2, 2, 12, 48] : tensor<48x48xf32> into tensor<2x2x12x48xf32>
    %42 = linalg.generic {indexing_maps = [#map22, #map23, #map24], iterator_types = ["reduction", "reduction", "reduction", "parallel", "parallel", "parallel"]} ins(%40, %expanded_17 : tensor<2x24x2x2x12xf32>, tensor<2x2x12x48xf32>) outs(%41 : tensor<2x24x48xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %71 = arith.mulf %in, %in_18 : f32
      %72 = arith.addf %out, %71 : f32
      linalg.yield %72 : f32
    } -> tensor<2x24x48xf32>
    %43 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1, %42 : tensor<2x24x48xf32>, tensor<2x24x48xf32>) outs(%0 : tensor<2x24x48xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %71 = arith.addf %in, %in_18 : f32
      linalg.yield %71 : f32
    } -> tensor<2x24x48xf32>
    %44 = linalg.generic {indexing_maps = [#map1, #map], iterator_types = ["parallel", "parallel", "reduction"]} ins(%43 : tensor<2x24x48xf32>) outs(%3 : tensor<2x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %71 = arith.addf %in, %out : f32
      linalg.yield %71 : f32
    } -> tensor<2x24xf32>
    %45 = linalg.generic {indexing_maps = [#map1, #map, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%43, %44 : tensor<2x24x48xf32>, tensor<2x24xf32>) outs(%0 : tensor<2x24x48xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %71 = arith.divf %in_18, %cst_8 : f32
      %72 = arith.subf %in, %71 : f32
      linalg.yield %72 : f32
    } -> tensor<2x24x48xf32>
    %46 = linalg.generic {indexing_maps = [#map1, #map], iterator_types = ["parallel", "parallel", "reduction"]} ins(%45 : tensor<2x24x48xf32>) outs(%3 : tensor<2x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %71 = arith.mulf %in, %in : f32
      %72 = arith.addf %71, %out : f32
      linalg.yield %72 : f32
    } -> tensor<2x24xf32>
    %47 = linalg.generic {indexing_maps = [#map1, #map, #map2, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%45, %46, %arg6, %arg5 : tensor<2x24x48xf32>, tensor<2x24xf32>, tensor<48xf32>, tensor<48xf32>) outs(%0 : tensor<2x24x48xf32>) {
    ^bb0(%in: f32, %in_18: f32, %in_19: f32, %in_20: f32, %out: f32):
      %71 = arith.divf %in_18, %cst_8 : f32
      %72 = arith.addf %71, %cst_4 : f32
      %73 = math.rsqrt %72 : f32
      %74 = arith.mulf %in, %73 : f32
      %75 = arith.mulf %74, %in_19 : f32
      %76 = arith.addf %75, %in_20 : f32
      linalg.yield %76 : f32
    } -> tensor<2x24x48xf32>
    %48 = linalg.generic {indexing_maps = [#map25, #map26, #map27], iterator_types = ["reduction", "parallel", "parallel", "parallel"]} ins(%47, %arg3 : tensor<2x24x48xf32>, tensor<48x48xf32>) outs(%41 : tensor<2x24x48xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %71 = arith.mulf %in, %in_18 : f32
      %72 = arith.addf %out, %71 : f32
      linalg.yield %72 : f32
    } -> tensor<2x24x48xf32>
    %49 = linalg.generic {indexing_maps = [#map25, #map26, #map27], iterator_types = ["reduction", "parallel", "parallel", "parallel"]} ins(%47, %arg10 : tensor<2x24x48xf32>, tensor<48x48xf32>) outs(%41 : tensor<2x24x48xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %71 = arith.mulf %in, %in_18 : f32
      %72 = arith.addf %out, %71 : f32
      linalg.yield %72 : f32
    } -> tensor<2x24x48xf32>
    %50 = linalg.generic {indexing_maps = [#map1, #map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%43, %48, %49 : tensor<2x24x48xf32>, tensor<2x24x48xf32>, tensor<2x24x48xf32>) outs(%0 : tensor<2x24x48xf32>) {
    ^bb0(%in: f32, %in_18: f32, %in_19: f32, %out: f32):
      %71 = arith.negf %in_18 : f32
      %72 = math.exp %71 : f32
      %73 = arith.addf %72, %cst_3 : f32
      %74 = arith.divf %cst_3, %73 : f32
      %75 = arith.mulf %in_18, %74 : f32
      %76 = arith.mulf %75, %in_19 : f32
      %77 = arith.addf %in, %76 : f32
      linalg.yield %77 : f32
    } -> tensor<2x24x48xf32>
    %51 = linalg.generic {indexing_maps = [#map25, #map26, #map27], iterator_types = ["reduction", "parallel", "parallel", "parallel"]} ins(%50, %arg1 : tensor<2x24x48xf32>, tensor<48x48xf32>) outs(%41 : tensor<2x24x48xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %71 = arith.mulf %in, %in_18 : f32
      %72 = arith.addf %out, %71 : f32
      linalg.yield %72 : f32
    } -> tensor<2x24x48xf32>
    %52 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%50, %51 : tensor<2x24x48xf32>, tensor<2x24x48xf32>) outs(%0 : tensor<2x24x48xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %71 = arith.mulf %in_18, %cst_2 : f32
      %72 = arith.negf %in_18 : f32
      %73 = arith.mulf %72, %cst_1 : f32
      %74 = math.erf %73 : f32
      %75 = arith.subf %cst_3, %74 : f32
      %76 = arith.mulf %71, %75 : f32
      %77 = arith.addf %in, %76 : f32
      linalg.yield %77 : f32
    } -> tensor<2x24x48xf32>
    %53 = linalg.generic {indexing_maps = [#map25, #map26, #map27], iterator_types = ["reduction", "parallel", "parallel", "parallel"]} ins(%52, %arg9 : tensor<2x24x48xf32>, tensor<48x48xf32>) outs(%41 : tensor<2x24x48xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %71 = arith.mulf %in, %in_18 : f32
      %72 = arith.addf %out, %71 : f32
      linalg.yield %72 : f32
    } -> tensor<2x24x48xf32>
    %54 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%52, %53 : tensor<2x24x48xf32>, tensor<2x24x48xf32>) outs(%0 : tensor<2x24x48xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %71 = arith.mulf %in_18, %in_18 : f32
      %72 = arith.mulf %71, %in_18 : f32
      %73 = arith.mulf %72, %cst_0 : f32
      %74 = arith.addf %in_18, %73 : f32
      %75 = arith.mulf %74, %cst : f32
      %76 = math.tanh %75 : f32
      %77 = arith.addf %76, %cst_3 : f32
      %78 = arith.mulf %77, %cst_2 : f32
      %79 = arith.mulf %in_18, %78 : f32
      %80 = arith.addf %in, %79 : f32
      linalg.yield %80 : f32
    } -> tensor<2x24x48xf32>
    %55 = linalg.fill ins(%cst_9 : f32) outs(%2 : tensor<2x24xf32>) -> tensor<2x24xf32>
    %56 = linalg.generic {indexing_maps = [#map1, #map], iterator_types = ["parallel", "parallel", "reduction"]} ins(%54 : tensor<2x24x48xf32>) outs(%55 : tensor<2x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %71 = arith.maximumf %in, %out : f32
      linalg.yield %71 : f32
    } -> tensor<2x24xf32>
    %57 = linalg.generic {indexing_maps = [#map1, #map, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%54, %56 : tensor<2x24x48xf32>, tensor<2x24xf32>) outs(%0 : tensor<2x24x48xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %71 = arith.subf %in, %in_18 : f32
      %72 = math.exp %71 : f32
      linalg.yield %72 : f32
    } -> tensor<2x24x48xf32>
    %58 = linalg.generic {indexing_maps = [#map1, #map], iterator_types = ["parallel", "parallel", "reduction"]} ins(%57 : tensor<2x24x48xf32>) outs(%3 : tensor<2x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %71 = arith.addf %in, %out : f32
      linalg.yield %71 : f32
    } -> tensor<2x24xf32>
    %59 = tensor.empty() : tensor<2x24x67xf32>
    %60 = linalg.fill ins(%cst_10 : f32) outs(%59 : tensor<2x24x67xf32>) -> tensor<2x24x67xf32>
    %61 = linalg.generic {indexing_maps = [#map25, #map25, #map28, #map29, #map27], iterator_types = ["reduction", "parallel", "parallel", "parallel"]} ins(%54, %57, %58, %arg0 : tensor<2x24x48xf32>, tensor<2x24x48xf32>, tensor<2x24xf32>, tensor<67x48xf32>) outs(%60 : tensor<2x24x67xf32>) {
    ^bb0(%in: f32, %in_18: f32, %in_19: f32, %in_20: f32, %out: f32):
      %71 = arith.divf %in_18, %in_19 : f32
      %72 = arith.mulf %in, %71 : f32
      %73 = arith.mulf %72, %in_20 : f32
      %74 = arith.addf %out, %73 : f32
      linalg.yield %74 : f32
    } -> tensor<2x24x67xf32>
    %62 = linalg.generic {indexing_maps = [#map1, #map], iterator_types = ["parallel", "parallel", "reduction"]} ins(%61 : tensor<2x24x67xf32>) outs(%55 : tensor<2x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %71 = arith.maximumf %in, %out : f32
      linalg.yield %71 : f32
    } -> tensor<2x24xf32>
    %63 = linalg.generic {indexing_maps = [#map1, #map, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%61, %62 : tensor<2x24x67xf32>, tensor<2x24xf32>) outs(%59 : tensor<2x24x67xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %71 = arith.subf %in, %in_18 : f32
      linalg.yield %71 : f32
    } -> tensor<2x24x67xf32>
    %64 = linalg.generic {indexing_maps = [#map1, #map], iterator_types = ["parallel", "parallel", "reduction"]} ins(%63 : tensor<2x24x67xf32>) outs(%3 : tensor<2x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %71 = math.exp %in : f32
      %72 = arith.addf %71, %out : f32
      linalg.yield %72 : f32
    } -> tensor<2x24xf32>
    %65 = linalg.generic {indexing_maps = [#map1, #map, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%63, %64 : tensor<2x24x67xf32>, tensor<2x24xf32>) outs(%59 : tensor<2x24x67xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %71 = math.log %in_18 : f32
      %72 = arith.subf %in, %71 : f32
      linalg.yield %72 : f32
    } -> tensor<2x24x67xf32>
    %66 = nn.take_along_axis %65, %arg13 : tensor<2x24x67xf32>, tensor<2x24xi32> -> tensor<2x24xf32>
    %67 = tensor.empty() : tensor<f32>
    %68 = linalg.fill ins(%cst_10 : f32) outs(%67 : tensor<f32>) -> tensor<f32>
    %69 = linalg.generic {indexing_maps = [#map8, #map30], iterator_types = ["reduction", "reduction"]} ins(%66 : tensor<2x24xf32>) outs(%68 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %71 = arith.addf %in, %out : f32
      linalg.yield %71 : f32
    } -> tensor<f32>
    %70 = linalg.generic {indexing_maps = [#map31, #map31], iterator_types = []} ins(%69 : tensor<f32>) outs(%67 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %71 = arith.divf %in, %cst_8 : f32
      %72 = arith.negf %71 : f32
      linalg.yield %72 : f32
    } -> tensor<f32>
    return %70 : tensor<f32>
  }
}

