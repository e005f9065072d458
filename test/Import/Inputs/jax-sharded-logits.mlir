"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["tp"=4]>, sym_name = "mesh"}> {stablehlo.mesh = {axes = [{name = "tp", size = 4 : i64}]}} : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp"}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp"}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}], function_type = (tensor<48x4x12xf32>, tensor<4x12xf32>, tensor<4x12x48xf32>, tensor<48x4x12xf32>, tensor<4x12xf32>, tensor<48x4x12xf32>, tensor<4x12xf32>, tensor<96x48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48x96xf32>, tensor<96xf32>, tensor<48x4x12xf32>, tensor<4x12xf32>, tensor<4x12x48xf32>, tensor<48x4x12xf32>, tensor<4x12xf32>, tensor<48x4x12xf32>, tensor<4x12xf32>, tensor<96x48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48x96xf32>, tensor<96xf32>, tensor<64x48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<64x48xf32>, tensor<2x24xi32>) -> tensor<2x24x64xf32>, res_attrs = [{jax.result_info = "result['logits']"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg4: tensor<48x4x12xf32> loc("p['blocks'][0]['attention']['k']"), %arg5: tensor<4x12xf32> loc("p['blocks'][0]['attention']['k_bias']"), %arg6: tensor<4x12x48xf32> loc("p['blocks'][0]['attention']['out']"), %arg7: tensor<48x4x12xf32> loc("p['blocks'][0]['attention']['q']"), %arg8: tensor<4x12xf32> loc("p['blocks'][0]['attention']['q_bias']"), %arg9: tensor<48x4x12xf32> loc("p['blocks'][0]['attention']['v']"), %arg10: tensor<4x12xf32> loc("p['blocks'][0]['attention']['v_bias']"), %arg11: tensor<96x48xf32> loc("p['blocks'][0]['down']"), %arg12: tensor<48xf32> loc("p['blocks'][0]['norm1']['bias']"), %arg13: tensor<48xf32> loc("p['blocks'][0]['norm1']['scale']"), %arg14: tensor<48xf32> loc("p['blocks'][0]['norm2']['bias']"), %arg15: tensor<48xf32> loc("p['blocks'][0]['norm2']['scale']"), %arg16: tensor<48x96xf32> loc("p['blocks'][0]['up']"), %arg17: tensor<96xf32> loc("p['blocks'][0]['up_bias']"), %arg18: tensor<48x4x12xf32> loc("p['blocks'][1]['attention']['k']"), %arg19: tensor<4x12xf32> loc("p['blocks'][1]['attention']['k_bias']"), %arg20: tensor<4x12x48xf32> loc("p['blocks'][1]['attention']['out']"), %arg21: tensor<48x4x12xf32> loc("p['blocks'][1]['attention']['q']"), %arg22: tensor<4x12xf32> loc("p['blocks'][1]['attention']['q_bias']"), %arg23: tensor<48x4x12xf32> loc("p['blocks'][1]['attention']['v']"), %arg24: tensor<4x12xf32> loc("p['blocks'][1]['attention']['v_bias']"), %arg25: tensor<96x48xf32> loc("p['blocks'][1]['down']"), %arg26: tensor<48xf32> loc("p['blocks'][1]['norm1']['bias']"), %arg27: tensor<48xf32> loc("p['blocks'][1]['norm1']['scale']"), %arg28: tensor<48xf32> loc("p['blocks'][1]['norm2']['bias']"), %arg29: tensor<48xf32> loc("p['blocks'][1]['norm2']['scale']"), %arg30: tensor<48x96xf32> loc("p['blocks'][1]['up']"), %arg31: tensor<96xf32> loc("p['blocks'][1]['up_bias']"), %arg32: tensor<64x48xf32> loc("p['embedding']"), %arg33: tensor<48xf32> loc("p['norm']['bias']"), %arg34: tensor<48xf32> loc("p['norm']['scale']"), %arg35: tensor<64x48xf32> loc("p['positions']"), %arg36: tensor<2x24xi32> loc("tokens")):
    %12 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %13 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x24xi32>
    %14 = "stablehlo.compare"(%arg36, %13) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<2x24xi1>
    %15 = "stablehlo.constant"() <{value = dense<64> : tensor<i32>}> : () -> tensor<i32>
    %16 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x24xi32>
    %17 = "stablehlo.add"(%arg36, %16) : (tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<2x24xi32>
    %18 = "stablehlo.select"(%14, %17, %arg36) : (tensor<2x24xi1>, tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<2x24xi32>
    %19 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xi32>) -> tensor<2x24x1xi32>
    %20 = "stablehlo.gather"(%arg32, %19) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 48>}> : (tensor<64x48xf32>, tensor<2x24x1xi32>) -> tensor<2x24x48xf32>
    %21 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<24xi32>
    %22 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %23 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<24xi32>
    %24 = "stablehlo.compare"(%21, %23) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<24xi32>, tensor<24xi32>) -> tensor<24xi1>
    %25 = "stablehlo.constant"() <{value = dense<64> : tensor<i32>}> : () -> tensor<i32>
    %26 = "stablehlo.broadcast_in_dim"(%25) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<24xi32>
    %27 = "stablehlo.add"(%21, %26) : (tensor<24xi32>, tensor<24xi32>) -> tensor<24xi32>
    %28 = "stablehlo.select"(%24, %27, %21) : (tensor<24xi1>, tensor<24xi32>, tensor<24xi32>) -> tensor<24xi32>
    %29 = "stablehlo.broadcast_in_dim"(%28) <{broadcast_dimensions = array<i64: 0>}> : (tensor<24xi32>) -> tensor<24x1xi32>
    %30 = "stablehlo.gather"(%arg35, %29) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 48>}> : (tensor<64x48xf32>, tensor<24x1xi32>) -> tensor<24x48xf32>
    %31 = "stablehlo.broadcast_in_dim"(%30) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<24x48xf32>) -> tensor<1x24x48xf32>
    %32 = "stablehlo.broadcast_in_dim"(%31) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x24x48xf32>) -> tensor<2x24x48xf32>
    %33 = "stablehlo.add"(%20, %32) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %34 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %35 = "stablehlo.reduce"(%33, %34) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg63: tensor<f32>, %arg64: tensor<f32>):
      %322 = "stablehlo.add"(%arg63, %arg64) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%322) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %36 = "stablehlo.broadcast_in_dim"(%35) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %37 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %38 = "stablehlo.broadcast_in_dim"(%37) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %39 = "stablehlo.divide"(%36, %38) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %40 = "stablehlo.broadcast_in_dim"(%39) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %41 = "stablehlo.subtract"(%33, %40) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %42 = "chlo.square"(%41) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %43 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %44 = "stablehlo.reduce"(%42, %43) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg61: tensor<f32>, %arg62: tensor<f32>):
      %321 = "stablehlo.add"(%arg61, %arg62) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%321) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %45 = "stablehlo.broadcast_in_dim"(%44) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %46 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %47 = "stablehlo.broadcast_in_dim"(%46) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %48 = "stablehlo.divide"(%45, %47) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %49 = "stablehlo.broadcast_in_dim"(%39) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %50 = "stablehlo.subtract"(%33, %49) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %51 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
    %52 = "stablehlo.broadcast_in_dim"(%51) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %53 = "stablehlo.add"(%48, %52) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %54 = "stablehlo.rsqrt"(%53) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %55 = "stablehlo.broadcast_in_dim"(%54) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %56 = "stablehlo.multiply"(%50, %55) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %57 = "stablehlo.broadcast_in_dim"(%arg13) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %58 = "stablehlo.broadcast_in_dim"(%57) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %59 = "stablehlo.multiply"(%56, %58) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %60 = "stablehlo.broadcast_in_dim"(%arg12) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %61 = "stablehlo.broadcast_in_dim"(%60) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %62 = "stablehlo.add"(%59, %61) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %63 = "stablehlo.dot_general"(%62, %arg7) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x4x12xf32>) -> tensor<2x24x4x12xf32>
    %64 = "stablehlo.broadcast_in_dim"(%arg8) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x12xf32>) -> tensor<1x1x4x12xf32>
    %65 = "stablehlo.broadcast_in_dim"(%64) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x12xf32>) -> tensor<2x24x4x12xf32>
    %66 = "stablehlo.add"(%63, %65) : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x24x4x12xf32>
    %67 = "stablehlo.dot_general"(%62, %arg4) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x4x12xf32>) -> tensor<2x24x4x12xf32>
    %68 = "stablehlo.broadcast_in_dim"(%arg5) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x12xf32>) -> tensor<1x1x4x12xf32>
    %69 = "stablehlo.broadcast_in_dim"(%68) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x12xf32>) -> tensor<2x24x4x12xf32>
    %70 = "stablehlo.add"(%67, %69) : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x24x4x12xf32>
    %71 = "stablehlo.dot_general"(%62, %arg9) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x4x12xf32>) -> tensor<2x24x4x12xf32>
    %72 = "stablehlo.broadcast_in_dim"(%arg10) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x12xf32>) -> tensor<1x1x4x12xf32>
    %73 = "stablehlo.broadcast_in_dim"(%72) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x12xf32>) -> tensor<2x24x4x12xf32>
    %74 = "stablehlo.add"(%71, %73) : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x24x4x12xf32>
    %75 = "stablehlo.dot_general"(%66, %70) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x4x24x24xf32>
    %76 = "stablehlo.constant"() <{value = dense<1.200000e+01> : tensor<f32>}> : () -> tensor<f32>
    %77 = "stablehlo.sqrt"(%76) : (tensor<f32>) -> tensor<f32>
    %78 = "stablehlo.convert"(%77) : (tensor<f32>) -> tensor<f32>
    %79 = "stablehlo.broadcast_in_dim"(%78) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x24x24xf32>
    %80 = "stablehlo.divide"(%75, %79) : (tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %81 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %82 = "stablehlo.broadcast_in_dim"(%81) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<24x24xi1>
    %83 = "func.call"(%82) <{callee = @tril}> : (tensor<24x24xi1>) -> tensor<24x24xi1>
    %84 = "stablehlo.constant"() <{value = dense<-3.40282347E+38> : tensor<f32>}> : () -> tensor<f32>
    %85 = "func.call"(%83, %80, %84) <{callee = @_where}> : (tensor<24x24xi1>, tensor<2x4x24x24xf32>, tensor<f32>) -> tensor<2x4x24x24xf32>
    %86 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %87 = "stablehlo.reduce"(%85, %86) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg59: tensor<f32>, %arg60: tensor<f32>):
      %320 = "stablehlo.maximum"(%arg59, %arg60) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%320) : (tensor<f32>) -> ()
    }) : (tensor<2x4x24x24xf32>, tensor<f32>) -> tensor<2x4x24xf32>
    %88 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %89 = "stablehlo.broadcast_in_dim"(%88) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x24xf32>
    %90 = "stablehlo.maximum"(%89, %87) : (tensor<2x4x24xf32>, tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %91 = "stablehlo.broadcast_in_dim"(%90) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x24xf32>) -> tensor<2x4x24x1xf32>
    %92 = "stablehlo.broadcast_in_dim"(%91) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x24x1xf32>) -> tensor<2x4x24x24xf32>
    %93 = "stablehlo.subtract"(%85, %92) : (tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %94 = "stablehlo.exponential"(%93) : (tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %95 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %96 = "stablehlo.reduce"(%94, %95) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg57: tensor<f32>, %arg58: tensor<f32>):
      %319 = "stablehlo.add"(%arg57, %arg58) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%319) : (tensor<f32>) -> ()
    }) : (tensor<2x4x24x24xf32>, tensor<f32>) -> tensor<2x4x24xf32>
    %97 = "stablehlo.broadcast_in_dim"(%96) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x24xf32>) -> tensor<2x4x24x1xf32>
    %98 = "stablehlo.broadcast_in_dim"(%97) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x24x1xf32>) -> tensor<2x4x24x24xf32>
    %99 = "stablehlo.divide"(%94, %98) : (tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %100 = "stablehlo.dot_general"(%74, %99) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x4x12xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x12x24xf32>
    %101 = "stablehlo.transpose"(%100) <{permutation = array<i64: 0, 3, 1, 2>}> : (tensor<2x4x12x24xf32>) -> tensor<2x24x4x12xf32>
    %102 = "stablehlo.dot_general"(%101, %arg6) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2, 3], rhs_contracting_dimensions = [0, 1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x4x12xf32>, tensor<4x12x48xf32>) -> tensor<2x24x48xf32>
    %103 = "stablehlo.add"(%33, %102) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %104 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %105 = "stablehlo.reduce"(%103, %104) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg55: tensor<f32>, %arg56: tensor<f32>):
      %318 = "stablehlo.add"(%arg55, %arg56) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%318) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %106 = "stablehlo.broadcast_in_dim"(%105) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %107 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %108 = "stablehlo.broadcast_in_dim"(%107) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %109 = "stablehlo.divide"(%106, %108) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %110 = "stablehlo.broadcast_in_dim"(%109) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %111 = "stablehlo.subtract"(%103, %110) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %112 = "chlo.square"(%111) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %113 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %114 = "stablehlo.reduce"(%112, %113) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg53: tensor<f32>, %arg54: tensor<f32>):
      %317 = "stablehlo.add"(%arg53, %arg54) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%317) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %115 = "stablehlo.broadcast_in_dim"(%114) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %116 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %117 = "stablehlo.broadcast_in_dim"(%116) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %118 = "stablehlo.divide"(%115, %117) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %119 = "stablehlo.broadcast_in_dim"(%109) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %120 = "stablehlo.subtract"(%103, %119) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %121 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
    %122 = "stablehlo.broadcast_in_dim"(%121) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %123 = "stablehlo.add"(%118, %122) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %124 = "stablehlo.rsqrt"(%123) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %125 = "stablehlo.broadcast_in_dim"(%124) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %126 = "stablehlo.multiply"(%120, %125) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %127 = "stablehlo.broadcast_in_dim"(%arg15) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %128 = "stablehlo.broadcast_in_dim"(%127) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %129 = "stablehlo.multiply"(%126, %128) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %130 = "stablehlo.broadcast_in_dim"(%arg14) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %131 = "stablehlo.broadcast_in_dim"(%130) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %132 = "stablehlo.add"(%129, %131) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %133 = "stablehlo.dot_general"(%132, %arg16) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x96xf32>) -> tensor<2x24x96xf32>
    %134 = "stablehlo.broadcast_in_dim"(%arg17) <{broadcast_dimensions = array<i64: 2>}> : (tensor<96xf32>) -> tensor<1x1x96xf32>
    %135 = "stablehlo.broadcast_in_dim"(%134) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x96xf32>) -> tensor<2x24x96xf32>
    %136 = "stablehlo.add"(%133, %135) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %137 = "stablehlo.multiply"(%136, %136) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %138 = "stablehlo.multiply"(%137, %136) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %139 = "stablehlo.constant"() <{value = dense<4.471500e-02> : tensor<f32>}> : () -> tensor<f32>
    %140 = "stablehlo.broadcast_in_dim"(%139) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %141 = "stablehlo.multiply"(%140, %138) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %142 = "stablehlo.add"(%136, %141) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %143 = "stablehlo.constant"() <{value = dense<0.797884583> : tensor<f32>}> : () -> tensor<f32>
    %144 = "stablehlo.broadcast_in_dim"(%143) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %145 = "stablehlo.multiply"(%144, %142) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %146 = "stablehlo.tanh"(%145) : (tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %147 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %148 = "stablehlo.broadcast_in_dim"(%147) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %149 = "stablehlo.add"(%148, %146) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %150 = "stablehlo.constant"() <{value = dense<5.000000e-01> : tensor<f32>}> : () -> tensor<f32>
    %151 = "stablehlo.broadcast_in_dim"(%150) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %152 = "stablehlo.multiply"(%151, %149) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %153 = "stablehlo.multiply"(%136, %152) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %154 = "stablehlo.dot_general"(%153, %arg11) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x96xf32>, tensor<96x48xf32>) -> tensor<2x24x48xf32>
    %155 = "stablehlo.add"(%103, %154) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %156 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %157 = "stablehlo.reduce"(%155, %156) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg51: tensor<f32>, %arg52: tensor<f32>):
      %316 = "stablehlo.add"(%arg51, %arg52) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%316) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %158 = "stablehlo.broadcast_in_dim"(%157) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %159 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %160 = "stablehlo.broadcast_in_dim"(%159) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %161 = "stablehlo.divide"(%158, %160) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %162 = "stablehlo.broadcast_in_dim"(%161) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %163 = "stablehlo.subtract"(%155, %162) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %164 = "chlo.square"(%163) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %165 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %166 = "stablehlo.reduce"(%164, %165) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg49: tensor<f32>, %arg50: tensor<f32>):
      %315 = "stablehlo.add"(%arg49, %arg50) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%315) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %167 = "stablehlo.broadcast_in_dim"(%166) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %168 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %169 = "stablehlo.broadcast_in_dim"(%168) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %170 = "stablehlo.divide"(%167, %169) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %171 = "stablehlo.broadcast_in_dim"(%161) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %172 = "stablehlo.subtract"(%155, %171) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %173 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
    %174 = "stablehlo.broadcast_in_dim"(%173) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %175 = "stablehlo.add"(%170, %174) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %176 = "stablehlo.rsqrt"(%175) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %177 = "stablehlo.broadcast_in_dim"(%176) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %178 = "stablehlo.multiply"(%172, %177) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %179 = "stablehlo.broadcast_in_dim"(%arg27) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %180 = "stablehlo.broadcast_in_dim"(%179) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %181 = "stablehlo.multiply"(%178, %180) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %182 = "stablehlo.broadcast_in_dim"(%arg26) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %183 = "stablehlo.broadcast_in_dim"(%182) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %184 = "stablehlo.add"(%181, %183) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %185 = "stablehlo.dot_general"(%184, %arg21) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x4x12xf32>) -> tensor<2x24x4x12xf32>
    %186 = "stablehlo.broadcast_in_dim"(%arg22) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x12xf32>) -> tensor<1x1x4x12xf32>
    %187 = "stablehlo.broadcast_in_dim"(%186) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x12xf32>) -> tensor<2x24x4x12xf32>
    %188 = "stablehlo.add"(%185, %187) : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x24x4x12xf32>
    %189 = "stablehlo.dot_general"(%184, %arg18) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x4x12xf32>) -> tensor<2x24x4x12xf32>
    %190 = "stablehlo.broadcast_in_dim"(%arg19) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x12xf32>) -> tensor<1x1x4x12xf32>
    %191 = "stablehlo.broadcast_in_dim"(%190) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x12xf32>) -> tensor<2x24x4x12xf32>
    %192 = "stablehlo.add"(%189, %191) : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x24x4x12xf32>
    %193 = "stablehlo.dot_general"(%184, %arg23) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x4x12xf32>) -> tensor<2x24x4x12xf32>
    %194 = "stablehlo.broadcast_in_dim"(%arg24) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x12xf32>) -> tensor<1x1x4x12xf32>
    %195 = "stablehlo.broadcast_in_dim"(%194) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x12xf32>) -> tensor<2x24x4x12xf32>
    %196 = "stablehlo.add"(%193, %195) : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x24x4x12xf32>
    %197 = "stablehlo.dot_general"(%188, %192) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x4x24x24xf32>
    %198 = "stablehlo.constant"() <{value = dense<1.200000e+01> : tensor<f32>}> : () -> tensor<f32>
    %199 = "stablehlo.sqrt"(%198) : (tensor<f32>) -> tensor<f32>
    %200 = "stablehlo.convert"(%199) : (tensor<f32>) -> tensor<f32>
    %201 = "stablehlo.broadcast_in_dim"(%200) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x24x24xf32>
    %202 = "stablehlo.divide"(%197, %201) : (tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %203 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %204 = "stablehlo.broadcast_in_dim"(%203) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<24x24xi1>
    %205 = "func.call"(%204) <{callee = @tril}> : (tensor<24x24xi1>) -> tensor<24x24xi1>
    %206 = "stablehlo.constant"() <{value = dense<-3.40282347E+38> : tensor<f32>}> : () -> tensor<f32>
    %207 = "func.call"(%205, %202, %206) <{callee = @_where}> : (tensor<24x24xi1>, tensor<2x4x24x24xf32>, tensor<f32>) -> tensor<2x4x24x24xf32>
    %208 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %209 = "stablehlo.reduce"(%207, %208) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg47: tensor<f32>, %arg48: tensor<f32>):
      %314 = "stablehlo.maximum"(%arg47, %arg48) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%314) : (tensor<f32>) -> ()
    }) : (tensor<2x4x24x24xf32>, tensor<f32>) -> tensor<2x4x24xf32>
    %210 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %211 = "stablehlo.broadcast_in_dim"(%210) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x24xf32>
    %212 = "stablehlo.maximum"(%211, %209) : (tensor<2x4x24xf32>, tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %213 = "stablehlo.broadcast_in_dim"(%212) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x24xf32>) -> tensor<2x4x24x1xf32>
    %214 = "stablehlo.broadcast_in_dim"(%213) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x24x1xf32>) -> tensor<2x4x24x24xf32>
    %215 = "stablehlo.subtract"(%207, %214) : (tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %216 = "stablehlo.exponential"(%215) : (tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %217 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %218 = "stablehlo.reduce"(%216, %217) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg45: tensor<f32>, %arg46: tensor<f32>):
      %313 = "stablehlo.add"(%arg45, %arg46) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%313) : (tensor<f32>) -> ()
    }) : (tensor<2x4x24x24xf32>, tensor<f32>) -> tensor<2x4x24xf32>
    %219 = "stablehlo.broadcast_in_dim"(%218) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x24xf32>) -> tensor<2x4x24x1xf32>
    %220 = "stablehlo.broadcast_in_dim"(%219) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x24x1xf32>) -> tensor<2x4x24x24xf32>
    %221 = "stablehlo.divide"(%216, %220) : (tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %222 = "stablehlo.dot_general"(%196, %221) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x4x12xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x12x24xf32>
    %223 = "stablehlo.transpose"(%222) <{permutation = array<i64: 0, 3, 1, 2>}> : (tensor<2x4x12x24xf32>) -> tensor<2x24x4x12xf32>
    %224 = "stablehlo.dot_general"(%223, %arg20) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2, 3], rhs_contracting_dimensions = [0, 1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x4x12xf32>, tensor<4x12x48xf32>) -> tensor<2x24x48xf32>
    %225 = "stablehlo.add"(%155, %224) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %226 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %227 = "stablehlo.reduce"(%225, %226) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg43: tensor<f32>, %arg44: tensor<f32>):
      %312 = "stablehlo.add"(%arg43, %arg44) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%312) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %228 = "stablehlo.broadcast_in_dim"(%227) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %229 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %230 = "stablehlo.broadcast_in_dim"(%229) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %231 = "stablehlo.divide"(%228, %230) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %232 = "stablehlo.broadcast_in_dim"(%231) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %233 = "stablehlo.subtract"(%225, %232) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %234 = "chlo.square"(%233) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %235 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %236 = "stablehlo.reduce"(%234, %235) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg41: tensor<f32>, %arg42: tensor<f32>):
      %311 = "stablehlo.add"(%arg41, %arg42) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%311) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %237 = "stablehlo.broadcast_in_dim"(%236) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %238 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %239 = "stablehlo.broadcast_in_dim"(%238) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %240 = "stablehlo.divide"(%237, %239) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %241 = "stablehlo.broadcast_in_dim"(%231) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %242 = "stablehlo.subtract"(%225, %241) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %243 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
    %244 = "stablehlo.broadcast_in_dim"(%243) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %245 = "stablehlo.add"(%240, %244) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %246 = "stablehlo.rsqrt"(%245) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %247 = "stablehlo.broadcast_in_dim"(%246) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %248 = "stablehlo.multiply"(%242, %247) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %249 = "stablehlo.broadcast_in_dim"(%arg29) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %250 = "stablehlo.broadcast_in_dim"(%249) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %251 = "stablehlo.multiply"(%248, %250) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %252 = "stablehlo.broadcast_in_dim"(%arg28) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %253 = "stablehlo.broadcast_in_dim"(%252) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %254 = "stablehlo.add"(%251, %253) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %255 = "stablehlo.dot_general"(%254, %arg30) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x96xf32>) -> tensor<2x24x96xf32>
    %256 = "stablehlo.broadcast_in_dim"(%arg31) <{broadcast_dimensions = array<i64: 2>}> : (tensor<96xf32>) -> tensor<1x1x96xf32>
    %257 = "stablehlo.broadcast_in_dim"(%256) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x96xf32>) -> tensor<2x24x96xf32>
    %258 = "stablehlo.add"(%255, %257) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %259 = "stablehlo.multiply"(%258, %258) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %260 = "stablehlo.multiply"(%259, %258) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %261 = "stablehlo.constant"() <{value = dense<4.471500e-02> : tensor<f32>}> : () -> tensor<f32>
    %262 = "stablehlo.broadcast_in_dim"(%261) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %263 = "stablehlo.multiply"(%262, %260) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %264 = "stablehlo.add"(%258, %263) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %265 = "stablehlo.constant"() <{value = dense<0.797884583> : tensor<f32>}> : () -> tensor<f32>
    %266 = "stablehlo.broadcast_in_dim"(%265) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %267 = "stablehlo.multiply"(%266, %264) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %268 = "stablehlo.tanh"(%267) : (tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %269 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %270 = "stablehlo.broadcast_in_dim"(%269) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %271 = "stablehlo.add"(%270, %268) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %272 = "stablehlo.constant"() <{value = dense<5.000000e-01> : tensor<f32>}> : () -> tensor<f32>
    %273 = "stablehlo.broadcast_in_dim"(%272) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %274 = "stablehlo.multiply"(%273, %271) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %275 = "stablehlo.multiply"(%258, %274) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %276 = "stablehlo.dot_general"(%275, %arg25) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x96xf32>, tensor<96x48xf32>) -> tensor<2x24x48xf32>
    %277 = "stablehlo.add"(%225, %276) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %278 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %279 = "stablehlo.reduce"(%277, %278) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg39: tensor<f32>, %arg40: tensor<f32>):
      %310 = "stablehlo.add"(%arg39, %arg40) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%310) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %280 = "stablehlo.broadcast_in_dim"(%279) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %281 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %282 = "stablehlo.broadcast_in_dim"(%281) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %283 = "stablehlo.divide"(%280, %282) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %284 = "stablehlo.broadcast_in_dim"(%283) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %285 = "stablehlo.subtract"(%277, %284) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %286 = "chlo.square"(%285) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %287 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %288 = "stablehlo.reduce"(%286, %287) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg37: tensor<f32>, %arg38: tensor<f32>):
      %309 = "stablehlo.add"(%arg37, %arg38) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%309) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %289 = "stablehlo.broadcast_in_dim"(%288) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %290 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %291 = "stablehlo.broadcast_in_dim"(%290) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %292 = "stablehlo.divide"(%289, %291) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %293 = "stablehlo.broadcast_in_dim"(%283) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %294 = "stablehlo.subtract"(%277, %293) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %295 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
    %296 = "stablehlo.broadcast_in_dim"(%295) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %297 = "stablehlo.add"(%292, %296) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %298 = "stablehlo.rsqrt"(%297) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %299 = "stablehlo.broadcast_in_dim"(%298) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %300 = "stablehlo.multiply"(%294, %299) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %301 = "stablehlo.broadcast_in_dim"(%arg34) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %302 = "stablehlo.broadcast_in_dim"(%301) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %303 = "stablehlo.multiply"(%300, %302) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %304 = "stablehlo.broadcast_in_dim"(%arg33) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %305 = "stablehlo.broadcast_in_dim"(%304) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %306 = "stablehlo.add"(%303, %305) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %307 = "stablehlo.transpose"(%arg32) <{permutation = array<i64: 1, 0>}> : (tensor<64x48xf32>) -> tensor<48x64xf32>
    %308 = "stablehlo.dot_general"(%306, %307) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x64xf32>) -> tensor<2x24x64xf32>
    "func.return"(%308) : (tensor<2x24x64xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<24x24xi1>) -> tensor<24x24xi1>, res_attrs = [{}], sym_name = "tril", sym_visibility = "private"}> ({
  ^bb0(%arg3: tensor<24x24xi1>):
    %3 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<24x24xi32> loc("iota")
    %4 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %5 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<24x24xi32> loc("add")
    %6 = "stablehlo.add"(%3, %5) : (tensor<24x24xi32>, tensor<24x24xi32>) -> tensor<24x24xi32> loc("add")
    %7 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<24x24xi32> loc("iota")
    %8 = "stablehlo.compare"(%6, %7) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<24x24xi32>, tensor<24x24xi32>) -> tensor<24x24xi1> loc("ge")
    %9 = "stablehlo.constant"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>
    %10 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<24x24xi1> loc("broadcast_in_dim")
    %11 = "stablehlo.select"(%8, %arg3, %10) : (tensor<24x24xi1>, tensor<24x24xi1>, tensor<24x24xi1>) -> tensor<24x24xi1> loc("select_n")
    "func.return"(%11) : (tensor<24x24xi1>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<24x24xi1>, tensor<2x4x24x24xf32>, tensor<f32>) -> tensor<2x4x24x24xf32>, res_attrs = [{}], sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<24x24xi1>, %arg1: tensor<2x4x24x24xf32>, %arg2: tensor<f32>):
    %0 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<24x24xi1>) -> tensor<2x4x24x24xi1> loc("broadcast_in_dim")
    %1 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x24x24xf32> loc("broadcast_in_dim")
    %2 = "stablehlo.select"(%0, %arg1, %1) : (tensor<2x4x24x24xi1>, tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32> loc("select_n")
    "func.return"(%2) : (tensor<2x4x24x24xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
