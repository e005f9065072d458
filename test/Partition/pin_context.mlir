// RUN: split-file %s %t
// RUN: tessera-opt %t/gather.mlir --dist-pin-context | FileCheck %s --check-prefix=GATHER
// RUN: tessera-opt %t/heads.mlir --dist-pin-context | FileCheck %s --check-prefix=HEADS
// RUN: tessera-opt %t/auto.mlir --dist-pin-context --remarks-filter='partition.*' --remark-policy=all 2>&1 | FileCheck %s --check-prefix=AUTO
// RUN: tessera-opt %t/latent.mlir --dist-pin-context | FileCheck %s --check-prefix=LATENT
// RUN: not tessera-opt %t/many.mlir --dist-pin-context 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not tessera-opt %t/none.mlir --dist-pin-context 2>&1 | FileCheck %s --check-prefix=NONE

// Queries have the axis; nothing else is specified.
//--- gather.mlir
// GATHER-NOT: dist.context
// GATHER: nn.attention causal
// GATHER-SAME: dist.factors = [#dist.axes<{}>, #dist.axes<{"cp"}>, #dist.axes<{}>, #dist.axes<{}>, #dist.axes<{}>, #dist.axes<{}>, #dist.axes<{}>]
module attributes {dist.context = {method = "all_gather", seq = #dist.axes<{"cp"}>, batch = #dist.axes<{}>, heads = #dist.axes<{}>}} {
  dist.mesh @mesh ["cp"=4]
  func.func @f(%q: tensor<2x32x2x2x16xf32>, %k: tensor<2x32x2x16xf32>) -> tensor<2x32x2x2x16xf32> {
    %0 = nn.attention causal scale 0.25 %q, %k, %k : tensor<2x32x2x2x16xf32>, tensor<2x32x2x16xf32>, tensor<2x32x2x16xf32> -> tensor<2x32x2x2x16xf32>
    return %0 : tensor<2x32x2x2x16xf32>
  }
}

// The axis of heads comes first: one of two groups of four heads is left on
// each of two devices, and the other four devices shard its four heads. The
// backward uses the forward's method.
//--- heads.mlir
// HEADS: nn.attention scale
// HEADS-SAME: dist.factors = [#dist.axes<{}>, #dist.axes<{}>, #dist.axes<{"tp"}>, #dist.axes<{"cp"}>,
// HEADS: nn.attention_backward scale
// HEADS-SAME: dist.factors = [#dist.axes<{}>, #dist.axes<{}>, #dist.axes<{"tp"}>, #dist.axes<{"cp"}>,
module attributes {dist.context = {method = "all_to_all", seq = #dist.axes<{"cp"}>, batch = #dist.axes<{}>, heads = #dist.axes<{"tp"}>}} {
  dist.mesh @mesh ["cp"=4, "tp"=2]
  func.func @f(%q: tensor<2x32x2x4x16xf32>, %k: tensor<2x32x2x16xf32>, %g: tensor<2x32x2x4x16xf32>) -> (tensor<2x32x2x4x16xf32>, tensor<2x32x2x16xf32>) {
    %0, %l = nn.attention scale 0.25 %q, %k, %k : tensor<2x32x2x4x16xf32>, tensor<2x32x2x16xf32>, tensor<2x32x2x16xf32> -> tensor<2x32x2x4x16xf32> stats tensor<2x32x2x4xf32>
    %dq, %dk, %dv = nn.attention_backward scale 0.25 %g, %q, %k, %k, %0, %l : tensor<2x32x2x4x16xf32>, tensor<2x32x2x16xf32>, tensor<2x32x2x16xf32>, tensor<2x32x2x4x16xf32>, tensor<2x32x2x4xf32>
    return %dq, %dk : tensor<2x32x2x4x16xf32>, tensor<2x32x2x16xf32>
  }
}

// One group of many heads: its keys and values are small, and their transfer
// overlaps with the attention.
//--- auto.mlir
// AUTO: ContextMethod
// AUTO-SAME: nn.attention runs by ring
// AUTO-SAME: bytes of all_gather=4194304
// AUTO-SAME: bytes of all_to_all=20971520
// AUTO-SAME: bytes of ring=4194304
// AUTO-SAME: us of all_gather={{[0-9.]+}}
// AUTO-SAME: us of all_to_all={{[0-9.]+}}
// AUTO-SAME: us of ring={{[0-9.]+}}
// AUTO: dist.factors = [#dist.axes<{}>, #dist.axes<{"cp"}>, #dist.axes<{}>,
// AUTO-SAME: dist.ring = #dist.axes<{"cp"}>
module attributes {dist.context = {method = "auto", seq = #dist.axes<{"cp"}>, batch = #dist.axes<{}>, heads = #dist.axes<{}>}} {
  dist.mesh @mesh ["cp"=2]
  func.func @f(%q: tensor<1x8192x1x8x128xf32>, %k: tensor<1x8192x1x128xf32>) -> tensor<1x8192x1x8x128xf32> {
    %0 = nn.attention scale 0.25 %q, %k, %k : tensor<1x8192x1x8x128xf32>, tensor<1x8192x1x128xf32>, tensor<1x8192x1x128xf32> -> tensor<1x8192x1x8x128xf32>
    return %0 : tensor<1x8192x1x8x128xf32>
  }
}

// Keys and values from latents are whole. Their gradients are partial sums, and so
// is what follows linearly and has the sequence, up to the latents' constraint;
// the gradient of a weight is not, nor is a sum with a whole value.
//--- latent.mlir
// LATENT: nn.einsum "bsc,cgk->bsgk" {{.*}}dist.shardings = [#dist.sharding<@mesh, [{?}, {}, {?}, {?}], replicated={"cp"}>]
// LATENT: nn.attention_backward {{.*}}dist.shardings = [unit, #dist.sharding<@mesh, [{?}, {?}, {?}, {?}], unreduced={"cp"}>, #dist.sharding<@mesh, [{?}, {?}, {?}, {?}], unreduced={"cp"}>]
// LATENT: arith.addf {{.*}}dist.shardings = [#dist.sharding<@mesh, [{?}, {?}, {?}, {?}], unreduced={"cp"}>]
// LATENT: nn.einsum "bsgk,cgk->bsc" {{.*}}dist.shardings = [#dist.sharding<@mesh, [{?}, {?}, {?}], unreduced={"cp"}>]
// LATENT: nn.einsum "bsc,bsgk->cgk" {{.*}} : tensor<2x32x8xf32>, tensor<2x32x2x16xf32> -> tensor<8x2x16xf32>
// LATENT-NOT: dist.shardings
// LATENT: return
module attributes {dist.context = {method = "latent", seq = #dist.axes<{"cp"}>, batch = #dist.axes<{}>, heads = #dist.axes<{}>}} {
  dist.mesh @mesh ["cp"=4]
  func.func @f(%q: tensor<2x32x2x1x16xf32>, %c: tensor<2x32x8xf32>, %w: tensor<8x2x16xf32>, %g: tensor<2x32x2x1x16xf32>, %other: tensor<2x32x8xf32>) -> (tensor<2x32x8xf32>, tensor<8x2x16xf32>) {
    %l = dist.constraint %c <@mesh, [{?}, {}, {?}], replicated={"cp"}> with_gradient : tensor<2x32x8xf32>
    %k = nn.einsum "bsc,cgk->bsgk" %l, %w : tensor<2x32x8xf32>, tensor<8x2x16xf32> -> tensor<2x32x2x16xf32>
    %0, %s = nn.attention scale 0.25 %q, %k, %k : tensor<2x32x2x1x16xf32>, tensor<2x32x2x16xf32>, tensor<2x32x2x16xf32> -> tensor<2x32x2x1x16xf32> stats tensor<2x32x2x1xf32>
    %dq, %dk, %dv = nn.attention_backward scale 0.25 %g, %q, %k, %k, %0, %s : tensor<2x32x2x1x16xf32>, tensor<2x32x2x16xf32>, tensor<2x32x2x16xf32>, tensor<2x32x2x1x16xf32>, tensor<2x32x2x1xf32>
    %d = arith.addf %dk, %dv : tensor<2x32x2x16xf32>
    %dl = nn.einsum "bsgk,cgk->bsc" %d, %w : tensor<2x32x2x16xf32>, tensor<8x2x16xf32> -> tensor<2x32x8xf32>
    %dw = nn.einsum "bsc,bsgk->cgk" %l, %d : tensor<2x32x8xf32>, tensor<2x32x2x16xf32> -> tensor<8x2x16xf32>
    %sum = arith.addf %dl, %other : tensor<2x32x8xf32>
    %e = dist.constraint %sum <@mesh, [{?}, {}, {?}], replicated={"cp"}> with_gradient : tensor<2x32x8xf32>
    return %e, %dw : tensor<2x32x8xf32>, tensor<8x2x16xf32>
  }
}

//--- many.mlir
// MANY: error: 'nn.attention' op strategy 'cp=all_to_all' expects at most the 4 query heads of a device but got 8 devices that share them
module attributes {dist.context = {method = "all_to_all", seq = #dist.axes<{"cp"}>, batch = #dist.axes<{}>, heads = #dist.axes<{}>}} {
  dist.mesh @mesh ["cp"=8]
  func.func @f(%q: tensor<2x32x2x2x16xf32>, %k: tensor<2x32x2x16xf32>) -> tensor<2x32x2x2x16xf32> {
    %0 = nn.attention scale 0.25 %q, %k, %k : tensor<2x32x2x2x16xf32>, tensor<2x32x2x16xf32>, tensor<2x32x2x16xf32> -> tensor<2x32x2x2x16xf32>
    return %0 : tensor<2x32x2x2x16xf32>
  }
}

//--- none.mlir
// NONE: error: strategy 'cp=all_to_all' expects a program with attention but got one without
module attributes {dist.context = {method = "all_to_all", seq = #dist.axes<{"cp"}>, batch = #dist.axes<{}>, heads = #dist.axes<{}>}} {
  dist.mesh @mesh ["cp"=8]
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}
