// Shardings by tiles of devices: the mesh has an axis between boundaries.
// RUN: tessera-opt %s --allow-unregistered-dialect --stablehlo-to-nn | FileCheck %s

// CHECK-LABEL: module @jit_f
// CHECK-NEXT: dist.mesh @mesh ["d0"=2, "d1"=2]
// CHECK-NEXT: func.func @forward(
// CHECK-SAME: %[[W:.+]]: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"d1"}]>, nn.param = "w"}
// CHECK-SAME: %[[X:.+]]: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"d0"}, {}]>, nn.param = "x"}
// CHECK-SAME: -> (tensor<4x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>, nn.output = "result"})
// CHECK-NEXT: %[[Y:.+]] = nn.einsum {{.*}} %[[X]], %[[W]]
// CHECK-NEXT: %[[C:.+]] = dist.constraint %[[Y]] <@mesh, [{"d1", "d0"}, {?}]> : tensor<4x16xf32>
// CHECK-NEXT: return %[[C]]
"builtin.module"() <{sym_name = "jit_f"}> ({
  "func.func"() <{arg_attrs = [{mhlo.sharding = "{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}"}, {mhlo.sharding = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"}], function_type = (tensor<8x16xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>, res_attrs = [{jax.result_info = "result", mhlo.sharding = "{replicated}"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%w: tensor<8x16xf32> loc("w"), %x: tensor<4x8xf32> loc("x")):
    %0 = "stablehlo.dot_general"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %1 = "stablehlo.custom_call"(%0) <{api_version = 1 : i32, backend_config = "unspecified_dims=[1]", call_target_name = "Sharding", called_computations = [], has_side_effect = false}> {mhlo.sharding = "{devices=[4,1]<=[2,2]T(1,0)}"} : (tensor<4x16xf32>) -> tensor<4x16xf32>
    "func.return"(%1) : (tensor<4x16xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
