// RUN: split-file %s %t
// RUN: tessera-opt %t/model.mlir --dist-apply-strategy="mesh=dp=2,tp=2 strategy=dp,tp" | FileCheck %t/model.mlir --check-prefixes=CHECK,TP
// RUN: tessera-opt %t/model.mlir --dist-apply-strategy="mesh=dp=2,tp=2 strategy=dp,tp,sp" | FileCheck %t/model.mlir --check-prefixes=CHECK,SP
// RUN: tessera-opt %t/model.mlir --dist-apply-strategy="mesh=dp=2,tp=2 strategy=dp,tp,zero=3" | FileCheck %t/zero3.check
// RUN: tessera-opt %t/model.mlir --dist-apply-strategy="mesh=dp=3,tp=2 strategy=dp,tp,zero=3" | FileCheck %t/zero3_uneven.check
// RUN: tessera-opt %t/handed_on.mlir --dist-apply-strategy="mesh=dp=3 strategy=zero=3" | FileCheck %t/handed_on.mlir
// RUN: tessera-opt %t/model.mlir --dist-apply-strategy="mesh=tp=8 strategy=tp" | FileCheck %t/tp8.check
// RUN: tessera-opt %t/model.mlir --dist-apply-strategy="mesh=tp=6 strategy=tp" | FileCheck %t/tp6.check
// RUN: tessera-opt %t/model.mlir --dist-apply-strategy="mesh=dp=1,tp=2 strategy=dp,tp" | FileCheck %t/unit.check
// RUN: tessera-opt %t/model.mlir --dist-apply-strategy="mesh=dp=2 strategy=dp,zero=2" --remarks-filter="strategy.*" 2>&1 | FileCheck %t/zero2.check
// RUN: tessera-opt %t/twice.mlir --dist-apply-strategy="mesh=dp=2,tp=2 strategy=dp,tp" | FileCheck %t/twice.mlir
// Axes of other names, and several axes, give the same seeds.
// RUN: tessera-opt %t/model.mlir --dist-apply-strategy="mesh=dp=2,tp=2 strategy=dp,tp,sp,zero=3" | sed 's/"dp"/"x"/g; s/"tp"/"dp"/g' > %t/usual
// RUN: tessera-opt %t/model.mlir --dist-apply-strategy="mesh=x=2,dp=2 strategy=dp@x,tp@dp,sp,zero=3" > %t/own && cmp %t/usual %t/own
// RUN: tessera-opt %t/model.mlir --dist-apply-strategy="mesh=x=2,y=4 strategy=tp@x+y" | FileCheck %t/two_axes.check
// RUN: tessera-opt %t/one_kv_head.mlir --dist-apply-strategy="mesh=tp=4 strategy=tp" | FileCheck %t/one_kv_head.mlir
// RUN: tessera-opt %t/seeded.mlir --dist-apply-strategy | FileCheck %t/seeded.mlir

//--- one_kv_head.mlir
// Query heads without a dimension of KV heads belong to one KV head.
// CHECK-LABEL: func @forward
// CHECK-SAME: tensor<4x16x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}, {}]>
// CHECK-SAME: tensor<16x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>
func.func @forward(
    %wq: tensor<4x16x64xf32> {nn.param = "wq", nn.dims = ["q_per_kv", "head_dim", "embed"]},
    %wk: tensor<16x64xf32> {nn.param = "wk", nn.dims = ["head_dim", "embed"]}) {
  return
}

//--- two_axes.check
// CHECK: tensor<64x2x2x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {"y"}, {}]>
// CHECK-SAME: tensor<64x2x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}]>
// CHECK-SAME: tensor<64x160xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x", "y"}]>

