// One error for each op that cannot be imported, at the op.
// RUN: tessera-opt --allow-unregistered-dialect %s --stablehlo-to-nn --split-input-file --verify-diagnostics

// An unknown op.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    // expected-error @+1 {{'stablehlo.rng_bit_generator' op expects an op that has a meaning in nn}}
    %r = "stablehlo.rng_bit_generator"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%r) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// An op of another dialect.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    // expected-error @+1 {{'vhlo.add_v1' op expects an op that has a meaning in nn}}
    %r = "vhlo.add_v1"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%r) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// Too few operands.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    // expected-error @+1 {{expects 2 operands and 1 results but got 1 and 1}}
    %r = "stablehlo.add"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%r) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// Operands of two types.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>, %y: tensor<5xf32>):
    // expected-error @+1 {{expects operands of one type but got 'tensor<4xf32>' and 'tensor<5xf32>'}}
    %r = "stablehlo.add"(%x, %y) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    "func.return"(%r) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// A result of another type.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<5xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    // expected-error @+1 {{expects a result of 'tensor<4xf32>' but got 'tensor<5xf32>'}}
    %r = "stablehlo.tanh"(%x) : (tensor<4xf32>) -> tensor<5xf32>
    "func.return"(%r) : (tensor<5xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// A dynamic result.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<?xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    // expected-error @+1 {{expects a tensor of static shape as a result but got 'tensor<?xf32>'}}
    %r = "stablehlo.tanh"(%x) : (tensor<4xf32>) -> tensor<?xf32>
    "func.return"(%r) : (tensor<?xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// An element type without this op.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xi32>) -> tensor<4xi32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xi32>):
    // expected-error @+1 {{expects elements that it has a meaning for but got 'tensor<4xi32>'}}
    %r = "stablehlo.tanh"(%x) : (tensor<4xi32>) -> tensor<4xi32>
    "func.return"(%r) : (tensor<4xi32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// A missing attribute.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x3xf32>) -> tensor<3x2xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<2x3xf32>):
    // expected-error @+1 {{expects a list of integers as permutation}}
    %r = "stablehlo.transpose"(%x) : (tensor<2x3xf32>) -> tensor<3x2xf32>
    "func.return"(%r) : (tensor<3x2xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// A dimension twice.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x3xf32>) -> tensor<3x2xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<2x3xf32>):
    // expected-error @+1 {{expects dimensions below 2, each once, as permutation but got 1}}
    %r = "stablehlo.transpose"(%x) <{permutation = array<i64: 1, 1>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
    "func.return"(%r) : (tensor<3x2xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// An unknown comparison.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xi1>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    // expected-error @+1 {{expects a comparison by EQ, NE, GE, GT, LE or LT, not in total order}}
    %r = "stablehlo.compare"(%x, %x) <{comparison_direction = #stablehlo<comparison_direction LTE>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    "func.return"(%r) : (tensor<4xi1>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// A matmul with an unknown field.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<f32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    // expected-error @+1 {{expects #stablehlo.dot<...> as dot_dimension_numbers}}
    %r = "stablehlo.dot_general"(%x, %x) <{dot_dimension_numbers = #stablehlo.dot<lhs_dimensions = [0], rhs_contracting_dimensions = [0]>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
    "func.return"(%r) : (tensor<f32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// Sizes of a matmul that differ.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>, tensor<5xf32>) -> tensor<f32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>, %y: tensor<5xf32>):
    // expected-error @+1 {{expects equal sizes of dimensions that are shared}}
    %r = "stablehlo.dot_general"(%x, %y) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>}> : (tensor<4xf32>, tensor<5xf32>) -> tensor<f32>
    "func.return"(%r) : (tensor<f32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// A slice beyond the tensor.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    // expected-error @+1 {{expects a slice inside 'tensor<4xf32>' but got 1 to 5 by 1}}
    %r = "stablehlo.slice"(%x) <{start_indices = array<i64: 1>, limit_indices = array<i64: 5>, strides = array<i64: 1>}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%r) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// An offset that is no integer.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>, tensor<f32>) -> tensor<2xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>, %y: tensor<f32>):
    // expected-error @+1 {{expects integers as offsets but got 'tensor<f32>'}}
    %r = "stablehlo.dynamic_slice"(%x, %y) <{slice_sizes = array<i64: 2>}> : (tensor<4xf32>, tensor<f32>) -> tensor<2xf32>
    "func.return"(%r) : (tensor<2xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// A lookup of too many integers.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<65536x2xi32>, tensor<1024x1xi32>) -> tensor<1024x2xi32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<65536x2xi32>, %y: tensor<1024x1xi32>):
    // expected-error @+1 {{expects floats, or integers of at most 16777216 pairs of a row and an id, but got 65536 and 1024}}
    %r = "stablehlo.gather"(%x, %y) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}> : (tensor<65536x2xi32>, tensor<1024x1xi32>) -> tensor<1024x2xi32>
    "func.return"(%r) : (tensor<1024x2xi32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// A gather of integers of a batch.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<3x6xi32>, tensor<3x1xi32>) -> tensor<3xi32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<3x6xi32>, %y: tensor<3x1xi32>):
    // expected-error @+1 {{expects floats of a batch but got 'tensor<3x6xi32>'}}
    %r = "stablehlo.gather"(%x, %y) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<3x6xi32>, tensor<3x1xi32>) -> tensor<3xi32>
    "func.return"(%r) : (tensor<3xi32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// Gathers whose numbers do not fit their operands.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<3x1xi32>) -> tensor<3x6xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4x6xf32>, %y: tensor<3x1xi32>):
    // expected-error @+1 {{expects slice_sizes inside the operand, 1 of a dimension that is dropped, but got 2 of 4}}
    %r = "stablehlo.gather"(%x, %y) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 2, 6>}> : (tensor<4x6xf32>, tensor<3x1xi32>) -> tensor<3x6xf32>
    "func.return"(%r) : (tensor<3x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// Fewer coordinates than indexed dimensions.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<3x1xi32>) -> tensor<3x6xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4x6xf32>, %y: tensor<3x1xi32>):
    // expected-error @+1 {{expects 2 coordinates along index_vector_dim}}
    %r = "stablehlo.gather"(%x, %y) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>}> : (tensor<4x6xf32>, tensor<3x1xi32>) -> tensor<3x6xf32>
    "func.return"(%r) : (tensor<3x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// Batches of two sizes.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<3x1xi32>) -> tensor<3x2xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4x6xf32>, %y: tensor<3x1xi32>):
    // expected-error @+1 {{expects batching dimensions of equal sizes}}
    %r = "stablehlo.gather"(%x, %y) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}> : (tensor<4x6xf32>, tensor<3x1xi32>) -> tensor<3x2xf32>
    "func.return"(%r) : (tensor<3x2xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// More offsets than dimensions that remain.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<3x1xi32>) -> tensor<3x6xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4x6xf32>, %y: tensor<3x1xi32>):
    // expected-error @+1 {{expects 1 ascending offset_dims}}
    %r = "stablehlo.gather"(%x, %y) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>}> : (tensor<4x6xf32>, tensor<3x1xi32>) -> tensor<3x6xf32>
    "func.return"(%r) : (tensor<3x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// A sort of integers of 64 bits.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xi64>) -> (tensor<4xi64>), sym_name = "main"}> ({
  ^bb0(%x0: tensor<4xi64>):
    // expected-error @+1 {{expects floats that are sorted by LT or GT, of which zeros are equal and NaN is above all, or integers of at most 32 bits, but got 'tensor<4xi64>'}}
    %r = "stablehlo.sort"(%x0) <{dimension = 0 : i64}> ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %p = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i64>, tensor<i64>) -> tensor<i1>
      "stablehlo.return"(%p) : (tensor<i1>) -> ()
    }) : (tensor<4xi64>) -> tensor<4xi64>
    "func.return"(%r) : (tensor<4xi64>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// A sort in total order, in which zeros differ.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>) -> (tensor<4xf32>), sym_name = "main"}> ({
  ^bb0(%x0: tensor<4xf32>):
    // expected-error @+1 {{expects floats that are sorted by LT or GT, of which zeros are equal and NaN is above all, or integers of at most 32 bits, but got 'tensor<4xf32>'}}
    %r = "stablehlo.sort"(%x0) <{dimension = 0 : i64}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %p = "stablehlo.compare"(%a, %b) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%p) : (tensor<i1>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%r) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// Integers of their own beside the keys.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4xf32>, tensor<2x4xi32>) -> (tensor<2x4xi32>), sym_name = "main"}> ({
  ^bb0(%x0: tensor<2x4xf32>, %x1: tensor<2x4xi32>):
    // expected-error @+1 {{expects floats, or one list of integers for all rows, beside the keys but got 'tensor<2x4xi32>'}}
    %r:2 = "stablehlo.sort"(%x0, %x1) <{dimension = 1 : i64}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
      %p = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%p) : (tensor<i1>) -> ()
    }) : (tensor<2x4xf32>, tensor<2x4xi32>) -> (tensor<2x4xf32>, tensor<2x4xi32>)
    "func.return"(%r#1) : (tensor<2x4xi32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// A reduction of two tensors that is no argmax.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>), sym_name = "main"}> ({
  ^bb0(%x0: tensor<4xf32>, %x1: tensor<4xi32>, %x2: tensor<f32>, %x3: tensor<i32>):
    // expected-error @+1 {{expects a reduction of two tensors that is an argmax or an argmin along one dimension}}
    %r:2 = "stablehlo.reduce"(%x0, %x1, %x2, %x3) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %i: tensor<i32>, %b: tensor<f32>, %j: tensor<i32>):
      %p = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %q = "stablehlo.add"(%i, %j) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%p, %q) : (tensor<f32>, tensor<i32>) -> ()
    }) : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
    "func.return"(%r#0, %r#1) : (tensor<f32>, tensor<i32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// A window of many elements.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<32xf32>) -> (tensor<16xf32>), sym_name = "main"}> ({
  ^bb0(%x0: tensor<32xf32>):
    %s = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    // expected-error @+1 {{expects a cumulative reduction, or windows of at most 16 elements inside the tensor}}
    %r = "stablehlo.reduce_window"(%x0, %s) <{window_dimensions = array<i64: 17>, padding = dense<[[0, 0]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %p = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%p) : (tensor<f32>) -> ()
    }) : (tensor<32xf32>, tensor<f32>) -> tensor<16xf32>
    "func.return"(%r) : (tensor<16xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// A window by another op.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<32xf32>) -> (tensor<31xf32>), sym_name = "main"}> ({
  ^bb0(%x0: tensor<32xf32>):
    %s = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    // expected-error @+1 {{expects a reduction by add, multiply, maximum or minimum}}
    %r = "stablehlo.reduce_window"(%x0, %s) <{window_dimensions = array<i64: 2>, padding = dense<[[0, 0]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %p = "stablehlo.power"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%p) : (tensor<f32>) -> ()
    }) : (tensor<32xf32>, tensor<f32>) -> tensor<31xf32>
    "func.return"(%r) : (tensor<31xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// Padding that removes elements.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<32xf32>) -> (tensor<30xf32>), sym_name = "main"}> ({
  ^bb0(%x0: tensor<32xf32>):
    %s = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    // expected-error @+1 {{expects padding that adds elements but got -1}}
    %r = "stablehlo.reduce_window"(%x0, %s) <{window_dimensions = array<i64: 2>, padding = dense<[[-1, 0]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %p = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%p) : (tensor<f32>) -> ()
    }) : (tensor<32xf32>, tensor<f32>) -> tensor<30xf32>
    "func.return"(%r) : (tensor<30xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// A call of an unknown function.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    // expected-error @+1 {{expects a function with a body as decomposition}}
    %r = "stablehlo.composite"(%x) <{callee = @nothing}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%r) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// A reduction by another op.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>, tensor<f32>) -> tensor<f32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>, %y: tensor<f32>):
    // expected-error @+1 {{expects a reduction by add, multiply, maximum, minimum, and, or}}
    %r = "stablehlo.reduce"(%x, %y) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %p = "stablehlo.power"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%p) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    "func.return"(%r) : (tensor<f32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// A loop whose trip count is an input.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<i1>) -> tensor<i1>, sym_name = "main"}> ({
  ^bb0(%x: tensor<i1>):
    // expected-error @+1 {{expects a number of trips that follows from constants}}
    %r = "stablehlo.while"(%x) ({
    ^bb0(%i: tensor<i1>):
      "stablehlo.return"(%i) : (tensor<i1>) -> ()
    }, {
    ^bb0(%i: tensor<i1>):
      "stablehlo.return"(%i) : (tensor<i1>) -> ()
    }) : (tensor<i1>) -> tensor<i1>
    "func.return"(%r) : (tensor<i1>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// A loop without an end.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    // expected-error @+1 {{expects at most 262144 ops once calls are inlined and loops unrolled}}
    %r = "stablehlo.while"(%x) ({
    ^bb0(%i: tensor<4xf32>):
      %t = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
      "stablehlo.return"(%t) : (tensor<i1>) -> ()
    }, {
    ^bb0(%i: tensor<4xf32>):
      "stablehlo.return"(%i) : (tensor<4xf32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%r) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// A function that calls itself.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    %s = "stablehlo.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error @+1 {{expects calls and loops nested at most 64 deep}}
    %r = "func.call"(%s) <{callee = @main}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%r) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// An argument without a static shape.
"builtin.module"() ({
  // expected-error @+1 {{expects a tensor of static shape as an argument but got 'tensor<?xf32>'}}
  "func.func"() <{function_type = (tensor<?xf32>) -> tensor<?xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<?xf32>):
    %r = "stablehlo.tanh"(%x) : (tensor<?xf32>) -> tensor<?xf32>
    "func.return"(%r) : (tensor<?xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// A program of several partitions.
// expected-error @+1 {{expects a mesh of mhlo.num_partitions = 4 devices but got no mesh}}
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    %r = "stablehlo.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%r) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 4 : i32} : () -> ()

// -----

// No function to start with.
// expected-error @+1 {{expects a function @main or one public function but got 0 public ones}}
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f", sym_visibility = "private"}> ({
  ^bb0(%x: tensor<4xf32>):
    %r = "stablehlo.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%r) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// Lists that are missing: the first one is named.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>, %zero: tensor<f32>):
    // expected-error @+1 {{expects a list of integers as edge_padding_low}}
    %r = "stablehlo.pad"(%x, %zero) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    "func.return"(%r) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    // expected-error @+1 {{expects a list of integers as limit_indices}}
    %r = "stablehlo.slice"(%x) <{start_indices = array<i64: 0>}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%r) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// A choice of more elements than a row has.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x7xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4x6xf32>):
    // expected-error @+1 {{expects k in [1, 6]}}
    %r:2 = "chlo.top_k"(%x) <{k = 7 : i64}> : (tensor<4x6xf32>) -> (tensor<4x7xf32>, tensor<4x7xi32>)
    "func.return"(%r#0) : (tensor<4x7xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// A choice of integers of 64 bits.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x6xi64>) -> tensor<4x2xi32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4x6xi64>):
    // expected-error @+1 {{expects a row of floats, or of integers of at most 32 bits, but got 'tensor<4x6xi64>'}}
    %r:2 = "chlo.top_k"(%x) <{k = 2 : i64}> : (tensor<4x6xi64>) -> (tensor<4x2xi64>, tensor<4x2xi32>)
    "func.return"(%r#1) : (tensor<4x2xi32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// Experts without an activation.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4x6xf32>):
    // expected-error @+1 {{expects silu, gelu or gelu_tanh as activation in mhlo.backend_config}}
    %r = "stablehlo.custom_call"(%x) <{call_target_name = "nn.experts"}> {mhlo.backend_config = {activation = "relu"}} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%r) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// Experts without weights.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4x6xf32>):
    // expected-error @+1 {{expects x, ids, gates and three weights, and one result}}
    %r = "stablehlo.custom_call"(%x) <{call_target_name = "nn.experts"}> {mhlo.backend_config = {activation = "silu"}} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%r) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// A scatter of the largest update.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<3x1xi32>, tensor<3x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4x6xf32>, %i: tensor<3x1xi32>, %u: tensor<3x6xf32>):
    // expected-error @+1 {{expects a body that adds numbers or returns the update}}
    %r = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = "stablehlo.maximum"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%c) : (tensor<f32>) -> ()
    }) : (tensor<4x6xf32>, tensor<3x1xi32>, tensor<3x6xf32>) -> tensor<4x6xf32>
    "func.return"(%r) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// Windows at indices that may be partly out of range.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<3x1xi32>, tensor<3x2x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4x6xf32>, %i: tensor<3x1xi32>, %u: tensor<3x2x6xf32>):
    // expected-error @+1 {{expects indices of windows that are constants or clamped, so that no window is partly outside of 'tensor<4x6xf32>'}}
    %r = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%c) : (tensor<f32>) -> ()
    }) : (tensor<4x6xf32>, tensor<3x1xi32>, tensor<3x2x6xf32>) -> tensor<4x6xf32>
    "func.return"(%r) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// Updates that are larger than the operand.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<3x1xi32>, tensor<3x7xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4x6xf32>, %i: tensor<3x1xi32>, %u: tensor<3x7xf32>):
    // expected-error @+1 {{expects updates inside the operand but got 7 of 6}}
    %r = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%c) : (tensor<f32>) -> ()
    }) : (tensor<4x6xf32>, tensor<3x1xi32>, tensor<3x7xf32>) -> tensor<4x6xf32>
    "func.return"(%r) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// More updates than indices.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<3x1xi32>, tensor<5x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4x6xf32>, %i: tensor<3x1xi32>, %u: tensor<5x6xf32>):
    // expected-error @+1 {{expects updates with the dimensions of the indices and 1 ascending update_window_dims but got 'tensor<5x6xf32>'}}
    %r = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%c) : (tensor<f32>) -> ()
    }) : (tensor<4x6xf32>, tensor<3x1xi32>, tensor<5x6xf32>) -> tensor<4x6xf32>
    "func.return"(%r) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// Fewer coordinates than indexed dimensions.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4x6xf32>, %i: tensor<3x1xi32>, %u: tensor<3xf32>):
    // expected-error @+1 {{expects 2 coordinates along index_vector_dim}}
    %r = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%c) : (tensor<f32>) -> ()
    }) : (tensor<4x6xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<4x6xf32>
    "func.return"(%r) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// Batches of two sizes.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4x6xf32>, %i: tensor<3x1xi32>, %u: tensor<3xf32>):
    // expected-error @+1 {{expects batching dimensions of equal sizes}}
    %r = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%c) : (tensor<f32>) -> ()
    }) : (tensor<4x6xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<4x6xf32>
    "func.return"(%r) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// Updates of other elements.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<3x1xi32>, tensor<3x6xbf16>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4x6xf32>, %i: tensor<3x1xi32>, %u: tensor<3x6xbf16>):
    // expected-error @+1 {{expects updates of 'f32' but got 'tensor<3x6xbf16>'}}
    %r = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      "stablehlo.return"(%b) : (tensor<f32>) -> ()
    }) : (tensor<4x6xf32>, tensor<3x1xi32>, tensor<3x6xbf16>) -> tensor<4x6xf32>
    "func.return"(%r) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()
