// RUN: split-file %s %t
// RUN: tessera-opt %t/latent.mlir --dist-gather-latents --remarks-filter='strategy.*' --remark-policy=all 2>&1 | FileCheck %s --check-prefix=LATENT
// RUN: tessera-opt %t/latent.mlir --dist-gather-latents --dist-pin-context | FileCheck %s --check-prefix=PINNED
// RUN: tessera-opt %t/shared.mlir --dist-gather-latents | FileCheck %s --check-prefix=SHARED
// RUN: not tessera-opt %t/none.mlir --dist-gather-latents 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: tessera-opt %t/ring.mlir --dist-gather-latents | FileCheck %s --check-prefix=RING

// Keys are computed from a latent and from one head with positions, values from
// the same latent. Both become whole, after the norm and the rotation: these are
// as small, and nearer to the attention. The constraint holds for gradients.
//--- latent.mlir
// LATENT: keys and values are computed from gathered latents{{.*}}bytes=2048
// LATENT: keys and values are computed from gathered latents{{.*}}bytes=1024
// LATENT: %[[NORM:.*]] = nn.rms_norm
// LATENT-NEXT: %[[C:.*]] = dist.constraint %[[NORM]] <@mesh, [{?}, {}, {?}], replicated={"cp"}> with_gradient : tensor<1x32x16xf32>
// LATENT: %[[ROPE:.*]] = nn.rope %{{.*}} : tensor<1x32x8xf32>
// LATENT-NEXT: %[[R:.*]] = dist.constraint %[[ROPE]] <@mesh, [{?}, {}, {?}], replicated={"cp"}> with_gradient : tensor<1x32x8xf32>
// LATENT: nn.einsum "bsc,cgk->bsgk" %[[C]]
// LATENT: nn.broadcast %[[R]]
// LATENT: nn.einsum "bsc,cgk->bsgk" %[[C]]
// LATENT-NOT: dist.constraint

