//===- DistAttention.td - Attention around a ring ----------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_DIST_DISTATTENTION_TD
#define TESSERA_DIALECTS_DIST_DISTATTENTION_TD

include "dialects/Dist/DistOps.td"

def Dist_RingAttentionOp : Dist_Op<"ring_attention",
    [SingleBlock, IsolatedFromAbove, RecursiveMemoryEffects]> {
  let summary = "attention beside the exchange of keys and values, in chunks";
  let description = [{
    Computes what its region says: attention of gathered keys and values, or its
    backward, whose gradients of keys and values are scattered. A device never
    has all of them: it attends to the chunk that it has while its neighbour's
    comes, and the partial results are combined in f32 (Ring Attention, Liu et
    al. 2023). Gradients travel with their chunk.

    (C1) the region takes the operands and yields the results' types; (C2) it
    holds two all-gathers of arguments, along one dimension over the same axes, a
    group of several; then one other op that is no offset, which takes them; then
    two reduce-scatters of sums of its last results, along that dimension and
    over these axes, or none; (C3) it yields the results of that op, scattered
    where they are.

    ```mlir
    %o = dist.ring_attention (%q, %k, %v)
        : (tensor<2x8x2x2x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x2x16xf32>)
        -> tensor<2x8x2x2x16xf32> {
    ^bb0(%a: tensor<2x8x2x2x16xf32>, %b: tensor<2x8x2x16xf32>, %c: tensor<2x8x2x16xf32>):
      %p = dist.axis_offset <{"cp"}> size 8 on @mesh : index
      %0 = dist.all_gather %b dim 1 over <{"cp"}> on @mesh
          : tensor<2x8x2x16xf32> -> tensor<2x32x2x16xf32>
      %1 = dist.all_gather %c dim 1 over <{"cp"}> on @mesh
          : tensor<2x8x2x16xf32> -> tensor<2x32x2x16xf32>
      %2 = nn.attention causal scale 0.25 %a, %0, %1 q_offset %p
          : tensor<2x8x2x2x16xf32>, tensor<2x32x2x16xf32>, tensor<2x32x2x16xf32>
          -> tensor<2x8x2x2x16xf32>
      dist.yield %2 : tensor<2x8x2x2x16xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$inputs);
  let results = (outs Variadic<AnyStaticShapeTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $inputs `)` attr-dict `:` functional-type($inputs, $results) $body
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The gathers of keys and of values.
    ::llvm::SmallVector<AllGatherOp, 2> getGathers();
    /// The attention, or its backward.
    ::mlir::Operation *getAttention();
    /// The reduce-scatters of gradients of keys and of values; none in a
    /// forward.
    ::llvm::SmallVector<ReduceScatterOp, 2> getScatters();
    /// The op that ends the region.
    YieldOp getYield();
  }];
}

#endif // TESSERA_DIALECTS_DIST_DISTATTENTION_TD
