"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}], function_type = (tensor<67x48xf32>, tensor<48x67xf32>, tensor<3x96x48xf32>, tensor<3x48x96xf32>, tensor<3x48x24xf32>, tensor<3x48xf32>, tensor<3x48xf32>, tensor<3x48x48xf32>, tensor<3x48x48xf32>, tensor<3x48x96xf32>, tensor<3x48x24xf32>, tensor<48xf32>, tensor<2x24xi32>) -> tensor<2x24x67xf32>, res_attrs = [{jax.result_info = "result['logits']"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg40: tensor<67x48xf32> loc("p['embedding']"), %arg41: tensor<48x67xf32> loc("p['head']"), %arg42: tensor<3x96x48xf32> loc("p['layers']['down']"), %arg43: tensor<3x48x96xf32> loc("p['layers']['gate']"), %arg44: tensor<3x48x24xf32> loc("p['layers']['k']"), %arg45: tensor<3x48xf32> loc("p['layers']['norm1']"), %arg46: tensor<3x48xf32> loc("p['layers']['norm2']"), %arg47: tensor<3x48x48xf32> loc("p['layers']['out']"), %arg48: tensor<3x48x48xf32> loc("p['layers']['q']"), %arg49: tensor<3x48x96xf32> loc("p['layers']['up']"), %arg50: tensor<3x48x24xf32> loc("p['layers']['v']"), %arg51: tensor<48xf32> loc("p['norm']"), %arg52: tensor<2x24xi32> loc("tokens")):
    %225 = "func.call"(%arg40, %arg52) <{callee = @_take}> : (tensor<67x48xf32>, tensor<2x24xi32>) -> tensor<2x24x48xf32>
    %226 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %227:11 = "stablehlo.while"(%arg42, %arg43, %arg44, %arg45, %arg46, %arg47, %arg48, %arg49, %arg50, %226, %225) ({
    ^bb0(%arg66: tensor<3x96x48xf32>, %arg67: tensor<3x48x96xf32>, %arg68: tensor<3x48x24xf32>, %arg69: tensor<3x48xf32>, %arg70: tensor<3x48xf32>, %arg71: tensor<3x48x48xf32>, %arg72: tensor<3x48x48xf32>, %arg73: tensor<3x48x96xf32>, %arg74: tensor<3x48x24xf32>, %arg75: tensor<i32>, %arg76: tensor<2x24x48xf32>):
      %258 = "stablehlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
      %259 = "stablehlo.compare"(%arg75, %258) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%259) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg55: tensor<3x96x48xf32>, %arg56: tensor<3x48x96xf32>, %arg57: tensor<3x48x24xf32>, %arg58: tensor<3x48xf32>, %arg59: tensor<3x48xf32>, %arg60: tensor<3x48x48xf32>, %arg61: tensor<3x48x48xf32>, %arg62: tensor<3x48x96xf32>, %arg63: tensor<3x48x24xf32>, %arg64: tensor<i32>, %arg65: tensor<2x24x48xf32>):
      %246 = "func.call"(%arg55, %arg64) <{callee = @dynamic_index_in_dim}> : (tensor<3x96x48xf32>, tensor<i32>) -> tensor<96x48xf32>
      %247 = "func.call"(%arg56, %arg64) <{callee = @dynamic_index_in_dim_0}> : (tensor<3x48x96xf32>, tensor<i32>) -> tensor<48x96xf32>
      %248 = "func.call"(%arg57, %arg64) <{callee = @dynamic_index_in_dim_1}> : (tensor<3x48x24xf32>, tensor<i32>) -> tensor<48x24xf32>
      %249 = "func.call"(%arg58, %arg64) <{callee = @dynamic_index_in_dim_2}> : (tensor<3x48xf32>, tensor<i32>) -> tensor<48xf32>
      %250 = "func.call"(%arg59, %arg64) <{callee = @dynamic_index_in_dim_2}> : (tensor<3x48xf32>, tensor<i32>) -> tensor<48xf32>
      %251 = "func.call"(%arg60, %arg64) <{callee = @dynamic_index_in_dim_3}> : (tensor<3x48x48xf32>, tensor<i32>) -> tensor<48x48xf32>
      %252 = "func.call"(%arg61, %arg64) <{callee = @dynamic_index_in_dim_3}> : (tensor<3x48x48xf32>, tensor<i32>) -> tensor<48x48xf32>
      %253 = "func.call"(%arg62, %arg64) <{callee = @dynamic_index_in_dim_0}> : (tensor<3x48x96xf32>, tensor<i32>) -> tensor<48x96xf32>
      %254 = "func.call"(%arg63, %arg64) <{callee = @dynamic_index_in_dim_1}> : (tensor<3x48x24xf32>, tensor<i32>) -> tensor<48x24xf32>
      %255 = "func.call"(%arg65, %246, %247, %248, %249, %250, %251, %252, %253, %254) <{callee = @closed_call}> : (tensor<2x24x48xf32>, tensor<96x48xf32>, tensor<48x96xf32>, tensor<48x24xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48x48xf32>, tensor<48x48xf32>, tensor<48x96xf32>, tensor<48x24xf32>) -> tensor<2x24x48xf32>
      %256 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %257 = "stablehlo.add"(%arg64, %256) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%arg55, %arg56, %arg57, %arg58, %arg59, %arg60, %arg61, %arg62, %arg63, %257, %255) : (tensor<3x96x48xf32>, tensor<3x48x96xf32>, tensor<3x48x24xf32>, tensor<3x48xf32>, tensor<3x48xf32>, tensor<3x48x48xf32>, tensor<3x48x48xf32>, tensor<3x48x96xf32>, tensor<3x48x24xf32>, tensor<i32>, tensor<2x24x48xf32>) -> ()
    }) : (tensor<3x96x48xf32>, tensor<3x48x96xf32>, tensor<3x48x24xf32>, tensor<3x48xf32>, tensor<3x48xf32>, tensor<3x48x48xf32>, tensor<3x48x48xf32>, tensor<3x48x96xf32>, tensor<3x48x24xf32>, tensor<i32>, tensor<2x24x48xf32>) -> (tensor<3x96x48xf32>, tensor<3x48x96xf32>, tensor<3x48x24xf32>, tensor<3x48xf32>, tensor<3x48xf32>, tensor<3x48x48xf32>, tensor<3x48x48xf32>, tensor<3x48x96xf32>, tensor<3x48x24xf32>, tensor<i32>, tensor<2x24x48xf32>)
    %228 = "stablehlo.multiply"(%227#10, %227#10) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %229 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %230 = "stablehlo.reduce"(%228, %229) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg53: tensor<f32>, %arg54: tensor<f32>):
      %245 = "stablehlo.add"(%arg53, %arg54) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%245) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %231 = "stablehlo.broadcast_in_dim"(%230) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %232 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %233 = "stablehlo.broadcast_in_dim"(%232) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %234 = "stablehlo.divide"(%231, %233) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %235 = "stablehlo.constant"() <{value = dense<9.99999997E-7> : tensor<f32>}> : () -> tensor<f32>
    %236 = "stablehlo.broadcast_in_dim"(%235) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %237 = "stablehlo.add"(%234, %236) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %238 = "stablehlo.rsqrt"(%237) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %239 = "stablehlo.broadcast_in_dim"(%238) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %240 = "stablehlo.multiply"(%227#10, %239) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %241 = "stablehlo.broadcast_in_dim"(%arg51) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %242 = "stablehlo.broadcast_in_dim"(%241) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %243 = "stablehlo.multiply"(%240, %242) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %244 = "stablehlo.dot_general"(%243, %arg41) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x67xf32>) -> tensor<2x24x67xf32>
    "func.return"(%244) : (tensor<2x24x67xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<67x48xf32>, tensor<2x24xi32>) -> tensor<2x24x48xf32>, res_attrs = [{}], sym_name = "_take", sym_visibility = "private"}> ({
  ^bb0(%arg36: tensor<67x48xf32>, %arg37: tensor<2x24xi32>):
    %201 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %202 = "stablehlo.broadcast_in_dim"(%201) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x24xi32>
    %203 = "stablehlo.compare"(%arg37, %202) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<2x24xi1>
    %204 = "stablehlo.constant"() <{value = dense<67> : tensor<i32>}> : () -> tensor<i32>
    %205 = "stablehlo.broadcast_in_dim"(%204) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x24xi32>
    %206 = "stablehlo.add"(%arg37, %205) : (tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<2x24xi32>
    %207 = "func.call"(%203, %206, %arg37) <{callee = @_where}> : (tensor<2x24xi1>, tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<2x24xi32>
    %208 = "stablehlo.broadcast_in_dim"(%207) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xi32>) -> tensor<2x24x1xi32>
    %209 = "stablehlo.constant"() <{value = dense<66> : tensor<1xi32>}> : () -> tensor<1xi32>
    %210 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %211 = "stablehlo.broadcast_in_dim"(%210) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x24x1xi32>
    %212 = "stablehlo.compare"(%208, %211) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<2x24x1xi32>, tensor<2x24x1xi32>) -> tensor<2x24x1xi1>
    %213 = "stablehlo.broadcast_in_dim"(%209) <{broadcast_dimensions = array<i64: 2>}> : (tensor<1xi32>) -> tensor<1x1x1xi32>
    %214 = "stablehlo.broadcast_in_dim"(%213) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x1xi32>) -> tensor<2x24x1xi32>
    %215 = "stablehlo.compare"(%208, %214) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<2x24x1xi32>, tensor<2x24x1xi32>) -> tensor<2x24x1xi1>
    %216 = "stablehlo.and"(%212, %215) : (tensor<2x24x1xi1>, tensor<2x24x1xi1>) -> tensor<2x24x1xi1>
    %217 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %218 = "stablehlo.reduce"(%216, %217) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg38: tensor<i1>, %arg39: tensor<i1>):
      %224 = "stablehlo.and"(%arg38, %arg39) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      "stablehlo.return"(%224) : (tensor<i1>) -> ()
    }) : (tensor<2x24x1xi1>, tensor<i1>) -> tensor<2x24xi1>
    %219 = "stablehlo.gather"(%arg36, %208) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 48>}> : (tensor<67x48xf32>, tensor<2x24x1xi32>) -> tensor<2x24x48xf32>
    %220 = "stablehlo.broadcast_in_dim"(%218) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xi1>) -> tensor<2x24x48xi1>
    %221 = "stablehlo.constant"() <{value = dense<0x7FC00000> : tensor<f32>}> : () -> tensor<f32>
    %222 = "stablehlo.broadcast_in_dim"(%221) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x48xf32>
    %223 = "stablehlo.select"(%220, %219, %222) : (tensor<2x24x48xi1>, tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    "func.return"(%223) : (tensor<2x24x48xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<2x24xi1>, tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<2x24xi32>, res_attrs = [{}], sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg33: tensor<2x24xi1>, %arg34: tensor<2x24xi32>, %arg35: tensor<2x24xi32>):
    %200 = "stablehlo.select"(%arg33, %arg34, %arg35) : (tensor<2x24xi1>, tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<2x24xi32>
    "func.return"(%200) : (tensor<2x24xi32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<3x96x48xf32>, tensor<i32>) -> tensor<96x48xf32>, res_attrs = [{}], sym_name = "dynamic_index_in_dim", sym_visibility = "private"}> ({
  ^bb0(%arg31: tensor<3x96x48xf32>, %arg32: tensor<i32>):
    %196 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %197 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %198 = "stablehlo.dynamic_slice"(%arg31, %arg32, %196, %197) <{slice_sizes = array<i64: 1, 96, 48>}> : (tensor<3x96x48xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x96x48xf32>
    %199 = "stablehlo.reshape"(%198) : (tensor<1x96x48xf32>) -> tensor<96x48xf32>
    "func.return"(%199) : (tensor<96x48xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<3x48x96xf32>, tensor<i32>) -> tensor<48x96xf32>, res_attrs = [{}], sym_name = "dynamic_index_in_dim_0", sym_visibility = "private"}> ({
  ^bb0(%arg29: tensor<3x48x96xf32>, %arg30: tensor<i32>):
    %192 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %193 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %194 = "stablehlo.dynamic_slice"(%arg29, %arg30, %192, %193) <{slice_sizes = array<i64: 1, 48, 96>}> : (tensor<3x48x96xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x48x96xf32>
    %195 = "stablehlo.reshape"(%194) : (tensor<1x48x96xf32>) -> tensor<48x96xf32>
    "func.return"(%195) : (tensor<48x96xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<3x48x24xf32>, tensor<i32>) -> tensor<48x24xf32>, res_attrs = [{}], sym_name = "dynamic_index_in_dim_1", sym_visibility = "private"}> ({
  ^bb0(%arg27: tensor<3x48x24xf32>, %arg28: tensor<i32>):
    %188 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %189 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %190 = "stablehlo.dynamic_slice"(%arg27, %arg28, %188, %189) <{slice_sizes = array<i64: 1, 48, 24>}> : (tensor<3x48x24xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x48x24xf32>
    %191 = "stablehlo.reshape"(%190) : (tensor<1x48x24xf32>) -> tensor<48x24xf32>
    "func.return"(%191) : (tensor<48x24xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<3x48xf32>, tensor<i32>) -> tensor<48xf32>, res_attrs = [{}], sym_name = "dynamic_index_in_dim_2", sym_visibility = "private"}> ({
  ^bb0(%arg25: tensor<3x48xf32>, %arg26: tensor<i32>):
    %185 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %186 = "stablehlo.dynamic_slice"(%arg25, %arg26, %185) <{slice_sizes = array<i64: 1, 48>}> : (tensor<3x48xf32>, tensor<i32>, tensor<i32>) -> tensor<1x48xf32>
    %187 = "stablehlo.reshape"(%186) : (tensor<1x48xf32>) -> tensor<48xf32>
    "func.return"(%187) : (tensor<48xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<3x48x48xf32>, tensor<i32>) -> tensor<48x48xf32>, res_attrs = [{}], sym_name = "dynamic_index_in_dim_3", sym_visibility = "private"}> ({
  ^bb0(%arg23: tensor<3x48x48xf32>, %arg24: tensor<i32>):
    %181 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %182 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %183 = "stablehlo.dynamic_slice"(%arg23, %arg24, %181, %182) <{slice_sizes = array<i64: 1, 48, 48>}> : (tensor<3x48x48xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x48x48xf32>
    %184 = "stablehlo.reshape"(%183) : (tensor<1x48x48xf32>) -> tensor<48x48xf32>
    "func.return"(%184) : (tensor<48x48xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x24x48xf32>, tensor<96x48xf32>, tensor<48x96xf32>, tensor<48x24xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48x48xf32>, tensor<48x48xf32>, tensor<48x96xf32>, tensor<48x24xf32>) -> tensor<2x24x48xf32>, res_attrs = [{}], sym_name = "closed_call", sym_visibility = "private"}> ({
  ^bb0(%arg5: tensor<2x24x48xf32>, %arg6: tensor<96x48xf32>, %arg7: tensor<48x96xf32>, %arg8: tensor<48x24xf32>, %arg9: tensor<48xf32>, %arg10: tensor<48xf32>, %arg11: tensor<48x48xf32>, %arg12: tensor<48x48xf32>, %arg13: tensor<48x96xf32>, %arg14: tensor<48x24xf32>):
    %23 = "stablehlo.multiply"(%arg5, %arg5) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %24 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %25 = "stablehlo.reduce"(%23, %24) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg21: tensor<f32>, %arg22: tensor<f32>):
      %180 = "stablehlo.add"(%arg21, %arg22) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%180) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %26 = "stablehlo.broadcast_in_dim"(%25) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %27 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %28 = "stablehlo.broadcast_in_dim"(%27) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %29 = "stablehlo.divide"(%26, %28) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %30 = "stablehlo.constant"() <{value = dense<9.99999997E-7> : tensor<f32>}> : () -> tensor<f32>
    %31 = "stablehlo.broadcast_in_dim"(%30) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %32 = "stablehlo.add"(%29, %31) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %33 = "stablehlo.rsqrt"(%32) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %34 = "stablehlo.broadcast_in_dim"(%33) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %35 = "stablehlo.multiply"(%arg5, %34) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %36 = "stablehlo.broadcast_in_dim"(%arg9) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %37 = "stablehlo.broadcast_in_dim"(%36) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %38 = "stablehlo.multiply"(%35, %37) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %39 = "stablehlo.dot_general"(%38, %arg12) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x48xf32>) -> tensor<2x24x48xf32>
    %40 = "stablehlo.reshape"(%39) : (tensor<2x24x48xf32>) -> tensor<2x24x4x12xf32>
    %41 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<6xi32>
    %42 = "stablehlo.negate"(%41) : (tensor<6xi32>) -> tensor<6xi32>
    %43 = "stablehlo.convert"(%42) : (tensor<6xi32>) -> tensor<6xf32>
    %44 = "stablehlo.constant"() <{value = dense<6.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %45 = "stablehlo.broadcast_in_dim"(%44) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<6xf32>
    %46 = "stablehlo.divide"(%43, %45) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
    %47 = "stablehlo.constant"() <{value = dense<1.000000e+04> : tensor<f32>}> : () -> tensor<f32>
    %48 = "stablehlo.broadcast_in_dim"(%47) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<6xf32>
    %49 = "stablehlo.power"(%48, %46) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
    %50 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<24xi32>
    %51 = "stablehlo.broadcast_in_dim"(%50) <{broadcast_dimensions = array<i64: 0>}> : (tensor<24xi32>) -> tensor<24x1xi32>
    %52 = "stablehlo.convert"(%51) : (tensor<24x1xi32>) -> tensor<24x1xf32>
    %53 = "stablehlo.broadcast_in_dim"(%49) <{broadcast_dimensions = array<i64: 1>}> : (tensor<6xf32>) -> tensor<1x6xf32>
    %54 = "stablehlo.broadcast_in_dim"(%52) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<24x1xf32>) -> tensor<24x6xf32>
    %55 = "stablehlo.broadcast_in_dim"(%53) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x6xf32>) -> tensor<24x6xf32>
    %56 = "stablehlo.multiply"(%54, %55) : (tensor<24x6xf32>, tensor<24x6xf32>) -> tensor<24x6xf32>
    %57 = "stablehlo.cosine"(%56) : (tensor<24x6xf32>) -> tensor<24x6xf32>
    %58 = "stablehlo.broadcast_in_dim"(%57) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<24x6xf32>) -> tensor<24x1x6xf32>
    %59 = "stablehlo.sine"(%56) : (tensor<24x6xf32>) -> tensor<24x6xf32>
    %60 = "stablehlo.broadcast_in_dim"(%59) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<24x6xf32>) -> tensor<24x1x6xf32>
    %61 = "stablehlo.slice"(%40) <{limit_indices = array<i64: 2, 24, 4, 6>, start_indices = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x24x4x12xf32>) -> tensor<2x24x4x6xf32>
    %62 = "stablehlo.slice"(%40) <{limit_indices = array<i64: 2, 24, 4, 12>, start_indices = array<i64: 0, 0, 0, 6>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x24x4x12xf32>) -> tensor<2x24x4x6xf32>
    %63 = "stablehlo.broadcast_in_dim"(%58) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<24x1x6xf32>) -> tensor<1x24x1x6xf32>
    %64 = "stablehlo.broadcast_in_dim"(%63) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x24x1x6xf32>) -> tensor<2x24x4x6xf32>
    %65 = "stablehlo.multiply"(%61, %64) : (tensor<2x24x4x6xf32>, tensor<2x24x4x6xf32>) -> tensor<2x24x4x6xf32>
    %66 = "stablehlo.broadcast_in_dim"(%60) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<24x1x6xf32>) -> tensor<1x24x1x6xf32>
    %67 = "stablehlo.broadcast_in_dim"(%66) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x24x1x6xf32>) -> tensor<2x24x4x6xf32>
    %68 = "stablehlo.multiply"(%62, %67) : (tensor<2x24x4x6xf32>, tensor<2x24x4x6xf32>) -> tensor<2x24x4x6xf32>
    %69 = "stablehlo.subtract"(%65, %68) : (tensor<2x24x4x6xf32>, tensor<2x24x4x6xf32>) -> tensor<2x24x4x6xf32>
    %70 = "stablehlo.broadcast_in_dim"(%58) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<24x1x6xf32>) -> tensor<1x24x1x6xf32>
    %71 = "stablehlo.broadcast_in_dim"(%70) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x24x1x6xf32>) -> tensor<2x24x4x6xf32>
    %72 = "stablehlo.multiply"(%62, %71) : (tensor<2x24x4x6xf32>, tensor<2x24x4x6xf32>) -> tensor<2x24x4x6xf32>
    %73 = "stablehlo.broadcast_in_dim"(%60) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<24x1x6xf32>) -> tensor<1x24x1x6xf32>
    %74 = "stablehlo.broadcast_in_dim"(%73) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x24x1x6xf32>) -> tensor<2x24x4x6xf32>
    %75 = "stablehlo.multiply"(%61, %74) : (tensor<2x24x4x6xf32>, tensor<2x24x4x6xf32>) -> tensor<2x24x4x6xf32>
    %76 = "stablehlo.add"(%72, %75) : (tensor<2x24x4x6xf32>, tensor<2x24x4x6xf32>) -> tensor<2x24x4x6xf32>
    %77 = "stablehlo.concatenate"(%69, %76) <{dimension = 3 : i64}> : (tensor<2x24x4x6xf32>, tensor<2x24x4x6xf32>) -> tensor<2x24x4x12xf32>
    %78 = "stablehlo.dot_general"(%38, %arg8) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x24xf32>) -> tensor<2x24x24xf32>
    %79 = "stablehlo.reshape"(%78) : (tensor<2x24x24xf32>) -> tensor<2x24x2x12xf32>
    %80 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<6xi32>
    %81 = "stablehlo.negate"(%80) : (tensor<6xi32>) -> tensor<6xi32>
    %82 = "stablehlo.convert"(%81) : (tensor<6xi32>) -> tensor<6xf32>
    %83 = "stablehlo.constant"() <{value = dense<6.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %84 = "stablehlo.broadcast_in_dim"(%83) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<6xf32>
    %85 = "stablehlo.divide"(%82, %84) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
    %86 = "stablehlo.constant"() <{value = dense<1.000000e+04> : tensor<f32>}> : () -> tensor<f32>
    %87 = "stablehlo.broadcast_in_dim"(%86) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<6xf32>
    %88 = "stablehlo.power"(%87, %85) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
    %89 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<24xi32>
    %90 = "stablehlo.broadcast_in_dim"(%89) <{broadcast_dimensions = array<i64: 0>}> : (tensor<24xi32>) -> tensor<24x1xi32>
    %91 = "stablehlo.convert"(%90) : (tensor<24x1xi32>) -> tensor<24x1xf32>
    %92 = "stablehlo.broadcast_in_dim"(%88) <{broadcast_dimensions = array<i64: 1>}> : (tensor<6xf32>) -> tensor<1x6xf32>
    %93 = "stablehlo.broadcast_in_dim"(%91) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<24x1xf32>) -> tensor<24x6xf32>
    %94 = "stablehlo.broadcast_in_dim"(%92) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x6xf32>) -> tensor<24x6xf32>
    %95 = "stablehlo.multiply"(%93, %94) : (tensor<24x6xf32>, tensor<24x6xf32>) -> tensor<24x6xf32>
    %96 = "stablehlo.cosine"(%95) : (tensor<24x6xf32>) -> tensor<24x6xf32>
    %97 = "stablehlo.broadcast_in_dim"(%96) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<24x6xf32>) -> tensor<24x1x6xf32>
    %98 = "stablehlo.sine"(%95) : (tensor<24x6xf32>) -> tensor<24x6xf32>
    %99 = "stablehlo.broadcast_in_dim"(%98) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<24x6xf32>) -> tensor<24x1x6xf32>
    %100 = "stablehlo.slice"(%79) <{limit_indices = array<i64: 2, 24, 2, 6>, start_indices = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x24x2x12xf32>) -> tensor<2x24x2x6xf32>
    %101 = "stablehlo.slice"(%79) <{limit_indices = array<i64: 2, 24, 2, 12>, start_indices = array<i64: 0, 0, 0, 6>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x24x2x12xf32>) -> tensor<2x24x2x6xf32>
    %102 = "stablehlo.broadcast_in_dim"(%97) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<24x1x6xf32>) -> tensor<1x24x1x6xf32>
    %103 = "stablehlo.broadcast_in_dim"(%102) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x24x1x6xf32>) -> tensor<2x24x2x6xf32>
    %104 = "stablehlo.multiply"(%100, %103) : (tensor<2x24x2x6xf32>, tensor<2x24x2x6xf32>) -> tensor<2x24x2x6xf32>
    %105 = "stablehlo.broadcast_in_dim"(%99) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<24x1x6xf32>) -> tensor<1x24x1x6xf32>
    %106 = "stablehlo.broadcast_in_dim"(%105) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x24x1x6xf32>) -> tensor<2x24x2x6xf32>
    %107 = "stablehlo.multiply"(%101, %106) : (tensor<2x24x2x6xf32>, tensor<2x24x2x6xf32>) -> tensor<2x24x2x6xf32>
    %108 = "stablehlo.subtract"(%104, %107) : (tensor<2x24x2x6xf32>, tensor<2x24x2x6xf32>) -> tensor<2x24x2x6xf32>
    %109 = "stablehlo.broadcast_in_dim"(%97) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<24x1x6xf32>) -> tensor<1x24x1x6xf32>
    %110 = "stablehlo.broadcast_in_dim"(%109) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x24x1x6xf32>) -> tensor<2x24x2x6xf32>
    %111 = "stablehlo.multiply"(%101, %110) : (tensor<2x24x2x6xf32>, tensor<2x24x2x6xf32>) -> tensor<2x24x2x6xf32>
    %112 = "stablehlo.broadcast_in_dim"(%99) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<24x1x6xf32>) -> tensor<1x24x1x6xf32>
    %113 = "stablehlo.broadcast_in_dim"(%112) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x24x1x6xf32>) -> tensor<2x24x2x6xf32>
    %114 = "stablehlo.multiply"(%100, %113) : (tensor<2x24x2x6xf32>, tensor<2x24x2x6xf32>) -> tensor<2x24x2x6xf32>
    %115 = "stablehlo.add"(%111, %114) : (tensor<2x24x2x6xf32>, tensor<2x24x2x6xf32>) -> tensor<2x24x2x6xf32>
    %116 = "stablehlo.concatenate"(%108, %115) <{dimension = 3 : i64}> : (tensor<2x24x2x6xf32>, tensor<2x24x2x6xf32>) -> tensor<2x24x2x12xf32>
    %117 = "stablehlo.dot_general"(%38, %arg14) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x24xf32>) -> tensor<2x24x24xf32>
    %118 = "stablehlo.reshape"(%117) : (tensor<2x24x24xf32>) -> tensor<2x24x2x12xf32>
    %119 = "stablehlo.reshape"(%77) : (tensor<2x24x4x12xf32>) -> tensor<2x24x2x2x12xf32>
    %120 = "stablehlo.dot_general"(%119, %116) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [4], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x2x2x12xf32>, tensor<2x24x2x12xf32>) -> tensor<2x2x24x2x24xf32>
    %121 = "stablehlo.constant"() <{value = dense<0.288675129> : tensor<f32>}> : () -> tensor<f32>
    %122 = "stablehlo.broadcast_in_dim"(%121) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x2x24x2x24xf32>
    %123 = "stablehlo.multiply"(%120, %122) : (tensor<2x2x24x2x24xf32>, tensor<2x2x24x2x24xf32>) -> tensor<2x2x24x2x24xf32>
    %124 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %125 = "stablehlo.broadcast_in_dim"(%124) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<2x2x24x24xi1>
    %126 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %127 = "stablehlo.broadcast_in_dim"(%126) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<24x24xi1>
    %128 = "func.call"(%127) <{callee = @tril}> : (tensor<24x24xi1>) -> tensor<24x24xi1>
    %129 = "stablehlo.broadcast_in_dim"(%128) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<24x24xi1>) -> tensor<1x1x24x24xi1>
    %130 = "stablehlo.broadcast_in_dim"(%129) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x24x24xi1>) -> tensor<2x2x24x24xi1>
    %131 = "stablehlo.and"(%125, %130) : (tensor<2x2x24x24xi1>, tensor<2x2x24x24xi1>) -> tensor<2x2x24x24xi1>
    %132 = "stablehlo.constant"() <{value = dense<-2.38197633E+38> : tensor<f32>}> : () -> tensor<f32>
    %133 = "func.call"(%131, %123, %132) <{callee = @_where_4}> : (tensor<2x2x24x24xi1>, tensor<2x2x24x2x24xf32>, tensor<f32>) -> tensor<2x2x2x24x24xf32>
    %134 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %135 = "stablehlo.reduce"(%133, %134) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg19: tensor<f32>, %arg20: tensor<f32>):
      %179 = "stablehlo.maximum"(%arg19, %arg20) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%179) : (tensor<f32>) -> ()
    }) : (tensor<2x2x2x24x24xf32>, tensor<f32>) -> tensor<2x2x2x24xf32>
    %136 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %137 = "stablehlo.broadcast_in_dim"(%136) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x2x2x24xf32>
    %138 = "stablehlo.maximum"(%137, %135) : (tensor<2x2x2x24xf32>, tensor<2x2x2x24xf32>) -> tensor<2x2x2x24xf32>
    %139 = "stablehlo.broadcast_in_dim"(%138) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x2x2x24xf32>) -> tensor<2x2x2x24x1xf32>
    %140 = "stablehlo.broadcast_in_dim"(%139) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<2x2x2x24x1xf32>) -> tensor<2x2x2x24x24xf32>
    %141 = "stablehlo.subtract"(%133, %140) : (tensor<2x2x2x24x24xf32>, tensor<2x2x2x24x24xf32>) -> tensor<2x2x2x24x24xf32>
    %142 = "stablehlo.exponential"(%141) : (tensor<2x2x2x24x24xf32>) -> tensor<2x2x2x24x24xf32>
    %143 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %144 = "stablehlo.reduce"(%142, %143) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg17: tensor<f32>, %arg18: tensor<f32>):
      %178 = "stablehlo.add"(%arg17, %arg18) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%178) : (tensor<f32>) -> ()
    }) : (tensor<2x2x2x24x24xf32>, tensor<f32>) -> tensor<2x2x2x24xf32>
    %145 = "stablehlo.broadcast_in_dim"(%144) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x2x2x24xf32>) -> tensor<2x2x2x24x1xf32>
    %146 = "stablehlo.broadcast_in_dim"(%145) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<2x2x2x24x1xf32>) -> tensor<2x2x2x24x24xf32>
    %147 = "stablehlo.divide"(%142, %146) : (tensor<2x2x2x24x24xf32>, tensor<2x2x2x24x24xf32>) -> tensor<2x2x2x24x24xf32>
    %148 = "stablehlo.dot_general"(%118, %147) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [1, 2], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [4]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x2x12xf32>, tensor<2x2x2x24x24xf32>) -> tensor<2x2x12x2x24xf32>
    %149 = "stablehlo.transpose"(%148) <{permutation = array<i64: 3, 0, 4, 1, 2>}> : (tensor<2x2x12x2x24xf32>) -> tensor<2x2x24x2x12xf32>
    %150 = "stablehlo.transpose"(%149) <{permutation = array<i64: 1, 2, 3, 0, 4>}> : (tensor<2x2x24x2x12xf32>) -> tensor<2x24x2x2x12xf32>
    %151 = "stablehlo.reshape"(%150) : (tensor<2x24x2x2x12xf32>) -> tensor<2x24x4x12xf32>
    %152 = "stablehlo.reshape"(%151) : (tensor<2x24x4x12xf32>) -> tensor<2x24x48xf32>
    %153 = "stablehlo.dot_general"(%152, %arg11) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x48xf32>) -> tensor<2x24x48xf32>
    %154 = "stablehlo.add"(%arg5, %153) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %155 = "stablehlo.multiply"(%154, %154) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %156 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %157 = "stablehlo.reduce"(%155, %156) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg15: tensor<f32>, %arg16: tensor<f32>):
      %177 = "stablehlo.add"(%arg15, %arg16) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%177) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %158 = "stablehlo.broadcast_in_dim"(%157) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %159 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %160 = "stablehlo.broadcast_in_dim"(%159) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %161 = "stablehlo.divide"(%158, %160) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %162 = "stablehlo.constant"() <{value = dense<9.99999997E-7> : tensor<f32>}> : () -> tensor<f32>
    %163 = "stablehlo.broadcast_in_dim"(%162) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %164 = "stablehlo.add"(%161, %163) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %165 = "stablehlo.rsqrt"(%164) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %166 = "stablehlo.broadcast_in_dim"(%165) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %167 = "stablehlo.multiply"(%154, %166) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %168 = "stablehlo.broadcast_in_dim"(%arg10) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %169 = "stablehlo.broadcast_in_dim"(%168) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %170 = "stablehlo.multiply"(%167, %169) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %171 = "stablehlo.dot_general"(%170, %arg7) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x96xf32>) -> tensor<2x24x96xf32>
    %172 = "func.call"(%171) <{callee = @silu}> : (tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %173 = "stablehlo.dot_general"(%170, %arg13) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x96xf32>) -> tensor<2x24x96xf32>
    %174 = "stablehlo.multiply"(%172, %173) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %175 = "stablehlo.dot_general"(%174, %arg6) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x96xf32>, tensor<96x48xf32>) -> tensor<2x24x48xf32>
    %176 = "stablehlo.add"(%154, %175) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    "func.return"(%176) : (tensor<2x24x48xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<24x24xi1>) -> tensor<24x24xi1>, res_attrs = [{}], sym_name = "tril", sym_visibility = "private"}> ({
  ^bb0(%arg4: tensor<24x24xi1>):
    %14 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<24x24xi32>
    %15 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %16 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<24x24xi32>
    %17 = "stablehlo.add"(%14, %16) : (tensor<24x24xi32>, tensor<24x24xi32>) -> tensor<24x24xi32>
    %18 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<24x24xi32>
    %19 = "stablehlo.compare"(%17, %18) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<24x24xi32>, tensor<24x24xi32>) -> tensor<24x24xi1>
    %20 = "stablehlo.constant"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>
    %21 = "stablehlo.broadcast_in_dim"(%20) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<24x24xi1>
    %22 = "stablehlo.select"(%19, %arg4, %21) : (tensor<24x24xi1>, tensor<24x24xi1>, tensor<24x24xi1>) -> tensor<24x24xi1>
    "func.return"(%22) : (tensor<24x24xi1>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<2x2x24x24xi1>, tensor<2x2x24x2x24xf32>, tensor<f32>) -> tensor<2x2x2x24x24xf32>, res_attrs = [{}], sym_name = "_where_4", sym_visibility = "private"}> ({
  ^bb0(%arg1: tensor<2x2x24x24xi1>, %arg2: tensor<2x2x24x2x24xf32>, %arg3: tensor<f32>):
    %9 = "stablehlo.broadcast_in_dim"(%arg3) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x2x24x24xf32>
    %10 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64: 1, 2, 3, 4>}> : (tensor<2x2x24x24xi1>) -> tensor<2x2x2x24x24xi1>
    %11 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64: 1, 2, 3, 4>}> : (tensor<2x2x24x24xf32>) -> tensor<2x2x2x24x24xf32>
    %12 = "stablehlo.transpose"(%arg2) <{permutation = array<i64: 3, 0, 1, 2, 4>}> : (tensor<2x2x24x2x24xf32>) -> tensor<2x2x2x24x24xf32>
    %13 = "stablehlo.select"(%10, %12, %11) : (tensor<2x2x2x24x24xi1>, tensor<2x2x2x24x24xf32>, tensor<2x2x2x24x24xf32>) -> tensor<2x2x2x24x24xf32>
    "func.return"(%13) : (tensor<2x2x2x24x24xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2x24x96xf32>) -> tensor<2x24x96xf32>, res_attrs = [{}], sym_name = "silu", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2x24x96xf32>):
    %0 = "stablehlo.negate"(%arg0) : (tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %1 = "stablehlo.exponential"(%0) : (tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %2 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %3 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %4 = "stablehlo.add"(%3, %1) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %5 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %7 = "stablehlo.divide"(%6, %4) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %8 = "stablehlo.multiply"(%arg0, %7) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    "func.return"(%8) : (tensor<2x24x96xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
