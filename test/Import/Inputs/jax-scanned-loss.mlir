"builtin.module"() <{sym_name = "jit_loss"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}], function_type = (tensor<67x48xf32>, tensor<48x67xf32>, tensor<3x96x48xf32>, tensor<3x48x96xf32>, tensor<3x48x24xf32>, tensor<3x48xf32>, tensor<3x48xf32>, tensor<3x48x48xf32>, tensor<3x48x48xf32>, tensor<3x48x96xf32>, tensor<3x48x24xf32>, tensor<48xf32>, tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<f32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg49: tensor<67x48xf32> loc("p['embedding']"), %arg50: tensor<48x67xf32> loc("p['head']"), %arg51: tensor<3x96x48xf32> loc("p['layers']['down']"), %arg52: tensor<3x48x96xf32> loc("p['layers']['gate']"), %arg53: tensor<3x48x24xf32> loc("p['layers']['k']"), %arg54: tensor<3x48xf32> loc("p['layers']['norm1']"), %arg55: tensor<3x48xf32> loc("p['layers']['norm2']"), %arg56: tensor<3x48x48xf32> loc("p['layers']['out']"), %arg57: tensor<3x48x48xf32> loc("p['layers']['q']"), %arg58: tensor<3x48x96xf32> loc("p['layers']['up']"), %arg59: tensor<3x48x24xf32> loc("p['layers']['v']"), %arg60: tensor<48xf32> loc("p['norm']"), %arg61: tensor<2x24xi32> loc("tokens"), %arg62: tensor<2x24xi32> loc("labels")):
    %265 = "func.call"(%arg49, %arg61) <{callee = @_take}> : (tensor<67x48xf32>, tensor<2x24xi32>) -> tensor<2x24x48xf32>
    %266 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %267:11 = "stablehlo.while"(%arg51, %arg52, %arg53, %arg54, %arg55, %arg56, %arg57, %arg58, %arg59, %266, %265) ({
    ^bb0(%arg78: tensor<3x96x48xf32>, %arg79: tensor<3x48x96xf32>, %arg80: tensor<3x48x24xf32>, %arg81: tensor<3x48xf32>, %arg82: tensor<3x48xf32>, %arg83: tensor<3x48x48xf32>, %arg84: tensor<3x48x48xf32>, %arg85: tensor<3x48x96xf32>, %arg86: tensor<3x48x24xf32>, %arg87: tensor<i32>, %arg88: tensor<2x24x48xf32>):
      %307 = "stablehlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
      %308 = "stablehlo.compare"(%arg87, %307) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%308) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg67: tensor<3x96x48xf32>, %arg68: tensor<3x48x96xf32>, %arg69: tensor<3x48x24xf32>, %arg70: tensor<3x48xf32>, %arg71: tensor<3x48xf32>, %arg72: tensor<3x48x48xf32>, %arg73: tensor<3x48x48xf32>, %arg74: tensor<3x48x96xf32>, %arg75: tensor<3x48x24xf32>, %arg76: tensor<i32>, %arg77: tensor<2x24x48xf32>):
      %295 = "func.call"(%arg67, %arg76) <{callee = @dynamic_index_in_dim}> : (tensor<3x96x48xf32>, tensor<i32>) -> tensor<96x48xf32>
      %296 = "func.call"(%arg68, %arg76) <{callee = @dynamic_index_in_dim_0}> : (tensor<3x48x96xf32>, tensor<i32>) -> tensor<48x96xf32>
      %297 = "func.call"(%arg69, %arg76) <{callee = @dynamic_index_in_dim_1}> : (tensor<3x48x24xf32>, tensor<i32>) -> tensor<48x24xf32>
      %298 = "func.call"(%arg70, %arg76) <{callee = @dynamic_index_in_dim_2}> : (tensor<3x48xf32>, tensor<i32>) -> tensor<48xf32>
      %299 = "func.call"(%arg71, %arg76) <{callee = @dynamic_index_in_dim_2}> : (tensor<3x48xf32>, tensor<i32>) -> tensor<48xf32>
      %300 = "func.call"(%arg72, %arg76) <{callee = @dynamic_index_in_dim_3}> : (tensor<3x48x48xf32>, tensor<i32>) -> tensor<48x48xf32>
      %301 = "func.call"(%arg73, %arg76) <{callee = @dynamic_index_in_dim_3}> : (tensor<3x48x48xf32>, tensor<i32>) -> tensor<48x48xf32>
      %302 = "func.call"(%arg74, %arg76) <{callee = @dynamic_index_in_dim_0}> : (tensor<3x48x96xf32>, tensor<i32>) -> tensor<48x96xf32>
      %303 = "func.call"(%arg75, %arg76) <{callee = @dynamic_index_in_dim_1}> : (tensor<3x48x24xf32>, tensor<i32>) -> tensor<48x24xf32>
      %304 = "func.call"(%arg77, %295, %296, %297, %298, %299, %300, %301, %302, %303) <{callee = @closed_call}> : (tensor<2x24x48xf32>, tensor<96x48xf32>, tensor<48x96xf32>, tensor<48x24xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48x48xf32>, tensor<48x48xf32>, tensor<48x96xf32>, tensor<48x24xf32>) -> tensor<2x24x48xf32>
      %305 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %306 = "stablehlo.add"(%arg76, %305) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%arg67, %arg68, %arg69, %arg70, %arg71, %arg72, %arg73, %arg74, %arg75, %306, %304) : (tensor<3x96x48xf32>, tensor<3x48x96xf32>, tensor<3x48x24xf32>, tensor<3x48xf32>, tensor<3x48xf32>, tensor<3x48x48xf32>, tensor<3x48x48xf32>, tensor<3x48x96xf32>, tensor<3x48x24xf32>, tensor<i32>, tensor<2x24x48xf32>) -> ()
    }) : (tensor<3x96x48xf32>, tensor<3x48x96xf32>, tensor<3x48x24xf32>, tensor<3x48xf32>, tensor<3x48xf32>, tensor<3x48x48xf32>, tensor<3x48x48xf32>, tensor<3x48x96xf32>, tensor<3x48x24xf32>, tensor<i32>, tensor<2x24x48xf32>) -> (tensor<3x96x48xf32>, tensor<3x48x96xf32>, tensor<3x48x24xf32>, tensor<3x48xf32>, tensor<3x48xf32>, tensor<3x48x48xf32>, tensor<3x48x48xf32>, tensor<3x48x96xf32>, tensor<3x48x24xf32>, tensor<i32>, tensor<2x24x48xf32>)
    %268 = "stablehlo.multiply"(%267#10, %267#10) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %269 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %270 = "stablehlo.reduce"(%268, %269) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg65: tensor<f32>, %arg66: tensor<f32>):
      %294 = "stablehlo.add"(%arg65, %arg66) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%294) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %271 = "stablehlo.broadcast_in_dim"(%270) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %272 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %273 = "stablehlo.broadcast_in_dim"(%272) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %274 = "stablehlo.divide"(%271, %273) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %275 = "stablehlo.constant"() <{value = dense<9.99999997E-7> : tensor<f32>}> : () -> tensor<f32>
    %276 = "stablehlo.broadcast_in_dim"(%275) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %277 = "stablehlo.add"(%274, %276) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %278 = "stablehlo.rsqrt"(%277) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %279 = "stablehlo.broadcast_in_dim"(%278) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %280 = "stablehlo.multiply"(%267#10, %279) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %281 = "stablehlo.broadcast_in_dim"(%arg60) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %282 = "stablehlo.broadcast_in_dim"(%281) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %283 = "stablehlo.multiply"(%280, %282) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %284 = "stablehlo.dot_general"(%283, %arg50) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x67xf32>) -> tensor<2x24x67xf32>
    %285 = "func.call"(%284) <{callee = @log_softmax}> : (tensor<2x24x67xf32>) -> tensor<2x24x67xf32>
    %286 = "stablehlo.broadcast_in_dim"(%arg62) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xi32>) -> tensor<2x24x1xi32>
    %287 = "func.call"(%285, %286) <{callee = @take_along_axis}> : (tensor<2x24x67xf32>, tensor<2x24x1xi32>) -> tensor<2x24x1xf32>
    %288 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %289 = "stablehlo.reduce"(%287, %288) <{dimensions = array<i64: 0, 1, 2>}> ({
    ^bb0(%arg63: tensor<f32>, %arg64: tensor<f32>):
      %293 = "stablehlo.add"(%arg63, %arg64) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%293) : (tensor<f32>) -> ()
    }) : (tensor<2x24x1xf32>, tensor<f32>) -> tensor<f32>
    %290 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %291 = "stablehlo.divide"(%289, %290) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %292 = "stablehlo.negate"(%291) : (tensor<f32>) -> tensor<f32>
    "func.return"(%292) : (tensor<f32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<67x48xf32>, tensor<2x24xi32>) -> tensor<2x24x48xf32>, res_attrs = [{}], sym_name = "_take", sym_visibility = "private"}> ({
  ^bb0(%arg45: tensor<67x48xf32>, %arg46: tensor<2x24xi32>):
    %241 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %242 = "stablehlo.broadcast_in_dim"(%241) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x24xi32>
    %243 = "stablehlo.compare"(%arg46, %242) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<2x24xi1>
    %244 = "stablehlo.constant"() <{value = dense<67> : tensor<i32>}> : () -> tensor<i32>
    %245 = "stablehlo.broadcast_in_dim"(%244) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x24xi32>
    %246 = "stablehlo.add"(%arg46, %245) : (tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<2x24xi32>
    %247 = "func.call"(%243, %246, %arg46) <{callee = @_where}> : (tensor<2x24xi1>, tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<2x24xi32>
    %248 = "stablehlo.broadcast_in_dim"(%247) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xi32>) -> tensor<2x24x1xi32>
    %249 = "stablehlo.constant"() <{value = dense<66> : tensor<1xi32>}> : () -> tensor<1xi32>
    %250 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %251 = "stablehlo.broadcast_in_dim"(%250) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x24x1xi32>
    %252 = "stablehlo.compare"(%248, %251) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<2x24x1xi32>, tensor<2x24x1xi32>) -> tensor<2x24x1xi1>
    %253 = "stablehlo.broadcast_in_dim"(%249) <{broadcast_dimensions = array<i64: 2>}> : (tensor<1xi32>) -> tensor<1x1x1xi32>
    %254 = "stablehlo.broadcast_in_dim"(%253) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x1xi32>) -> tensor<2x24x1xi32>
    %255 = "stablehlo.compare"(%248, %254) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<2x24x1xi32>, tensor<2x24x1xi32>) -> tensor<2x24x1xi1>
    %256 = "stablehlo.and"(%252, %255) : (tensor<2x24x1xi1>, tensor<2x24x1xi1>) -> tensor<2x24x1xi1>
    %257 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %258 = "stablehlo.reduce"(%256, %257) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg47: tensor<i1>, %arg48: tensor<i1>):
      %264 = "stablehlo.and"(%arg47, %arg48) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      "stablehlo.return"(%264) : (tensor<i1>) -> ()
    }) : (tensor<2x24x1xi1>, tensor<i1>) -> tensor<2x24xi1>
    %259 = "stablehlo.gather"(%arg45, %248) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 48>}> : (tensor<67x48xf32>, tensor<2x24x1xi32>) -> tensor<2x24x48xf32>
    %260 = "stablehlo.broadcast_in_dim"(%258) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xi1>) -> tensor<2x24x48xi1>
    %261 = "stablehlo.constant"() <{value = dense<0x7FC00000> : tensor<f32>}> : () -> tensor<f32>
    %262 = "stablehlo.broadcast_in_dim"(%261) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x48xf32>
    %263 = "stablehlo.select"(%260, %259, %262) : (tensor<2x24x48xi1>, tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    "func.return"(%263) : (tensor<2x24x48xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<2x24xi1>, tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<2x24xi32>, res_attrs = [{}], sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg42: tensor<2x24xi1>, %arg43: tensor<2x24xi32>, %arg44: tensor<2x24xi32>):
    %240 = "stablehlo.select"(%arg42, %arg43, %arg44) : (tensor<2x24xi1>, tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<2x24xi32>
    "func.return"(%240) : (tensor<2x24xi32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<3x96x48xf32>, tensor<i32>) -> tensor<96x48xf32>, res_attrs = [{}], sym_name = "dynamic_index_in_dim", sym_visibility = "private"}> ({
  ^bb0(%arg40: tensor<3x96x48xf32>, %arg41: tensor<i32>):
    %236 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %237 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %238 = "stablehlo.dynamic_slice"(%arg40, %arg41, %236, %237) <{slice_sizes = array<i64: 1, 96, 48>}> : (tensor<3x96x48xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x96x48xf32>
    %239 = "stablehlo.reshape"(%238) : (tensor<1x96x48xf32>) -> tensor<96x48xf32>
    "func.return"(%239) : (tensor<96x48xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<3x48x96xf32>, tensor<i32>) -> tensor<48x96xf32>, res_attrs = [{}], sym_name = "dynamic_index_in_dim_0", sym_visibility = "private"}> ({
  ^bb0(%arg38: tensor<3x48x96xf32>, %arg39: tensor<i32>):
    %232 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %233 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %234 = "stablehlo.dynamic_slice"(%arg38, %arg39, %232, %233) <{slice_sizes = array<i64: 1, 48, 96>}> : (tensor<3x48x96xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x48x96xf32>
    %235 = "stablehlo.reshape"(%234) : (tensor<1x48x96xf32>) -> tensor<48x96xf32>
    "func.return"(%235) : (tensor<48x96xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<3x48x24xf32>, tensor<i32>) -> tensor<48x24xf32>, res_attrs = [{}], sym_name = "dynamic_index_in_dim_1", sym_visibility = "private"}> ({
  ^bb0(%arg36: tensor<3x48x24xf32>, %arg37: tensor<i32>):
    %228 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %229 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %230 = "stablehlo.dynamic_slice"(%arg36, %arg37, %228, %229) <{slice_sizes = array<i64: 1, 48, 24>}> : (tensor<3x48x24xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x48x24xf32>
    %231 = "stablehlo.reshape"(%230) : (tensor<1x48x24xf32>) -> tensor<48x24xf32>
    "func.return"(%231) : (tensor<48x24xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<3x48xf32>, tensor<i32>) -> tensor<48xf32>, res_attrs = [{}], sym_name = "dynamic_index_in_dim_2", sym_visibility = "private"}> ({
  ^bb0(%arg34: tensor<3x48xf32>, %arg35: tensor<i32>):
    %225 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %226 = "stablehlo.dynamic_slice"(%arg34, %arg35, %225) <{slice_sizes = array<i64: 1, 48>}> : (tensor<3x48xf32>, tensor<i32>, tensor<i32>) -> tensor<1x48xf32>
    %227 = "stablehlo.reshape"(%226) : (tensor<1x48xf32>) -> tensor<48xf32>
    "func.return"(%227) : (tensor<48xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<3x48x48xf32>, tensor<i32>) -> tensor<48x48xf32>, res_attrs = [{}], sym_name = "dynamic_index_in_dim_3", sym_visibility = "private"}> ({
  ^bb0(%arg32: tensor<3x48x48xf32>, %arg33: tensor<i32>):
    %221 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %222 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %223 = "stablehlo.dynamic_slice"(%arg32, %arg33, %221, %222) <{slice_sizes = array<i64: 1, 48, 48>}> : (tensor<3x48x48xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x48x48xf32>
    %224 = "stablehlo.reshape"(%223) : (tensor<1x48x48xf32>) -> tensor<48x48xf32>
    "func.return"(%224) : (tensor<48x48xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x24x48xf32>, tensor<96x48xf32>, tensor<48x96xf32>, tensor<48x24xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48x48xf32>, tensor<48x48xf32>, tensor<48x96xf32>, tensor<48x24xf32>) -> tensor<2x24x48xf32>, res_attrs = [{}], sym_name = "closed_call", sym_visibility = "private"}> ({
  ^bb0(%arg14: tensor<2x24x48xf32>, %arg15: tensor<96x48xf32>, %arg16: tensor<48x96xf32>, %arg17: tensor<48x24xf32>, %arg18: tensor<48xf32>, %arg19: tensor<48xf32>, %arg20: tensor<48x48xf32>, %arg21: tensor<48x48xf32>, %arg22: tensor<48x96xf32>, %arg23: tensor<48x24xf32>):
    %63 = "stablehlo.multiply"(%arg14, %arg14) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %64 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %65 = "stablehlo.reduce"(%63, %64) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg30: tensor<f32>, %arg31: tensor<f32>):
      %220 = "stablehlo.add"(%arg30, %arg31) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%220) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %66 = "stablehlo.broadcast_in_dim"(%65) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %67 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %68 = "stablehlo.broadcast_in_dim"(%67) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %69 = "stablehlo.divide"(%66, %68) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %70 = "stablehlo.constant"() <{value = dense<9.99999997E-7> : tensor<f32>}> : () -> tensor<f32>
    %71 = "stablehlo.broadcast_in_dim"(%70) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %72 = "stablehlo.add"(%69, %71) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %73 = "stablehlo.rsqrt"(%72) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %74 = "stablehlo.broadcast_in_dim"(%73) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %75 = "stablehlo.multiply"(%arg14, %74) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %76 = "stablehlo.broadcast_in_dim"(%arg18) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %77 = "stablehlo.broadcast_in_dim"(%76) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %78 = "stablehlo.multiply"(%75, %77) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %79 = "stablehlo.dot_general"(%78, %arg21) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x48xf32>) -> tensor<2x24x48xf32>
    %80 = "stablehlo.reshape"(%79) : (tensor<2x24x48xf32>) -> tensor<2x24x4x12xf32>
    %81 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<6xi32>
    %82 = "stablehlo.negate"(%81) : (tensor<6xi32>) -> tensor<6xi32>
    %83 = "stablehlo.convert"(%82) : (tensor<6xi32>) -> tensor<6xf32>
    %84 = "stablehlo.constant"() <{value = dense<6.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %85 = "stablehlo.broadcast_in_dim"(%84) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<6xf32>
    %86 = "stablehlo.divide"(%83, %85) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
    %87 = "stablehlo.constant"() <{value = dense<1.000000e+04> : tensor<f32>}> : () -> tensor<f32>
    %88 = "stablehlo.broadcast_in_dim"(%87) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<6xf32>
    %89 = "stablehlo.power"(%88, %86) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
    %90 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<24xi32>
    %91 = "stablehlo.broadcast_in_dim"(%90) <{broadcast_dimensions = array<i64: 0>}> : (tensor<24xi32>) -> tensor<24x1xi32>
    %92 = "stablehlo.convert"(%91) : (tensor<24x1xi32>) -> tensor<24x1xf32>
    %93 = "stablehlo.broadcast_in_dim"(%89) <{broadcast_dimensions = array<i64: 1>}> : (tensor<6xf32>) -> tensor<1x6xf32>
    %94 = "stablehlo.broadcast_in_dim"(%92) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<24x1xf32>) -> tensor<24x6xf32>
    %95 = "stablehlo.broadcast_in_dim"(%93) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x6xf32>) -> tensor<24x6xf32>
    %96 = "stablehlo.multiply"(%94, %95) : (tensor<24x6xf32>, tensor<24x6xf32>) -> tensor<24x6xf32>
    %97 = "stablehlo.cosine"(%96) : (tensor<24x6xf32>) -> tensor<24x6xf32>
    %98 = "stablehlo.broadcast_in_dim"(%97) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<24x6xf32>) -> tensor<24x1x6xf32>
    %99 = "stablehlo.sine"(%96) : (tensor<24x6xf32>) -> tensor<24x6xf32>
    %100 = "stablehlo.broadcast_in_dim"(%99) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<24x6xf32>) -> tensor<24x1x6xf32>
    %101 = "stablehlo.slice"(%80) <{limit_indices = array<i64: 2, 24, 4, 6>, start_indices = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x24x4x12xf32>) -> tensor<2x24x4x6xf32>
    %102 = "stablehlo.slice"(%80) <{limit_indices = array<i64: 2, 24, 4, 12>, start_indices = array<i64: 0, 0, 0, 6>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x24x4x12xf32>) -> tensor<2x24x4x6xf32>
    %103 = "stablehlo.broadcast_in_dim"(%98) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<24x1x6xf32>) -> tensor<1x24x1x6xf32>
    %104 = "stablehlo.broadcast_in_dim"(%103) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x24x1x6xf32>) -> tensor<2x24x4x6xf32>
    %105 = "stablehlo.multiply"(%101, %104) : (tensor<2x24x4x6xf32>, tensor<2x24x4x6xf32>) -> tensor<2x24x4x6xf32>
    %106 = "stablehlo.broadcast_in_dim"(%100) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<24x1x6xf32>) -> tensor<1x24x1x6xf32>
    %107 = "stablehlo.broadcast_in_dim"(%106) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x24x1x6xf32>) -> tensor<2x24x4x6xf32>
    %108 = "stablehlo.multiply"(%102, %107) : (tensor<2x24x4x6xf32>, tensor<2x24x4x6xf32>) -> tensor<2x24x4x6xf32>
    %109 = "stablehlo.subtract"(%105, %108) : (tensor<2x24x4x6xf32>, tensor<2x24x4x6xf32>) -> tensor<2x24x4x6xf32>
    %110 = "stablehlo.broadcast_in_dim"(%98) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<24x1x6xf32>) -> tensor<1x24x1x6xf32>
    %111 = "stablehlo.broadcast_in_dim"(%110) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x24x1x6xf32>) -> tensor<2x24x4x6xf32>
    %112 = "stablehlo.multiply"(%102, %111) : (tensor<2x24x4x6xf32>, tensor<2x24x4x6xf32>) -> tensor<2x24x4x6xf32>
    %113 = "stablehlo.broadcast_in_dim"(%100) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<24x1x6xf32>) -> tensor<1x24x1x6xf32>
    %114 = "stablehlo.broadcast_in_dim"(%113) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x24x1x6xf32>) -> tensor<2x24x4x6xf32>
    %115 = "stablehlo.multiply"(%101, %114) : (tensor<2x24x4x6xf32>, tensor<2x24x4x6xf32>) -> tensor<2x24x4x6xf32>
    %116 = "stablehlo.add"(%112, %115) : (tensor<2x24x4x6xf32>, tensor<2x24x4x6xf32>) -> tensor<2x24x4x6xf32>
    %117 = "stablehlo.concatenate"(%109, %116) <{dimension = 3 : i64}> : (tensor<2x24x4x6xf32>, tensor<2x24x4x6xf32>) -> tensor<2x24x4x12xf32>
    %118 = "stablehlo.dot_general"(%78, %arg17) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x24xf32>) -> tensor<2x24x24xf32>
    %119 = "stablehlo.reshape"(%118) : (tensor<2x24x24xf32>) -> tensor<2x24x2x12xf32>
    %120 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<6xi32>
    %121 = "stablehlo.negate"(%120) : (tensor<6xi32>) -> tensor<6xi32>
    %122 = "stablehlo.convert"(%121) : (tensor<6xi32>) -> tensor<6xf32>
    %123 = "stablehlo.constant"() <{value = dense<6.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %124 = "stablehlo.broadcast_in_dim"(%123) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<6xf32>
    %125 = "stablehlo.divide"(%122, %124) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
    %126 = "stablehlo.constant"() <{value = dense<1.000000e+04> : tensor<f32>}> : () -> tensor<f32>
    %127 = "stablehlo.broadcast_in_dim"(%126) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<6xf32>
    %128 = "stablehlo.power"(%127, %125) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
    %129 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<24xi32>
    %130 = "stablehlo.broadcast_in_dim"(%129) <{broadcast_dimensions = array<i64: 0>}> : (tensor<24xi32>) -> tensor<24x1xi32>
    %131 = "stablehlo.convert"(%130) : (tensor<24x1xi32>) -> tensor<24x1xf32>
    %132 = "stablehlo.broadcast_in_dim"(%128) <{broadcast_dimensions = array<i64: 1>}> : (tensor<6xf32>) -> tensor<1x6xf32>
    %133 = "stablehlo.broadcast_in_dim"(%131) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<24x1xf32>) -> tensor<24x6xf32>
    %134 = "stablehlo.broadcast_in_dim"(%132) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x6xf32>) -> tensor<24x6xf32>
    %135 = "stablehlo.multiply"(%133, %134) : (tensor<24x6xf32>, tensor<24x6xf32>) -> tensor<24x6xf32>
    %136 = "stablehlo.cosine"(%135) : (tensor<24x6xf32>) -> tensor<24x6xf32>
    %137 = "stablehlo.broadcast_in_dim"(%136) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<24x6xf32>) -> tensor<24x1x6xf32>
    %138 = "stablehlo.sine"(%135) : (tensor<24x6xf32>) -> tensor<24x6xf32>
    %139 = "stablehlo.broadcast_in_dim"(%138) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<24x6xf32>) -> tensor<24x1x6xf32>
    %140 = "stablehlo.slice"(%119) <{limit_indices = array<i64: 2, 24, 2, 6>, start_indices = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x24x2x12xf32>) -> tensor<2x24x2x6xf32>
    %141 = "stablehlo.slice"(%119) <{limit_indices = array<i64: 2, 24, 2, 12>, start_indices = array<i64: 0, 0, 0, 6>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x24x2x12xf32>) -> tensor<2x24x2x6xf32>
    %142 = "stablehlo.broadcast_in_dim"(%137) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<24x1x6xf32>) -> tensor<1x24x1x6xf32>
    %143 = "stablehlo.broadcast_in_dim"(%142) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x24x1x6xf32>) -> tensor<2x24x2x6xf32>
    %144 = "stablehlo.multiply"(%140, %143) : (tensor<2x24x2x6xf32>, tensor<2x24x2x6xf32>) -> tensor<2x24x2x6xf32>
    %145 = "stablehlo.broadcast_in_dim"(%139) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<24x1x6xf32>) -> tensor<1x24x1x6xf32>
    %146 = "stablehlo.broadcast_in_dim"(%145) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x24x1x6xf32>) -> tensor<2x24x2x6xf32>
    %147 = "stablehlo.multiply"(%141, %146) : (tensor<2x24x2x6xf32>, tensor<2x24x2x6xf32>) -> tensor<2x24x2x6xf32>
    %148 = "stablehlo.subtract"(%144, %147) : (tensor<2x24x2x6xf32>, tensor<2x24x2x6xf32>) -> tensor<2x24x2x6xf32>
    %149 = "stablehlo.broadcast_in_dim"(%137) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<24x1x6xf32>) -> tensor<1x24x1x6xf32>
    %150 = "stablehlo.broadcast_in_dim"(%149) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x24x1x6xf32>) -> tensor<2x24x2x6xf32>
    %151 = "stablehlo.multiply"(%141, %150) : (tensor<2x24x2x6xf32>, tensor<2x24x2x6xf32>) -> tensor<2x24x2x6xf32>
    %152 = "stablehlo.broadcast_in_dim"(%139) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<24x1x6xf32>) -> tensor<1x24x1x6xf32>
    %153 = "stablehlo.broadcast_in_dim"(%152) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x24x1x6xf32>) -> tensor<2x24x2x6xf32>
    %154 = "stablehlo.multiply"(%140, %153) : (tensor<2x24x2x6xf32>, tensor<2x24x2x6xf32>) -> tensor<2x24x2x6xf32>
    %155 = "stablehlo.add"(%151, %154) : (tensor<2x24x2x6xf32>, tensor<2x24x2x6xf32>) -> tensor<2x24x2x6xf32>
    %156 = "stablehlo.concatenate"(%148, %155) <{dimension = 3 : i64}> : (tensor<2x24x2x6xf32>, tensor<2x24x2x6xf32>) -> tensor<2x24x2x12xf32>
    %157 = "stablehlo.dot_general"(%78, %arg23) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x24xf32>) -> tensor<2x24x24xf32>
    %158 = "stablehlo.reshape"(%157) : (tensor<2x24x24xf32>) -> tensor<2x24x2x12xf32>
    %159 = "stablehlo.reshape"(%117) : (tensor<2x24x4x12xf32>) -> tensor<2x24x2x2x12xf32>
    %160 = "stablehlo.dot_general"(%159, %156) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [4], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x2x2x12xf32>, tensor<2x24x2x12xf32>) -> tensor<2x2x24x2x24xf32>
    %161 = "stablehlo.constant"() <{value = dense<0.288675129> : tensor<f32>}> : () -> tensor<f32>
    %162 = "stablehlo.broadcast_in_dim"(%161) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x2x24x2x24xf32>
    %163 = "stablehlo.multiply"(%160, %162) : (tensor<2x2x24x2x24xf32>, tensor<2x2x24x2x24xf32>) -> tensor<2x2x24x2x24xf32>
    %164 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %165 = "stablehlo.broadcast_in_dim"(%164) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<2x2x24x24xi1>
    %166 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %167 = "stablehlo.broadcast_in_dim"(%166) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<24x24xi1>
    %168 = "func.call"(%167) <{callee = @tril}> : (tensor<24x24xi1>) -> tensor<24x24xi1>
    %169 = "stablehlo.broadcast_in_dim"(%168) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<24x24xi1>) -> tensor<1x1x24x24xi1>
    %170 = "stablehlo.broadcast_in_dim"(%169) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x24x24xi1>) -> tensor<2x2x24x24xi1>
    %171 = "stablehlo.and"(%165, %170) : (tensor<2x2x24x24xi1>, tensor<2x2x24x24xi1>) -> tensor<2x2x24x24xi1>
    %172 = "stablehlo.constant"() <{value = dense<-2.38197633E+38> : tensor<f32>}> : () -> tensor<f32>
    %173 = "func.call"(%171, %163, %172) <{callee = @_where_4}> : (tensor<2x2x24x24xi1>, tensor<2x2x24x2x24xf32>, tensor<f32>) -> tensor<2x2x2x24x24xf32>
    %174 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %175 = "stablehlo.reduce"(%173, %174) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg28: tensor<f32>, %arg29: tensor<f32>):
      %219 = "stablehlo.maximum"(%arg28, %arg29) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%219) : (tensor<f32>) -> ()
    }) : (tensor<2x2x2x24x24xf32>, tensor<f32>) -> tensor<2x2x2x24xf32>
    %176 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %177 = "stablehlo.broadcast_in_dim"(%176) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x2x2x24xf32>
    %178 = "stablehlo.maximum"(%177, %175) : (tensor<2x2x2x24xf32>, tensor<2x2x2x24xf32>) -> tensor<2x2x2x24xf32>
    %179 = "stablehlo.broadcast_in_dim"(%178) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x2x2x24xf32>) -> tensor<2x2x2x24x1xf32>
    %180 = "stablehlo.broadcast_in_dim"(%179) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<2x2x2x24x1xf32>) -> tensor<2x2x2x24x24xf32>
    %181 = "stablehlo.subtract"(%173, %180) : (tensor<2x2x2x24x24xf32>, tensor<2x2x2x24x24xf32>) -> tensor<2x2x2x24x24xf32>
    %182 = "stablehlo.exponential"(%181) : (tensor<2x2x2x24x24xf32>) -> tensor<2x2x2x24x24xf32>
    %183 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %184 = "stablehlo.reduce"(%182, %183) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg26: tensor<f32>, %arg27: tensor<f32>):
      %218 = "stablehlo.add"(%arg26, %arg27) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%218) : (tensor<f32>) -> ()
    }) : (tensor<2x2x2x24x24xf32>, tensor<f32>) -> tensor<2x2x2x24xf32>
    %185 = "stablehlo.broadcast_in_dim"(%184) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x2x2x24xf32>) -> tensor<2x2x2x24x1xf32>
    %186 = "stablehlo.broadcast_in_dim"(%185) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<2x2x2x24x1xf32>) -> tensor<2x2x2x24x24xf32>
    %187 = "stablehlo.divide"(%182, %186) : (tensor<2x2x2x24x24xf32>, tensor<2x2x2x24x24xf32>) -> tensor<2x2x2x24x24xf32>
    %188 = "stablehlo.dot_general"(%158, %187) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [1, 2], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [4]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x2x12xf32>, tensor<2x2x2x24x24xf32>) -> tensor<2x2x12x2x24xf32>
    %189 = "stablehlo.transpose"(%188) <{permutation = array<i64: 3, 0, 4, 1, 2>}> : (tensor<2x2x12x2x24xf32>) -> tensor<2x2x24x2x12xf32>
    %190 = "stablehlo.transpose"(%189) <{permutation = array<i64: 1, 2, 3, 0, 4>}> : (tensor<2x2x24x2x12xf32>) -> tensor<2x24x2x2x12xf32>
    %191 = "stablehlo.reshape"(%190) : (tensor<2x24x2x2x12xf32>) -> tensor<2x24x4x12xf32>
    %192 = "stablehlo.reshape"(%191) : (tensor<2x24x4x12xf32>) -> tensor<2x24x48xf32>
    %193 = "stablehlo.dot_general"(%192, %arg20) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x48xf32>) -> tensor<2x24x48xf32>
    %194 = "stablehlo.add"(%arg14, %193) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %195 = "stablehlo.multiply"(%194, %194) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %196 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %197 = "stablehlo.reduce"(%195, %196) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg24: tensor<f32>, %arg25: tensor<f32>):
      %217 = "stablehlo.add"(%arg24, %arg25) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%217) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %198 = "stablehlo.broadcast_in_dim"(%197) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %199 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %200 = "stablehlo.broadcast_in_dim"(%199) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %201 = "stablehlo.divide"(%198, %200) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %202 = "stablehlo.constant"() <{value = dense<9.99999997E-7> : tensor<f32>}> : () -> tensor<f32>
    %203 = "stablehlo.broadcast_in_dim"(%202) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %204 = "stablehlo.add"(%201, %203) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %205 = "stablehlo.rsqrt"(%204) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %206 = "stablehlo.broadcast_in_dim"(%205) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %207 = "stablehlo.multiply"(%194, %206) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %208 = "stablehlo.broadcast_in_dim"(%arg19) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %209 = "stablehlo.broadcast_in_dim"(%208) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %210 = "stablehlo.multiply"(%207, %209) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %211 = "stablehlo.dot_general"(%210, %arg16) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x96xf32>) -> tensor<2x24x96xf32>
    %212 = "func.call"(%211) <{callee = @silu}> : (tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %213 = "stablehlo.dot_general"(%210, %arg22) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x48xf32>, tensor<48x96xf32>) -> tensor<2x24x96xf32>
    %214 = "stablehlo.multiply"(%212, %213) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %215 = "stablehlo.dot_general"(%214, %arg15) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x24x96xf32>, tensor<96x48xf32>) -> tensor<2x24x48xf32>
    %216 = "stablehlo.add"(%194, %215) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    "func.return"(%216) : (tensor<2x24x48xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<24x24xi1>) -> tensor<24x24xi1>, res_attrs = [{}], sym_name = "tril", sym_visibility = "private"}> ({
  ^bb0(%arg13: tensor<24x24xi1>):
    %54 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<24x24xi32>
    %55 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %56 = "stablehlo.broadcast_in_dim"(%55) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<24x24xi32>
    %57 = "stablehlo.add"(%54, %56) : (tensor<24x24xi32>, tensor<24x24xi32>) -> tensor<24x24xi32>
    %58 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<24x24xi32>
    %59 = "stablehlo.compare"(%57, %58) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<24x24xi32>, tensor<24x24xi32>) -> tensor<24x24xi1>
    %60 = "stablehlo.constant"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>
    %61 = "stablehlo.broadcast_in_dim"(%60) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<24x24xi1>
    %62 = "stablehlo.select"(%59, %arg13, %61) : (tensor<24x24xi1>, tensor<24x24xi1>, tensor<24x24xi1>) -> tensor<24x24xi1>
    "func.return"(%62) : (tensor<24x24xi1>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<2x2x24x24xi1>, tensor<2x2x24x2x24xf32>, tensor<f32>) -> tensor<2x2x2x24x24xf32>, res_attrs = [{}], sym_name = "_where_4", sym_visibility = "private"}> ({
  ^bb0(%arg10: tensor<2x2x24x24xi1>, %arg11: tensor<2x2x24x2x24xf32>, %arg12: tensor<f32>):
    %49 = "stablehlo.broadcast_in_dim"(%arg12) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x2x24x24xf32>
    %50 = "stablehlo.broadcast_in_dim"(%arg10) <{broadcast_dimensions = array<i64: 1, 2, 3, 4>}> : (tensor<2x2x24x24xi1>) -> tensor<2x2x2x24x24xi1>
    %51 = "stablehlo.broadcast_in_dim"(%49) <{broadcast_dimensions = array<i64: 1, 2, 3, 4>}> : (tensor<2x2x24x24xf32>) -> tensor<2x2x2x24x24xf32>
    %52 = "stablehlo.transpose"(%arg11) <{permutation = array<i64: 3, 0, 1, 2, 4>}> : (tensor<2x2x24x2x24xf32>) -> tensor<2x2x2x24x24xf32>
    %53 = "stablehlo.select"(%50, %52, %51) : (tensor<2x2x2x24x24xi1>, tensor<2x2x2x24x24xf32>, tensor<2x2x2x24x24xf32>) -> tensor<2x2x2x24x24xf32>
    "func.return"(%53) : (tensor<2x2x2x24x24xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2x24x96xf32>) -> tensor<2x24x96xf32>, res_attrs = [{}], sym_name = "silu", sym_visibility = "private"}> ({
  ^bb0(%arg9: tensor<2x24x96xf32>):
    %40 = "stablehlo.negate"(%arg9) : (tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %41 = "stablehlo.exponential"(%40) : (tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %42 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %43 = "stablehlo.broadcast_in_dim"(%42) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %44 = "stablehlo.add"(%43, %41) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %45 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %46 = "stablehlo.broadcast_in_dim"(%45) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x96xf32>
    %47 = "stablehlo.divide"(%46, %44) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    %48 = "stablehlo.multiply"(%arg9, %47) : (tensor<2x24x96xf32>, tensor<2x24x96xf32>) -> tensor<2x24x96xf32>
    "func.return"(%48) : (tensor<2x24x96xf32>) -> ()
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
