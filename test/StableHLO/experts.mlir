// A choice and its elements; JAX's wrapping of the chosen positions is dropped; a custom call is experts.
// RUN: tessera-opt --allow-unregistered-dialect %s --stablehlo-to-nn | FileCheck %s

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[S:arg0]]: tensor<4x8xf32>
// CHECK-SAME: %[[X:arg1]]: tensor<4x16xf32>
// CHECK-SAME: %[[G:arg2]]: tensor<8x16x12xf32> {{.*}}, %[[U:arg3]]: {{.*}}, %[[D:arg4]]:
// CHECK-NEXT: %[[IDS:.+]] = nn.top_k 2 %[[S]] : tensor<4x8xf32> -> tensor<4x2xi32>
// CHECK-NEXT: %[[BEST:.+]] = nn.take_along_axis %[[S]], %[[IDS]] : tensor<4x8xf32>, tensor<4x2xi32> -> tensor<4x2xf32>
// CHECK: %[[GATES:.+]] = nn.take_along_axis %[[S]], %[[IDS]] : tensor<4x8xf32>, tensor<4x2xi32> -> tensor<4x2xf32>
// CHECK-NEXT: %[[Y:.+]] = nn.experts <silu> of 8 %[[X]], %[[IDS]], %[[GATES]], %[[G]], %[[U]], %[[D]] :
// CHECK-NEXT: return %[[Y]], %[[BEST]]
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x16xf32>, tensor<8x16x12xf32>, tensor<8x16x12xf32>, tensor<8x12x16xf32>) -> (tensor<4x16xf32>, tensor<4x2xf32>), sym_name = "main"}> ({
  ^bb0(%scores: tensor<4x8xf32>, %x: tensor<4x16xf32>, %gate: tensor<8x16x12xf32>, %up: tensor<8x16x12xf32>, %down: tensor<8x12x16xf32>):
    %best:2 = "chlo.top_k"(%scores) <{k = 2 : i64}> : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
    %c0 = "stablehlo.constant"() <{value = dense<0> : tensor<4x2xi32>}> : () -> tensor<4x2xi32>
    %c8 = "stablehlo.constant"() <{value = dense<8> : tensor<4x2xi32>}> : () -> tensor<4x2xi32>
    %isNegative = "stablehlo.compare"(%best#1, %c0) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4x2xi32>, tensor<4x2xi32>) -> tensor<4x2xi1>
    %moved = "stablehlo.add"(%best#1, %c8) : (tensor<4x2xi32>, tensor<4x2xi32>) -> tensor<4x2xi32>
    %wrapped = "stablehlo.select"(%isNegative, %moved, %best#1) : (tensor<4x2xi1>, tensor<4x2xi32>, tensor<4x2xi32>) -> tensor<4x2xi32>
    %index = "stablehlo.reshape"(%wrapped) : (tensor<4x2xi32>) -> tensor<4x2x1xi32>
    %gates = "stablehlo.gather"(%scores, %index) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<4x8xf32>, tensor<4x2x1xi32>) -> tensor<4x2xf32>
    %y = "stablehlo.custom_call"(%x, %best#1, %gates, %gate, %up, %down) <{api_version = 1 : i32, call_target_name = "nn.experts"}> {mhlo.backend_config = {activation = "silu"}} : (tensor<4x16xf32>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x16x12xf32>, tensor<8x16x12xf32>, tensor<8x12x16xf32>) -> tensor<4x16xf32>
    "func.return"(%y, %best#0) : (tensor<4x16xf32>, tensor<4x2xf32>) -> ()
  }) : () -> ()
}) : () -> ()
