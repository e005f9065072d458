//===- Passes.td - Fewer, larger and earlier collectives ---*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COLLECTIVES_PASSES_TD
#define TESSERA_COLLECTIVES_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExpandBucketsPass : Pass<"dist-expand-buckets", "::mlir::func::FuncOp"> {
  let summary = "buckets become one collective of members side by side";
  let description = [{
    On a local program. Members of an all-reduce are stored one after the other, those
    whose size is a multiple of 64 bytes first; of a reduce-scatter and an
    all-gather the parts of each device do. Whether something is copied for that
    is decided where memory is planned.

    ```mlir
    %0:2 = dist.bucket (%a, %b)
        : (tensor<16xf32>, tensor<8x4xf32>) -> (tensor<16xf32>, tensor<8x4xf32>) {
      ... // dist.all_reduce <sum> over <{"dp"}>
    }
    ```
    becomes
    ```mlir
    %f = tensor.collapse_shape %b [[0, 1]] : tensor<8x4xf32> into tensor<32xf32>
    %c = tensor.concat dim(0) %a, %f : (tensor<16xf32>, tensor<32xf32>) -> tensor<48xf32>
    %r = dist.all_reduce <sum> %c over <{"dp"}> on @mesh : tensor<48xf32> -> tensor<48xf32>
    %1 = tensor.extract_slice %r[0] [16] [1] : tensor<48xf32> to tensor<16xf32>
    %2 = tensor.extract_slice %r[16] [32] [1] : tensor<48xf32> to tensor<32xf32>
    %3 = tensor.expand_shape %2 [[0, 1]] output_shape [8, 4] : tensor<32xf32> into tensor<8x4xf32>
    ```
  }];
  let dependentDialects = ["::tessera::nn::NNDialect",
                           "::mlir::tensor::TensorDialect"];
}

def StartCollectivesPass : Pass<"rt-start-collectives", "::mlir::func::FuncOp"> {
  let summary = "splits collectives into dist.start and dist.wait, with slots";
  let description = [{
    In the order of the program, which is the same on all ranks. What is not
    started yet is waited for at once; `dist-overlap-collectives` puts work
    between the two. Each start and its wait get the lowest slot that is free;
    where all are taken the oldest wait moves up. A `dist.exchange` gets a free
    slot for its sends.

    ```mlir
    %1 = dist.all_reduce <sum> %0 over <{"tp"}> on @mesh : ...
    ```
    becomes `dist.start` with this op in its region, and `dist.wait`.
  }];
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
    a remark, and so does each boundary between two. Parameters are gathered where
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
  let summary = "matmuls run in chunks beside their all-gather or reduce-scatter";
  let description = [{
    Where a matmul's operand is gathered along a dimension that stays in the
    result, or its result reduce-scattered along one that is not summed over,
    both become one `dist.collective_matmul`, if that takes less time: a ring of
    n devices multiplies n chunks and sends n - 1 of them meanwhile, but reads the
    other operand n times and copies each chunk once more. All matmuls of a
    gathered value are taken that can be before anything that they make is
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
  let summary = "dist.collective_matmul becomes permutes and chunks of matmuls";
  let description = [{
    ```mlir
    %r = dist.collective_matmul (%x, %w) : (tensor<2x4x8xf32>, tensor<8x6xf32>) -> tensor<2x8x6xf32> {...}
    ```
    that gathers over two devices becomes
    ```mlir
    %1 = dist.collective_permute %x targets [1, 0] over <{"tp"}> on @mesh : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
    %0 = nn.einsum "bsd,de->bse" %x, %w : tensor<2x4x8xf32>, tensor<8x6xf32> -> tensor<2x4x6xf32>
    %2 = nn.einsum "bsd,de->bse" %1, %w : tensor<2x4x8xf32>, tensor<8x6xf32> -> tensor<2x4x6xf32>
    %r = dist.assemble %0, %2 dim 1 over <{"tp"}> on @mesh : tensor<2x4x6xf32>, tensor<2x4x6xf32> -> tensor<2x8x6xf32>
    ```
    A reduce-scatter's sums travel instead, each step adding a matmul of a slice
    of the operand.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect",
                           "::tessera::dist::DistDialect"];
}

def PairTasksPass : Pass<"dist-pair-tasks", "::mlir::ModuleOp"> {
  let summary = "F and BW that a list runs as a pair become one function";
  let description = [{
    For each pair of an `rt.pipeline` (`F0.3|BW1.2`: F of chunk 0, BW of chunk 1)
    whose tasks have collectives: a function with the ops of both, by the share
    of their work that is done before each, so that `dist-overlap-collectives`
    can run collectives of one under the work of the other. F is ahead, or
    behind, by the share of its work that exposes least. The function is marked
    `rt.task` and `rt.beside`, and so are BW's arguments. The tasks stay, for
    where they run alone. A pair whose tasks write one result of the pipeline,
    or without collectives, runs as two calls, one after the other.
  }];
  let dependentDialects = ["::tessera::dist::DistDialect",
                           "::tessera::rt::RTDialect"];
}

def OverlapCollectivesPass : Pass<"dist-overlap-collectives", "::mlir::ModuleOp"> {
  let summary = "collectives run beside work";
  let description = [{
    Splits each collective of a local function into `dist.start` and `dist.wait`
    and finds an order of all ops, by the time that they take: a collective
    starts as soon as its operand is there and the links of its axes are free,
    what is needed first goes first; it is waited for where its result is needed.
    An op that would stall lets a later op go first. What gathers parameters
    starts when the work on the layer before begins, no earlier. Neither ops nor
    starts move across a loop, a send or a receive. A gather of what stays the
    same in a loop, for which each iteration waits, is before the loop if the
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
    Option<"slackShare", "slack-share", "double",
           /*default=*/"::tessera::kOverlapSlackShare",
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
    mesh's links. What is in a `dist.accumulate` or a loop counts as often as
    it runs; an attention around a ring counts as the permutes that come of it.
    Changes nothing.

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
                        "file; JSON where it ends in .json; - is text on stdout">,
                 Option<"command", "command", "std::string", /*default=*/"",
                        "command line that the JSON names">];
}

#endif // TESSERA_COLLECTIVES_PASSES_TD