//--- model.mlir
// CHECK: dist.mesh @mesh ["dp"=2, "tp"=2]
// CHECK-LABEL: func @forward
// CHECK-SAME: tensor<4x16xi32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>
// CHECK-SAME: tensor<259x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>
// CHECK-SAME: tensor<64x2x2x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}, {}, {}]>
// CHECK-SAME: tensor<64x2x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}, {}]>
// CHECK-SAME: tensor<64x160xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>
// CHECK-SAME: tensor<64xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>
func.func @forward(
    %tokens: tensor<4x16xi32> {nn.input = "tokens", nn.dims = ["batch", "seq"]},
    %wte: tensor<259x64xf32> {nn.param = "wte", nn.dims = ["vocab", "embed"]},
    %wq: tensor<64x2x2x16xf32> {nn.param = "wq", nn.dims = ["embed", "kv_heads", "q_per_kv", "head_dim"]},
    %wk: tensor<64x2x16xf32> {nn.param = "wk", nn.dims = ["embed", "kv_heads", "head_dim"]},
    %w1: tensor<64x160xf32> {nn.param = "w1", nn.dims = ["embed", "ffn"]},
    %gamma: tensor<64xf32> {nn.param = "gamma", nn.dims = ["embed"]})
    -> (tensor<4x16x259xf32>, tensor<4x16x2x2x16xf32>, tensor<4x16x2x16xf32>, tensor<4x16x160xf32>) {
  // TP: nn.embedding
  // TP-SAME: dist.shardings = [#dist.sharding<@mesh, [{"dp"}, {}, {}]>]
  // SP: nn.embedding
  // SP-SAME: dist.shardings = [#dist.sharding<@mesh, [{"dp"}, {"tp"}p1, {}]>]
  %x = nn.embedding %wte, %tokens {nn.dims = ["batch", "seq", "embed"]}
      : tensor<259x64xf32>, tensor<4x16xi32> -> tensor<4x16x64xf32>
  // Only the residual stream and arguments are seeded.
  // CHECK: nn.rms_norm
  // CHECK-NOT: dist.shardings
  // CHECK-SAME: : tensor
  %n = nn.rms_norm %x, %gamma eps 1.0e-5 : tensor<4x16x64xf32>, tensor<64xf32>
  // CHECK-NOT: dist.shardings
  %q = nn.einsum "bsd,dgrk->bsgrk" %n, %wq
      : tensor<4x16x64xf32>, tensor<64x2x2x16xf32> -> tensor<4x16x2x2x16xf32>
  %k = nn.einsum "bsd,dgk->bsgk" %n, %wk
      : tensor<4x16x64xf32>, tensor<64x2x16xf32> -> tensor<4x16x2x16xf32>
  %h = nn.einsum "bsd,df->bsf" %n, %w1
      : tensor<4x16x64xf32>, tensor<64x160xf32> -> tensor<4x16x160xf32>
  %logits = nn.einsum "bsd,vd->bsv" %n, %wte
      : tensor<4x16x64xf32>, tensor<259x64xf32> -> tensor<4x16x259xf32>
  return %logits, %q, %k, %h
      : tensor<4x16x259xf32>, tensor<4x16x2x2x16xf32>, tensor<4x16x2x16xf32>, tensor<4x16x160xf32>
}

//--- zero3.check
// Parameters are sharded over dp too, on the first dimension that divides; 259
// rows do not. All uses share the first use's gather.
// CHECK-LABEL: func @forward
// CHECK-SAME: tensor<259x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {"dp"}]>
// CHECK-SAME: tensor<64x2x2x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {"tp"}, {}, {}]>
// CHECK-SAME: tensor<64xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}]>
// CHECK: %[[TABLE:.*]] = dist.constraint %{{.*}} <@mesh, [{"tp"}, {}]> : tensor<259x64xf32>
// CHECK-NEXT: nn.embedding %[[TABLE]],
// CHECK-NEXT: %[[GAMMA:.*]] = dist.constraint %{{.*}} <@mesh, [{}]> : tensor<64xf32>
// CHECK-NEXT: nn.rms_norm %{{.*}}, %[[GAMMA]]
// CHECK: nn.einsum "bsd,vd->bsv" %{{.*}}, %[[TABLE]]

