// Token ids that are shifted right, with a constant as the first token, index the
// table: JAX's wrap-around of negative ids is dropped, the input has the vocabulary's
// size, and the table's rows are named "vocab".
// RUN: tessera import %s | FileCheck %s
// CHECK: tensor<16x8xf32> {nn.dims = ["vocab", "embed"], nn.param = "table"}
// CHECK-SAME: nn.input = "tokens", nn.vocab = 16 : i64}
// CHECK-NOT: arith.select
// CHECK: tensor.concat dim(1)
// CHECK: %[[IDS:.+]] = tensor.extract_slice
// CHECK-NEXT: nn.embedding %{{.+}}, %[[IDS]]

// A constant that is no row leaves the ids computed.
// RUN: sed 's/dense<3>/dense<99>/' %s | tessera import - | FileCheck %s --check-prefix=COMPUTED
// COMPUTED: nn.input = "tokens"}
// COMPUTED: arith.select
// COMPUTED: arith.minsi
// COMPUTED: nn.embedding
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<16x8xf32>, tensor<2x6xi32>) -> tensor<2x6x8xf32>, sym_name = "main"}> ({
  ^bb0(%table: tensor<16x8xf32> loc("table"), %tokens: tensor<2x6xi32> loc("tokens")):
    %first = "stablehlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
    %c0 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %c16 = "stablehlo.constant"() <{value = dense<16> : tensor<i32>}> : () -> tensor<i32>
    %padded = "stablehlo.pad"(%tokens, %first) <{edge_padding_high = array<i64: 0, 0>, edge_padding_low = array<i64: 0, 1>, interior_padding = array<i64: 0, 0>}> : (tensor<2x6xi32>, tensor<i32>) -> tensor<2x7xi32>
    %ids = "stablehlo.slice"(%padded) <{limit_indices = array<i64: 2, 6>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<2x7xi32>) -> tensor<2x6xi32>
    %zeros = "stablehlo.broadcast_in_dim"(%c0) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x6xi32>
    %sizes = "stablehlo.broadcast_in_dim"(%c16) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x6xi32>
    %isNegative = "stablehlo.compare"(%ids, %zeros) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2x6xi32>, tensor<2x6xi32>) -> tensor<2x6xi1>
    %wrapped = "stablehlo.add"(%ids, %sizes) : (tensor<2x6xi32>, tensor<2x6xi32>) -> tensor<2x6xi32>
    %rows = "stablehlo.select"(%isNegative, %wrapped, %ids) : (tensor<2x6xi1>, tensor<2x6xi32>, tensor<2x6xi32>) -> tensor<2x6xi32>
    %index = "stablehlo.broadcast_in_dim"(%rows) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x6xi32>) -> tensor<2x6x1xi32>
    %x = "stablehlo.gather"(%table, %index) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<16x8xf32>, tensor<2x6x1xi32>) -> tensor<2x6x8xf32>
    "func.return"(%x) : (tensor<2x6x8xf32>) -> ()
  }) : () -> ()
}) : () -> ()
