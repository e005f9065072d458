// Results of ops on constants, computed by the interpreter: the values that the
// definitions give.
// RUN: tessera-opt --allow-unregistered-dialect %s --tessera-import --split-input-file | FileCheck %s

// CHECK-LABEL: @floats
// CHECK-DAG: %[[SIGN:.+]] = arith.constant dense<[-1.000000e+00, 0.000000e+00, 1.000000e+00, 1.000000e+00]>
// CHECK-DAG: %[[CLAMP:.+]] = arith.constant dense<[-2.000000e+00, 0.000000e+00, 2.500000e+00, 3.000000e+00]>
// CHECK-DAG: %[[EVEN:.+]] = arith.constant dense<[-4.000000e+00, 0.000000e+00, 2.000000e+00, 4.000000e+00]>
// CHECK-DAG: %[[AWAY:.+]] = arith.constant dense<[-4.000000e+00, 0.000000e+00, 3.000000e+00, 4.000000e+00]>
// CHECK-DAG: %[[REM:.+]] = arith.constant dense<[-1.500000e+00, 0.000000e+00, 5.000000e-01, 0.000000e+00]>
// CHECK-DAG: %[[INT:.+]] = arith.constant dense<[-3, 0, 2, 4]> : tensor<4xi32>
// CHECK-DAG: %[[BOOL:.+]] = arith.constant dense<[true, false, true, true]>
// CHECK-DAG: %[[NARROW:.+]] = arith.constant dense<[-3.500000e+00, 0.000000e+00, 2.500000e+00, 4.000000e+00]>
// CHECK: return %[[SIGN]], %[[CLAMP]], %[[EVEN]], %[[AWAY]], %[[REM]], %[[INT]], %[[BOOL]], %[[NARROW]]
"builtin.module"() <{sym_name = "floats"}> ({
  "func.func"() <{function_type = () -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi1>, tensor<4xf32>), sym_name = "main"}> ({
    %x = "stablehlo.constant"() <{value = dense<[-3.5, 0.0, 2.5, 4.0]> : tensor<4xf32>}> : () -> tensor<4xf32>
    %two = "stablehlo.constant"() <{value = dense<2.0> : tensor<4xf32>}> : () -> tensor<4xf32>
    %low = "stablehlo.constant"() <{value = dense<-2.0> : tensor<f32>}> : () -> tensor<f32>
    %high = "stablehlo.constant"() <{value = dense<3.0> : tensor<f32>}> : () -> tensor<f32>
    %0 = "stablehlo.sign"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "stablehlo.clamp"(%low, %x, %high) : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = "stablehlo.round_nearest_even"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %3 = "stablehlo.round_nearest_afz"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %4 = "stablehlo.remainder"(%x, %two) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %5 = "stablehlo.convert"(%x) : (tensor<4xf32>) -> tensor<4xi32>
    %6 = "stablehlo.convert"(%x) : (tensor<4xf32>) -> tensor<4xi1>
    %7 = "stablehlo.reduce_precision"(%x) <{exponent_bits = 8 : i32, mantissa_bits = 7 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%0, %1, %2, %3, %4, %5, %6, %7) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi1>, tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: @integers
// CHECK-DAG: %[[NEG:.+]] = arith.constant dense<[-5, 7, 0, -2]> : tensor<4xi32>
// CHECK-DAG: %[[DIV:.+]] = arith.constant dense<[1, -2, 0, 0]> : tensor<4xi32>
// CHECK-DAG: %[[REM:.+]] = arith.constant dense<[2, -1, 0, 2]> : tensor<4xi32>
// CHECK-DAG: %[[NOT:.+]] = arith.constant dense<[-6, 6, -1, -3]> : tensor<4xi32>
// CHECK-DAG: %[[SHIFT:.+]] = arith.constant dense<[2, -4, 0, 1]> : tensor<4xi32>
// CHECK-DAG: %[[FLOAT:.+]] = arith.constant dense<[5.000000e+00, -7.000000e+00, 0.000000e+00, 2.000000e+00]>
// CHECK-DAG: %[[ANY:.+]] = arith.constant dense<true> : tensor<i1>
// CHECK-DAG: %[[ALL:.+]] = arith.constant dense<false> : tensor<i1>
// CHECK-DAG: %[[MAX:.+]] = arith.constant dense<9> : tensor<i32>
// CHECK: return %[[NEG]], %[[DIV]], %[[REM]], %[[NOT]], %[[SHIFT]], %[[FLOAT]], %[[ANY]], %[[ALL]], %[[MAX]]
"builtin.module"() <{sym_name = "integers"}> ({
  "func.func"() <{function_type = () -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xf32>, tensor<i1>, tensor<i1>, tensor<i32>), sym_name = "main"}> ({
    %x = "stablehlo.constant"() <{value = dense<[5, -7, 0, 2]> : tensor<4xi32>}> : () -> tensor<4xi32>
    %one = "stablehlo.constant"() <{value = dense<1> : tensor<4xi32>}> : () -> tensor<4xi32>
    %three = "stablehlo.constant"() <{value = dense<3> : tensor<4xi32>}> : () -> tensor<4xi32>
    %nine = "stablehlo.constant"() <{value = dense<9> : tensor<i32>}> : () -> tensor<i32>
    %false = "stablehlo.constant"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>
    %true = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %0 = "stablehlo.negate"(%x) : (tensor<4xi32>) -> tensor<4xi32>
    %1 = "stablehlo.divide"(%x, %three) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    %2 = "stablehlo.remainder"(%x, %three) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    %3 = "stablehlo.not"(%x) : (tensor<4xi32>) -> tensor<4xi32>
    %4 = "stablehlo.shift_right_arithmetic"(%x, %one) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    %5 = "stablehlo.convert"(%x) : (tensor<4xi32>) -> tensor<4xf32>
    %b = "stablehlo.convert"(%x) : (tensor<4xi32>) -> tensor<4xi1>
    %6 = "stablehlo.reduce"(%b, %false) <{dimensions = array<i64: 0>}> ({
    ^bb0(%l: tensor<i1>, %r: tensor<i1>):
      %s = "stablehlo.or"(%l, %r) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      "stablehlo.return"(%s) : (tensor<i1>) -> ()
    }) : (tensor<4xi1>, tensor<i1>) -> tensor<i1>
    %7 = "stablehlo.reduce"(%b, %true) <{dimensions = array<i64: 0>}> ({
    ^bb0(%l: tensor<i1>, %r: tensor<i1>):
      %s = "stablehlo.and"(%l, %r) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      "stablehlo.return"(%s) : (tensor<i1>) -> ()
    }) : (tensor<4xi1>, tensor<i1>) -> tensor<i1>
    // The initial value counts.
    %8 = "stablehlo.reduce"(%x, %nine) <{dimensions = array<i64: 0>}> ({
    ^bb0(%l: tensor<i32>, %r: tensor<i32>):
      %s = "stablehlo.maximum"(%l, %r) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%s) : (tensor<i32>) -> ()
    }) : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
    "func.return"(%0, %1, %2, %3, %4, %5, %6, %7, %8) : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xf32>, tensor<i1>, tensor<i1>, tensor<i32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// Dimensions that are repeated and permuted; a reshape that merges and splits;
// block bounds that are clamped; negative padding; matmuls with two batches, of
// vectors, and into a wider and a narrower type.
// CHECK-LABEL: @shapes
// CHECK-DAG: %[[TABLE:.+]] = arith.constant dense<{{\[\[}}0, 1, 2], [3, 4, 5]]>
// CHECK-DAG: dense<{{\[\[}}0, 3], [1, 4], [2, 5]]>
// CHECK-DAG: dense<{{\[\[\[}}0, 1], [2, 3]{{\]}}, {{\[\[}}4, 5], [0, 0]]]>
// CHECK-DAG: dense<{{\[\[}}1, 2], [4, 5]]> : tensor<2x2xi32>
// CHECK-DAG: dense<[5, 14]> : tensor<2xi32>
// CHECK-DAG: dense<[5.000000e+00, 1.400000e+01]> : tensor<2xf64>
"builtin.module"() <{sym_name = "shapes"}> ({
  "func.func"() <{function_type = () -> (tensor<2x3xi32>, tensor<3x2xi32>, tensor<2x2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>, tensor<2xi32>, tensor<2xf64>), sym_name = "main"}> ({
    %x = "stablehlo.constant"() <{value = dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi32>}> : () -> tensor<2x3xi32>
    %t = "stablehlo.broadcast_in_dim"(%x) <{broadcast_dimensions = array<i64: 1, 0>}> : (tensor<2x3xi32>) -> tensor<3x2xi32>
    %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %nine = "stablehlo.constant"() <{value = dense<9> : tensor<i32>}> : () -> tensor<i32>
    %flat = "stablehlo.reshape"(%x) : (tensor<2x3xi32>) -> tensor<6xi32>
    %eight = "stablehlo.pad"(%flat, %zero) <{edge_padding_high = array<i64: 2>, edge_padding_low = array<i64: 0>, interior_padding = array<i64: 0>}> : (tensor<6xi32>, tensor<i32>) -> tensor<8xi32>
    %cube = "stablehlo.reshape"(%eight) : (tensor<8xi32>) -> tensor<2x2x2xi32>
    %block = "stablehlo.dynamic_slice"(%x, %zero, %nine) <{slice_sizes = array<i64: 2, 2>}> : (tensor<2x3xi32>, tensor<i32>, tensor<i32>) -> tensor<2x2xi32>
    %cut = "stablehlo.pad"(%x, %zero) <{edge_padding_high = array<i64: 0, 0>, edge_padding_low = array<i64: 0, -1>, interior_padding = array<i64: 0, 0>}> : (tensor<2x3xi32>, tensor<i32>) -> tensor<2x2xi32>
    %row = "stablehlo.constant"() <{value = dense<[0, 1, 2]> : tensor<3xi32>}> : () -> tensor<3xi32>
    %dot = "stablehlo.dot"(%x, %row) : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2xi32>
    %a = "stablehlo.convert"(%x) : (tensor<2x3xi32>) -> tensor<2x3xf32>
    %b = "stablehlo.convert"(%row) : (tensor<3xi32>) -> tensor<3xbf16>
    %wide = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3xbf16>) -> tensor<2xf64>
    "func.return"(%x, %t, %cube, %block, %cut, %dot, %wide) : (tensor<2x3xi32>, tensor<3x2xi32>, tensor<2x2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>, tensor<2xi32>, tensor<2xf64>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// Rows that are added to and replaced, the last one of equal ones; coordinates out of range, which
// write nothing; a dimension that operand and indices share; a block; integers, whose sums wrap
// around, and booleans.
// CHECK-LABEL: @scatters
// CHECK-DAG: %[[ADD:.+]] = arith.constant dense<{{\[\[}}3.100000e+01, 4.200000e+01], [3.000000e+00, 4.000000e+00], [6.500000e+01, 8.600000e+01]]>
// CHECK-DAG: %[[SET:.+]] = arith.constant dense<{{\[\[}}3.000000e+01, 4.000000e+01], [3.000000e+00, 4.000000e+00], [5.000000e+01, 6.000000e+01]]>
// CHECK-DAG: %[[POINTS:.+]] = arith.constant dense<{{\[\[}}0, 15, 2], [3, 4, 16]]> : tensor<2x3xi32>
// CHECK-DAG: %[[SHARED:.+]] = arith.constant dense<{{\[\[}}0, 1, 11], [11, 4, 5]]> : tensor<2x3xi32>
// CHECK-DAG: %[[WIDE:.+]] = arith.constant dense<{{\[\[}}0, -9223372036854775808, 2], [9223372036854775805, 4, 5]]> : tensor<2x3xi64>
// CHECK-DAG: %[[BLOCK:.+]] = arith.constant dense<[0.000000e+00, 1.000000e+00, 2.000000e+00, 1.300000e+01, 2.400000e+01, 5.000000e+00]>
// CHECK-DAG: %[[FLAGS:.+]] = arith.constant dense<{{\[\[}}true, false, true], [false, true, true]]>
// CHECK-DAG: %[[NARROW:.+]] = arith.constant dense<{{\[\[}}-76, 62], [11, 12], [55, 66]]> : tensor<3x2xi8>
// CHECK: return %[[ADD]], %[[SET]], %[[POINTS]], %[[SHARED]], %[[WIDE]], %[[BLOCK]], %[[FLAGS]], %[[NARROW]]
"builtin.module"() <{sym_name = "scatters"}> ({
  "func.func"() <{function_type = () -> (tensor<3x2xf32>, tensor<3x2xf32>, tensor<2x3xi32>, tensor<2x3xi32>, tensor<2x3xi64>, tensor<6xf32>, tensor<2x3xi1>, tensor<3x2xi8>), sym_name = "main"}> ({
    %x = "stablehlo.constant"() <{value = dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>}> : () -> tensor<3x2xf32>
    %i = "stablehlo.constant"() <{value = dense<[[2], [0], [2], [3], [-1]]> : tensor<5x1xi32>}> : () -> tensor<5x1xi32>
    %u = "stablehlo.constant"() <{value = dense<[[10.0, 20.0], [30.0, 40.0], [50.0, 60.0], [7.0, 7.0], [8.0, 8.0]]> : tensor<5x2xf32>}> : () -> tensor<5x2xf32>
    %0 = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%c) : (tensor<f32>) -> ()
    }) : (tensor<3x2xf32>, tensor<5x1xi32>, tensor<5x2xf32>) -> tensor<3x2xf32>
    %1 = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      "stablehlo.return"(%b) : (tensor<f32>) -> ()
    }) : (tensor<3x2xf32>, tensor<5x1xi32>, tensor<5x2xf32>) -> tensor<3x2xf32>
    %n = "stablehlo.constant"() <{value = dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi32>}> : () -> tensor<2x3xi32>
    %p = "stablehlo.constant"() <{value = dense<[[0, 1], [1, 2], [0, 3], [1, -1]]> : tensor<4x2xi32>}> : () -> tensor<4x2xi32>
    %v = "stablehlo.constant"() <{value = dense<[15, 16, 17, 18]> : tensor<4xi32>}> : () -> tensor<4xi32>
    %2 = "stablehlo.scatter"(%n, %p, %v) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      "stablehlo.return"(%b) : (tensor<i32>) -> ()
    }) : (tensor<2x3xi32>, tensor<4x2xi32>, tensor<4xi32>) -> tensor<2x3xi32>
    %q = "stablehlo.constant"() <{value = dense<[[2], [0]]> : tensor<2x1xi32>}> : () -> tensor<2x1xi32>
    %w = "stablehlo.constant"() <{value = dense<[9, 8]> : tensor<2xi32>}> : () -> tensor<2xi32>
    %3 = "stablehlo.scatter"(%n, %q, %w) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = "stablehlo.add"(%a, %b) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%c) : (tensor<i32>) -> ()
    }) : (tensor<2x3xi32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x3xi32>
    %l = "stablehlo.constant"() <{value = dense<[[0, 9223372036854775807, 2], [-3, 4, 5]]> : tensor<2x3xi64>}> : () -> tensor<2x3xi64>
    %t = "stablehlo.constant"() <{value = dense<[[1, 0], [0, 1], [0, 1]]> : tensor<3x2xi64>}> : () -> tensor<3x2xi64>
    %m = "stablehlo.constant"() <{value = dense<[1, -9223372036854775807, -1]> : tensor<3xi64>}> : () -> tensor<3xi64>
    %4 = "stablehlo.scatter"(%l, %t, %m) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %c = "stablehlo.add"(%a, %b) : (tensor<i64>, tensor<i64>) -> tensor<i64>
      "stablehlo.return"(%c) : (tensor<i64>) -> ()
    }) : (tensor<2x3xi64>, tensor<3x2xi64>, tensor<3xi64>) -> tensor<2x3xi64>
    %f = "stablehlo.constant"() <{value = dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<6xf32>}> : () -> tensor<6xf32>
    %o = "stablehlo.constant"() <{value = dense<3> : tensor<1xi32>}> : () -> tensor<1xi32>
    %g = "stablehlo.constant"() <{value = dense<[10.0, 20.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
    %5 = "stablehlo.scatter"(%f, %o, %g) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 0>, unique_indices = false}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%c) : (tensor<f32>) -> ()
    }) : (tensor<6xf32>, tensor<1xi32>, tensor<2xf32>) -> tensor<6xf32>
    %flags = "stablehlo.constant"() <{value = dense<[[true, false, true], [false, true, false]]> : tensor<2x3xi1>}> : () -> tensor<2x3xi1>
    %s = "stablehlo.constant"() <{value = dense<[false, true, true, true]> : tensor<4xi1>}> : () -> tensor<4xi1>
    %6 = "stablehlo.scatter"(%flags, %p, %s) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%a: tensor<i1>, %b: tensor<i1>):
      "stablehlo.return"(%b) : (tensor<i1>) -> ()
    }) : (tensor<2x3xi1>, tensor<4x2xi32>, tensor<4xi1>) -> tensor<2x3xi1>
    %y = "stablehlo.constant"() <{value = dense<[[100, 2], [3, 4], [5, 6]]> : tensor<3x2xi8>}> : () -> tensor<3x2xi8>
    %z = "stablehlo.constant"() <{value = dense<[[50, 20], [30, 40], [50, 60], [7, 7], [8, 8]]> : tensor<5x2xi8>}> : () -> tensor<5x2xi8>
    %e = "stablehlo.constant"() <{value = dense<[[0], [0], [2], [3], [1]]> : tensor<5x1xi64>}> : () -> tensor<5x1xi64>
    %7 = "stablehlo.scatter"(%y, %e, %z) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%a: tensor<i8>, %b: tensor<i8>):
      %c = "stablehlo.add"(%a, %b) : (tensor<i8>, tensor<i8>) -> tensor<i8>
      "stablehlo.return"(%c) : (tensor<i8>) -> ()
    }) : (tensor<3x2xi8>, tensor<5x1xi64>, tensor<5x2xi8>) -> tensor<3x2xi8>
    "func.return"(%0, %1, %2, %3, %4, %5, %6, %7) : (tensor<3x2xf32>, tensor<3x2xf32>, tensor<2x3xi32>, tensor<2x3xi32>, tensor<2x3xi64>, tensor<6xf32>, tensor<2x3xi1>, tensor<3x2xi8>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// Arguments and results that are unsigned: types have no sign, files none either.
// CHECK-LABEL: @unsigned
// CHECK: @forward(%[[X:.+]]: tensor<4xi8> {{[{].*}}nn.input = "arg0", nn.unsigned}, %{{.+}}: tensor<4xi8> {{[{].*}}nn.input = "arg1"})
// CHECK-SAME: -> (tensor<4xf32> {nn.output = {{[^,]*}}}, tensor<4xi64> {nn.output = {{[^,]*}}, nn.unsigned})
// CHECK-DAG: arith.uitofp %[[X]] : tensor<4xi8> to tensor<4xf32>
// CHECK-DAG: arith.extui %[[X]] : tensor<4xi8> to tensor<4xi64>
"builtin.module"() <{sym_name = "unsigned"}> ({
  "func.func"() <{function_type = (tensor<4xui8>, tensor<4xi8>) -> (tensor<4xf32>, tensor<4xui64>), sym_name = "main"}> ({
  ^bb0(%x: tensor<4xui8>, %y: tensor<4xi8>):
    %0 = "stablehlo.convert"(%x) : (tensor<4xui8>) -> tensor<4xf32>
    %1 = "stablehlo.convert"(%y) : (tensor<4xi8>) -> tensor<4xf32>
    %2 = "stablehlo.add"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %3 = "stablehlo.convert"(%x) : (tensor<4xui8>) -> tensor<4xui64>
    "func.return"(%2, %3) : (tensor<4xf32>, tensor<4xui64>) -> ()
  }) : () -> ()
}) : () -> ()
