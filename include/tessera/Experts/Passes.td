//===- Passes.td - Mixtures of experts on a device ---------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_EXPERTS_PASSES_TD
#define TESSERA_EXPERTS_PASSES_TD

include "mlir/Pass/PassBase.td"

def PackRowsPass : Pass<"dist-pack-rows", "::mlir::ModuleOp"> {
  let summary = "tensors by expert hold only the rows that are used";
  let description = [{
    In a local function a tensor by expert, of which each token has rows for all
    held experts, goes through `dist.pack_rows` after the op that makes it and
    `dist.unpack_rows` before each op that reads it. So what is kept for the
    backward, or sent from task to task, are rows of the experts that tokens go to.
    There is room for the most of them, as each token may go to as many held
    experts as it has choices, or for the plan's `moe-room` times those of an even
    load. The layers of the forward are numbered (`dist.layer`).

    ```mlir
    %y, %g, %u = nn.experts <silu> of 8 %x, %ids, ... offset %o : ... stats tensor<4x32x4x96xf32>, ...
    %dx, %dgates, %dg, %du = nn.experts_backward <silu> of 8 ..., %g, %u offset %o : ...
    ```
    becomes
    ```mlir
    %y, %g, %u = nn.experts <silu> of 8 %x, %ids, ... offset %o : ... stats tensor<4x32x4x96xf32>, ...
    %r = dist.pack_rows %g by %ids offset %o : tensor<4x32x4x96xf32>, tensor<4x32x2xi32> -> tensor<256x96xf32>
    %g2 = dist.unpack_rows %r by %ids offset %o : tensor<256x96xf32>, tensor<4x32x2xi32> -> tensor<4x32x4x96xf32>
    %dx, %dgates, %dg, %du = nn.experts_backward <silu> of 8 ..., %g2, ... offset %o : ...
    ```
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
}

def FormDispatchPass : Pass<"dist-form-dispatch", "::mlir::func::FuncOp"> {
  let summary = "sends tokens only to the experts that they go to";
  let description = [{
    Ops on held experts (`nn::RoutedOpInterface`) read gathered tokens, and their
    sums over tokens are scattered. With `peers` an all-gather that only such ops
    read, of one choice of experts, becomes `dist.dispatch`, and a reduce-scatter
    of such a sum `dist.combine`. With `padded` both become all-to-alls of blocks
    with room for the plan's `moe-room` times the tokens of an even load from one
    device to another, where that is less than all; tokens without room are NaN.
    `dense` leaves both. `auto` chooses peers for the host, whose devices read the
    memory of each other, and elsewhere padded if the plan has `moe-room`.

    Tokens that are gathered along several dimensions are gathered over the outer
    axes of the mesh first, and their sums are scattered over these axes last, in
    each mode: a token crosses outer links once. A dispatch over an outer axis
    sends a device the tokens that its group along the inner axes uses.

    ```mlir
    %xa = dist.all_gather %x dim 0 over <{"dp"}> on @mesh : ...
    %ia = dist.all_gather %ids dim 0 over <{"dp"}> on @mesh : ...
    %p = nn.experts <silu> of 8 %xa, %ia, ... offset %o : ...
    %y = dist.reduce_scatter <sum> %p dim 0 over <{"dp"}> on @mesh : ...
    ```
    becomes
    ```mlir
    %ia = dist.all_gather %ids dim 0 over <{"dp"}> on @mesh : ...
    %xa = dist.dispatch %x by %ia experts 2 of 8 at <{"dp"}> dim 0 over <{"dp"}> on @mesh : ...
    %p = nn.experts <silu> of 8 %xa, %ia, ... offset %o : ...
    %y = dist.combine %p by %ids experts 2 of 8 at <{"dp"}> dim 0 over <{"dp"}> on @mesh : ...
    ```
  }];
  let dependentDialects = [
    "::tessera::dist::DistDialect", "::tessera::rt::RTDialect",
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"];
  let options = [Option<
      "dispatch", "dispatch", "::tessera::Dispatch",
      /*default=*/"::tessera::Dispatch::Auto", "how tokens are sent",
      [{::llvm::cl::values(
        clEnumValN(::tessera::Dispatch::Auto, "auto",
                   "peers on the host; elsewhere padded with room, else dense"),
        clEnumValN(::tessera::Dispatch::Peers, "peers",
                   "devices read the rows that they use"),
        clEnumValN(::tessera::Dispatch::Padded, "padded",
                   "devices exchange blocks with room for some tokens"),
        clEnumValN(::tessera::Dispatch::Dense, "dense", "all tokens"))}]>];
}

def LowerExpertsPass : Pass<"rt-lower-experts", "::mlir::func::FuncOp"> {
  let summary = "routing and experts become library calls and linalg";
  let description = [{
    `nn.experts` and its gradients become library calls on rows, with one
    `rt.route` for the ids of a layer. `dist.pack_rows` and `dist.unpack_rows`
    between them vanish; elsewhere they become loops. `nn.top_k` becomes
    reductions of each row, `nn.expert_capacity` a library call.

    ```mlir
    %y, %g, %u = nn.experts <silu> of 8 %x, %ids, %gates, %wg, %wu, %wd offset %o : ... stats tensor<4x32x2x96xf32>, ...
    %r = dist.pack_rows %g by %ids offset %o : ... -> tensor<256x96xf32>
    ```
    becomes
    ```mlir
    %p = rt.route %ids experts 2 room 256 offset %o : tensor<4x32x2xi32> -> tensor<515xi32>
    %y, %r, %u = rt.experts <silu> %x, %p, %gates, %wg, %wu, %wd : ... rows tensor<256x96xf32>, ...
    ```
  }];
  let dependentDialects = [
    "::tessera::rt::RTDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

#endif // TESSERA_EXPERTS_PASSES_TD
