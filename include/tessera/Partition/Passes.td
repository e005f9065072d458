//===- Passes.td - From global tensors to one device's -----*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PARTITION_PASSES_TD
#define TESSERA_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def PinExpertsPass : Pass<"dist-pin-experts", "::mlir::ModuleOp"> {
  let summary = "keeps experts on their devices";
  let description = [{
    On a module with `dist.experts`, which `dist-apply-strategy` writes for `ep`,
    each op on experts (`nn.experts`, `nn.expert_rows` and their gradients) gets
    `dist.factors`: the axes of the experts, and those of the tokens and of the ffn
    that remain. So tokens go to the experts, and no weight of an expert goes to
    tokens, which would move fewer bytes for a large batch. `dist.experts` is gone
    then.

    ```mlir
    module attributes {dist.experts = {experts = #dist.axes<{"dp"}>, batch = #dist.axes<{}>, seq = #dist.axes<{}>, ffn = #dist.axes<{}>}} {
      dist.mesh @mesh ["dp"=4]
      func.func @f(...) { ... %y = nn.experts <silu> of 8 %x, %ids, %gates, %wg, %wu, %wd : tensor<4x32x64xf32>, ... }
    ```
    becomes
    ```mlir
      %y = nn.experts <silu> of 8 %x, %ids, %gates, %wg, %wu, %wd {dist.factors = [
          #dist.axes<{}>, #dist.axes<{}>, #dist.axes<{}>, #dist.axes<{"dp"}>, ...]}
    ```
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
}

def GatherLatentsPass : Pass<"dist-gather-latents", "::mlir::ModuleOp"> {
  let summary = "gathers latents in place of the keys and values from them";
  let description = [{
    On a module whose `dist.context` has the method `latent`, before there is a
    backward: a `dist.constraint` after each latent keeps the dimension of the
    sequence whole. Latents are the values of the fewest bytes that keys and
    values, and nothing else, are computed from. A module without them is an
    error.

    ```mlir
    %c = nn.einsum "bsd,dc->bsc" %x, %wa : tensor<2x32x64xf32>, ... -> tensor<2x32x16xf32>
    %k = nn.einsum "bsc,cgk->bsgk" %c, %wk : tensor<2x32x16xf32>, ... -> tensor<2x32x4x16xf32>
    ```
    becomes
    ```mlir
    %l = dist.constraint %c <@mesh, [{?}, {}, {?} ]> with_gradient : tensor<2x32x16xf32>
    %k = nn.einsum "bsc,cgk->bsgk" %l, %wk : tensor<2x32x16xf32>, ... -> tensor<2x32x4x16xf32>
    ```
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
}

def PinContextPass : Pass<"dist-pin-context", "::mlir::ModuleOp"> {
  let summary = "chooses by which method devices along the sequence attend";
  let description = [{
    On a module with `dist.context`, which `dist-apply-strategy` writes for `cp`,
    each attention and its backward get `dist.factors` for the method that it
    names, or, for `auto`, for the fastest one: the axis goes to the queries
    (all_gather, latent), or to the groups and heads (all_to_all). The axes of heads
    that tensor parallelism has are before it. A remark `ContextMethod` has the
    time and the bytes of every method. `dist.context` is gone then.

    ```mlir
    module attributes {dist.context = {method = "all_to_all", seq = #dist.axes<{"cp"}>, batch = #dist.axes<{}>, heads = #dist.axes<{}>}} {
      dist.mesh @mesh ["cp"=2]
      func.func @f(...) { ... %o = nn.attention causal scale 0.25 %q, %k, %v : tensor<2x32x2x2x16xf32>, ... }
    ```
    becomes
    ```mlir
      %o = nn.attention causal scale 0.25 %q, %k, %v {dist.factors = [
          #dist.axes<{}>, #dist.axes<{}>, #dist.axes<{"cp"}>, #dist.axes<{}>, ...]}
    ```
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
}

def DecomposeReductionsPass : Pass<"dist-decompose", "::mlir::ModuleOp"> {
  let summary = "rewrites ops whose own reduction is sharded or padded";
  let description = [{
    An op with a factor of kind Decomposed that is sharded, or that will be
    padded and that the op cannot handle itself, is rewritten by its
    `decompose` into ops with plain reductions. The new values get the shardings
    that follow from the op's; `dist-insert-reshards` adds the reductions.

    ```mlir
    %y = nn.softmax %x dim 1 {dist.shardings = [#dist.sharding<@mesh, [{}, {"tp"} ]>]} : tensor<8x16xf32>
    ```
    becomes `nn.reduce <max>`, `math.exp`, `nn.reduce <sum>` and a division.
  }];
  let dependentDialects = ["::tessera::dist::DistDialect",
                           "::tessera::nn::NNDialect"];
}

def PadFactorsPass : Pass<"dist-pad-factors", "::mlir::ModuleOp"> {
  let summary = "rounds sizes up to what the axes on them divide";
  let description = [{
    Dimensions that ops tie together have one size; it is rounded up to a
    multiple of the number of devices along all axes that any of them is sharded
    over. Types change, `dist.global_shape` keeps the true shape of arguments
    and results, and where padding would reach a reduction whose neutral element
    it is not known to be, or an op is not defined on it (a divisor), it is
    replaced by `nn.mask_padding`. An analysis remark gives the waste.

    An op that cannot take padding along a dimension (a slice of it, a reshape
    that has it on the minor side, an op without a rule) gets the true elements
    of its operands by `tensor.extract_slice`, which needs them whole on each
    device, and zeros are put after those that it makes by `tensor.concat`. A
    remark names each.

    With `multiple` the minor dimension of a matmul's operand or result becomes a
    multiple of it on each device, where all ops that share the dimension can be
    informed of padding or need not be: a vocabulary of 50257 becomes 50304, and the
    loss is informed that there are 50257 classes. That also is done for a module
    without a mesh. Remarks name what was padded for that, and why what was not.

    ```mlir
    func.func @f(%x: tensor<17x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {} ]>})
    ```
    on 8 devices along dp becomes `tensor<24x4xf32>` with
    `dist.global_shape = array<i64: 17, 4>`.
  }];
  let options = [
    Option<"multiple", "multiple", "int64_t", "0",
           "what minor dimensions of matmuls become a multiple of; -1: 64 where "
           "that adds 1 % at most, else 8, or 16 where a matmul reads 8 bits, "
           "where that adds an eighth at most; 0: they stay">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect",
    "::tessera::dist::DistDialect", "::tessera::nn::NNDialect"
  ];
}

def InsertReshardsPass : Pass<"dist-insert-reshards", "::mlir::ModuleOp"> {
  let summary = "puts a dist.reshard where a sharding is not what an op needs";
  let description = [{
    Chooses for each op what its factors are sharded over, by bytes moved
    (ReshardCost.h), and puts a `dist.reshard`, on global types, before operands
    and after results that differ: one for each value and target. A reduction
    over a sharded factor gives a partial result and a reshard of it. An init
    operand of such a reduction goes through `dist.to_partial` unless it is a
    fill with the neutral element. A `dist.constraint` becomes a reshard or
    vanishes. A constant, or a scalar that is broadcast, is not resharded but
    made again with the sharding that is needed.

    ```mlir
    %0 = nn.einsum "bk,kn->bn" %x, %w {dist.shardings = [#dist.sharding<@mesh, [{}, {} ]>]} : ...
    ```
    with k sharded over tp becomes
    ```mlir
    %0 = nn.einsum "bk,kn->bn" %x, %w {dist.shardings = [#dist.sharding<@mesh, [{}, {} ], unreduced={"tp"}>]} : ...
    %1 = dist.reshard %0 from <@mesh, [{}, {} ], unreduced={"tp"}> to <@mesh, [{}, {} ]> : ...
    ```
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
}

def PlaceReductionsPass : Pass<"dist-place-reductions", "::mlir::ModuleOp"> {
  let summary = "delays reductions through linear ops";
  let description = [{
    Where an op is linear in operands that have just been reduced over the same
    axes, the op runs on the partial values and its result is reduced, if that
    moves no more bytes. A sum of two row-parallel matmuls is reduced once.

    ```mlir
    %a = dist.reshard %p from <@mesh, [{}, {} ], unreduced={"tp"}> to <@mesh, [{}, {} ]> : ...
    %b = dist.reshard %q from <@mesh, [{}, {} ], unreduced={"tp"}> to <@mesh, [{}, {} ]> : ...
    %c = arith.addf %a, %b : ...
    ```
    becomes the sum of `%p` and `%q` and one reshard.

    A reduction with several uses moves after all that is linear in it, up to
    16 ops, where that takes less time in all: where, further on, something else
    is reduced over the same axes.
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
}

def MergeReshardsPass : Pass<"dist-merge-reshards", "::mlir::ModuleOp"> {
  let summary = "joins reshards with each other, also through casts";
  let description = [{
    A reshard of a reshard goes straight from the first sharding to the last
    one, if that takes no more time. A reshard moves to the other side of an op
    of one tensor whose factors are all parallel (a cast, a transpose, a
    reshape) if that takes less: there the element type is smaller, or another
    reshard follows. Reductions do not move.

    ```mlir
    %1 = dist.reshard %0 from <@mesh, [{"x"}, {} ]> to <@mesh, [{}, {} ]> : tensor<8x4xf32>
    %2 = arith.truncf %1 : tensor<8x4xf32> to tensor<8x4xbf16>
    ```
    becomes
    ```mlir
    %1 = arith.truncf %0 : tensor<8x4xf32> to tensor<8x4xbf16>
    %2 = dist.reshard %1 from <@mesh, [{"x"}, {} ]> to <@mesh, [{}, {} ]> : tensor<8x4xbf16>
    ```
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
}

def ReshardToCollectivesPass
    : Pass<"dist-reshard-to-collectives", "::mlir::ModuleOp"> {
  let summary = "turns each dist.reshard into collectives";
  let description = [{
    Collectives still are on global types, with the shardings before and
    after. Each gives a remark with its axes and bytes. ReshardPlanner.h says
    which are chosen.

    ```mlir
    %1 = dist.reshard %0 from <@mesh, [{"tp"}, {} ]> to <@mesh, [{}, {} ]> : tensor<8x4xf32>
    ```
    becomes
    ```mlir
    %1 = dist.all_gather %0 dim 0 over <{"tp"}> on @mesh from <@mesh, [{"tp"}, {} ]>
        to <@mesh, [{}, {} ]> : tensor<8x4xf32> -> tensor<8x4xf32>
    ```
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
}

def GlobalToLocalPass : Pass<"dist-global-to-local", "::mlir::ModuleOp"> {
  let summary = "gives every tensor the shape of one device's block";
  let description = [{
    Ops are cloned for local shapes; an op whose value depends on a position
    gets a `dist.axis_offset`. Functions keep the sharding and the true global
    shape of arguments and results and are marked `dist.local`; shardings on ops
    go.

    ```mlir
    func.func @f(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {} ]>})
    ```
    on 4 devices along dp becomes
    ```mlir
    func.func @f(%x: tensor<2x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = ...})
        attributes {dist.local}
    ```
  }];
  let dependentDialects = ["::tessera::dist::DistDialect",
                           "::mlir::arith::ArithDialect"];
}

def VerifyLocalPass : Pass<"dist-verify-local", "::mlir::ModuleOp"> {
  let summary = "checks the boundary after partition";
  let description = [{
    Every function with a body is local; no `dist.reshard`, `dist.constraint` or
    `dist.group` is left, every collective is in the local form, every
    tensor is static, no op carries `dist.shardings`. Changes nothing.

    ```mlir
    func.func @f(%x: tensor<2x4xf32>) -> tensor<8x4xf32> attributes {dist.local} {
      %1 = dist.all_gather %x dim 0 over <{"tp"}> on @mesh : tensor<2x4xf32> -> tensor<8x4xf32>
      return %1 : tensor<8x4xf32>
    }
    ```
    is accepted; with `dist.reshard` in it, it is an error.
  }];
}

def ExpectGlobalPass : Pass<"dist-expect-global", "::mlir::ModuleOp"> {
  let summary = "fails where a function is local already";
  let description = [{
    A local function has the types of one device, so partitioning it again would
    take parts for wholes. Changes nothing.

    ```mlir
    func.func @f(...) attributes {dist.local}
    // error: expects a global function to partition but got a local one
    ```
  }];
}

#endif // TESSERA_PARTITION_PASSES_TD
