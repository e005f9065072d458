// One op of each kind that JAX transformers use, in MLIR's generic form.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x8xi32>, tensor<16x6xf32>, tensor<6x3x4xf32>, tensor<2x8x6xf32>) -> (tensor<2x8x3x4xf32>, tensor<2x6xf32>, tensor<2x8xf32>, tensor<2x16xf32>), res_attrs = [{jax.result_info = "result['heads']"}, {jax.result_info = "result['mean'][0]"}, {}, {}], sym_name = "main"}> ({
  ^bb0(%ids: tensor<2x8xi32> loc("batch['ids']"), %table: tensor<16x6xf32> loc("params['wte']"), %w: tensor<6x3x4xf32> loc("params['blocks'][0]['w']"), %image: tensor<2x8x6xf32> loc("batch['image']")):
    %c0 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %c16 = "stablehlo.constant"() <{value = dense<16> : tensor<i32>}> : () -> tensor<i32>
    %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %lowest = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %zeros = "stablehlo.broadcast_in_dim"(%c0) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x8xi32>
    %sizes = "stablehlo.broadcast_in_dim"(%c16) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x8xi32>
    %isNegative = "stablehlo.compare"(%ids, %zeros) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2x8xi32>, tensor<2x8xi32>) -> tensor<2x8xi1>
    %wrapped = "stablehlo.add"(%ids, %sizes) : (tensor<2x8xi32>, tensor<2x8xi32>) -> tensor<2x8xi32>
    %rows = "stablehlo.select"(%isNegative, %wrapped, %ids) : (tensor<2x8xi1>, tensor<2x8xi32>, tensor<2x8xi32>) -> tensor<2x8xi32>
    %index = "stablehlo.broadcast_in_dim"(%rows) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x8xi32>) -> tensor<2x8x1xi32>
    %x0 = "stablehlo.gather"(%table, %index) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 6>}> : (tensor<16x6xf32>, tensor<2x8x1xi32>) -> tensor<2x8x6xf32>
    %x = "func.call"(%x0, %image) <{callee = @residual}> : (tensor<2x8x6xf32>, tensor<2x8x6xf32>) -> tensor<2x8x6xf32>
    %heads = "stablehlo.dot_general"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x8x6xf32>, tensor<6x3x4xf32>) -> tensor<2x8x3x4xf32>
    %sum = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<2x8x6xf32>, tensor<f32>) -> tensor<2x6xf32>
    %largest = "stablehlo.reduce"(%x, %lowest) <{dimensions = array<i64: 2>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.maximum"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<2x8x6xf32>, tensor<f32>) -> tensor<2x8xf32>
    %count = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<2x8xf32>
    %both = "stablehlo.concatenate"(%largest, %count) <{dimension = 1 : i64}> : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x16xf32>
    %part = "stablehlo.slice"(%both) <{limit_indices = array<i64: 2, 16>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 2>}> : (tensor<2x16xf32>) -> tensor<2x8xf32>
    %padded = "stablehlo.pad"(%part, %zero) <{edge_padding_high = array<i64: 0, 5>, edge_padding_low = array<i64: 0, 3>, interior_padding = array<i64: 0, 0>}> : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x16xf32>
    %three = "stablehlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
    %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %loop:2 = "stablehlo.while"(%c0, %largest) ({
    ^bb0(%i: tensor<i32>, %y: tensor<2x8xf32>):
      %goes = "stablehlo.compare"(%i, %three) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%goes) : (tensor<i1>) -> ()
    }, {
    ^bb0(%i: tensor<i32>, %y: tensor<2x8xf32>):
      %row = "stablehlo.dynamic_slice"(%table, %i, %c0) <{slice_sizes = array<i64: 1, 1>}> : (tensor<16x6xf32>, tensor<i32>, tensor<i32>) -> tensor<1x1xf32>
      %scalar = "stablehlo.reshape"(%row) : (tensor<1x1xf32>) -> tensor<f32>
      %scale = "stablehlo.broadcast_in_dim"(%scalar) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x8xf32>
      %z = "stablehlo.multiply"(%y, %scale) : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
      %j = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%j, %z) : (tensor<i32>, tensor<2x8xf32>) -> ()
    }) : (tensor<i32>, tensor<2x8xf32>) -> (tensor<i32>, tensor<2x8xf32>)
    "func.return"(%heads, %sum, %loop#1, %padded) : (tensor<2x8x3x4xf32>, tensor<2x6xf32>, tensor<2x8xf32>, tensor<2x16xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x8x6xf32>, tensor<2x8x6xf32>) -> tensor<2x8x6xf32>, sym_name = "residual", sym_visibility = "private"}> ({
  ^bb0(%x: tensor<2x8x6xf32>, %y: tensor<2x8x6xf32>):
    %gate = "stablehlo.logistic"(%y) : (tensor<2x8x6xf32>) -> tensor<2x8x6xf32>
    %z = "stablehlo.multiply"(%gate, %y) : (tensor<2x8x6xf32>, tensor<2x8x6xf32>) -> tensor<2x8x6xf32>
    %sum = "stablehlo.add"(%x, %z) : (tensor<2x8x6xf32>, tensor<2x8x6xf32>) -> tensor<2x8x6xf32>
    "func.return"(%sum) : (tensor<2x8x6xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