//--- zero3_uneven.check
// A size that three ranks do not divide is flattened, and restored after the
// gather; 160 columns become two tiles of 64 x 80, padded for three ranks.
// CHECK-LABEL: func @forward
// CHECK-SAME: tensor<259x66xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {"dp"}p2]>, nn.logical_shape = array<i64: 259, 64>, nn.param = "wte", nn.stored_shape = array<i64: 259, 64>}
// CHECK-SAME: %[[W:[^:]*]]: tensor<2x5121xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {"dp"}p2]>, nn.logical_shape = array<i64: 64, 160>, nn.param = "w1", nn.stored_shape = array<i64: 2, 5120>, nn.tiles = array<i64: 1, 2>}
// CHECK: %[[C:.*]] = dist.constraint %[[W]] <@mesh, [{"tp"}, {}]> : tensor<2x5121xf32>
// CHECK-NEXT: %[[CUT:.*]] = tensor.extract_slice %[[C]][0, 0] [2, 5120] [1, 1]
// CHECK-NEXT: %[[TILES:.*]] = tensor.expand_shape %[[CUT]] {{\[\[}}0], [1, 2]] output_shape [2, 64, 80]
// CHECK-NEXT: %[[MOVED:.*]] = nn.transpose %[[TILES]] [1, 0, 2]
// CHECK-NEXT: %[[OWN:.*]] = tensor.collapse_shape %[[MOVED]] {{\[\[}}0], [1, 2]] : tensor<64x2x80xf32> into tensor<64x160xf32>
// CHECK-NEXT: nn.einsum "bsd,df->bsf" %{{.*}}, %[[OWN]]

//--- handed_on.mlir
// A parameter that is returned unchanged, and parameters of a called function,
// keep their shape, and are whole over dp if it divides no dimension.
// CHECK-LABEL: func @returned
// CHECK-SAME: tensor<4x5xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>
// CHECK-SAME: tensor<21xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}p2]>
// CHECK-SAME: tensor<6x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>
// CHECK-SAME: -> (tensor<4x5xf32>, tensor<6x5xf32>)
func.func @returned(%a: tensor<4x5xf32> {nn.param = "a", nn.dims = ["x", "y"]},
    %b: tensor<4x5xf32> {nn.param = "b", nn.dims = ["x", "y"]},
    %c: tensor<6x5xf32> {nn.param = "c", nn.dims = ["z", "y"]}) -> (tensor<4x5xf32>, tensor<6x5xf32>) {
  %0 = arith.addf %a, %b : tensor<4x5xf32>
  return %a, %c : tensor<4x5xf32>, tensor<6x5xf32>
}
// CHECK-LABEL: func private @called
// CHECK-SAME: tensor<4x5xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>
func.func private @called(%a: tensor<4x5xf32> {nn.param = "a", nn.dims = ["x", "y"]}) -> tensor<4x5xf32> {
  %0 = arith.negf %a : tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}
func.func @caller(%x: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %0 = func.call @called(%x) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

//--- tp8.check
// More devices than heads: the major sub-axis of tp shards the KV heads, the rest
// the query heads of each (padded from 2 to 4); keys have the major sub-axis alone.
// CHECK: tensor<64x2x2x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp":(1)2}, {"tp":(2)4}, {}]>
// CHECK-SAME: tensor<64x2x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp":(1)2}, {}]>
// CHECK-SAME: tensor<64x160xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>

//--- tp6.check
// CHECK: tensor<64x2x2x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp":(1)2}, {"tp":(2)3}, {}]>
// CHECK-SAME: tensor<64x2x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp":(1)2}, {}]>

//--- unit.check
// An axis of one device shards nothing.
// CHECK: tensor<4x16xi32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>

//--- zero2.check
// CHECK: remark: {{.*}}zero=2 shards training state, of which a forward program has none: it seeds nothing

//--- twice.mlir
// If an axis fits two dimensions, the first gets it.
// CHECK-LABEL: func @twice
// CHECK-SAME: tensor<4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>
// CHECK-SAME: tensor<4x6x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}, {}]>
// CHECK-SAME: tensor<4x6xi32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>
func.func @twice(
    %head: tensor<4x6xf32> {nn.param = "head", nn.dims = ["ffn", "vocab"]},
    %wide: tensor<4x6x2xf32> {nn.param = "wide", nn.dims = ["ffn", "kv_heads", "q_per_kv"]},
    %x: tensor<4x6xi32> {nn.input = "x", nn.dims = ["batch", "batch"]}) {
  return
}

//--- seeded.mlir
// Without a strategy there are only the program's own seeds.
dist.mesh @m ["x"=4]
// CHECK-LABEL: func @own_seeds
// CHECK-SAME: %{{.*}}: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"x", ?}]>}, %{{.*}}: tensor<8xf32>)
func.func @own_seeds(
    %a: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"x", ?}]>},
    %b: tensor<8xf32>) -> tensor<8xf32> {
  %0 = arith.addf %a, %b : tensor<8xf32>
  return %0 : tensor<8xf32>
}
