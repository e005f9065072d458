"builtin.module"() <{sym_name = "jit_loss"}> ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["dp"=2, "tp"=2]>, sym_name = "mesh"}> {stablehlo.mesh = {axes = [{name = "dp", size = 2 : i64}, {name = "tp", size = 2 : i64}]}} : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp"}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp"}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"dp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"dp"}, {}]>}], function_type = (tensor<48x4x12xf32>, tensor<4x12xf32>, tensor<4x12x48xf32>, tensor<48x4x12xf32>, tensor<4x12xf32>, tensor<48x4x12xf32>, tensor<4x12xf32>, tensor<96x48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48x96xf32>, tensor<96xf32>, tensor<48x4x12xf32>, tensor<4x12xf32>, tensor<4x12x48xf32>, tensor<48x4x12xf32>, tensor<4x12xf32>, tensor<48x4x12xf32>, tensor<4x12xf32>, tensor<96x48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48x96xf32>, tensor<96xf32>, tensor<64x48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<64x48xf32>, tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<f32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg13: tensor<48x4x12xf32> loc("p['blocks'][0]['attention']['k']"), %arg14: tensor<4x12xf32> loc("p['blocks'][0]['attention']['k_bias']"), %arg15: tensor<4x12x48xf32> loc("p['blocks'][0]['attention']['out']"), %arg16: tensor<48x4x12xf32> loc("p['blocks'][0]['attention']['q']"), %arg17: tensor<4x12xf32> loc("p['blocks'][0]['attention']['q_bias']"), %arg18: tensor<48x4x12xf32> loc("p['blocks'][0]['attention']['v']"), %arg19: tensor<4x12xf32> loc("p['blocks'][0]['attention']['v_bias']"), %arg20: tensor<96x48xf32> loc("p['blocks'][0]['down']"), %arg21: tensor<48xf32> loc("p['blocks'][0]['norm1']['bias']"), %arg22: tensor<48xf32> loc("p['blocks'][0]['norm1']['scale']"), %arg23: tensor<48xf32> loc("p['blocks'][0]['norm2']['bias']"), %arg24: tensor<48xf32> loc("p['blocks'][0]['norm2']['scale']"), %arg25: tensor<48x96xf32> loc("p['blocks'][0]['up']"), %arg26: tensor<96xf32> loc("p['blocks'][0]['up_bias']"), %arg27: tensor<48x4x12xf32> loc("p['blocks'][1]['attention']['k']"), %arg28: tensor<4x12xf32> loc("p['blocks'][1]['attention']['k_bias']"), %arg29: tensor<4x12x48xf32> loc("p['blocks'][1]['attention']['out']"), %arg30: tensor<48x4x12xf32> loc("p['blocks'][1]['attention']['q']"), %arg31: tensor<4x12xf32> loc("p['blocks'][1]['attention']['q_bias']"), %arg32: tensor<48x4x12xf32> loc("p['blocks'][1]['attention']['v']"), %arg33: tensor<4x12xf32> loc("p['blocks'][1]['attention']['v_bias']"), %arg34: tensor<96x48xf32> loc("p['blocks'][1]['down']"), %arg35: tensor<48xf32> loc("p['blocks'][1]['norm1']['bias']"), %arg36: tensor<48xf32> loc("p['blocks'][1]['norm1']['scale']"), %arg37: tensor<48xf32> loc("p['blocks'][1]['norm2']['bias']"), %arg38: tensor<48xf32> loc("p['blocks'][1]['norm2']['scale']"), %arg39: tensor<48x96xf32> loc("p['blocks'][1]['up']"), %arg40: tensor<96xf32> loc("p['blocks'][1]['up_bias']"), %arg41: tensor<64x48xf32> loc("p['embedding']"), %arg42: tensor<48xf32> loc("p['norm']['bias']"), %arg43: tensor<48xf32> loc("p['norm']['scale']"), %arg44: tensor<64x48xf32> loc("p['positions']"), %arg45: tensor<2x24xi32> loc("tokens"), %arg46: tensor<2x24xi32> loc("labels")):
    %52 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %53 = "stablehlo.broadcast_in_dim"(%52) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x24xi32>
    %54 = "stablehlo.compare"(%arg45, %53) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<2x24xi1>
    %55 = "stablehlo.constant"() <{value = dense<64> : tensor<i32>}> : () -> tensor<i32>
    %56 = "stablehlo.broadcast_in_dim"(%55) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x24xi32>
    %57 = "stablehlo.add"(%arg45, %56) : (tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<2x24xi32>
    %58 = "stablehlo.select"(%54, %57, %arg45) : (tensor<2x24xi1>, tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<2x24xi32>
    %59 = "stablehlo.broadcast_in_dim"(%58) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xi32>) -> tensor<2x24x1xi32>
    %60 = "stablehlo.gather"(%arg41, %59) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 48>}> : (tensor<64x48xf32>, tensor<2x24x1xi32>) -> tensor<2x24x48xf32>
    %61 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<24xi32>
    %62 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %63 = "stablehlo.broadcast_in_dim"(%62) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<24xi32>
    %64 = "stablehlo.compare"(%61, %63) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<24xi32>, tensor<24xi32>) -> tensor<24xi1>
    %65 = "stablehlo.constant"() <{value = dense<64> : tensor<i32>}> : () -> tensor<i32>
    %66 = "stablehlo.broadcast_in_dim"(%65) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<24xi32>
    %67 = "stablehlo.add"(%61, %66) : (tensor<24xi32>, tensor<24xi32>) -> tensor<24xi32>
    %68 = "stablehlo.select"(%64, %67, %61) : (tensor<24xi1>, tensor<24xi32>, tensor<24xi32>) -> tensor<24xi32>
    %69 = "stablehlo.broadcast_in_dim"(%68) <{broadcast_dimensions = array<i64: 0>}> : (tensor<24xi32>) -> tensor<24x1xi32>
    %70 = "stablehlo.gather"(%arg44, %69) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 48>}> : (tensor<64x48xf32>, tensor<24x1xi32>) -> tensor<24x48xf32>
    %71 = "stablehlo.broadcast_in_dim"(%70) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<24x48xf32>) -> tensor<1x24x48xf32>
    %72 = "stablehlo.broadcast_in_dim"(%71) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x24x48xf32>) -> tensor<2x24x48xf32>
    %73 = "stablehlo.add"(%60, %72) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %74 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %75 = "stablehlo.reduce"(%73, %74) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg75: tensor<f32>, %arg76: tensor<f32>):
      %399 = "stablehlo.add"(%arg75, %arg76) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%399) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %76 = "stablehlo.broadcast_in_dim"(%75) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %77 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %78 = "stablehlo.broadcast_in_dim"(%77) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %79 = "stablehlo.divide"(%76, %78) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %80 = "sdy.sharding_constraint"(%79) <{sharding = #sdy.sharding<@mesh, [{"dp"}, {}, {}]>}> : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %81 = "stablehlo.broadcast_in_dim"(%80) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %82 = "stablehlo.subtract"(%73, %81) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %83 = "chlo.square"(%82) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %84 = "sdy.sharding_constraint"(%83) <{sharding = #sdy.sharding<@mesh, [{"dp"}, {}, {}]>}> : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %85 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %86 = "stablehlo.reduce"(%84, %85) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg73: tensor<f32>, %arg74: tensor<f32>):
      %398 = "stablehlo.add"(%arg73, %arg74) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%398) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %87 = "stablehlo.broadcast_in_dim"(%86) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %88 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %89 = "stablehlo.broadcast_in_dim"(%88) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %90 = "stablehlo.divide"(%87, %89) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %91 = "stablehlo.broadcast_in_dim"(%80) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %92 = "stablehlo.subtract"(%73, %91) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %93 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
    %94 = "stablehlo.broadcast_in_dim"(%93) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %95 = "stablehlo.add"(%90, %94) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %96 = "stablehlo.rsqrt"(%95) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %97 = "stablehlo.broadcast_in_dim"(%96) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %98 = "stablehlo.multiply"(%92, %97) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %99 = "sdy.sharding_constraint"(%98) <{sharding = #sdy.sharding<@mesh, [{"dp"}, {}, {}]>}> : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %100 = "stablehlo.broadcast_in_dim"(%arg22) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %101 = "stablehlo.broadcast_in_dim"(%100) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %102 = "stablehlo.multiply"(%99, %101) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %103 = "stablehlo.broadcast_in_dim"(%arg21) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %104 = "stablehlo.broadcast_in_dim"(%103) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %105 = "stablehlo.add"(%102, %104) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %106 = "stablehlo.dot_general"(%105, %arg16) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x4x12xf32>) -> tensor<2x24x4x12xf32>
    %107 = "stablehlo.broadcast_in_dim"(%arg17) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x12xf32>) -> tensor<1x1x4x12xf32>
    %108 = "stablehlo.broadcast_in_dim"(%107) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x12xf32>) -> tensor<2x24x4x12xf32>
    %109 = "stablehlo.add"(%106, %108) : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x24x4x12xf32>
    %110 = "stablehlo.dot_general"(%105, %arg13) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x4x12xf32>) -> tensor<2x24x4x12xf32>
    %111 = "stablehlo.broadcast_in_dim"(%arg14) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x12xf32>) -> tensor<1x1x4x12xf32>
    %112 = "stablehlo.broadcast_in_dim"(%111) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x12xf32>) -> tensor<2x24x4x12xf32>
    %113 = "stablehlo.add"(%110, %112) : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x24x4x12xf32>
    %114 = "stablehlo.dot_general"(%105, %arg18) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x4x12xf32>) -> tensor<2x24x4x12xf32>
    %115 = "stablehlo.broadcast_in_dim"(%arg19) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x12xf32>) -> tensor<1x1x4x12xf32>
    %116 = "stablehlo.broadcast_in_dim"(%115) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x12xf32>) -> tensor<2x24x4x12xf32>
    %117 = "stablehlo.add"(%114, %116) : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x24x4x12xf32>
    %118 = "stablehlo.dot_general"(%109, %113) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x4x24x24xf32>
    %119 = "stablehlo.constant"() <{value = dense<1.200000e+01> : tensor<f32>}> : () -> tensor<f32>
    %120 = "stablehlo.sqrt"(%119) : (tensor<f32>) -> tensor<f32>
    %121 = "stablehlo.convert"(%120) : (tensor<f32>) -> tensor<f32>
    %122 = "stablehlo.broadcast_in_dim"(%121) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x24x24xf32>
    %123 = "stablehlo.divide"(%118, %122) : (tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %124 = "sdy.sharding_constraint"(%123) <{sharding = #sdy.sharding<@mesh, [{"dp"}, {"tp"}, {}, {}]>}> : (tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %125 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %126 = "stablehlo.broadcast_in_dim"(%125) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<24x24xi1>
    %127 = "func.call"(%126) <{callee = @tril}> : (tensor<24x24xi1>) -> tensor<24x24xi1>
    %128 = "stablehlo.constant"() <{value = dense<-3.40282347E+38> : tensor<f32>}> : () -> tensor<f32>
    %129 = "func.call"(%127, %124, %128) <{callee = @_where}> : (tensor<24x24xi1>, tensor<2x4x24x24xf32>, tensor<f32>) -> tensor<2x4x24x24xf32>
    %130 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %131 = "stablehlo.reduce"(%129, %130) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg71: tensor<f32>, %arg72: tensor<f32>):
      %397 = "stablehlo.maximum"(%arg71, %arg72) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%397) : (tensor<f32>) -> ()
    }) : (tensor<2x4x24x24xf32>, tensor<f32>) -> tensor<2x4x24xf32>
    %132 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %133 = "stablehlo.broadcast_in_dim"(%132) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x24xf32>
    %134 = "stablehlo.maximum"(%133, %131) : (tensor<2x4x24xf32>, tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %135 = "stablehlo.broadcast_in_dim"(%134) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x24xf32>) -> tensor<2x4x24x1xf32>
    %136 = "stablehlo.broadcast_in_dim"(%135) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x24x1xf32>) -> tensor<2x4x24x24xf32>
    %137 = "stablehlo.subtract"(%129, %136) : (tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %138 = "stablehlo.exponential"(%137) : (tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %139 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %140 = "stablehlo.reduce"(%138, %139) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg69: tensor<f32>, %arg70: tensor<f32>):
      %396 = "stablehlo.add"(%arg69, %arg70) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%396) : (tensor<f32>) -> ()
    }) : (tensor<2x4x24x24xf32>, tensor<f32>) -> tensor<2x4x24xf32>
    %141 = "stablehlo.broadcast_in_dim"(%140) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x24xf32>) -> tensor<2x4x24x1xf32>
    %142 = "stablehlo.broadcast_in_dim"(%141) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x24x1xf32>) -> tensor<2x4x24x24xf32>
    %143 = "stablehlo.divide"(%138, %142) : (tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %144 = "sdy.sharding_constraint"(%143) <{sharding = #sdy.sharding<@mesh, [{"dp"}, {"tp"}, {}, {}]>}> : (tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %145 = "stablehlo.dot_general"(%117, %144) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x4x12xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x12x24xf32>
    %146 = "stablehlo.transpose"(%145) <{permutation = array<i64: 0, 3, 1, 2>}> : (tensor<2x4x12x24xf32>) -> tensor<2x24x4x12xf32>
    %147 = "stablehlo.dot_general"(%146, %arg15) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2, 3], rhs_contracting_dimensions = [0, 1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x4x12xf32>, tensor<4x12x48xf32>) -> tensor<2x24x48xf32>
    %148 = "stablehlo.add"(%73, %147) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %149 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %150 = "stablehlo.reduce"(%148, %149) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg67: tensor<f32>, %arg68: tensor<f32>):
      %395 = "stablehlo.add"(%arg67, %arg68) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%395) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %151 = "stablehlo.broadcast_in_dim"(%150) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %152 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %153 = "stablehlo.broadcast_in_dim"(%152) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %154 = "stablehlo.divide"(%151, %153) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %155 = "sdy.sharding_constraint"(%154) <{sharding = #sdy.sharding<@mesh, [{"dp"}, {}, {}]>}> : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %156 = "stablehlo.broadcast_in_dim"(%155) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %157 = "stablehlo.subtract"(%148, %156) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %158 = "chlo.square"(%157) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %159 = "sdy.sharding_constraint"(%158) <{sharding = #sdy.sharding<@mesh, [{"dp"}, {}, {}]>}> : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %160 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %161 = "stablehlo.reduce"(%159, %160) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg65: tensor<f32>, %arg66: tensor<f32>):
      %394 = "stablehlo.add"(%arg65, %arg66) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%394) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %162 = "stablehlo.broadcast_in_dim"(%161) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %163 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %164 = "stablehlo.broadcast_in_dim"(%163) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %165 = "stablehlo.divide"(%162, %164) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %166 = "stablehlo.broadcast_in_dim"(%155) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %167 = "stablehlo.subtract"(%148, %166) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %168 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
    %169 = "stablehlo.broadcast_in_dim"(%168) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %170 = "stablehlo.add"(%165, %169) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %171 = "stablehlo.rsqrt"(%170) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %172 = "stablehlo.broadcast_in_dim"(%171) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %173 = "stablehlo.multiply"(%167, %172) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %174 = "sdy.sharding_constraint"(%173) <{sharding = #sdy.sharding<@mesh, [{"dp"}, {}, {}]>}> : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %175 = "stablehlo.broadcast_in_dim"(%arg24) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %176 = "stablehlo.broadcast_in_dim"(%175) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %177 = "stablehlo.multiply"(%174, %176) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %178 = "stablehlo.broadcast_in_dim"(%arg23) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %179 = "stablehlo.broadcast_in_dim"(%178) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %180 = "stablehlo.add"(%177, %179) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %181 = "stablehlo.dot_general"(%180, %arg25) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x96xf32>) -> tensor<2x24x96xf32>
    %182 = "stablehlo.broadcast_in_dim"(%arg26) <{broadcast_dimensions = array<i64: 2>}> : (tensor<96xf32>) -> tensor<1x1x96xf32>
    %183 = "stablehlo.broadcast_in_dim"(%182) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x96xf32>) -> tensor<2x24x96xf32>
    %184 = "stablehlo.add"(%181, %183) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %185 = "stablehlo.constant"() <{value = dense<0.636619746> : tensor<f32>}> : () -> tensor<f32>
    %186 = "stablehlo.sqrt"(%185) : (tensor<f32>) -> tensor<f32>
    %187 = "stablehlo.multiply"(%184, %184) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %188 = "stablehlo.multiply"(%187, %184) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %189 = "sdy.sharding_constraint"(%188) <{sharding = #sdy.sharding<@mesh, [{"dp"}, {}, {"tp"}]>}> : (tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %190 = "stablehlo.constant"() <{value = dense<4.471500e-02> : tensor<f32>}> : () -> tensor<f32>
    %191 = "stablehlo.broadcast_in_dim"(%190) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %192 = "stablehlo.multiply"(%191, %189) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %193 = "stablehlo.add"(%184, %192) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %194 = "stablehlo.convert"(%186) : (tensor<f32>) -> tensor<f32>
    %195 = "stablehlo.broadcast_in_dim"(%194) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %196 = "stablehlo.multiply"(%195, %193) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %197 = "stablehlo.constant"() <{value = dense<5.000000e-01> : tensor<f32>}> : () -> tensor<f32>
    %198 = "stablehlo.broadcast_in_dim"(%197) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %199 = "stablehlo.multiply"(%198, %184) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %200 = "stablehlo.tanh"(%196) : (tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %201 = "sdy.sharding_constraint"(%200) <{sharding = #sdy.sharding<@mesh, [{"dp"}, {}, {"tp"}]>}> : (tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %202 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %203 = "stablehlo.broadcast_in_dim"(%202) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %204 = "stablehlo.add"(%203, %201) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %205 = "stablehlo.multiply"(%199, %204) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %206 = "stablehlo.dot_general"(%205, %arg20) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x96xf32>, tensor<96x48xf32>) -> tensor<2x24x48xf32>
    %207 = "stablehlo.add"(%148, %206) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %208 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %209 = "stablehlo.reduce"(%207, %208) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg63: tensor<f32>, %arg64: tensor<f32>):
      %393 = "stablehlo.add"(%arg63, %arg64) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%393) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %210 = "stablehlo.broadcast_in_dim"(%209) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %211 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %212 = "stablehlo.broadcast_in_dim"(%211) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %213 = "stablehlo.divide"(%210, %212) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %214 = "sdy.sharding_constraint"(%213) <{sharding = #sdy.sharding<@mesh, [{"dp"}, {}, {}]>}> : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %215 = "stablehlo.broadcast_in_dim"(%214) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %216 = "stablehlo.subtract"(%207, %215) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %217 = "chlo.square"(%216) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %218 = "sdy.sharding_constraint"(%217) <{sharding = #sdy.sharding<@mesh, [{"dp"}, {}, {}]>}> : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %219 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %220 = "stablehlo.reduce"(%218, %219) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg61: tensor<f32>, %arg62: tensor<f32>):
      %392 = "stablehlo.add"(%arg61, %arg62) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%392) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %221 = "stablehlo.broadcast_in_dim"(%220) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %222 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %223 = "stablehlo.broadcast_in_dim"(%222) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %224 = "stablehlo.divide"(%221, %223) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %225 = "stablehlo.broadcast_in_dim"(%214) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %226 = "stablehlo.subtract"(%207, %225) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %227 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
    %228 = "stablehlo.broadcast_in_dim"(%227) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %229 = "stablehlo.add"(%224, %228) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %230 = "stablehlo.rsqrt"(%229) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %231 = "stablehlo.broadcast_in_dim"(%230) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %232 = "stablehlo.multiply"(%226, %231) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %233 = "sdy.sharding_constraint"(%232) <{sharding = #sdy.sharding<@mesh, [{"dp"}, {}, {}]>}> : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %234 = "stablehlo.broadcast_in_dim"(%arg36) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %235 = "stablehlo.broadcast_in_dim"(%234) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %236 = "stablehlo.multiply"(%233, %235) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %237 = "stablehlo.broadcast_in_dim"(%arg35) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %238 = "stablehlo.broadcast_in_dim"(%237) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %239 = "stablehlo.add"(%236, %238) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %240 = "stablehlo.dot_general"(%239, %arg30) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x4x12xf32>) -> tensor<2x24x4x12xf32>
    %241 = "stablehlo.broadcast_in_dim"(%arg31) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x12xf32>) -> tensor<1x1x4x12xf32>
    %242 = "stablehlo.broadcast_in_dim"(%241) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x12xf32>) -> tensor<2x24x4x12xf32>
    %243 = "stablehlo.add"(%240, %242) : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x24x4x12xf32>
    %244 = "stablehlo.dot_general"(%239, %arg27) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x4x12xf32>) -> tensor<2x24x4x12xf32>
    %245 = "stablehlo.broadcast_in_dim"(%arg28) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x12xf32>) -> tensor<1x1x4x12xf32>
    %246 = "stablehlo.broadcast_in_dim"(%245) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x12xf32>) -> tensor<2x24x4x12xf32>
    %247 = "stablehlo.add"(%244, %246) : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x24x4x12xf32>
    %248 = "stablehlo.dot_general"(%239, %arg32) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x4x12xf32>) -> tensor<2x24x4x12xf32>
    %249 = "stablehlo.broadcast_in_dim"(%arg33) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x12xf32>) -> tensor<1x1x4x12xf32>
    %250 = "stablehlo.broadcast_in_dim"(%249) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x12xf32>) -> tensor<2x24x4x12xf32>
    %251 = "stablehlo.add"(%248, %250) : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x24x4x12xf32>
    %252 = "stablehlo.dot_general"(%243, %247) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x4x24x24xf32>
    %253 = "stablehlo.constant"() <{value = dense<1.200000e+01> : tensor<f32>}> : () -> tensor<f32>
    %254 = "stablehlo.sqrt"(%253) : (tensor<f32>) -> tensor<f32>
    %255 = "stablehlo.convert"(%254) : (tensor<f32>) -> tensor<f32>
    %256 = "stablehlo.broadcast_in_dim"(%255) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x24x24xf32>
    %257 = "stablehlo.divide"(%252, %256) : (tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %258 = "sdy.sharding_constraint"(%257) <{sharding = #sdy.sharding<@mesh, [{"dp"}, {"tp"}, {}, {}]>}> : (tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %259 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %260 = "stablehlo.broadcast_in_dim"(%259) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<24x24xi1>
    %261 = "func.call"(%260) <{callee = @tril}> : (tensor<24x24xi1>) -> tensor<24x24xi1>
    %262 = "stablehlo.constant"() <{value = dense<-3.40282347E+38> : tensor<f32>}> : () -> tensor<f32>
    %263 = "func.call"(%261, %258, %262) <{callee = @_where}> : (tensor<24x24xi1>, tensor<2x4x24x24xf32>, tensor<f32>) -> tensor<2x4x24x24xf32>
    %264 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %265 = "stablehlo.reduce"(%263, %264) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg59: tensor<f32>, %arg60: tensor<f32>):
      %391 = "stablehlo.maximum"(%arg59, %arg60) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%391) : (tensor<f32>) -> ()
    }) : (tensor<2x4x24x24xf32>, tensor<f32>) -> tensor<2x4x24xf32>
    %266 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %267 = "stablehlo.broadcast_in_dim"(%266) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x24xf32>
    %268 = "stablehlo.maximum"(%267, %265) : (tensor<2x4x24xf32>, tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %269 = "stablehlo.broadcast_in_dim"(%268) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x24xf32>) -> tensor<2x4x24x1xf32>
    %270 = "stablehlo.broadcast_in_dim"(%269) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x24x1xf32>) -> tensor<2x4x24x24xf32>
    %271 = "stablehlo.subtract"(%263, %270) : (tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %272 = "stablehlo.exponential"(%271) : (tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %273 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %274 = "stablehlo.reduce"(%272, %273) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg57: tensor<f32>, %arg58: tensor<f32>):
      %390 = "stablehlo.add"(%arg57, %arg58) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%390) : (tensor<f32>) -> ()
    }) : (tensor<2x4x24x24xf32>, tensor<f32>) -> tensor<2x4x24xf32>
    %275 = "stablehlo.broadcast_in_dim"(%274) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x24xf32>) -> tensor<2x4x24x1xf32>
    %276 = "stablehlo.broadcast_in_dim"(%275) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x24x1xf32>) -> tensor<2x4x24x24xf32>
    %277 = "stablehlo.divide"(%272, %276) : (tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %278 = "sdy.sharding_constraint"(%277) <{sharding = #sdy.sharding<@mesh, [{"dp"}, {"tp"}, {}, {}]>}> : (tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %279 = "stablehlo.dot_general"(%251, %278) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x4x12xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x12x24xf32>
    %280 = "stablehlo.transpose"(%279) <{permutation = array<i64: 0, 3, 1, 2>}> : (tensor<2x4x12x24xf32>) -> tensor<2x24x4x12xf32>
    %281 = "stablehlo.dot_general"(%280, %arg29) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2, 3], rhs_contracting_dimensions = [0, 1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x4x12xf32>, tensor<4x12x48xf32>) -> tensor<2x24x48xf32>
    %282 = "stablehlo.add"(%207, %281) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %283 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %284 = "stablehlo.reduce"(%282, %283) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg55: tensor<f32>, %arg56: tensor<f32>):
      %389 = "stablehlo.add"(%arg55, %arg56) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%389) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %285 = "stablehlo.broadcast_in_dim"(%284) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %286 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %287 = "stablehlo.broadcast_in_dim"(%286) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %288 = "stablehlo.divide"(%285, %287) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %289 = "sdy.sharding_constraint"(%288) <{sharding = #sdy.sharding<@mesh, [{"dp"}, {}, {}]>}> : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %290 = "stablehlo.broadcast_in_dim"(%289) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %291 = "stablehlo.subtract"(%282, %290) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %292 = "chlo.square"(%291) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %293 = "sdy.sharding_constraint"(%292) <{sharding = #sdy.sharding<@mesh, [{"dp"}, {}, {}]>}> : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %294 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %295 = "stablehlo.reduce"(%293, %294) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg53: tensor<f32>, %arg54: tensor<f32>):
      %388 = "stablehlo.add"(%arg53, %arg54) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%388) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %296 = "stablehlo.broadcast_in_dim"(%295) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %297 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %298 = "stablehlo.broadcast_in_dim"(%297) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %299 = "stablehlo.divide"(%296, %298) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %300 = "stablehlo.broadcast_in_dim"(%289) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %301 = "stablehlo.subtract"(%282, %300) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %302 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
    %303 = "stablehlo.broadcast_in_dim"(%302) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %304 = "stablehlo.add"(%299, %303) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %305 = "stablehlo.rsqrt"(%304) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %306 = "stablehlo.broadcast_in_dim"(%305) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %307 = "stablehlo.multiply"(%301, %306) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %308 = "sdy.sharding_constraint"(%307) <{sharding = #sdy.sharding<@mesh, [{"dp"}, {}, {}]>}> : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %309 = "stablehlo.broadcast_in_dim"(%arg38) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %310 = "stablehlo.broadcast_in_dim"(%309) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %311 = "stablehlo.multiply"(%308, %310) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %312 = "stablehlo.broadcast_in_dim"(%arg37) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %313 = "stablehlo.broadcast_in_dim"(%312) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %314 = "stablehlo.add"(%311, %313) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %315 = "stablehlo.dot_general"(%314, %arg39) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x96xf32>) -> tensor<2x24x96xf32>
    %316 = "stablehlo.broadcast_in_dim"(%arg40) <{broadcast_dimensions = array<i64: 2>}> : (tensor<96xf32>) -> tensor<1x1x96xf32>
    %317 = "stablehlo.broadcast_in_dim"(%316) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x96xf32>) -> tensor<2x24x96xf32>
    %318 = "stablehlo.add"(%315, %317) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %319 = "stablehlo.constant"() <{value = dense<0.636619746> : tensor<f32>}> : () -> tensor<f32>
    %320 = "stablehlo.sqrt"(%319) : (tensor<f32>) -> tensor<f32>
    %321 = "stablehlo.multiply"(%318, %318) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %322 = "stablehlo.multiply"(%321, %318) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %323 = "sdy.sharding_constraint"(%322) <{sharding = #sdy.sharding<@mesh, [{"dp"}, {}, {"tp"}]>}> : (tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %324 = "stablehlo.constant"() <{value = dense<4.471500e-02> : tensor<f32>}> : () -> tensor<f32>
    %325 = "stablehlo.broadcast_in_dim"(%324) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %326 = "stablehlo.multiply"(%325, %323) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %327 = "stablehlo.add"(%318, %326) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %328 = "stablehlo.convert"(%320) : (tensor<f32>) -> tensor<f32>
    %329 = "stablehlo.broadcast_in_dim"(%328) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %330 = "stablehlo.multiply"(%329, %327) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %331 = "stablehlo.constant"() <{value = dense<5.000000e-01> : tensor<f32>}> : () -> tensor<f32>
    %332 = "stablehlo.broadcast_in_dim"(%331) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %333 = "stablehlo.multiply"(%332, %318) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %334 = "stablehlo.tanh"(%330) : (tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %335 = "sdy.sharding_constraint"(%334) <{sharding = #sdy.sharding<@mesh, [{"dp"}, {}, {"tp"}]>}> : (tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %336 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %337 = "stablehlo.broadcast_in_dim"(%336) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %338 = "stablehlo.add"(%337, %335) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %339 = "stablehlo.multiply"(%333, %338) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %340 = "stablehlo.dot_general"(%339, %arg34) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x96xf32>, tensor<96x48xf32>) -> tensor<2x24x48xf32>
    %341 = "stablehlo.add"(%282, %340) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %342 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %343 = "stablehlo.reduce"(%341, %342) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg51: tensor<f32>, %arg52: tensor<f32>):
      %387 = "stablehlo.add"(%arg51, %arg52) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%387) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %344 = "stablehlo.broadcast_in_dim"(%343) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %345 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %346 = "stablehlo.broadcast_in_dim"(%345) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %347 = "stablehlo.divide"(%344, %346) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %348 = "sdy.sharding_constraint"(%347) <{sharding = #sdy.sharding<@mesh, [{"dp"}, {}, {}]>}> : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %349 = "stablehlo.broadcast_in_dim"(%348) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %350 = "stablehlo.subtract"(%341, %349) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %351 = "chlo.square"(%350) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %352 = "sdy.sharding_constraint"(%351) <{sharding = #sdy.sharding<@mesh, [{"dp"}, {}, {}]>}> : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %353 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %354 = "stablehlo.reduce"(%352, %353) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg49: tensor<f32>, %arg50: tensor<f32>):
      %386 = "stablehlo.add"(%arg49, %arg50) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%386) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %355 = "stablehlo.broadcast_in_dim"(%354) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %356 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %357 = "stablehlo.broadcast_in_dim"(%356) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %358 = "stablehlo.divide"(%355, %357) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %359 = "stablehlo.broadcast_in_dim"(%348) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %360 = "stablehlo.subtract"(%341, %359) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %361 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
    %362 = "stablehlo.broadcast_in_dim"(%361) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %363 = "stablehlo.add"(%358, %362) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %364 = "stablehlo.rsqrt"(%363) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %365 = "stablehlo.broadcast_in_dim"(%364) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %366 = "stablehlo.multiply"(%360, %365) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %367 = "sdy.sharding_constraint"(%366) <{sharding = #sdy.sharding<@mesh, [{"dp"}, {}, {}]>}> : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %368 = "stablehlo.broadcast_in_dim"(%arg43) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %369 = "stablehlo.broadcast_in_dim"(%368) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %370 = "stablehlo.multiply"(%367, %369) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %371 = "stablehlo.broadcast_in_dim"(%arg42) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %372 = "stablehlo.broadcast_in_dim"(%371) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %373 = "stablehlo.add"(%370, %372) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %374 = "stablehlo.transpose"(%arg41) <{permutation = array<i64: 1, 0>}> : (tensor<64x48xf32>) -> tensor<48x64xf32>
    %375 = "stablehlo.dot_general"(%373, %374) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x64xf32>) -> tensor<2x24x64xf32>
    %376 = "func.call"(%375) <{callee = @log_softmax}> : (tensor<2x24x64xf32>) -> tensor<2x24x64xf32>
    %377 = "sdy.sharding_constraint"(%376) <{sharding = #sdy.sharding<@mesh, [{"dp"}, {}, {"tp"}]>}> : (tensor<2x24x64xf32>) -> tensor<2x24x64xf32>
    %378 = "stablehlo.broadcast_in_dim"(%arg46) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xi32>) -> tensor<2x24x1xi32>
    %379 = "func.call"(%377, %378) <{callee = @take_along_axis}> : (tensor<2x24x64xf32>, tensor<2x24x1xi32>) -> tensor<2x24x1xf32>
    %380 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %381 = "stablehlo.reduce"(%379, %380) <{dimensions = array<i64: 0, 1, 2>}> ({
    ^bb0(%arg47: tensor<f32>, %arg48: tensor<f32>):
      %385 = "stablehlo.add"(%arg47, %arg48) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%385) : (tensor<f32>) -> ()
    }) : (tensor<2x24x1xf32>, tensor<f32>) -> tensor<f32>
    %382 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %383 = "stablehlo.divide"(%381, %382) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %384 = "stablehlo.negate"(%383) : (tensor<f32>) -> tensor<f32>
    "func.return"(%384) : (tensor<f32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<24x24xi1>) -> tensor<24x24xi1>, res_attrs = [{}], sym_name = "tril", sym_visibility = "private"}> ({
  ^bb0(%arg12: tensor<24x24xi1>):
    %43 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<24x24xi32>
    %44 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %45 = "stablehlo.broadcast_in_dim"(%44) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<24x24xi32>
    %46 = "stablehlo.add"(%43, %45) : (tensor<24x24xi32>, tensor<24x24xi32>) -> tensor<24x24xi32>
    %47 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<24x24xi32>
    %48 = "stablehlo.compare"(%46, %47) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<24x24xi32>, tensor<24x24xi32>) -> tensor<24x24xi1>
    %49 = "stablehlo.constant"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>
    %50 = "stablehlo.broadcast_in_dim"(%49) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<24x24xi1>
    %51 = "stablehlo.select"(%48, %arg12, %50) : (tensor<24x24xi1>, tensor<24x24xi1>, tensor<24x24xi1>) -> tensor<24x24xi1>
    "func.return"(%51) : (tensor<24x24xi1>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<24x24xi1>, tensor<2x4x24x24xf32>, tensor<f32>) -> tensor<2x4x24x24xf32>, res_attrs = [{}], sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg9: tensor<24x24xi1>, %arg10: tensor<2x4x24x24xf32>, %arg11: tensor<f32>):
    %40 = "stablehlo.broadcast_in_dim"(%arg9) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<24x24xi1>) -> tensor<2x4x24x24xi1>
    %41 = "stablehlo.broadcast_in_dim"(%arg11) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x24x24xf32>
    %42 = "stablehlo.select"(%40, %arg10, %41) : (tensor<2x4x24x24xi1>, tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    "func.return"(%42) : (tensor<2x4x24x24xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2x24x64xf32>) -> tensor<2x24x64xf32>, res_attrs = [{}], sym_name = "log_softmax", sym_visibility = "private"}> ({
  ^bb0(%arg4: tensor<2x24x64xf32>):
    %23 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %24 = "stablehlo.reduce"(%arg4, %23) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %39 = "stablehlo.maximum"(%arg7, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%39) : (tensor<f32>) -> ()
    }) : (tensor<2x24x64xf32>, tensor<f32>) -> tensor<2x24xf32>
    %25 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %26 = "stablehlo.broadcast_in_dim"(%25) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24xf32>
    %27 = "stablehlo.maximum"(%26, %24) : (tensor<2x24xf32>, tensor<2x24xf32>) -> tensor<2x24xf32>
    %28 = "stablehlo.broadcast_in_dim"(%27) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %29 = "stablehlo.broadcast_in_dim"(%28) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x64xf32>
    %30 = "stablehlo.subtract"(%arg4, %29) : (tensor<2x24x64xf32>, tensor<2x24x64xf32>) -> tensor<2x24x64xf32>
    %31 = "stablehlo.exponential"(%30) : (tensor<2x24x64xf32>) -> tensor<2x24x64xf32>
    %32 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %33 = "stablehlo.reduce"(%31, %32) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %38 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%38) : (tensor<f32>) -> ()
    }) : (tensor<2x24x64xf32>, tensor<f32>) -> tensor<2x24xf32>
    %34 = "stablehlo.broadcast_in_dim"(%33) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %35 = "stablehlo.log"(%34) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %36 = "stablehlo.broadcast_in_dim"(%35) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x64xf32>
    %37 = "stablehlo.subtract"(%30, %36) : (tensor<2x24x64xf32>, tensor<2x24x64xf32>) -> tensor<2x24x64xf32>
    "func.return"(%37) : (tensor<2x24x64xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<2x24x64xf32>, tensor<2x24x1xi32>) -> tensor<2x24x1xf32>, res_attrs = [{}], sym_name = "take_along_axis", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2x24x64xf32>, %arg1: tensor<2x24x1xi32>):
    %0 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x24x1xi32>
    %2 = "stablehlo.compare"(%arg1, %1) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2x24x1xi32>, tensor<2x24x1xi32>) -> tensor<2x24x1xi1>
    %3 = "stablehlo.constant"() <{value = dense<64> : tensor<i32>}> : () -> tensor<i32>
    %4 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x24x1xi32>
    %5 = "stablehlo.add"(%arg1, %4) : (tensor<2x24x1xi32>, tensor<2x24x1xi32>) -> tensor<2x24x1xi32>
    %6 = "stablehlo.select"(%2, %5, %arg1) : (tensor<2x24x1xi1>, tensor<2x24x1xi32>, tensor<2x24x1xi32>) -> tensor<2x24x1xi32>
    %7 = "stablehlo.reshape"(%6) : (tensor<2x24x1xi32>) -> tensor<2x24x1x1xi32>
    %8 = "stablehlo.constant"() <{value = dense<63> : tensor<1xi32>}> : () -> tensor<1xi32>
    %9 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %10 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x24x1x1xi32>
    %11 = "stablehlo.compare"(%7, %10) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<2x24x1x1xi32>, tensor<2x24x1x1xi32>) -> tensor<2x24x1x1xi1>
    %12 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64: 3>}> : (tensor<1xi32>) -> tensor<1x1x1x1xi32>
    %13 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x1x1xi32>) -> tensor<2x24x1x1xi32>
    %14 = "stablehlo.compare"(%7, %13) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<2x24x1x1xi32>, tensor<2x24x1x1xi32>) -> tensor<2x24x1x1xi1>
    %15 = "stablehlo.and"(%11, %14) : (tensor<2x24x1x1xi1>, tensor<2x24x1x1xi1>) -> tensor<2x24x1x1xi1>
    %16 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %17 = "stablehlo.reduce"(%15, %16) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg2: tensor<i1>, %arg3: tensor<i1>):
      %22 = "stablehlo.and"(%arg2, %arg3) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      "stablehlo.return"(%22) : (tensor<i1>) -> ()
    }) : (tensor<2x24x1x1xi1>, tensor<i1>) -> tensor<2x24x1xi1>
    %18 = "stablehlo.gather"(%arg0, %7) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<2x24x64xf32>, tensor<2x24x1x1xi32>) -> tensor<2x24x1xf32>
    %19 = "stablehlo.constant"() <{value = dense<0x7FC00000> : tensor<f32>}> : () -> tensor<f32>
    %20 = "stablehlo.broadcast_in_dim"(%19) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %21 = "stablehlo.select"(%17, %18, %20) : (tensor<2x24x1xi1>, tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    "func.return"(%21) : (tensor<2x24x1xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