// Queries have the axis, keys and values none.
// PINNED: nn.einsum "bsc,cgk->bsgk" {{.*}}dist.shardings = [#dist.sharding<@mesh, [{?}, {}, {?}, {?}], replicated={"cp"}>]
// PINNED: nn.attention causal
// PINNED-SAME: dist.factors = [#dist.axes<{}>, #dist.axes<{"cp"}>,
module attributes {dist.context = {method = "latent", seq = #dist.axes<{"cp"}>, batch = #dist.axes<{}>, heads = #dist.axes<{}>}} {
  dist.mesh @mesh ["cp"=4]
  func.func @f(%x: tensor<1x32x64xf32>, %wq: tensor<64x4x1x24xf32>, %wc: tensor<64x16xf32>, %gamma: tensor<16xf32>, %wr: tensor<64x8xf32>, %wk: tensor<16x4x16xf32>, %wv: tensor<16x4x16xf32>) -> tensor<1x32x4x1x16xf32> {
    %q = nn.einsum "bsd,dgrk->bsgrk" %x, %wq : tensor<1x32x64xf32>, tensor<64x4x1x24xf32> -> tensor<1x32x4x1x24xf32>
    %c = nn.einsum "bsd,dc->bsc" %x, %wc : tensor<1x32x64xf32>, tensor<64x16xf32> -> tensor<1x32x16xf32>
    %n = nn.rms_norm %c, %gamma eps 1.0e-6 : tensor<1x32x16xf32>, tensor<16xf32>
    %p = nn.einsum "bsd,dk->bsk" %x, %wr : tensor<1x32x64xf32>, tensor<64x8xf32> -> tensor<1x32x8xf32>
    %r = nn.rope %p dim 1 frequencies [1.0, 0.5, 0.25, 0.125] : tensor<1x32x8xf32>
    %k0 = nn.einsum "bsc,cgk->bsgk" %n, %wk : tensor<1x32x16xf32>, tensor<16x4x16xf32> -> tensor<1x32x4x16xf32>
    %k1 = nn.broadcast %r dims [0, 1, 3] : tensor<1x32x8xf32> -> tensor<1x32x4x8xf32>
    %k = tensor.concat dim(3) %k0, %k1 : (tensor<1x32x4x16xf32>, tensor<1x32x4x8xf32>) -> tensor<1x32x4x24xf32>
    %v = nn.einsum "bsc,cgk->bsgk" %n, %wv : tensor<1x32x16xf32>, tensor<16x4x16xf32> -> tensor<1x32x4x16xf32>
    %o = nn.attention causal scale 0.25 %q, %k, %v : tensor<1x32x4x1x24xf32>, tensor<1x32x4x24xf32>, tensor<1x32x4x16xf32> -> tensor<1x32x4x1x16xf32>
    return %o : tensor<1x32x4x1x16xf32>
  }
}

// Two attentions share a latent, which is gathered once. What queries are
// computed from, too, is no latent, however small it is.
//--- shared.mlir
// SHARED: %[[C:.*]] = nn.einsum "bsd,dc->bsc"
// SHARED-NEXT: %[[L:.*]] = dist.constraint %[[C]]
// SHARED-NEXT: nn.einsum "bsc,cgk->bsgk" %[[L]]
// SHARED-NEXT: nn.einsum "bsc,cgk->bsgk" %[[L]]
// SHARED-NOT: dist.constraint
module attributes {dist.context = {method = "latent", seq = #dist.axes<{"cp"}>, batch = #dist.axes<{}>, heads = #dist.axes<{}>}} {
  dist.mesh @mesh ["cp"=4]
  func.func @f(%x: tensor<1x32x4xf32>, %q: tensor<1x32x4x1x16xf32>, %wq: tensor<4x4x1x16xf32>, %wc: tensor<4x8xf32>, %wk: tensor<8x4x16xf32>, %wv: tensor<8x4x16xf32>) -> (tensor<1x32x4x1x16xf32>, tensor<1x32x4x1x16xf32>) {
    %c = nn.einsum "bsd,dc->bsc" %x, %wc : tensor<1x32x4xf32>, tensor<4x8xf32> -> tensor<1x32x8xf32>
    %k = nn.einsum "bsc,cgk->bsgk" %c, %wk : tensor<1x32x8xf32>, tensor<8x4x16xf32> -> tensor<1x32x4x16xf32>
    %v = nn.einsum "bsc,cgk->bsgk" %c, %wv : tensor<1x32x8xf32>, tensor<8x4x16xf32> -> tensor<1x32x4x16xf32>
    %q1 = nn.einsum "bsd,dgrk->bsgrk" %x, %wq : tensor<1x32x4xf32>, tensor<4x4x1x16xf32> -> tensor<1x32x4x1x16xf32>
    %o = nn.attention scale 0.25 %q, %k, %v : tensor<1x32x4x1x16xf32>, tensor<1x32x4x16xf32>, tensor<1x32x4x16xf32> -> tensor<1x32x4x1x16xf32>
    %o1 = nn.attention scale 0.25 %q1, %k, %v : tensor<1x32x4x1x16xf32>, tensor<1x32x4x16xf32>, tensor<1x32x4x16xf32> -> tensor<1x32x4x1x16xf32>
    return %o, %o1 : tensor<1x32x4x1x16xf32>, tensor<1x32x4x1x16xf32>
  }
}

//--- none.mlir
// NONE: error: strategy 'cp=latent' expects attention whose keys and values are computed from latents but got none
module attributes {dist.context = {method = "latent", seq = #dist.axes<{"cp"}>, batch = #dist.axes<{}>, heads = #dist.axes<{}>}} {
  dist.mesh @mesh ["cp"=4]
  func.func @f(%x: tensor<1x32x64xf32>, %wq: tensor<64x4x1x16xf32>, %wk: tensor<64x4x16xf32>) -> tensor<1x32x4x1x16xf32> {
    %q = nn.einsum "bsd,dgrk->bsgrk" %x, %wq : tensor<1x32x64xf32>, tensor<64x4x1x16xf32> -> tensor<1x32x4x1x16xf32>
    %k = nn.einsum "bsd,dgk->bsgk" %x, %wk : tensor<1x32x64xf32>, tensor<64x4x16xf32> -> tensor<1x32x4x16xf32>
    %o = nn.attention causal scale 0.25 %q, %k, %k : tensor<1x32x4x1x16xf32>, tensor<1x32x4x16xf32>, tensor<1x32x4x16xf32> -> tensor<1x32x4x1x16xf32>
    return %o : tensor<1x32x4x1x16xf32>
  }
}

// Other methods gather keys and values.
//--- ring.mlir
// RING: dist.context
// RING-NOT: dist.constraint
module attributes {dist.context = {method = "ring", seq = #dist.axes<{"cp"}>, batch = #dist.axes<{}>, heads = #dist.axes<{}>}} {
  dist.mesh @mesh ["cp"=4]
  func.func @f(%q: tensor<1x32x4x1x16xf32>, %c: tensor<1x32x8xf32>, %wk: tensor<8x4x16xf32>) -> tensor<1x32x4x1x16xf32> {
    %k = nn.einsum "bsc,cgk->bsgk" %c, %wk : tensor<1x32x8xf32>, tensor<8x4x16xf32> -> tensor<1x32x4x16xf32>
    %o = nn.attention scale 0.25 %q, %k, %k : tensor<1x32x4x1x16xf32>, tensor<1x32x4x16xf32>, tensor<1x32x4x16xf32> -> tensor<1x32x4x1x16xf32>
    return %o : tensor<1x32x4x1x16xf32>
  }
}
