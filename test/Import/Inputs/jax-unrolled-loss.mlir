"builtin.module"() <{sym_name = "jit_loss"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}], function_type = (tensor<48x4x12xf32>, tensor<4x12xf32>, tensor<4x12x48xf32>, tensor<48x4x12xf32>, tensor<4x12xf32>, tensor<48x4x12xf32>, tensor<4x12xf32>, tensor<96x48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48x96xf32>, tensor<96xf32>, tensor<48x4x12xf32>, tensor<4x12xf32>, tensor<4x12x48xf32>, tensor<48x4x12xf32>, tensor<4x12xf32>, tensor<48x4x12xf32>, tensor<4x12xf32>, tensor<96x48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48x96xf32>, tensor<96xf32>, tensor<67x48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<64x48xf32>, tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<f32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg13: tensor<48x4x12xf32> loc("p['blocks'][0]['attention']['k']"), %arg14: tensor<4x12xf32> loc("p['blocks'][0]['attention']['k_bias']"), %arg15: tensor<4x12x48xf32> loc("p['blocks'][0]['attention']['out']"), %arg16: tensor<48x4x12xf32> loc("p['blocks'][0]['attention']['q']"), %arg17: tensor<4x12xf32> loc("p['blocks'][0]['attention']['q_bias']"), %arg18: tensor<48x4x12xf32> loc("p['blocks'][0]['attention']['v']"), %arg19: tensor<4x12xf32> loc("p['blocks'][0]['attention']['v_bias']"), %arg20: tensor<96x48xf32> loc("p['blocks'][0]['down']"), %arg21: tensor<48xf32> loc("p['blocks'][0]['norm1']['bias']"), %arg22: tensor<48xf32> loc("p['blocks'][0]['norm1']['scale']"), %arg23: tensor<48xf32> loc("p['blocks'][0]['norm2']['bias']"), %arg24: tensor<48xf32> loc("p['blocks'][0]['norm2']['scale']"), %arg25: tensor<48x96xf32> loc("p['blocks'][0]['up']"), %arg26: tensor<96xf32> loc("p['blocks'][0]['up_bias']"), %arg27: tensor<48x4x12xf32> loc("p['blocks'][1]['attention']['k']"), %arg28: tensor<4x12xf32> loc("p['blocks'][1]['attention']['k_bias']"), %arg29: tensor<4x12x48xf32> loc("p['blocks'][1]['attention']['out']"), %arg30: tensor<48x4x12xf32> loc("p['blocks'][1]['attention']['q']"), %arg31: tensor<4x12xf32> loc("p['blocks'][1]['attention']['q_bias']"), %arg32: tensor<48x4x12xf32> loc("p['blocks'][1]['attention']['v']"), %arg33: tensor<4x12xf32> loc("p['blocks'][1]['attention']['v_bias']"), %arg34: tensor<96x48xf32> loc("p['blocks'][1]['down']"), %arg35: tensor<48xf32> loc("p['blocks'][1]['norm1']['bias']"), %arg36: tensor<48xf32> loc("p['blocks'][1]['norm1']['scale']"), %arg37: tensor<48xf32> loc("p['blocks'][1]['norm2']['bias']"), %arg38: tensor<48xf32> loc("p['blocks'][1]['norm2']['scale']"), %arg39: tensor<48x96xf32> loc("p['blocks'][1]['up']"), %arg40: tensor<96xf32> loc("p['blocks'][1]['up_bias']"), %arg41: tensor<67x48xf32> loc("p['embedding']"), %arg42: tensor<48xf32> loc("p['norm']['bias']"), %arg43: tensor<48xf32> loc("p['norm']['scale']"), %arg44: tensor<64x48xf32> loc("p['positions']"), %arg45: tensor<2x24xi32> loc("tokens"), %arg46: tensor<2x24xi32> loc("labels")):
    %52 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %53 = "stablehlo.broadcast_in_dim"(%52) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x24xi32>
    %54 = "stablehlo.compare"(%arg45, %53) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<2x24xi1>
    %55 = "stablehlo.constant"() <{value = dense<67> : tensor<i32>}> : () -> tensor<i32>
    %56 = "stablehlo.broadcast_in_dim"(%55) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x24xi32>
    %57 = "stablehlo.add"(%arg45, %56) : (tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<2x24xi32>
    %58 = "stablehlo.select"(%54, %57, %arg45) : (tensor<2x24xi1>, tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<2x24xi32>
    %59 = "stablehlo.broadcast_in_dim"(%58) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xi32>) -> tensor<2x24x1xi32>
    %60 = "stablehlo.gather"(%arg41, %59) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 48>}> : (tensor<67x48xf32>, tensor<2x24x1xi32>) -> tensor<2x24x48xf32>
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
      %371 = "stablehlo.add"(%arg75, %arg76) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%371) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %76 = "stablehlo.broadcast_in_dim"(%75) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %77 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %78 = "stablehlo.broadcast_in_dim"(%77) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %79 = "stablehlo.divide"(%76, %78) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %80 = "stablehlo.broadcast_in_dim"(%79) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %81 = "stablehlo.subtract"(%73, %80) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %82 = "chlo.square"(%81) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %83 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %84 = "stablehlo.reduce"(%82, %83) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg73: tensor<f32>, %arg74: tensor<f32>):
      %370 = "stablehlo.add"(%arg73, %arg74) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%370) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %85 = "stablehlo.broadcast_in_dim"(%84) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %86 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %87 = "stablehlo.broadcast_in_dim"(%86) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %88 = "stablehlo.divide"(%85, %87) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %89 = "stablehlo.broadcast_in_dim"(%79) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %90 = "stablehlo.subtract"(%73, %89) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %91 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
    %92 = "stablehlo.broadcast_in_dim"(%91) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %93 = "stablehlo.add"(%88, %92) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %94 = "stablehlo.rsqrt"(%93) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %95 = "stablehlo.broadcast_in_dim"(%94) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %96 = "stablehlo.multiply"(%90, %95) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %97 = "stablehlo.broadcast_in_dim"(%arg22) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %98 = "stablehlo.broadcast_in_dim"(%97) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %99 = "stablehlo.multiply"(%96, %98) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %100 = "stablehlo.broadcast_in_dim"(%arg21) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %101 = "stablehlo.broadcast_in_dim"(%100) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %102 = "stablehlo.add"(%99, %101) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %103 = "stablehlo.dot_general"(%102, %arg16) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x4x12xf32>) -> tensor<2x24x4x12xf32>
    %104 = "stablehlo.broadcast_in_dim"(%arg17) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x12xf32>) -> tensor<1x1x4x12xf32>
    %105 = "stablehlo.broadcast_in_dim"(%104) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x12xf32>) -> tensor<2x24x4x12xf32>
    %106 = "stablehlo.add"(%103, %105) : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x24x4x12xf32>
    %107 = "stablehlo.dot_general"(%102, %arg13) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x4x12xf32>) -> tensor<2x24x4x12xf32>
    %108 = "stablehlo.broadcast_in_dim"(%arg14) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x12xf32>) -> tensor<1x1x4x12xf32>
    %109 = "stablehlo.broadcast_in_dim"(%108) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x12xf32>) -> tensor<2x24x4x12xf32>
    %110 = "stablehlo.add"(%107, %109) : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x24x4x12xf32>
    %111 = "stablehlo.dot_general"(%102, %arg18) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x4x12xf32>) -> tensor<2x24x4x12xf32>
    %112 = "stablehlo.broadcast_in_dim"(%arg19) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x12xf32>) -> tensor<1x1x4x12xf32>
    %113 = "stablehlo.broadcast_in_dim"(%112) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x12xf32>) -> tensor<2x24x4x12xf32>
    %114 = "stablehlo.add"(%111, %113) : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x24x4x12xf32>
    %115 = "stablehlo.dot_general"(%106, %110) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x4x24x24xf32>
    %116 = "stablehlo.constant"() <{value = dense<1.200000e+01> : tensor<f32>}> : () -> tensor<f32>
    %117 = "stablehlo.sqrt"(%116) : (tensor<f32>) -> tensor<f32>
    %118 = "stablehlo.convert"(%117) : (tensor<f32>) -> tensor<f32>
    %119 = "stablehlo.broadcast_in_dim"(%118) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x24x24xf32>
    %120 = "stablehlo.divide"(%115, %119) : (tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %121 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %122 = "stablehlo.broadcast_in_dim"(%121) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<24x24xi1>
    %123 = "func.call"(%122) <{callee = @tril}> : (tensor<24x24xi1>) -> tensor<24x24xi1>
    %124 = "stablehlo.constant"() <{value = dense<-3.40282347E+38> : tensor<f32>}> : () -> tensor<f32>
    %125 = "func.call"(%123, %120, %124) <{callee = @_where}> : (tensor<24x24xi1>, tensor<2x4x24x24xf32>, tensor<f32>) -> tensor<2x4x24x24xf32>
    %126 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %127 = "stablehlo.reduce"(%125, %126) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg71: tensor<f32>, %arg72: tensor<f32>):
      %369 = "stablehlo.maximum"(%arg71, %arg72) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%369) : (tensor<f32>) -> ()
    }) : (tensor<2x4x24x24xf32>, tensor<f32>) -> tensor<2x4x24xf32>
    %128 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %129 = "stablehlo.broadcast_in_dim"(%128) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x24xf32>
    %130 = "stablehlo.maximum"(%129, %127) : (tensor<2x4x24xf32>, tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %131 = "stablehlo.broadcast_in_dim"(%130) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x24xf32>) -> tensor<2x4x24x1xf32>
    %132 = "stablehlo.broadcast_in_dim"(%131) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x24x1xf32>) -> tensor<2x4x24x24xf32>
    %133 = "stablehlo.subtract"(%125, %132) : (tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %134 = "stablehlo.exponential"(%133) : (tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %135 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %136 = "stablehlo.reduce"(%134, %135) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg69: tensor<f32>, %arg70: tensor<f32>):
      %368 = "stablehlo.add"(%arg69, %arg70) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%368) : (tensor<f32>) -> ()
    }) : (tensor<2x4x24x24xf32>, tensor<f32>) -> tensor<2x4x24xf32>
    %137 = "stablehlo.broadcast_in_dim"(%136) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x24xf32>) -> tensor<2x4x24x1xf32>
    %138 = "stablehlo.broadcast_in_dim"(%137) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x24x1xf32>) -> tensor<2x4x24x24xf32>
    %139 = "stablehlo.divide"(%134, %138) : (tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %140 = "stablehlo.dot_general"(%114, %139) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x4x12xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x12x24xf32>
    %141 = "stablehlo.transpose"(%140) <{permutation = array<i64: 0, 3, 1, 2>}> : (tensor<2x4x12x24xf32>) -> tensor<2x24x4x12xf32>
    %142 = "stablehlo.dot_general"(%141, %arg15) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2, 3], rhs_contracting_dimensions = [0, 1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x4x12xf32>, tensor<4x12x48xf32>) -> tensor<2x24x48xf32>
    %143 = "stablehlo.add"(%73, %142) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %144 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %145 = "stablehlo.reduce"(%143, %144) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg67: tensor<f32>, %arg68: tensor<f32>):
      %367 = "stablehlo.add"(%arg67, %arg68) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%367) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %146 = "stablehlo.broadcast_in_dim"(%145) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %147 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %148 = "stablehlo.broadcast_in_dim"(%147) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %149 = "stablehlo.divide"(%146, %148) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %150 = "stablehlo.broadcast_in_dim"(%149) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %151 = "stablehlo.subtract"(%143, %150) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %152 = "chlo.square"(%151) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %153 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %154 = "stablehlo.reduce"(%152, %153) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg65: tensor<f32>, %arg66: tensor<f32>):
      %366 = "stablehlo.add"(%arg65, %arg66) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%366) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %155 = "stablehlo.broadcast_in_dim"(%154) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %156 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %157 = "stablehlo.broadcast_in_dim"(%156) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %158 = "stablehlo.divide"(%155, %157) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %159 = "stablehlo.broadcast_in_dim"(%149) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %160 = "stablehlo.subtract"(%143, %159) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %161 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
    %162 = "stablehlo.broadcast_in_dim"(%161) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %163 = "stablehlo.add"(%158, %162) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %164 = "stablehlo.rsqrt"(%163) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %165 = "stablehlo.broadcast_in_dim"(%164) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %166 = "stablehlo.multiply"(%160, %165) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %167 = "stablehlo.broadcast_in_dim"(%arg24) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %168 = "stablehlo.broadcast_in_dim"(%167) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %169 = "stablehlo.multiply"(%166, %168) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %170 = "stablehlo.broadcast_in_dim"(%arg23) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %171 = "stablehlo.broadcast_in_dim"(%170) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %172 = "stablehlo.add"(%169, %171) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %173 = "stablehlo.dot_general"(%172, %arg25) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x96xf32>) -> tensor<2x24x96xf32>
    %174 = "stablehlo.broadcast_in_dim"(%arg26) <{broadcast_dimensions = array<i64: 2>}> : (tensor<96xf32>) -> tensor<1x1x96xf32>
    %175 = "stablehlo.broadcast_in_dim"(%174) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x96xf32>) -> tensor<2x24x96xf32>
    %176 = "stablehlo.add"(%173, %175) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %177 = "stablehlo.multiply"(%176, %176) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %178 = "stablehlo.multiply"(%177, %176) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %179 = "stablehlo.constant"() <{value = dense<4.471500e-02> : tensor<f32>}> : () -> tensor<f32>
    %180 = "stablehlo.broadcast_in_dim"(%179) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %181 = "stablehlo.multiply"(%180, %178) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %182 = "stablehlo.add"(%176, %181) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %183 = "stablehlo.constant"() <{value = dense<0.797884583> : tensor<f32>}> : () -> tensor<f32>
    %184 = "stablehlo.broadcast_in_dim"(%183) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %185 = "stablehlo.multiply"(%184, %182) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %186 = "stablehlo.tanh"(%185) : (tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %187 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %188 = "stablehlo.broadcast_in_dim"(%187) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %189 = "stablehlo.add"(%188, %186) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %190 = "stablehlo.constant"() <{value = dense<5.000000e-01> : tensor<f32>}> : () -> tensor<f32>
    %191 = "stablehlo.broadcast_in_dim"(%190) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %192 = "stablehlo.multiply"(%191, %189) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %193 = "stablehlo.multiply"(%176, %192) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %194 = "stablehlo.dot_general"(%193, %arg20) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x96xf32>, tensor<96x48xf32>) -> tensor<2x24x48xf32>
    %195 = "stablehlo.add"(%143, %194) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %196 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %197 = "stablehlo.reduce"(%195, %196) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg63: tensor<f32>, %arg64: tensor<f32>):
      %365 = "stablehlo.add"(%arg63, %arg64) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%365) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %198 = "stablehlo.broadcast_in_dim"(%197) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %199 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %200 = "stablehlo.broadcast_in_dim"(%199) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %201 = "stablehlo.divide"(%198, %200) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %202 = "stablehlo.broadcast_in_dim"(%201) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %203 = "stablehlo.subtract"(%195, %202) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %204 = "chlo.square"(%203) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %205 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %206 = "stablehlo.reduce"(%204, %205) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg61: tensor<f32>, %arg62: tensor<f32>):
      %364 = "stablehlo.add"(%arg61, %arg62) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%364) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %207 = "stablehlo.broadcast_in_dim"(%206) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %208 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %209 = "stablehlo.broadcast_in_dim"(%208) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %210 = "stablehlo.divide"(%207, %209) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %211 = "stablehlo.broadcast_in_dim"(%201) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %212 = "stablehlo.subtract"(%195, %211) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %213 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
    %214 = "stablehlo.broadcast_in_dim"(%213) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %215 = "stablehlo.add"(%210, %214) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %216 = "stablehlo.rsqrt"(%215) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %217 = "stablehlo.broadcast_in_dim"(%216) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %218 = "stablehlo.multiply"(%212, %217) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %219 = "stablehlo.broadcast_in_dim"(%arg36) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %220 = "stablehlo.broadcast_in_dim"(%219) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %221 = "stablehlo.multiply"(%218, %220) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %222 = "stablehlo.broadcast_in_dim"(%arg35) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %223 = "stablehlo.broadcast_in_dim"(%222) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %224 = "stablehlo.add"(%221, %223) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %225 = "stablehlo.dot_general"(%224, %arg30) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x4x12xf32>) -> tensor<2x24x4x12xf32>
    %226 = "stablehlo.broadcast_in_dim"(%arg31) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x12xf32>) -> tensor<1x1x4x12xf32>
    %227 = "stablehlo.broadcast_in_dim"(%226) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x12xf32>) -> tensor<2x24x4x12xf32>
    %228 = "stablehlo.add"(%225, %227) : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x24x4x12xf32>
    %229 = "stablehlo.dot_general"(%224, %arg27) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x4x12xf32>) -> tensor<2x24x4x12xf32>
    %230 = "stablehlo.broadcast_in_dim"(%arg28) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x12xf32>) -> tensor<1x1x4x12xf32>
    %231 = "stablehlo.broadcast_in_dim"(%230) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x12xf32>) -> tensor<2x24x4x12xf32>
    %232 = "stablehlo.add"(%229, %231) : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x24x4x12xf32>
    %233 = "stablehlo.dot_general"(%224, %arg32) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x4x12xf32>) -> tensor<2x24x4x12xf32>
    %234 = "stablehlo.broadcast_in_dim"(%arg33) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x12xf32>) -> tensor<1x1x4x12xf32>
    %235 = "stablehlo.broadcast_in_dim"(%234) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x12xf32>) -> tensor<2x24x4x12xf32>
    %236 = "stablehlo.add"(%233, %235) : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x24x4x12xf32>
    %237 = "stablehlo.dot_general"(%228, %232) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x4x12xf32>, tensor<2x24x4x12xf32>) -> tensor<2x4x24x24xf32>
    %238 = "stablehlo.constant"() <{value = dense<1.200000e+01> : tensor<f32>}> : () -> tensor<f32>
    %239 = "stablehlo.sqrt"(%238) : (tensor<f32>) -> tensor<f32>
    %240 = "stablehlo.convert"(%239) : (tensor<f32>) -> tensor<f32>
    %241 = "stablehlo.broadcast_in_dim"(%240) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x24x24xf32>
    %242 = "stablehlo.divide"(%237, %241) : (tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %243 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %244 = "stablehlo.broadcast_in_dim"(%243) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<24x24xi1>
    %245 = "func.call"(%244) <{callee = @tril}> : (tensor<24x24xi1>) -> tensor<24x24xi1>
    %246 = "stablehlo.constant"() <{value = dense<-3.40282347E+38> : tensor<f32>}> : () -> tensor<f32>
    %247 = "func.call"(%245, %242, %246) <{callee = @_where}> : (tensor<24x24xi1>, tensor<2x4x24x24xf32>, tensor<f32>) -> tensor<2x4x24x24xf32>
    %248 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %249 = "stablehlo.reduce"(%247, %248) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg59: tensor<f32>, %arg60: tensor<f32>):
      %363 = "stablehlo.maximum"(%arg59, %arg60) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%363) : (tensor<f32>) -> ()
    }) : (tensor<2x4x24x24xf32>, tensor<f32>) -> tensor<2x4x24xf32>
    %250 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %251 = "stablehlo.broadcast_in_dim"(%250) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x24xf32>
    %252 = "stablehlo.maximum"(%251, %249) : (tensor<2x4x24xf32>, tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %253 = "stablehlo.broadcast_in_dim"(%252) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x24xf32>) -> tensor<2x4x24x1xf32>
    %254 = "stablehlo.broadcast_in_dim"(%253) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x24x1xf32>) -> tensor<2x4x24x24xf32>
    %255 = "stablehlo.subtract"(%247, %254) : (tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %256 = "stablehlo.exponential"(%255) : (tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %257 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %258 = "stablehlo.reduce"(%256, %257) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg57: tensor<f32>, %arg58: tensor<f32>):
      %362 = "stablehlo.add"(%arg57, %arg58) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%362) : (tensor<f32>) -> ()
    }) : (tensor<2x4x24x24xf32>, tensor<f32>) -> tensor<2x4x24xf32>
    %259 = "stablehlo.broadcast_in_dim"(%258) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x24xf32>) -> tensor<2x4x24x1xf32>
    %260 = "stablehlo.broadcast_in_dim"(%259) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x24x1xf32>) -> tensor<2x4x24x24xf32>
    %261 = "stablehlo.divide"(%256, %260) : (tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x24x24xf32>
    %262 = "stablehlo.dot_general"(%236, %261) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x4x12xf32>, tensor<2x4x24x24xf32>) -> tensor<2x4x12x24xf32>
    %263 = "stablehlo.transpose"(%262) <{permutation = array<i64: 0, 3, 1, 2>}> : (tensor<2x4x12x24xf32>) -> tensor<2x24x4x12xf32>
    %264 = "stablehlo.dot_general"(%263, %arg29) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2, 3], rhs_contracting_dimensions = [0, 1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x4x12xf32>, tensor<4x12x48xf32>) -> tensor<2x24x48xf32>
    %265 = "stablehlo.add"(%195, %264) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %266 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %267 = "stablehlo.reduce"(%265, %266) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg55: tensor<f32>, %arg56: tensor<f32>):
      %361 = "stablehlo.add"(%arg55, %arg56) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%361) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %268 = "stablehlo.broadcast_in_dim"(%267) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %269 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %270 = "stablehlo.broadcast_in_dim"(%269) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %271 = "stablehlo.divide"(%268, %270) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %272 = "stablehlo.broadcast_in_dim"(%271) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %273 = "stablehlo.subtract"(%265, %272) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %274 = "chlo.square"(%273) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %275 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %276 = "stablehlo.reduce"(%274, %275) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg53: tensor<f32>, %arg54: tensor<f32>):
      %360 = "stablehlo.add"(%arg53, %arg54) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%360) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %277 = "stablehlo.broadcast_in_dim"(%276) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %278 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %279 = "stablehlo.broadcast_in_dim"(%278) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %280 = "stablehlo.divide"(%277, %279) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %281 = "stablehlo.broadcast_in_dim"(%271) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %282 = "stablehlo.subtract"(%265, %281) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %283 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
    %284 = "stablehlo.broadcast_in_dim"(%283) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %285 = "stablehlo.add"(%280, %284) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %286 = "stablehlo.rsqrt"(%285) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %287 = "stablehlo.broadcast_in_dim"(%286) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %288 = "stablehlo.multiply"(%282, %287) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %289 = "stablehlo.broadcast_in_dim"(%arg38) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %290 = "stablehlo.broadcast_in_dim"(%289) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %291 = "stablehlo.multiply"(%288, %290) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %292 = "stablehlo.broadcast_in_dim"(%arg37) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %293 = "stablehlo.broadcast_in_dim"(%292) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %294 = "stablehlo.add"(%291, %293) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %295 = "stablehlo.dot_general"(%294, %arg39) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x96xf32>) -> tensor<2x24x96xf32>
    %296 = "stablehlo.broadcast_in_dim"(%arg40) <{broadcast_dimensions = array<i64: 2>}> : (tensor<96xf32>) -> tensor<1x1x96xf32>
    %297 = "stablehlo.broadcast_in_dim"(%296) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x96xf32>) -> tensor<2x24x96xf32>
    %298 = "stablehlo.add"(%295, %297) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %299 = "stablehlo.multiply"(%298, %298) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %300 = "stablehlo.multiply"(%299, %298) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %301 = "stablehlo.constant"() <{value = dense<4.471500e-02> : tensor<f32>}> : () -> tensor<f32>
    %302 = "stablehlo.broadcast_in_dim"(%301) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %303 = "stablehlo.multiply"(%302, %300) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %304 = "stablehlo.add"(%298, %303) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %305 = "stablehlo.constant"() <{value = dense<0.797884583> : tensor<f32>}> : () -> tensor<f32>
    %306 = "stablehlo.broadcast_in_dim"(%305) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %307 = "stablehlo.multiply"(%306, %304) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %308 = "stablehlo.tanh"(%307) : (tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %309 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %310 = "stablehlo.broadcast_in_dim"(%309) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %311 = "stablehlo.add"(%310, %308) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %312 = "stablehlo.constant"() <{value = dense<5.000000e-01> : tensor<f32>}> : () -> tensor<f32>
    %313 = "stablehlo.broadcast_in_dim"(%312) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %314 = "stablehlo.multiply"(%313, %311) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %315 = "stablehlo.multiply"(%298, %314) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %316 = "stablehlo.dot_general"(%315, %arg34) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x96xf32>, tensor<96x48xf32>) -> tensor<2x24x48xf32>
    %317 = "stablehlo.add"(%265, %316) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %318 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %319 = "stablehlo.reduce"(%317, %318) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg51: tensor<f32>, %arg52: tensor<f32>):
      %359 = "stablehlo.add"(%arg51, %arg52) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%359) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %320 = "stablehlo.broadcast_in_dim"(%319) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %321 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %322 = "stablehlo.broadcast_in_dim"(%321) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %323 = "stablehlo.divide"(%320, %322) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %324 = "stablehlo.broadcast_in_dim"(%323) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %325 = "stablehlo.subtract"(%317, %324) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %326 = "chlo.square"(%325) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %327 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %328 = "stablehlo.reduce"(%326, %327) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg49: tensor<f32>, %arg50: tensor<f32>):
      %358 = "stablehlo.add"(%arg49, %arg50) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%358) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %329 = "stablehlo.broadcast_in_dim"(%328) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %330 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %331 = "stablehlo.broadcast_in_dim"(%330) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %332 = "stablehlo.divide"(%329, %331) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %333 = "stablehlo.broadcast_in_dim"(%323) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %334 = "stablehlo.subtract"(%317, %333) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %335 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
    %336 = "stablehlo.broadcast_in_dim"(%335) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %337 = "stablehlo.add"(%332, %336) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %338 = "stablehlo.rsqrt"(%337) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %339 = "stablehlo.broadcast_in_dim"(%338) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %340 = "stablehlo.multiply"(%334, %339) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %341 = "stablehlo.broadcast_in_dim"(%arg43) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %342 = "stablehlo.broadcast_in_dim"(%341) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %343 = "stablehlo.multiply"(%340, %342) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %344 = "stablehlo.broadcast_in_dim"(%arg42) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %345 = "stablehlo.broadcast_in_dim"(%344) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %346 = "stablehlo.add"(%343, %345) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %347 = "stablehlo.transpose"(%arg41) <{permutation = array<i64: 1, 0>}> : (tensor<67x48xf32>) -> tensor<48x67xf32>
    %348 = "stablehlo.dot_general"(%346, %347) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x67xf32>) -> tensor<2x24x67xf32>
    %349 = "func.call"(%348) <{callee = @log_softmax}> : (tensor<2x24x67xf32>) -> tensor<2x24x67xf32>
    %350 = "stablehlo.broadcast_in_dim"(%arg46) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xi32>) -> tensor<2x24x1xi32>
    %351 = "func.call"(%349, %350) <{callee = @take_along_axis}> : (tensor<2x24x67xf32>, tensor<2x24x1xi32>) -> tensor<2x24x1xf32>
    %352 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %353 = "stablehlo.reduce"(%351, %352) <{dimensions = array<i64: 0, 1, 2>}> ({
    ^bb0(%arg47: tensor<f32>, %arg48: tensor<f32>):
      %357 = "stablehlo.add"(%arg47, %arg48) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%357) : (tensor<f32>) -> ()
    }) : (tensor<2x24x1xf32>, tensor<f32>) -> tensor<f32>
    %354 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %355 = "stablehlo.divide"(%353, %354) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %356 = "stablehlo.negate"(%355) : (tensor<f32>) -> tensor<f32>
    "func.return"(%356) : (tensor<f32>) -> ()
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
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2x24x67xf32>) -> tensor<2x24x67xf32>, res_attrs = [{}], sym_name = "log_softmax", sym_visibility = "private"}> ({
  ^bb0(%arg4: tensor<2x24x67xf32>):
    %23 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %24 = "stablehlo.reduce"(%arg4, %23) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %39 = "stablehlo.maximum"(%arg7, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%39) : (tensor<f32>) -> ()
    }) : (tensor<2x24x67xf32>, tensor<f32>) -> tensor<2x24xf32>
    %25 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %26 = "stablehlo.broadcast_in_dim"(%25) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24xf32>
    %27 = "stablehlo.maximum"(%26, %24) : (tensor<2x24xf32>, tensor<2x24xf32>) -> tensor<2x24xf32>
    %28 = "stablehlo.broadcast_in_dim"(%27) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %29 = "stablehlo.broadcast_in_dim"(%28) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x67xf32>
    %30 = "stablehlo.subtract"(%arg4, %29) : (tensor<2x24x67xf32>, tensor<2x24x67xf32>) -> tensor<2x24x67xf32>
    %31 = "stablehlo.exponential"(%30) : (tensor<2x24x67xf32>) -> tensor<2x24x67xf32>
    %32 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %33 = "stablehlo.reduce"(%31, %32) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %38 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%38) : (tensor<f32>) -> ()
    }) : (tensor<2x24x67xf32>, tensor<f32>) -> tensor<2x24xf32>
    %34 = "stablehlo.broadcast_in_dim"(%33) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %35 = "stablehlo.log"(%34) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %36 = "stablehlo.broadcast_in_dim"(%35) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x67xf32>
    %37 = "stablehlo.subtract"(%30, %36) : (tensor<2x24x67xf32>, tensor<2x24x67xf32>) -> tensor<2x24x67xf32>
    "func.return"(%37) : (tensor<2x24x67xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<2x24x67xf32>, tensor<2x24x1xi32>) -> tensor<2x24x1xf32>, res_attrs = [{}], sym_name = "take_along_axis", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2x24x67xf32>, %arg1: tensor<2x24x1xi32>):
    %0 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x24x1xi32>
    %2 = "stablehlo.compare"(%arg1, %1) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2x24x1xi32>, tensor<2x24x1xi32>) -> tensor<2x24x1xi1>
    %3 = "stablehlo.constant"() <{value = dense<67> : tensor<i32>}> : () -> tensor<i32>
    %4 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x24x1xi32>
    %5 = "stablehlo.add"(%arg1, %4) : (tensor<2x24x1xi32>, tensor<2x24x1xi32>) -> tensor<2x24x1xi32>
    %6 = "stablehlo.select"(%2, %5, %arg1) : (tensor<2x24x1xi1>, tensor<2x24x1xi32>, tensor<2x24x1xi32>) -> tensor<2x24x1xi32>
    %7 = "stablehlo.reshape"(%6) : (tensor<2x24x1xi32>) -> tensor<2x24x1x1xi32>
    %8 = "stablehlo.constant"() <{value = dense<66> : tensor<1xi32>}> : () -> tensor<1xi32>
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
    %18 = "stablehlo.gather"(%arg0, %7) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<2x24x67xf32>, tensor<2x24x1x1xi32>) -> tensor<2x24x1xf32>
    %19 = "stablehlo.constant"() <{value = dense<0x7FC00000> : tensor<f32>}> : () -> tensor<f32>
    %20 = "stablehlo.broadcast_in_dim"(%19) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %21 = "stablehlo.select"(%17, %18, %20) : (tensor<2x24x1xi1>, tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    "func.return"(%21) : (tensor<2x24x1xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
