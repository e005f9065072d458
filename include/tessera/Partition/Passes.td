//===- Passes.td - From global tensors to one device's -----*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PARTITION_PASSES_TD
#define TESSERA_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

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
    device, and zeros are put behind those that it makes by `tensor.concat`. A
    remark names each.

    With `multiple` the minor dimension of a product's operand or result becomes a
    multiple of it on each device, where all ops that share the dimension can be
    told of padding or need not be: a vocabulary of 50257 becomes 50304, and the
    loss is told that there are 50257 classes. That also is done for a module
    without a mesh. Remarks name what was padded for that, and why what was not.

    ```mlir
    func.func @f(%x: tensor<17x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {} ]>})
    ```
    on 8 devices along dp becomes `tensor<24x4xf32>` with
    `dist.global_shape = array<i64: 17, 4>`.
  }];
  let options = [
    Option<"multiple", "multiple", "int64_t", "0",
           "what minor dimensions of products become a multiple of; -1: 64 where "
           "that adds 1 % at most, else 8, or 16 where a product reads 8 bits, "
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
    and behind results that differ: one for each value and target. A reduction
    over a sharded factor gives a partial result and a reshard of it. An init
    operand of such a reduction goes through `dist.to_partial` unless it is a
    fill with the neutral element. A `dist.constraint` becomes a reshard or
    vanishes.

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
    moves no more bytes. A sum of two row-parallel products is reduced once.

    ```mlir
    %a = dist.reshard %p from <@mesh, [{}, {} ], unreduced={"tp"}> to <@mesh, [{}, {} ]> : ...
    %b = dist.reshard %q from <@mesh, [{}, {} ], unreduced={"tp"}> to <@mesh, [{}, {} ]> : ...
    %c = arith.addf %a, %b : ...
    ```
    becomes the sum of `%p` and `%q` and one reshard.

    A reduction with several uses moves behind all that is linear in it, up to
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
    Collectives still stand on global types, with the shardings before and
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

def FuseCollectivesPass : Pass<"dist-fuse-collectives", "::mlir::ModuleOp"> {
  let summary = "merges neighbouring collectives of local functions";
  let description = [{
    Each rewrite moves fewer bytes, or the same in fewer collectives, and gives a
    remark; so does each that something prevents:

    * an all-reduce whose only uses slice one dimension becomes a reduce-scatter
      over the axes that all slices begin with; a reduce-scatter that is only
      gathered again becomes an all-reduce; two reductions that are only added
      up become one;
    * a slice of an all-gather over the same axes and dimension is its operand; a
      slice goes before an all-gather of another dimension; all-gathers, slices
      and all-to-alls in a row become one;
    * casts to a smaller type go before a collective that moves whole elements,
      casts to a larger one behind it;
    * equal collectives of one value are done once. A parameter is gathered for
      each use on purpose: its gathers are merged only as far as no more than
      `shared-bytes` stay live longer for it.

    ```mlir
    %1 = dist.all_reduce <sum> %0 over <{"tp"}> on @mesh : tensor<8x4xf32> -> tensor<8x4xf32>
    %2 = dist.slice %1 dim 0 over <{"tp"}> on @mesh : tensor<8x4xf32> -> tensor<2x4xf32>
    ```
    becomes one `dist.reduce_scatter`.
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
  let options = [Option<"sharedBytes", "shared-bytes", "int64_t", /*default=*/"0",
                        "bytes of gathered parameters that may stay live longer">];
}

def BucketCollectivesPass : Pass<"dist-bucket-collectives", "::mlir::ModuleOp"> {
  let summary = "does small collectives of local functions as one";
  let description = [{
    All-reduces, reduce-scatters and all-gathers of one kind, over the same axes,
    by one reduction and of one element type become `dist.bucket`: several that
    are ready one after the other, none of which needs another's result, of at
    most `max-bytes` together. What is saved is their latency; what is paid is
    waiting for the last one, and copies side by side where the parts of several
    devices are mixed. The choice is the one with which all are done first, and
    then that which keeps the links busy for the shortest time. Each bucket gives
    a remark, and so does each border between two. Parameters are gathered where
    they are used; of those of one layer the ones become a bucket for which a
    copy takes less time than a collective, where the first is used. The bucket's
    buffer and what is copied out of it take no more than the largest parameter
    that is gathered.

    ```mlir
    %1 = dist.all_reduce <sum> %a over <{"dp"}> on @mesh : tensor<16xf32> -> tensor<16xf32>
    %2 = dist.all_reduce <sum> %b over <{"dp"}> on @mesh : tensor<8x4xf32> -> tensor<8x4xf32>
    ```
    becomes
    ```mlir
    %0:2 = dist.bucket (%a, %b)
        : (tensor<16xf32>, tensor<8x4xf32>) -> (tensor<16xf32>, tensor<8x4xf32>) {
    ^bb0(%c: tensor<16xf32>, %d: tensor<8x4xf32>):
      %1 = dist.all_reduce <sum> %c over <{"dp"}> on @mesh : tensor<16xf32> -> tensor<16xf32>
      %2 = dist.all_reduce <sum> %d over <{"dp"}> on @mesh : tensor<8x4xf32> -> tensor<8x4xf32>
      dist.yield %1, %2 : tensor<16xf32>, tensor<8x4xf32>
    }
    ```
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
  let options = [Option<"maxBytes", "max-bytes", "int64_t", /*default=*/"26214400",
                        "bytes that a device puts into one bucket; 0: no buckets">];
}

def FormCollectiveMatmulPass : Pass<"dist-form-collective-matmul", "::mlir::ModuleOp"> {
  let summary = "products run in pieces beside their all-gather or reduce-scatter";
  let description = [{
    Where a product's operand is gathered along a dimension that stays in the
    result, or its result reduce-scattered along one that is not summed over,
    both become one `dist.collective_matmul`, if that takes less time: a ring of
    n devices multiplies n pieces and sends n - 1 of them meanwhile, but reads the
    other operand n times and copies each piece once more. All products of a
    gathered value are taken that can stand before anything that they make is
    used. With `always` no time is asked for. A remark says by how much either way
    is shorter.

    ```mlir
    %0 = dist.all_gather %x dim 1 over <{"tp"}> on @mesh : tensor<2x4x8xf32> -> tensor<2x8x8xf32>
    %1 = nn.einsum "bsd,de->bse" %0, %w : tensor<2x8x8xf32>, tensor<8x6xf32> -> tensor<2x8x6xf32>
    ```
    becomes a `dist.collective_matmul (%x, %w)` with both in its region.
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
  let options = [Option<"always", "always", "bool", /*default=*/"false",
                        "whatever the time">];
}

def ExpandCollectiveMatmulPass : Pass<"dist-expand-collective-matmul", "::mlir::ModuleOp"> {
  let summary = "dist.collective_matmul becomes permutes and pieces of products";
  let description = [{
    ```mlir
    %r = dist.collective_matmul (%x, %w) : (tensor<2x4x8xf32>, tensor<8x6xf32>) -> tensor<2x8x6xf32> {...}
    ```
    that gathers over two devices becomes
    ```mlir
    %1 = dist.permute %x targets [1, 0] over <{"tp"}> on @mesh : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
    %0 = nn.einsum "bsd,de->bse" %x, %w : tensor<2x4x8xf32>, tensor<8x6xf32> -> tensor<2x4x6xf32>
    %2 = nn.einsum "bsd,de->bse" %1, %w : tensor<2x4x8xf32>, tensor<8x6xf32> -> tensor<2x4x6xf32>
    %r = dist.assemble %0, %2 dim 1 over <{"tp"}> on @mesh : tensor<2x4x6xf32>, tensor<2x4x6xf32> -> tensor<2x8x6xf32>
    ```
    A reduce-scatter's sums travel instead, each step adding a product of a slice
    of the operand.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect",
                           "::tessera::dist::DistDialect"];
}

def OverlapCollectivesPass : Pass<"dist-overlap-collectives", "::mlir::ModuleOp"> {
  let summary = "collectives run beside work";
  let description = [{
    Splits each collective of a local function into `dist.start` and `dist.wait`
    and finds an order of all ops, by the time that they take: a collective
    starts as soon as its operand is there and the links of its axes are free,
    what is needed first goes first; it is waited for where its result is needed.
    An op that would stall lets one behind it go first. What gathers parameters
    starts when the work on the layer before begins, no earlier. Neither ops nor
    starts move across a loop, a send or a receive. A gather of what stays the
    same in a loop, for which each iteration waits, stands before the loop if the
    step is shorter then.

    The arena of the step is at most that of the program whose collectives are
    waited for at once, plus `slack-bytes` or, where that is negative,
    `slack-share` of it. Collectives keep one order, the same on all devices. A
    remark for each says what runs beside it and what is exposed.

    ```mlir
    %1 = dist.all_gather %p dim 0 over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<8xf32>
    %2 = rt.kernel @work(%0) : (tensor<8xf32>) -> tensor<8xf32>
    %3 = rt.kernel @use(%1, %2) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    ```
    becomes a `dist.start`, the first kernel, the `dist.wait`, the second kernel.
  }];
  let dependentDialects = ["::tessera::dist::DistDialect",
                           "::tessera::rt::RTDialect"];
  let options = [
    Option<"slackBytes", "slack-bytes", "int64_t", /*default=*/"-1",
           "bytes that the arena may grow by; negative: slack-share of it">,
    Option<"slackShare", "slack-share", "double", /*default=*/"0.1",
           "share of the arena that it may grow by">];
}

def CheckDeadlockPass : Pass<"dist-check-deadlock", "::mlir::ModuleOp"> {
  let summary = "checks that no ranks wait for each other";
  let description = [{
    Of each function that all ranks run: each `dist.start` has one `dist.wait` in
    its block and, once there are slots, one that is free; the members of each
    communicator post its collectives in one order; and the orders of all ranks
    together have no cycle, with sends that wait for their receives. Of
    collectives alone the order of the program is that order. With `dist.send`
    and `dist.recv`, what each rank posts is followed, a loop for two iterations.
    Changes nothing.

    ```mlir
    dist.send %a along "pp" 0 to 1 tag 0 on @mesh : tensor<4xf32>
    dist.send %a along "pp" 1 to 0 tag 0 on @mesh : tensor<4xf32>
    %0 = dist.recv along "pp" 0 to 1 tag 0 on @mesh : tensor<4xf32>
    %1 = dist.recv along "pp" 1 to 0 tag 0 on @mesh : tensor<4xf32>
    ```
    is an error: both ranks send first. With the first receive before the second
    send it is accepted.
  }];
}

def ReportCollectivesPass : Pass<"dist-report", "::mlir::ModuleOp"> {
  let summary = "says what local functions communicate";
  let description = [{
    For each local function a table of its collectives by kind and axes: how
    many, the bytes that one device receives, the share of them that is exposed
    (what of the time between start and wait passes while nothing else runs, by
    the times that `dist-overlap-collectives` orders by), and the time on the
    mesh's links. What stands in a `dist.accumulate` or a loop counts as often as
    it runs. Changes nothing.

    ```mlir
    %1 = dist.all_reduce <sum> %0 over <{"tp"}> on @mesh : tensor<8x4xf32> -> tensor<8x4xf32>
    ```
    gives
    ```
    @f: what a device receives in one call
      collective       axes                   count            bytes    exposed bytes           us
      all_reduce       {"tp"}                     1              192              192         4.00
      total                                       1              192              192         4.00
    ```
  }];
  let options = [Option<"output", "output", "std::string", /*default=*/"\"-\"",
                        "file; JSON where it ends in .json; - is text on stdout">];
}

def CheckBudgetPass : Pass<"dist-check-budget", "::mlir::ModuleOp"> {
  let summary = "fails where local functions communicate more than they may";
  let description = [{
    Limits are those of the options, or of a function's own `dist.budget`:
    max_bytes that one device receives in one call and max_collectives, checked
    on local functions, and no_full_gather (no device gathers a whole tensor). A
    tensor is whole in the global form if nothing is left of its sharding, and in
    the local form if it no longer depends on any axis of the mesh. The error
    names the collective that is to blame. Changes nothing.

    ```mlir
    func.func @f(...) attributes {dist.local, dist.budget = {max_bytes = 1024 : i64, no_full_gather}}
    ```
  }];
  let options = [
    Option<"maxBytes", "max-bytes", "int64_t", /*default=*/"-1",
           "bytes that one device receives in one call">,
    Option<"maxCollectives", "max-collectives", "int64_t", /*default=*/"-1",
           "collectives in one call">,
    Option<"noFullGather", "no-full-gather", "bool", /*default=*/"false",
           "no device gathers a whole tensor">];
}

def VerifyLocalPass : Pass<"dist-verify-local", "::mlir::ModuleOp"> {
  let summary = "checks the border behind partition";
  let description = [{
    Every function with a body is local; no `dist.reshard`, `dist.constraint` or
    `dist.group` is left, every collective stands in the local form, every
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

def VerifyPartitionPass : Pass<"dist-verify-partition", "::mlir::ModuleOp"> {
  let summary = "proves that local functions compute what they should";
  let description = [{
    Follows through each local function which block of which value of the
    reference each device holds, and over which axes it is still to be reduced.
    Where a device has not what an op or a result needs, or the analysis cannot
    tell, it is an error at that op. VerifyPartition.h says what is accepted.

    The reference of a local function is the function that its `dist.reference`
    names; when phases are run, the program before them. Without one, the
    devices must agree on some global program whose results are as declared;
    where they do not seem to, the program is not provable.

    ```mlir
    func.func @f(%x: tensor<2x4xf32> {dist.global_shape = array<i64: 8, 4>,
                                      dist.sharding = #dist.sharding<@mesh, [{"x"}, {} ]>})
        -> tensor<4xf32> attributes {dist.local} {
      %0 = nn.reduce <sum> %x dims [0] : tensor<2x4xf32> -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```
    is refuted: the result is to be reduced over x. With a `dist.all_reduce` of
    `%0` it is proven.
  }];
  let dependentDialects = ["::tessera::dist::DistDialect",
                           "::tessera::nn::NNDialect"];
}

def DropReferencesPass : Pass<"dist-drop-references", "::mlir::ModuleOp"> {
  let summary = "Drops what local functions were kept to be compared with";
  let description = [{
    Removes `dist.reference` from local functions, and the private functions
    that it names: only a proof needs them.
  }];
}

#endif // TESSERA_PARTITION_PASSES_TD
