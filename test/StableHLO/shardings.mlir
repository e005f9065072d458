// A mesh, and the shardings of arguments, results and constraints; sub-axes and
// open dimensions have the same notation.
// RUN: tessera-opt %s --allow-unregistered-dialect --stablehlo-to-nn | FileCheck %s

// CHECK-LABEL: module @jit_f
// CHECK-NEXT: dist.mesh @devices ["dp"=2, "tp"=4]
// CHECK-NEXT: func.func @forward(
// CHECK-SAME: %[[W:.+]]: tensor<8x16xf32> {dist.sharding = #dist.sharding<@devices, [{}, {"tp"}]>, nn.param = "w"}
// CHECK-SAME: %[[X:.+]]: tensor<4x8xf32> {dist.sharding = #dist.sharding<@devices, [{"dp", ?}, {?}], replicated={"tp":(1)2}>, nn.param = "x"}
// CHECK-SAME: -> (tensor<4x16xf32> {dist.sharding = #dist.sharding<@devices, [{"dp"}, {}]>, nn.output = "result"})
// CHECK-NEXT: %[[Y:.+]] = nn.einsum {{.*}} %[[X]], %[[W]]
// CHECK-NEXT: %[[C:.+]] = dist.constraint %[[Y]] <@devices, [{"dp"}, {"tp":(2)2}p1]> : tensor<4x16xf32>
// CHECK-NEXT: %[[R:.+]] = dist.constraint %[[C]] <@devices, [{}, {}]> : tensor<4x16xf32>
// CHECK-NEXT: return %[[R]]
"builtin.module"() <{sym_name = "jit_f"}> ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["dp"=2, "tp"=4]>, sym_name = "devices"}> : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@devices, [{}, {"tp"}]>}, {sdy.sharding = #sdy.sharding<@devices, [{"dp", ?}, {?}], replicated={"tp":(1)2}>}], function_type = (tensor<8x16xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>, res_attrs = [{jax.result_info = "result", sdy.sharding = #sdy.sharding<@devices, [{"dp"}, {}]>}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%w: tensor<8x16xf32> loc("w"), %x: tensor<4x8xf32> loc("x")):
    %0 = "stablehlo.dot_general"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %1 = "sdy.sharding_constraint"(%0) <{sharding = #sdy.sharding<@devices, [{"dp"}, {"tp":(2)2}p1]>}> : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %2 = "sdy.reshard"(%1) <{sharding = #sdy.sharding<@devices, [{}, {}]>}> : (tensor<4x16xf32>) -> tensor<4x16xf32>
    "func.return"(%2) : (tensor<4x16xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
