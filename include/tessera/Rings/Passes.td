//===- Passes.td - Work around a ring of devices -----------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RINGS_PASSES_TD
#define TESSERA_RINGS_PASSES_TD

include "mlir/Pass/PassBase.td"

def FormRingAttentionPass : Pass<"dist-form-ring-attention", "::mlir::ModuleOp"> {
  let summary = "attention with dist.ring runs in chunks beside its gathers";
  let description = [{
    An attention that `dist-pin-context` marked `dist.ring`, with the axes of a
    ring, becomes one `dist.ring_attention` with the gathers of its keys and
    values and, of a backward, the scatters of their gradients. Of a gather over
    more axes the others are gathered before, and scattered after. A gradient that
    is summed for all devices is scattered, and gathered after; one that nothing
    reads is scattered. An attention without such collectives runs as it is, and a
    remark `Ring` says so.

    ```mlir
    %0 = dist.all_gather %k dim 1 over <{"cp"}> on @mesh : tensor<2x8x2x16xf32> -> tensor<2x32x2x16xf32>
    %1 = dist.all_gather %v dim 1 over <{"cp"}> on @mesh : tensor<2x8x2x16xf32> -> tensor<2x32x2x16xf32>
    %2 = nn.attention scale 0.25 %q, %0, %1 {dist.ring = #dist.axes<{"cp"}>} : ...
    ```
    becomes
    ```mlir
    %2 = dist.ring_attention (%q, %k, %v) : ... { ... }
    ```
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
}

def CountPairsPass : Pass<"dist-count-pairs", "::mlir::ModuleOp"> {
  let summary = "notes how evenly devices share attention";
  let description = [{
    A local function gets `dist.pairs`, the fewest and the most pairs of a query and
    a key that it sees on a device, of a sequence and a head, of the attention where
    they are most. The report of collectives prints them. In plain order the last of
    four devices has six times as many as the first:

    ```mlir
    func.func @f(...) attributes {dist.local} {
      %p = dist.axis_offset <{"cp"}> size 8 on @mesh : index
      %o = nn.attention causal scale 0.25 %q, %k, %v q_offset %p : tensor<2x8x2x2x16xf32>, tensor<2x32x2x16xf32>, ...
    ```
    gets `dist.pairs = array<i64: 36, 228>`.
  }];
}

def ExpandRingAttentionPass : Pass<"dist-expand-ring-attention", "::mlir::ModuleOp"> {
  let summary = "dist.ring_attention becomes permutes and attentions of chunks";
  let description = [{
    ```mlir
    %o = dist.ring_attention (%q, %k, %v) : ... { ... }
    ```
    around two devices becomes
    ```mlir
    %k1 = dist.collective_permute %k targets [1, 0] over <{"cp"}> on @mesh : ...
    %v1 = dist.collective_permute %v targets [1, 0] over <{"cp"}> on @mesh : ...
    %o0, %l0 = nn.attention scale 0.25 %q, %k, %v k_offset %p0 : ...
    %o1, %l1 = nn.attention scale 0.25 %q, %k1, %v1 k_offset %p1 : ...
    ```
    and elementwise ops that combine the results by the logarithms of their sums
    of exponentials. Results of steps are f32 at least. In a backward the sums of
    dk and dv, in f32 at least, go around with their chunk; for a GPU (`rt.target`)
    the gradients of one step are of the operands' type, as its libraries have them.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::tessera::dist::DistDialect", "::tessera::nn::NNDialect"];
}

def ExpandOrderPass : Pass<"dist-expand-order", "::mlir::ModuleOp"> {
  let summary = "attention in zig-zag order becomes attentions in plain order";
  let description = [{
    Kernels of attention take queries and keys of positions that follow each other.
    All keys of a sequence are put into the order of positions; the queries of a
    device are an attention for each chunk. On the second of two devices,

    ```mlir
    %o = nn.attention causal scale 0.25 order <shards = 2, size = 32> %q, %k, %v q_offset %p
        : tensor<2x16x2x2x16xf32>, tensor<2x32x2x16xf32>, ...
    ```
    becomes
    ```mlir
    %q0 = tensor.extract_slice %q[0, 0, 0, 0, 0] [2, 8, 2, 2, 16] ... // positions 8 to 15
    %q1 = tensor.extract_slice %q[0, 8, 0, 0, 0] [2, 8, 2, 2, 16] ... // positions 16 to 23
    %o0 = nn.attention causal scale 0.25 %q0, %keys, %values q_offset %p0 : ...
    %o1 = nn.attention causal scale 0.25 %q1, %keys, %values q_offset %p1 : ...
    %o = tensor.concat dim(1) %o0, %o1 : ...
    ```
    where `%keys` and `%values` are slices of `%k` and `%v` in another order. Shards
    that are more pieces than the sequence has chunks are an error.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect", "::tessera::nn::NNDialect"];
}

#endif // TESSERA_RINGS_PASSES_TD
