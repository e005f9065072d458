// Orders of dimensions in both spellings, taps in reverse, and what a file may
// say that no convolution is.
// RUN: tessera-opt --allow-unregistered-dialect %s --stablehlo-to-nn --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @forward
// CHECK: nn.convolution {{.*}} strides [1, 2] low [0, 1] high [0, 2] dilation [1, 1] x_dilation [1, 1] reversed : tensor<2x1x3x5x6xf32>, tensor<1x4x3x2x3xf32> -> tensor<2x1x4x4x4xf32>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x5x6x3xf32>, tensor<2x3x3x4xf32>) -> tensor<2x4x4x4xf32>, sym_name = "reversed"}> ({
  ^bb0(%x: tensor<2x5x6x3xf32>, %w: tensor<2x3x3x4xf32>):
    %r = "stablehlo.convolution"(%x, %w) <{batch_group_count = 1 : i64, feature_group_count = 1 : i64, window_strides = array<i64: 1, 2>, padding = dense<[[0, 0], [1, 2]]> : tensor<2x2xi64>, window_reversal = array<i1: true, true>,
      dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>}>
      : (tensor<2x5x6x3xf32>, tensor<2x3x3x4xf32>) -> tensor<2x4x4x4xf32>
    "func.return"(%r) : (tensor<2x4x4x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// One dimension in reverse is one of the kernel.
// CHECK-LABEL: func.func @forward
// CHECK: nn.embedding
// CHECK-NOT: reversed
// CHECK: nn.convolution
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x3x5x6xf32>, tensor<4x3x2x3xf32>) -> tensor<2x4x4x4xf32>, sym_name = "reversed_once"}> ({
  ^bb0(%x: tensor<2x3x5x6xf32>, %w: tensor<4x3x2x3xf32>):
    %r = "stablehlo.convolution"(%x, %w) <{batch_group_count = 1 : i64, feature_group_count = 1 : i64, window_reversal = array<i1: true, false>,
      dimension_numbers = #stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>}>
      : (tensor<2x3x5x6xf32>, tensor<4x3x2x3xf32>) -> tensor<2x4x4x4xf32>
    "func.return"(%r) : (tensor<2x4x4x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x3x5x6xf32>, tensor<4x3x2x3xf32>) -> tensor<2x4x4x4xf32>, sym_name = "order"}> ({
  ^bb0(%x: tensor<2x3x5x6xf32>, %w: tensor<4x3x2x3xf32>):
    // expected-error @+1 {{expects #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]> as dimension_numbers}}
    %r = "stablehlo.convolution"(%x, %w) <{batch_group_count = 1 : i64, feature_group_count = 1 : i64,
      dimension_numbers = #stablehlo.conv<[b, f, 0, 0]x[o, i, 0, 1]->[b, f, 0, 1]>}>
      : (tensor<2x3x5x6xf32>, tensor<4x3x2x3xf32>) -> tensor<2x4x4x4xf32>
    "func.return"(%r) : (tensor<2x4x4x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x3x5x6xf32>, tensor<4x3x2x3xf32>) -> tensor<2x4x4x4xf32>, sym_name = "positions"}> ({
  ^bb0(%x: tensor<2x3x5x6xf32>, %w: tensor<4x3x2x3xf32>):
    // expected-error @+1 {{expects each of 4 dimensions once in dimension_numbers}}
    %r = "stablehlo.convolution"(%x, %w) <{batch_group_count = 1 : i64, feature_group_count = 1 : i64,
      dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0, 1]->[b, f, 0, 1]>}>
      : (tensor<2x3x5x6xf32>, tensor<4x3x2x3xf32>) -> tensor<2x4x4x4xf32>
    "func.return"(%r) : (tensor<2x4x4x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x3x5x6xf32>, tensor<4x3x2x3xf32>) -> tensor<2x4x4x4xf32>, sym_name = "groups"}> ({
  ^bb0(%x: tensor<2x3x5x6xf32>, %w: tensor<4x3x2x3xf32>):
    // expected-error @+1 {{expects a batch and features that the groups divide}}
    %r = "stablehlo.convolution"(%x, %w) <{batch_group_count = 1 : i64, feature_group_count = 2 : i64,
      dimension_numbers = #stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>}>
      : (tensor<2x3x5x6xf32>, tensor<4x3x2x3xf32>) -> tensor<2x4x4x4xf32>
    "func.return"(%r) : (tensor<2x4x4x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x3x5x6xf32>, tensor<4x3x2x3xf32>) -> tensor<2x4x4x4xf32>, sym_name = "size"}> ({
  ^bb0(%x: tensor<2x3x5x6xf32>, %w: tensor<4x3x2x3xf32>):
    // expected-error @+1 {{(C4) expects a result of shape [2, 1, 4, 4, 2] but got}}
    %r = "stablehlo.convolution"(%x, %w) <{batch_group_count = 1 : i64, feature_group_count = 1 : i64, window_strides = array<i64: 1, 2>,
      dimension_numbers = #stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>}>
      : (tensor<2x3x5x6xf32>, tensor<4x3x2x3xf32>) -> tensor<2x4x4x4xf32>
    "func.return"(%r) : (tensor<2x4x4x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x3x5x6xf32>, tensor<4x3x2x3xi32>) -> tensor<2x4x4x4xf32>, sym_name = "types"}> ({
  ^bb0(%x: tensor<2x3x5x6xf32>, %w: tensor<4x3x2x3xi32>):
    // expected-error @+1 {{expects operands and a result of floats, or of integers, but got}}
    %r = "stablehlo.convolution"(%x, %w) <{batch_group_count = 1 : i64, feature_group_count = 1 : i64,
      dimension_numbers = #stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>}>
      : (tensor<2x3x5x6xf32>, tensor<4x3x2x3xi32>) -> tensor<2x4x4x4xf32>
    "func.return"(%r) : (tensor<2x4x4x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
