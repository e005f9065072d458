// Meshes and shardings that dist cannot express.
// RUN: tessera-opt %s --allow-unregistered-dialect --stablehlo-to-nn --split-input-file --verify-diagnostics

// Two meshes.
"builtin.module"() ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=4]>, sym_name = "a"}> : () -> ()
  // expected-error @+1 {{expects one mesh but got "b" beside "a"}}
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=2, "y"=2]>, sym_name = "b"}> : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    "func.return"(%x) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// Devices in another order.
"builtin.module"() ({
  // expected-error @+1 {{expects a mesh of named axes, whose devices are in order, but got #sdy.mesh<["x"=4], device_ids=[0, 2, 1, 3]>}}
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=4], device_ids=[0, 2, 1, 3]>, sym_name = "a"}> : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    "func.return"(%x) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// Another number of devices.
// expected-error @+1 {{expects a mesh of mhlo.num_partitions = 8 devices but got 4 devices}}
"builtin.module"() ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=4]>, sym_name = "a"}> : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    "func.return"(%x) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 8 : i32} : () -> ()

// -----

// expected-error @+1 {{expects mhlo.num_replicas = 1 but got 2}}
"builtin.module"() ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=4]>, sym_name = "a"}> : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    "func.return"(%x) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_replicas = 2 : i32} : () -> ()

// -----

// A mesh that is not the program's.
"builtin.module"() ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=4]>, sym_name = "a"}> : () -> ()
  // expected-error @+1 {{expects a sharding over the program's mesh as that of argument 0 but got #sdy.sharding<@b, [{"x"}]>}}
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@b, [{"x"}]>}], function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    "func.return"(%x) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// A sharding of an unsupported form.
"builtin.module"() ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=4]>, sym_name = "a"}> : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    // expected-error @+1 {{expects a sharding over the program's mesh as sharding but got #sdy.sharding<@a, [{x}]>}}
    %0 = "sdy.sharding_constraint"(%x) <{sharding = #sdy.sharding<@a, [{x}]>}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%0) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// An axis that is not in the mesh.
"builtin.module"() ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=4]>, sym_name = "a"}> : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    // expected-error @+1 {{expects an axis of mesh @a but got "y"}}
    %0 = "sdy.sharding_constraint"(%x) <{sharding = #sdy.sharding<@a, [{"y"}]>}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%0) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// The sharding of an op.
"builtin.module"() ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=4]>, sym_name = "a"}> : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    // expected-error @+1 {{expects shardings of arguments, results and constraints but got sdy.sharding = #sdy.sharding_per_value<[<@a, [{"x"}]>]>}}
    %0 = "stablehlo.tanh"(%x) {sdy.sharding = #sdy.sharding_per_value<[<@a, [{"x"}]>]>} : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%0) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// shard_map.
"builtin.module"() ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=4]>, sym_name = "a"}> : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    // expected-error @+1 {{'sdy.manual_computation' op expects an op that has a meaning in nn}}
    %0 = "sdy.manual_computation"(%x) ({
    ^bb0(%y: tensor<1xf32>):
      "sdy.return"(%y) : (tensor<1xf32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%0) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// Tiles that do not nest.
// expected-error @+1 {{expects tiles of mhlo.sharding that nest}}
"builtin.module"() ({
  "func.func"() <{arg_attrs = [{mhlo.sharding = "{devices=[2,3]<=[6]}"}], function_type = (tensor<6x6xf32>) -> tensor<6x6xf32>, res_attrs = [{mhlo.sharding = "{devices=[3,2]<=[6]}"}], sym_name = "main"}> ({
  ^bb0(%x: tensor<6x6xf32>):
    %0 = "stablehlo.tanh"(%x) : (tensor<6x6xf32>) -> tensor<6x6xf32>
    "func.return"(%0) : (tensor<6x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// One device has the whole tensor.
"builtin.module"() ({
  // expected-error @+1 {{expects tiles of devices in order as mhlo.sharding but got "{maximal device=1}"}}
  "func.func"() <{arg_attrs = [{mhlo.sharding = "{maximal device=1}"}], function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    %0 = "stablehlo.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%0) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// Another number of devices.
"builtin.module"() ({
  // expected-error @+1 {{expects tiles of 4 devices as mhlo.sharding but got "{devices=[2]<=[2]}"}}
  "func.func"() <{arg_attrs = [{mhlo.sharding = "{devices=[2]<=[2]}"}], function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    %0 = "stablehlo.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%0) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 4 : i32} : () -> ()

// -----

// Another rank.
"builtin.module"() ({
  // expected-error @+1 {{expects a sharding over the program's mesh as that of argument 0 but got "{devices=[2,2]<=[4]}"}}
  "func.func"() <{arg_attrs = [{mhlo.sharding = "{devices=[2,2]<=[4]}"}], function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    %0 = "stablehlo.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%0) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// Two kinds.
"builtin.module"() ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=4]>, sym_name = "a"}> : () -> ()
  // expected-error @+1 {{expects one kind of shardings but got mhlo.sharding beside sdy.mesh}}
  "func.func"() <{arg_attrs = [{mhlo.sharding = "{devices=[4]<=[4]}"}], function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    "func.return"(%x) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// Other calls.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    // expected-error @+1 {{expects a target that has a meaning in nn but got "SPMDFullToShardShape"}}
    %0 = "stablehlo.custom_call"(%x) <{call_target_name = "SPMDFullToShardShape"}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%0) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    // expected-error @+1 {{expects dimensions below 1, each once, as unspecified_dims but got 1}}
    %0 = "stablehlo.custom_call"(%x) <{backend_config = "unspecified_dims=[1]", call_target_name = "Sharding"}> {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%0) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
