// RUN: tessera-opt %s --nn-to-linalg --allow-unregistered-dialect --split-input-file --verify-diagnostics | FileCheck %s

// The sums of an einsum of 16 bits are in f32.
// CHECK-LABEL: func.func @linear
// CHECK-SAME: (%{{.*}}: tensor<4x8xbf16>, %{{.*}}: tensor<8x2xbf16>)
// CHECK: linalg.fill {{.*}} -> tensor<4x2xf32>
// CHECK: linalg.generic {{.*}}"reduction"{{.*}}ins({{.*}} : tensor<4x8xbf16>, tensor<8x2xbf16>) outs({{.*}} : tensor<4x2xf32>)
// CHECK: arith.truncf
// CHECK-NOT: nn.
func.func @linear(%x: tensor<4x8xbf16> {nn.dims = ["batch", "embed"]}, %w: tensor<8x2xbf16> {nn.param = "w"}) -> (tensor<4x2xbf16> {nn.output = "y"}) {
  %0 = nn.einsum "sd,df->sf" %x, %w {nn.dims = ["batch", "ffn"]} : tensor<4x8xbf16>, tensor<8x2xbf16> -> tensor<4x2xbf16>
  return %0 : tensor<4x2xbf16>
}

// CHECK-LABEL: func.func @attention
// CHECK-COUNT-2: linalg.generic {{.*}}"parallel", "reduction"
// CHECK-NOT: nn.
func.func @attention(%q: tensor<1x4x2x1x8xf32>, %k: tensor<1x4x2x8xf32>, %v: tensor<1x4x2x8xf32>) -> tensor<1x4x2x1x8xf32> {
  %0 = nn.attention causal scale 0.5 %q, %k, %v : tensor<1x4x2x1x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32> -> tensor<1x4x2x1x8xf32>
  return %0 : tensor<1x4x2x1x8xf32>
}

// An id outside of the table, or from row 6 on, adds nothing to row 0.
// CHECK-LABEL: func.func @table
// CHECK-SAME: (%[[GRAD:.*]]: tensor<2x3x4xf32>, %[[IDS:.*]]: tensor<2x3xi32>)
// CHECK-DAG: %[[ROWS:.*]] = tensor.collapse_shape %[[GRAD]]
// CHECK-DAG: %[[FLAT:.*]] = tensor.collapse_shape %[[IDS]]
// CHECK: scf.for %[[I:.*]] = %c0{{.*}} to %c6{{.*}} step %c1{{.*}} iter_args(%[[SUMS:.*]] = %{{.*}}) -> (tensor<8x4xf32>)
// CHECK: %[[ID:.*]] = arith.index_cast
// CHECK: %[[IN:.*]] = arith.cmpi ult, %[[ID]], %c8
// CHECK: %[[TRUE:.*]] = arith.cmpi slt, %[[ID]], %c6
// CHECK: %[[COUNTS:.*]] = arith.andi %[[IN]], %[[TRUE]]
// CHECK: %[[ROW:.*]] = arith.select %[[COUNTS]], %[[ID]], %c0
// CHECK: tensor.extract_slice %[[ROWS]][%[[I]], 0] [1, 4]
// CHECK: tensor.extract_slice %[[SUMS]][%[[ROW]], 0] [1, 4]
// CHECK: tensor.insert_slice %{{.*}} into %[[SUMS]][%[[ROW]], 0] [1, 4]
func.func @table(%grad: tensor<2x3x4xf32>, %ids: tensor<2x3xi32>) -> tensor<8x4xf32> {
  %0 = nn.embedding_backward %grad, %ids rows 6 : tensor<2x3x4xf32>, tensor<2x3xi32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// Rows that are added start from x, in f32, and rows that are set are the updates.
// CHECK-LABEL: func.func @scatter
// CHECK-SAME: (%[[X:.*]]: tensor<8x4xbf16>
// CHECK: %[[WIDE:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<8x4xbf16>)
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[WIDE]]) -> (tensor<8x4xf32>)
// CHECK: arith.addf
// CHECK: scf.for {{.*}} iter_args(%[[ROWS:.*]] = %[[X]]) -> (tensor<8x4xbf16>)
// CHECK-NOT: arith.addf
// CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : bf16
// CHECK: tensor.insert_slice %{{.*}} into %[[ROWS]]
func.func @scatter(%x: tensor<8x4xbf16>, %ids: tensor<2x3xi32>, %u: tensor<2x3x4xbf16>) -> (tensor<8x4xbf16>, tensor<8x4xbf16>) {
  %0 = nn.scatter <add> %x, %ids, %u : tensor<8x4xbf16>, tensor<2x3xi32>, tensor<2x3x4xbf16>
  %1 = nn.scatter <set> %x, %ids, %u : tensor<8x4xbf16>, tensor<2x3xi32>, tensor<2x3x4xbf16>
  return %0, %1 : tensor<8x4xbf16>, tensor<8x4xbf16>
}

// CHECK-LABEL: func.func @one_id
// CHECK-DAG: tensor.expand_shape %{{.*}} {{\[}}[0, 1]] output_shape [1, 4] : tensor<4xf32> into tensor<1x4xf32>
// CHECK-DAG: tensor.expand_shape %{{.*}} [] output_shape [1] : tensor<i32> into tensor<1xi32>
func.func @one_id(%grad: tensor<4xf32>, %id: tensor<i32>) -> tensor<8x4xf32> {
  %0 = nn.embedding_backward %grad, %id : tensor<4xf32>, tensor<i32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// With a mesh, arguments and results keep what says how they are sharded; an op keeps the
// rule by which it could be partitioned again, and nothing else.
// CHECK-LABEL: dist.mesh @mesh
dist.mesh @mesh ["tp"=2]

// CHECK: func.func @slice(%[[X:.*]]: tensor<4x8xf32> {dist.sharding = {{.*}}, nn.input = "x"}
// CHECK: %[[AT:.*]] = dist.axis_offset <{"tp"}>
// CHECK: %[[S:.*]] = tensor.extract_slice %[[X]][0, %[[AT]]] [4, 4] [1, 1]
// CHECK: dist.all_gather %[[S]] dim 1
// CHECK: "my.op"(%{{.*}}) {dist.rule = #dist.rule<"([i,j])->([i,j]) {i=4, j=8}">} :
func.func @slice(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>, nn.input = "x"}) -> tensor<4x8xf32> attributes {dist.local} {
  %0 = dist.all_slice %x dim 1 over <{"tp"}> on @mesh : tensor<4x8xf32> -> tensor<4x4xf32>
  %1 = dist.all_gather %0 dim 1 over <{"tp"}> on @mesh : tensor<4x4xf32> -> tensor<4x8xf32>
  %2 = "my.op"(%1) {dist.rule = #dist.rule<"([i,j])->([i,j]) {i=4, j=8}">, nn.dims = ["a", "b"]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

func.func @eight_bits(%x: tensor<4xf32>, %amax: tensor<f32>) -> tensor<4xf8E4M3FN> {
  // expected-error@+1 {{has no form in linalg: expects a program without experts, 8-bit numbers and library calls}}
  %0, %s = nn.quantize %x by %amax : tensor<4xf32>, tensor<f32> -> tensor<4xf8E4M3FN>
  return %0 : tensor<4xf8E4M3FN>
}
