"builtin.module"() <{sym_name = "jit_loss"}> ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["tp"=4]>, sym_name = "mesh"}> {stablehlo.mesh = {axes = [{name = "tp", size = 4 : i64}]}} : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp"}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp"}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}], function_type = (tensor<48x4x12xf32>, tensor<4x12xf32>, tensor<4x12x48xf32>, tensor<48x4x12xf32>, tensor<4x12xf32>, tensor<48x4x12xf32>, tensor<4x12xf32>, tensor<96x48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48x96xf32>, tensor<96xf32>, tensor<48x4x12xf32>, tensor<4x12xf32>, tensor<4x12x48xf32>, tensor<48x4x12xf32>, tensor<4x12xf32>, tensor<48x4x12xf32>, tensor<4x12xf32>, tensor<96x48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48x96xf32>, tensor<96xf32>, tensor<259x48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<64x48xf32>, tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<f32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg13: tensor<48x4x12xf32> loc("p['blocks'][0]['attention']['k']"), %arg14: tensor<4x12xf32> loc("p['blocks'][0]['attention']['k_bias']"), %arg15: tensor<4x12x48xf32> loc("p['blocks'][0]['attention']['out']"), %arg16: tensor<48x4x12xf32> loc("p['blocks'][0]['attention']['q']"), %arg17: tensor<4x12xf32> loc("p['blocks'][0]['attention']['q_bias']"), %arg18: tensor<48x4x12xf32> loc("p['blocks'][0]['attention']['v']"), %arg19: tensor<4x12xf32> loc("p['blocks'][0]['attention']['v_bias']"), %arg20: tensor<96x48xf32> loc("p['blocks'][0]['down']"), %arg21: tensor<48xf32> loc("p['blocks'][0]['norm1']['bias']"), %arg22: tensor<48xf32> loc("p['blocks'][0]['norm1']['scale']"), %arg23: tensor<48xf32> loc("p['blocks'][0]['norm2']['bias']"), %arg24: tensor<48xf32> loc("p['blocks'][0]['norm2']['scale']"), %arg25: tensor<48x96xf32> loc("p['blocks'][0]['up']"), %arg26: tensor<96xf32> loc("p['blocks'][0]['up_bias']"), %arg27: tensor<48x4x12xf32> loc("p['blocks'][1]['attention']['k']"), %arg28: tensor<4x12xf32> loc("p['blocks'][1]['attention']['k_bias']"), %arg29: tensor<4x12x48xf32> loc("p['blocks'][1]['attention']['out']"), %arg30: tensor<48x4x12xf32> loc("p['blocks'][1]['attention']['q']"), %arg31: tensor<4x12xf32> loc("p['blocks'][1]['attention']['q_bias']"), %arg32: tensor<48x4x12xf32> loc("p['blocks'][1]['attention']['v']"), %arg33: tensor<4x12xf32> loc("p['blocks'][1]['attention']['v_bias']"), %arg34: tensor<96x48xf32> loc("p['blocks'][1]['down']"), %arg35: tensor<48xf32> loc("p['blocks'][1]['norm1']['bias']"), %arg36: tensor<48xf32> loc("p['blocks'][1]['norm1']['scale']"), %arg37: tensor<48xf32> loc("p['blocks'][1]['norm2']['bias']"), %arg38: tensor<48xf32> loc("p['blocks'][1]['norm2']['scale']"), %arg39: tensor<48x96xf32> loc("p['blocks'][1]['up']"), %arg40: tensor<96xf32> loc("p['blocks'][1]['up_bias']"), %arg41: tensor<259x48xf32> loc("p['embedding']"), %arg42: tensor<48xf32> loc("p['norm']['bias']"), %arg43: tensor<48xf32> loc("p['norm']['scale']"), %arg44: tensor<64x48xf32> loc("p['positions']"), %arg45: tensor<2x24xi32> loc("tokens"), %arg46: tensor<2x24xi32> loc("labels")):
    %52 = "sdy.sharding_constraint"(%arg41) <{sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}> : (tensor<259x48xf32>) -> tensor<259x48xf32>
    %53 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %54 = "stablehlo.broadcast_in_dim"(%53) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x24xi32>
    %55 = "stablehlo.compare"(%arg45, %54) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<2x24xi1>
    %56 = "stablehlo.constant"() <{value = dense<259> : tensor<i32>}> : () -> tensor<i32>
    %57 = "stablehlo.broadcast_in_dim"(%56) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x24xi32>
    %58 = "stablehlo.add"(%arg45, %57) : (tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<2x24xi32>
    %59 = "stablehlo.select"(%55, %58, %arg45) : (tensor<2x24xi1>, tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<2x24xi32>
    %60 = "stablehlo.broadcast_in_dim"(%59) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xi32>) -> tensor<2x24x1xi32>
    %61 = "stablehlo.gather"(%52, %60) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 48>}> : (tensor<259x48xf32>, tensor<2x24x1xi32>) -> tensor<2x24x48xf32>
    %62 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<24xi32>
    %63 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %64 = "stablehlo.broadcast_in_dim"(%63) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<24xi32>
    %65 = "stablehlo.compare"(%62, %64) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<24xi32>, tensor<24xi32>) -> tensor<24xi1>
    %66 = "stablehlo.constant"() <{value = dense<64> : tensor<i32>}> : () -> tensor<i32>
    %67 = "stablehlo.broadcast_in_dim"(%66) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<24xi32>
    %68 = "stablehlo.add"(%62, %67) : (tensor<24xi32>, tensor<24xi32>) -> tensor<24xi32>
    %69 = "stablehlo.select"(%65, %68, %62) : (tensor<24xi1>, tensor<24xi32>, tensor<24xi32>) -> tensor<24xi32>
    %70 = "stablehlo.broadcast_in_dim"(%69) <{broadcast_dimensions = array<i64: 0>}> : (tensor<24xi32>) -> tensor<24x1xi32>
    %71 = "stablehlo.gather"(%arg44, %70) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 48>}> : (tensor<64x48xf32>, tensor<24x1xi32>) -> tensor<24x48xf32>
    %72 = "stablehlo.broadcast_in_dim"(%71) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<24x48xf32>) -> tensor<1x24x48xf32>
    %73 = "stablehlo.broadcast_in_dim"(%72) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x24x48xf32>) -> tensor<2x24x48xf32>
    %74 = "stablehlo.add"(%61, %73) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %75 = "sdy.sharding_constraint"(%74) <{sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}> : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %76 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %77 = "stablehlo.reduce"(%75, %76) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg75: tensor<f32>, %arg76: tensor<f32>):
      %380 = "stablehlo.add"(%arg75, %arg76) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%380) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %78 = "stablehlo.broadcast_in_dim"(%77) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %79 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %80 = "stablehlo.broadcast_in_dim"(%79) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %81 = "stablehlo.divide"(%78, %80) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %82 = "stablehlo.broadcast_in_dim"(%81) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %83 = "stablehlo.subtract"(%75, %82) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %84 = "chlo.square"(%83) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %85 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %86 = "stablehlo.reduce"(%84, %85) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg73: tensor<f32>, %arg74: tensor<f32>):
      %379 = "stablehlo.add"(%arg73, %arg74) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%379) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %87 = "stablehlo.broadcast_in_dim"(%86) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %88 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %89 = "stablehlo.broadcast_in_dim"(%88) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %90 = "stablehlo.divide"(%87, %89) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %91 = "stablehlo.broadcast_in_dim"(%81) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %92 = "stablehlo.subtract"(%75, %91) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %93 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
    %94 = "stablehlo.broadcast_in_dim"(%93) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %95 = "stablehlo.add"(%90, %94) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %96 = "stablehlo.rsqrt"(%95) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %97 = "stablehlo.broadcast_in_dim"(%96) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %98 = "stablehlo.multiply"(%92, %97) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %99 = "stablehlo.broadcast_in_dim"(%arg22) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %100 = "stablehlo.broadcast_in_dim"(%99) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %101 = "stablehlo.multiply"(%98, %100) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %102 = "stablehlo.broadcast_in_dim"(%arg21) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %103 = "stablehlo.broadcast_in_dim"(%102) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %104 = "stablehlo.add"(%101, %103) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %105 = "stablehlo.dot_general"(%104, %arg16) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x4x12xf32>) -> tensor<2x24x4x12xf32>
    %106 = "stablehlo.broadcast_in_dim"(%arg17) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x12xf32>) -> tensor<1x1x4x12xf32>
    %107 = "stablehlo.broadcast_in_dim"(%106) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x12xf32>) -> tensor<2x24x4x12xf32>
    %108 = "stablehlo.add"(%105, %107) : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x24x4x12xf32>
    %109 = "stablehlo.dot_general"(%104, %arg13) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x4x12xf32>) -> tensor<2x24x4x12xf32>
    %110 = "stablehlo.broadcast_in_dim"(%arg14) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x12xf32>) -> tensor<1x1x4x12xf32>
    %111 = "stablehlo.broadcast_in_dim"(%110) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x12xf32>) -> tensor<2x24x4x12xf32>
    %112 = "stablehlo.add"(%109, %111) : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x24x4x12xf32>
    %113 = "stablehlo.dot_general"(%104, %arg18) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x4x12xf32>) -> tensor<2x24x4x12xf32>
    %114 = "stablehlo.broadcast_in_dim"(%arg19) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x12xf32>) -> tensor<1x1x4x12xf32>
    %115 = "stablehlo.broadcast_in_dim"(%114) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x12xf32>) -> tensor<2x24x4x12xf32>
    %116 = "stablehlo.add"(%113, %115) : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x24x4x12xf32>
    %117 = "stablehlo.dot_general"(%108, %112) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x4x24x24xf32>
    %118 = "stablehlo.constant"() <{value = dense<1.200000e+01> : tensor<f32>}> : () -> tensor<f32>
    %119 = "stablehlo.sqrt"(%118) : (tensor<f32>) -> tensor<f32>
    %120 = "stablehlo.convert"(%119) : (tensor<f32>) -> tensor<f32>
    %121 = "stablehlo.broadcast_in_dim"(%120) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x24x24xf32>
    %122 = "stablehlo.divide"(%117, %121) : (tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %123 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %124 = "stablehlo.broadcast_in_dim"(%123) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<24x24xi1>
    %125 = "func.call"(%124) <{callee = @tril}> : (tensor<24x24xi1>) -> tensor<24x24xi1>
    %126 = "stablehlo.constant"() <{value = dense<-3.40282347E+38> : tensor<f32>}> : () -> tensor<f32>
    %127 = "func.call"(%125, %122, %126) <{callee = @_where}> : (tensor<24x24xi1>, tensor<2x4x24x24xf32>, tensor<f32>) -> tensor<2x4x24x24xf32>
    %128 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %129 = "stablehlo.reduce"(%127, %128) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg71: tensor<f32>, %arg72: tensor<f32>):
      %378 = "stablehlo.maximum"(%arg71, %arg72) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%378) : (tensor<f32>) -> ()
    }) : (tensor<2x4x24x24xf32>, tensor<f32>) -> tensor<2x4x24xf32>
    %130 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %131 = "stablehlo.broadcast_in_dim"(%130) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x24xf32>
    %132 = "stablehlo.maximum"(%131, %129) : (tensor<2x4x24xf32>, tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %133 = "stablehlo.broadcast_in_dim"(%132) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x24xf32>) -> tensor<2x4x24x1xf32>
    %134 = "stablehlo.broadcast_in_dim"(%133) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x24x1xf32>) -> tensor<2x4x24x24xf32>
    %135 = "stablehlo.subtract"(%127, %134) : (tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %136 = "stablehlo.exponential"(%135) : (tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %137 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %138 = "stablehlo.reduce"(%136, %137) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg69: tensor<f32>, %arg70: tensor<f32>):
      %377 = "stablehlo.add"(%arg69, %arg70) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%377) : (tensor<f32>) -> ()
    }) : (tensor<2x4x24x24xf32>, tensor<f32>) -> tensor<2x4x24xf32>
    %139 = "stablehlo.broadcast_in_dim"(%138) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x24xf32>) -> tensor<2x4x24x1xf32>
    %140 = "stablehlo.broadcast_in_dim"(%139) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x24x1xf32>) -> tensor<2x4x24x24xf32>
    %141 = "stablehlo.divide"(%136, %140) : (tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %142 = "stablehlo.dot_general"(%116, %141) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x4x12xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x12x24xf32>
    %143 = "stablehlo.transpose"(%142) <{permutation = array<i64: 0, 3, 1, 2>}> : (tensor<2x4x12x24xf32>) -> tensor<2x24x4x12xf32>
    %144 = "stablehlo.dot_general"(%143, %arg15) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2, 3], rhs_contracting_dimensions = [0, 1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x4x12xf32>, tensor<4x12x48xf32>) -> tensor<2x24x48xf32>
    %145 = "stablehlo.add"(%75, %144) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %146 = "sdy.sharding_constraint"(%145) <{sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}> : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %147 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %148 = "stablehlo.reduce"(%146, %147) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg67: tensor<f32>, %arg68: tensor<f32>):
      %376 = "stablehlo.add"(%arg67, %arg68) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%376) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %149 = "stablehlo.broadcast_in_dim"(%148) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %150 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %151 = "stablehlo.broadcast_in_dim"(%150) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %152 = "stablehlo.divide"(%149, %151) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %153 = "stablehlo.broadcast_in_dim"(%152) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %154 = "stablehlo.subtract"(%146, %153) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %155 = "chlo.square"(%154) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %156 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %157 = "stablehlo.reduce"(%155, %156) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg65: tensor<f32>, %arg66: tensor<f32>):
      %375 = "stablehlo.add"(%arg65, %arg66) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%375) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %158 = "stablehlo.broadcast_in_dim"(%157) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %159 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %160 = "stablehlo.broadcast_in_dim"(%159) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %161 = "stablehlo.divide"(%158, %160) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %162 = "stablehlo.broadcast_in_dim"(%152) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %163 = "stablehlo.subtract"(%146, %162) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %164 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
    %165 = "stablehlo.broadcast_in_dim"(%164) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %166 = "stablehlo.add"(%161, %165) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %167 = "stablehlo.rsqrt"(%166) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %168 = "stablehlo.broadcast_in_dim"(%167) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %169 = "stablehlo.multiply"(%163, %168) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %170 = "stablehlo.broadcast_in_dim"(%arg24) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %171 = "stablehlo.broadcast_in_dim"(%170) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %172 = "stablehlo.multiply"(%169, %171) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %173 = "stablehlo.broadcast_in_dim"(%arg23) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %174 = "stablehlo.broadcast_in_dim"(%173) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %175 = "stablehlo.add"(%172, %174) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %176 = "stablehlo.dot_general"(%175, %arg25) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x96xf32>) -> tensor<2x24x96xf32>
    %177 = "stablehlo.broadcast_in_dim"(%arg26) <{broadcast_dimensions = array<i64: 2>}> : (tensor<96xf32>) -> tensor<1x1x96xf32>
    %178 = "stablehlo.broadcast_in_dim"(%177) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x96xf32>) -> tensor<2x24x96xf32>
    %179 = "stablehlo.add"(%176, %178) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %180 = "sdy.sharding_constraint"(%179) <{sharding = #sdy.sharding<@mesh, [{}, {}, {"tp"}]>}> : (tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %181 = "stablehlo.multiply"(%180, %180) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %182 = "stablehlo.multiply"(%181, %180) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %183 = "stablehlo.constant"() <{value = dense<4.471500e-02> : tensor<f32>}> : () -> tensor<f32>
    %184 = "stablehlo.broadcast_in_dim"(%183) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %185 = "stablehlo.multiply"(%184, %182) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %186 = "stablehlo.add"(%180, %185) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %187 = "stablehlo.constant"() <{value = dense<0.797884583> : tensor<f32>}> : () -> tensor<f32>
    %188 = "stablehlo.broadcast_in_dim"(%187) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %189 = "stablehlo.multiply"(%188, %186) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %190 = "stablehlo.tanh"(%189) : (tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %191 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %192 = "stablehlo.broadcast_in_dim"(%191) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %193 = "stablehlo.add"(%192, %190) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %194 = "stablehlo.constant"() <{value = dense<5.000000e-01> : tensor<f32>}> : () -> tensor<f32>
    %195 = "stablehlo.broadcast_in_dim"(%194) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %196 = "stablehlo.multiply"(%195, %193) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %197 = "stablehlo.multiply"(%180, %196) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %198 = "stablehlo.dot_general"(%197, %arg20) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x96xf32>, tensor<96x48xf32>) -> tensor<2x24x48xf32>
    %199 = "stablehlo.add"(%146, %198) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %200 = "sdy.sharding_constraint"(%199) <{sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}> : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %201 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %202 = "stablehlo.reduce"(%200, %201) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg63: tensor<f32>, %arg64: tensor<f32>):
      %374 = "stablehlo.add"(%arg63, %arg64) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%374) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %203 = "stablehlo.broadcast_in_dim"(%202) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %204 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %205 = "stablehlo.broadcast_in_dim"(%204) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %206 = "stablehlo.divide"(%203, %205) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %207 = "stablehlo.broadcast_in_dim"(%206) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %208 = "stablehlo.subtract"(%200, %207) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %209 = "chlo.square"(%208) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %210 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %211 = "stablehlo.reduce"(%209, %210) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg61: tensor<f32>, %arg62: tensor<f32>):
      %373 = "stablehlo.add"(%arg61, %arg62) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%373) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %212 = "stablehlo.broadcast_in_dim"(%211) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %213 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %214 = "stablehlo.broadcast_in_dim"(%213) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %215 = "stablehlo.divide"(%212, %214) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %216 = "stablehlo.broadcast_in_dim"(%206) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %217 = "stablehlo.subtract"(%200, %216) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %218 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
    %219 = "stablehlo.broadcast_in_dim"(%218) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %220 = "stablehlo.add"(%215, %219) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %221 = "stablehlo.rsqrt"(%220) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %222 = "stablehlo.broadcast_in_dim"(%221) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %223 = "stablehlo.multiply"(%217, %222) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %224 = "stablehlo.broadcast_in_dim"(%arg36) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %225 = "stablehlo.broadcast_in_dim"(%224) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %226 = "stablehlo.multiply"(%223, %225) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %227 = "stablehlo.broadcast_in_dim"(%arg35) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %228 = "stablehlo.broadcast_in_dim"(%227) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %229 = "stablehlo.add"(%226, %228) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %230 = "stablehlo.dot_general"(%229, %arg30) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x4x12xf32>) -> tensor<2x24x4x12xf32>
    %231 = "stablehlo.broadcast_in_dim"(%arg31) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x12xf32>) -> tensor<1x1x4x12xf32>
    %232 = "stablehlo.broadcast_in_dim"(%231) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x12xf32>) -> tensor<2x24x4x12xf32>
    %233 = "stablehlo.add"(%230, %232) : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x24x4x12xf32>
    %234 = "stablehlo.dot_general"(%229, %arg27) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x4x12xf32>) -> tensor<2x24x4x12xf32>
    %235 = "stablehlo.broadcast_in_dim"(%arg28) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x12xf32>) -> tensor<1x1x4x12xf32>
    %236 = "stablehlo.broadcast_in_dim"(%235) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x12xf32>) -> tensor<2x24x4x12xf32>
    %237 = "stablehlo.add"(%234, %236) : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x24x4x12xf32>
    %238 = "stablehlo.dot_general"(%229, %arg32) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x4x12xf32>) -> tensor<2x24x4x12xf32>
    %239 = "stablehlo.broadcast_in_dim"(%arg33) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x12xf32>) -> tensor<1x1x4x12xf32>
    %240 = "stablehlo.broadcast_in_dim"(%239) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x12xf32>) -> tensor<2x24x4x12xf32>
    %241 = "stablehlo.add"(%238, %240) : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x24x4x12xf32>
    %242 = "stablehlo.dot_general"(%233, %237) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x4x24x24xf32>
    %243 = "stablehlo.constant"() <{value = dense<1.200000e+01> : tensor<f32>}> : () -> tensor<f32>
    %244 = "stablehlo.sqrt"(%243) : (tensor<f32>) -> tensor<f32>
    %245 = "stablehlo.convert"(%244) : (tensor<f32>) -> tensor<f32>
    %246 = "stablehlo.broadcast_in_dim"(%245) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x24x24xf32>
    %247 = "stablehlo.divide"(%242, %246) : (tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %248 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %249 = "stablehlo.broadcast_in_dim"(%248) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<24x24xi1>
    %250 = "func.call"(%249) <{callee = @tril}> : (tensor<24x24xi1>) -> tensor<24x24xi1>
    %251 = "stablehlo.constant"() <{value = dense<-3.40282347E+38> : tensor<f32>}> : () -> tensor<f32>
    %252 = "func.call"(%250, %247, %251) <{callee = @_where}> : (tensor<24x24xi1>, tensor<2x4x24x24xf32>, tensor<f32>) -> tensor<2x4x24x24xf32>
    %253 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %254 = "stablehlo.reduce"(%252, %253) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg59: tensor<f32>, %arg60: tensor<f32>):
      %372 = "stablehlo.maximum"(%arg59, %arg60) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%372) : (tensor<f32>) -> ()
    }) : (tensor<2x4x24x24xf32>, tensor<f32>) -> tensor<2x4x24xf32>
    %255 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %256 = "stablehlo.broadcast_in_dim"(%255) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x24xf32>
    %257 = "stablehlo.maximum"(%256, %254) : (tensor<2x4x24xf32>, tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %258 = "stablehlo.broadcast_in_dim"(%257) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x24xf32>) -> tensor<2x4x24x1xf32>
    %259 = "stablehlo.broadcast_in_dim"(%258) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x24x1xf32>) -> tensor<2x4x24x24xf32>
    %260 = "stablehlo.subtract"(%252, %259) : (tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %261 = "stablehlo.exponential"(%260) : (tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %262 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %263 = "stablehlo.reduce"(%261, %262) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg57: tensor<f32>, %arg58: tensor<f32>):
      %371 = "stablehlo.add"(%arg57, %arg58) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%371) : (tensor<f32>) -> ()
    }) : (tensor<2x4x24x24xf32>, tensor<f32>) -> tensor<2x4x24xf32>
    %264 = "stablehlo.broadcast_in_dim"(%263) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x24xf32>) -> tensor<2x4x24x1xf32>
    %265 = "stablehlo.broadcast_in_dim"(%264) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x24x1xf32>) -> tensor<2x4x24x24xf32>
    %266 = "stablehlo.divide"(%261, %265) : (tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %267 = "stablehlo.dot_general"(%241, %266) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x4x12xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x12x24xf32>
    %268 = "stablehlo.transpose"(%267) <{permutation = array<i64: 0, 3, 1, 2>}> : (tensor<2x4x12x24xf32>) -> tensor<2x24x4x12xf32>
    %269 = "stablehlo.dot_general"(%268, %arg29) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2, 3], rhs_contracting_dimensions = [0, 1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x4x12xf32>, tensor<4x12x48xf32>) -> tensor<2x24x48xf32>
    %270 = "stablehlo.add"(%200, %269) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %271 = "sdy.sharding_constraint"(%270) <{sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}> : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %272 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %273 = "stablehlo.reduce"(%271, %272) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg55: tensor<f32>, %arg56: tensor<f32>):
      %370 = "stablehlo.add"(%arg55, %arg56) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%370) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %274 = "stablehlo.broadcast_in_dim"(%273) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %275 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %276 = "stablehlo.broadcast_in_dim"(%275) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %277 = "stablehlo.divide"(%274, %276) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %278 = "stablehlo.broadcast_in_dim"(%277) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %279 = "stablehlo.subtract"(%271, %278) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %280 = "chlo.square"(%279) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %281 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %282 = "stablehlo.reduce"(%280, %281) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg53: tensor<f32>, %arg54: tensor<f32>):
      %369 = "stablehlo.add"(%arg53, %arg54) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%369) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %283 = "stablehlo.broadcast_in_dim"(%282) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %284 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %285 = "stablehlo.broadcast_in_dim"(%284) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %286 = "stablehlo.divide"(%283, %285) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %287 = "stablehlo.broadcast_in_dim"(%277) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %288 = "stablehlo.subtract"(%271, %287) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %289 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
    %290 = "stablehlo.broadcast_in_dim"(%289) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %291 = "stablehlo.add"(%286, %290) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %292 = "stablehlo.rsqrt"(%291) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %293 = "stablehlo.broadcast_in_dim"(%292) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %294 = "stablehlo.multiply"(%288, %293) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %295 = "stablehlo.broadcast_in_dim"(%arg38) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %296 = "stablehlo.broadcast_in_dim"(%295) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %297 = "stablehlo.multiply"(%294, %296) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %298 = "stablehlo.broadcast_in_dim"(%arg37) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %299 = "stablehlo.broadcast_in_dim"(%298) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %300 = "stablehlo.add"(%297, %299) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %301 = "stablehlo.dot_general"(%300, %arg39) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x96xf32>) -> tensor<2x24x96xf32>
    %302 = "stablehlo.broadcast_in_dim"(%arg40) <{broadcast_dimensions = array<i64: 2>}> : (tensor<96xf32>) -> tensor<1x1x96xf32>
    %303 = "stablehlo.broadcast_in_dim"(%302) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x96xf32>) -> tensor<2x24x96xf32>
    %304 = "stablehlo.add"(%301, %303) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %305 = "sdy.sharding_constraint"(%304) <{sharding = #sdy.sharding<@mesh, [{}, {}, {"tp"}]>}> : (tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %306 = "stablehlo.multiply"(%305, %305) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %307 = "stablehlo.multiply"(%306, %305) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %308 = "stablehlo.constant"() <{value = dense<4.471500e-02> : tensor<f32>}> : () -> tensor<f32>
    %309 = "stablehlo.broadcast_in_dim"(%308) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %310 = "stablehlo.multiply"(%309, %307) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %311 = "stablehlo.add"(%305, %310) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %312 = "stablehlo.constant"() <{value = dense<0.797884583> : tensor<f32>}> : () -> tensor<f32>
    %313 = "stablehlo.broadcast_in_dim"(%312) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %314 = "stablehlo.multiply"(%313, %311) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %315 = "stablehlo.tanh"(%314) : (tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %316 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %317 = "stablehlo.broadcast_in_dim"(%316) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %318 = "stablehlo.add"(%317, %315) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %319 = "stablehlo.constant"() <{value = dense<5.000000e-01> : tensor<f32>}> : () -> tensor<f32>
    %320 = "stablehlo.broadcast_in_dim"(%319) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %321 = "stablehlo.multiply"(%320, %318) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %322 = "stablehlo.multiply"(%305, %321) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %323 = "stablehlo.dot_general"(%322, %arg34) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x96xf32>, tensor<96x48xf32>) -> tensor<2x24x48xf32>
    %324 = "stablehlo.add"(%271, %323) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %325 = "sdy.sharding_constraint"(%324) <{sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}> : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %326 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %327 = "stablehlo.reduce"(%325, %326) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg51: tensor<f32>, %arg52: tensor<f32>):
      %368 = "stablehlo.add"(%arg51, %arg52) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%368) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %328 = "stablehlo.broadcast_in_dim"(%327) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %329 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %330 = "stablehlo.broadcast_in_dim"(%329) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %331 = "stablehlo.divide"(%328, %330) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %332 = "stablehlo.broadcast_in_dim"(%331) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %333 = "stablehlo.subtract"(%325, %332) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %334 = "chlo.square"(%333) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %335 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %336 = "stablehlo.reduce"(%334, %335) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg49: tensor<f32>, %arg50: tensor<f32>):
      %367 = "stablehlo.add"(%arg49, %arg50) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%367) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %337 = "stablehlo.broadcast_in_dim"(%336) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %338 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %339 = "stablehlo.broadcast_in_dim"(%338) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %340 = "stablehlo.divide"(%337, %339) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %341 = "stablehlo.broadcast_in_dim"(%331) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %342 = "stablehlo.subtract"(%325, %341) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %343 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
    %344 = "stablehlo.broadcast_in_dim"(%343) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %345 = "stablehlo.add"(%340, %344) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %346 = "stablehlo.rsqrt"(%345) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %347 = "stablehlo.broadcast_in_dim"(%346) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %348 = "stablehlo.multiply"(%342, %347) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %349 = "stablehlo.broadcast_in_dim"(%arg43) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %350 = "stablehlo.broadcast_in_dim"(%349) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %351 = "stablehlo.multiply"(%348, %350) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %352 = "stablehlo.broadcast_in_dim"(%arg42) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %353 = "stablehlo.broadcast_in_dim"(%352) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %354 = "stablehlo.add"(%351, %353) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %355 = "stablehlo.transpose"(%52) <{permutation = array<i64: 1, 0>}> : (tensor<259x48xf32>) -> tensor<48x259xf32>
    %356 = "stablehlo.dot_general"(%354, %355) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x259xf32>) -> tensor<2x24x259xf32>
    %357 = "sdy.sharding_constraint"(%356) <{sharding = #sdy.sharding<@mesh, [{}, {}, {"tp"}]>}> : (tensor<2x24x259xf32>) -> tensor<2x24x259xf32>
    %358 = "func.call"(%357) <{callee = @log_softmax}> : (tensor<2x24x259xf32>) -> tensor<2x24x259xf32>
    %359 = "stablehlo.broadcast_in_dim"(%arg46) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xi32>) -> tensor<2x24x1xi32>
    %360 = "func.call"(%358, %359) <{callee = @take_along_axis}> : (tensor<2x24x259xf32>, tensor<2x24x1xi32>) -> tensor<2x24x1xf32>
    %361 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %362 = "stablehlo.reduce"(%360, %361) <{dimensions = array<i64: 0, 1, 2>}> ({
    ^bb0(%arg47: tensor<f32>, %arg48: tensor<f32>):
      %366 = "stablehlo.add"(%arg47, %arg48) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%366) : (tensor<f32>) -> ()
    }) : (tensor<2x24x1xf32>, tensor<f32>) -> tensor<f32>
    %363 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %364 = "stablehlo.divide"(%362, %363) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %365 = "stablehlo.negate"(%364) : (tensor<f32>) -> tensor<f32>
    "func.return"(%365) : (tensor<f32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<24x24xi1>) -> tensor<24x24xi1>, res_attrs = [{}], sym_name = "tril", sym_visibility = "private"}> ({
  ^bb0(%arg12: tensor<24x24xi1>):
    %43 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<24x24xi32> loc("iota")
    %44 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %45 = "stablehlo.broadcast_in_dim"(%44) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<24x24xi32> loc("add")
    %46 = "stablehlo.add"(%43, %45) : (tensor<24x24xi32>, tensor<24x24xi32>) -> tensor<24x24xi32> loc("add")
    %47 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<24x24xi32> loc("iota")
    %48 = "stablehlo.compare"(%46, %47) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<24x24xi32>, tensor<24x24xi32>) -> tensor<24x24xi1> loc("ge")
    %49 = "stablehlo.constant"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>
    %50 = "stablehlo.broadcast_in_dim"(%49) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<24x24xi1> loc("broadcast_in_dim")
    %51 = "stablehlo.select"(%48, %arg12, %50) : (tensor<24x24xi1>, tensor<24x24xi1>, tensor<24x24xi1>) -> tensor<24x24xi1> loc("select_n")
    "func.return"(%51) : (tensor<24x24xi1>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<24x24xi1>, tensor<2x4x24x24xf32>, tensor<f32>) -> tensor<2x4x24x24xf32>, res_attrs = [{}], sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg9: tensor<24x24xi1>, %arg10: tensor<2x4x24x24xf32>, %arg11: tensor<f32>):
    %40 = "stablehlo.broadcast_in_dim"(%arg9) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<24x24xi1>) -> tensor<2x4x24x24xi1> loc("broadcast_in_dim")
    %41 = "stablehlo.broadcast_in_dim"(%arg11) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x24x24xf32> loc("broadcast_in_dim")
    %42 = "stablehlo.select"(%40, %arg10, %41) : (tensor<2x4x24x24xi1>, tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32> loc("select_n")
    "func.return"(%42) : (tensor<2x4x24x24xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2x24x259xf32>) -> tensor<2x24x259xf32>, res_attrs = [{}], sym_name = "log_softmax", sym_visibility = "private"}> ({
  ^bb0(%arg4: tensor<2x24x259xf32>):
    %23 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32> loc("reduce_max")
    %24 = "stablehlo.reduce"(%arg4, %23) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %39 = "stablehlo.maximum"(%arg7, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("reduce_max")
      "stablehlo.return"(%39) : (tensor<f32>) -> () loc("reduce_max")
    }) : (tensor<2x24x259xf32>, tensor<f32>) -> tensor<2x24xf32> loc("reduce_max")
    %25 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %26 = "stablehlo.broadcast_in_dim"(%25) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24xf32> loc("max")
    %27 = "stablehlo.maximum"(%26, %24) : (tensor<2x24xf32>, tensor<2x24xf32>) -> tensor<2x24xf32> loc("max")
    %28 = "stablehlo.broadcast_in_dim"(%27) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32> loc("broadcast_in_dim")
    %29 = "stablehlo.broadcast_in_dim"(%28) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x259xf32> loc("sub")
    %30 = "stablehlo.subtract"(%arg4, %29) : (tensor<2x24x259xf32>, tensor<2x24x259xf32>) -> tensor<2x24x259xf32> loc("sub")
    %31 = "stablehlo.exponential"(%30) : (tensor<2x24x259xf32>) -> tensor<2x24x259xf32> loc("exp")
    %32 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32> loc("reduce_sum")
    %33 = "stablehlo.reduce"(%31, %32) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %38 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("reduce_sum")
      "stablehlo.return"(%38) : (tensor<f32>) -> () loc("reduce_sum")
    }) : (tensor<2x24x259xf32>, tensor<f32>) -> tensor<2x24xf32> loc("reduce_sum")
    %34 = "stablehlo.broadcast_in_dim"(%33) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32> loc("broadcast_in_dim")
    %35 = "stablehlo.log"(%34) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32> loc("log")
    %36 = "stablehlo.broadcast_in_dim"(%35) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x259xf32> loc("sub")
    %37 = "stablehlo.subtract"(%30, %36) : (tensor<2x24x259xf32>, tensor<2x24x259xf32>) -> tensor<2x24x259xf32> loc("sub")
    "func.return"(%37) : (tensor<2x24x259xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<2x24x259xf32>, tensor<2x24x1xi32>) -> tensor<2x24x1xf32>, res_attrs = [{}], sym_name = "take_along_axis", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2x24x259xf32>, %arg1: tensor<2x24x1xi32>):
    %0 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x24x1xi32> loc("lt")
    %2 = "stablehlo.compare"(%arg1, %1) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2x24x1xi32>, tensor<2x24x1xi32>) -> tensor<2x24x1xi1> loc("lt")
    %3 = "stablehlo.constant"() <{value = dense<259> : tensor<i32>}> : () -> tensor<i32>
    %4 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x24x1xi32> loc("add")
    %5 = "stablehlo.add"(%arg1, %4) : (tensor<2x24x1xi32>, tensor<2x24x1xi32>) -> tensor<2x24x1xi32> loc("add")
    %6 = "stablehlo.select"(%2, %5, %arg1) : (tensor<2x24x1xi1>, tensor<2x24x1xi32>, tensor<2x24x1xi32>) -> tensor<2x24x1xi32> loc("select_n")
    %7 = "stablehlo.reshape"(%6) : (tensor<2x24x1xi32>) -> tensor<2x24x1x1xi32> loc("reshape")
    %8 = "stablehlo.constant"() <{value = dense<258> : tensor<1xi32>}> : () -> tensor<1xi32> loc("gather")
    %9 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32> loc("gather")
    %10 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x24x1x1xi32> loc("ge")
    %11 = "stablehlo.compare"(%7, %10) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<2x24x1x1xi32>, tensor<2x24x1x1xi32>) -> tensor<2x24x1x1xi1> loc("ge")
    %12 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64: 3>}> : (tensor<1xi32>) -> tensor<1x1x1x1xi32> loc("broadcast_in_dim")
    %13 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x1x1xi32>) -> tensor<2x24x1x1xi32> loc("le")
    %14 = "stablehlo.compare"(%7, %13) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<2x24x1x1xi32>, tensor<2x24x1x1xi32>) -> tensor<2x24x1x1xi1> loc("le")
    %15 = "stablehlo.and"(%11, %14) : (tensor<2x24x1x1xi1>, tensor<2x24x1x1xi1>) -> tensor<2x24x1x1xi1> loc("and")
    %16 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1> loc("reduce_and")
    %17 = "stablehlo.reduce"(%15, %16) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg2: tensor<i1>, %arg3: tensor<i1>):
      %22 = "stablehlo.and"(%arg2, %arg3) : (tensor<i1>, tensor<i1>) -> tensor<i1> loc("reduce_and")
      "stablehlo.return"(%22) : (tensor<i1>) -> () loc("reduce_and")
    }) : (tensor<2x24x1x1xi1>, tensor<i1>) -> tensor<2x24x1xi1> loc("reduce_and")
    %18 = "stablehlo.gather"(%arg0, %7) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<2x24x259xf32>, tensor<2x24x1x1xi32>) -> tensor<2x24x1xf32> loc("gather")
    %19 = "stablehlo.constant"() <{value = dense<0x7FC00000> : tensor<f32>}> : () -> tensor<f32> loc("gather")
    %20 = "stablehlo.broadcast_in_dim"(%19) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32> loc("broadcast_in_dim")
    %21 = "stablehlo.select"(%17, %18, %20) : (tensor<2x24x1xi1>, tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32> loc("select_n")
    "func.return"(%21) : (tensor<2x24x1xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
