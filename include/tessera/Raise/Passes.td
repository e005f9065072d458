//===- Passes.td - Passes over imported graphs -------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RAISE_PASSES_TD
#define TESSERA_RAISE_PASSES_TD

include "mlir/Pass/PassBase.td"

def LiftLinalgPass : Pass<"nn-lift-linalg", "::mlir::func::FuncOp"> {
  let summary = "linalg on tensors becomes nn, arith and math";
  let description = [{
    An op of linalg becomes the ops of its body on tensors that have a dimension
    for each of its loops: operands are transposed and broadcast to these, and
    loops that reduce by a sum, maximum or minimum become `nn.reduce`. A sum of
    products of two operands is `nn.einsum`, a table that is read by an operand
    `nn.embedding` or `nn.take_along_axis`. So the graph has gradients, and
    `nn-raise` finds norms and attention in it. What has no such meaning
    (windows, other reductions, dynamic shapes) stays, and the remark `NotLifted`
    names it.

    ```mlir
    %1 = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x4xf32>)
                       outs(%zeros : tensor<8x4xf32>) -> tensor<8x4xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,
                                          affine_map<(i, j) -> (j)>,
                                          affine_map<(i, j) -> (i, j)>],
                         iterator_types = ["parallel", "parallel"]}
        ins(%1, %b : tensor<8x4xf32>, tensor<4xf32>) outs(%e : tensor<8x4xf32>) {
    ^bb0(%y: f32, %c: f32, %out: f32):
      %s = arith.addf %y, %c : f32
      linalg.yield %s : f32
    } -> tensor<8x4xf32>
    ```
    becomes
    ```mlir
    %1 = nn.einsum "ac,cb->ab" %x, %w
        : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
    %c = nn.broadcast %b dims [1] : tensor<4xf32> -> tensor<8x4xf32>
    %2 = arith.addf %1, %c : tensor<8x4xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect",
                           "::tessera::nn::NNDialect"];
}

def FoldConstantsPass : Pass<"nn-fold-constants", "::mlir::func::FuncOp"> {
  let summary = "Computes what follows from constants";
  let description = [{
    The interpreter computes a value that follows from constants, of at most
    64 KiB. It is stored without the dimensions along which it does not vary, and
    broadcast along these, so that they can be sharded; one number that is
    repeated is a constant of any size; integers in equal steps become `nn.iota`.
    A value of several dimensions that positions (`nn.iota`) are part of, such as a
    causal mask, stays computed: its devices count from their own positions.

    ```mlir
    %0 = nn.iota : tensor<8xi32>
    %1 = arith.constant dense<8> : tensor<8xi32>
    %2 = arith.addi %0, %1 : tensor<8xi32>
    %3 = arith.remsi %2, %1 : tensor<8xi32>
    ```
    becomes
    ```mlir
    %3 = nn.iota : tensor<8xi32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::tessera::nn::NNDialect"];
}

def FoldShapesPass : Pass<"nn-fold-shapes", "::mlir::func::FuncOp"> {
  let summary = "Leaves out changes of shape that other ops can do";
  let description = [{
    A front end repeats, transposes and reshapes tensors where the ops of nn need
    none of it. Elementwise ops come before a broadcast of all their operands, a
    broadcast takes those before it and the dimensions of size 1 added or left
    out after it, and a matmul takes the transposes of its operands and result
    and the broadcasts of an operand along dimensions of the result. A constraint
    of merged dimensions comes before they are merged, where these have its axes
    whole. Matmuls, elementwise ops, softmaxes, norms, choices and concatenations come
    before dimensions are merged that their operands have merged alike, as batch and
    heads: split again after them, these stay. So do slices of whole blocks along the
    major one. Heads of keys that are repeated for the queries of a
    group are read once: the matmul has a dimension of groups and one of queries.

    ```mlir
    %0 = nn.broadcast %x dims [0] : tensor<8xf32> -> tensor<8x1xf32>
    %1 = math.rsqrt %0 : tensor<8x1xf32>
    %2 = tensor.collapse_shape %1 [[0, 1]] : tensor<8x1xf32> into tensor<8xf32>
    %3 = nn.broadcast %2 dims [0] : tensor<8xf32> -> tensor<8x16xf32>
    ```
    becomes
    ```mlir
    %0 = math.rsqrt %x : tensor<8xf32>
    %1 = nn.broadcast %0 dims [0] : tensor<8xf32> -> tensor<8x16xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect",
                           "::tessera::dist::DistDialect",
                           "::tessera::nn::NNDialect"];
}

def RaisePass : Pass<"nn-raise", "::mlir::func::FuncOp"> {
  let summary = "Groups of ops become one op of nn";
  let description = [{
    Front ends spell a norm, an activation, a softmax, attention or a loss in many
    ways. No spelling is matched: the ops between a value y and the tensor x from
    which alone it follows, beside constants and vectors of the last dimension, are
    a region. Its shape says which ops it may be: what is reduced, whether it has
    exponentials, vectors, an index. The interpreter runs region and op in f64 on
    rows of normal numbers, of zeros and with one large element, at several scales;
    they must agree to 1e-5 everywhere. Analytic functions that do are equal. A
    select, compare, minimum, maximum or absolute value could hide a difference: each
    must have had both outcomes, or the region stays. Random numbers are added to
    what no gradient passes (`nn.stop_gradient`): a region that still equals the op
    does not depend on it, so it has the op's gradient.

    Attention is two matmuls around a function of rows: their letters are checked,
    the function is tried with the mask as an input, and the mask, which must follow
    from constants, is computed and compared with that of causal attention, of a
    window, and of none. Other scores are read op by op: a softcap, a column of
    sinks, and a bias, which is all that is added or hides keys and depends on no
    `nn.param`. A mask that selects a finite number is causal or a window, or the
    scores stay: a fully masked row has no gradient there.

    A rotary embedding is a linear function of rows, so its numbers are read, not
    tried: pairs (i, i + n/2) of the first n elements are turned, by tables that
    follow from constants. At each position p they must hold cos and sin of p f,
    within 2 units in the last place of their type and 2^-23 p f; the frequencies f
    are found by unwrapping the angles of rows 1, 2, 3, ...

    A choice of scores that follows from these, constants and a choice of groups
    alone is tried as `nn.top_k` with groups, on random scores: all ids must be
    equal.

    A `dist.constraint` on a value inside of a group moves: one of rows to the nearer
    of operand and result that follow elementwise, one of a number of each row to the
    result; what one of scores says of keys to keys and values, the rest to the result.
    Where it cannot (two that differ, a loss that has no such dimension, replicated
    axes that the result's other dimensions could take, a sharded row of a rotary
    embedding) the group stays, and a remark `NotRaised` says so at the constraint.

    The remarks `Raised` and `NotRaised` name the op and the error. `skip` names ops
    that are not raised: `gelu`, `silu`, `softmax`, `layer_norm`, `rms_norm`,
    `cross_entropy`, `attention`, `rope`, `top_k`.

    ```mlir
    %0 = arith.mulf %x, %x : tensor<2x8x16xf32>
    %1 = nn.reduce <sum> %0 dims [2] : tensor<2x8x16xf32> -> tensor<2x8xf32>
    %2 = arith.divf %1, %c16 : tensor<2x8xf32>
    %3 = arith.addf %2, %eps : tensor<2x8xf32>
    %4 = math.rsqrt %3 : tensor<2x8xf32>
    %5 = nn.broadcast %4 dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x16xf32>
    %6 = arith.mulf %x, %5 : tensor<2x8x16xf32>
    %7 = nn.broadcast %gamma dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    %8 = arith.mulf %6, %7 : tensor<2x8x16xf32>
    ```
    becomes
    ```mlir
    %8 = nn.rms_norm %x, %gamma eps 1.0e-6 : tensor<2x8x16xf32>, tensor<16xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect",
                           "::tessera::dist::DistDialect",
                           "::tessera::nn::NNDialect"];
  let options = [
    ListOption<"skip", "skip", "std::string", "ops that are not raised">,
  ];
}

def ViewParametersPass : Pass<"nn-view-parameters", "::mlir::func::FuncOp"> {
  let summary = "Moves views of matmuls to their weights, and divides these";
  let description = [{
    A split of the dimension of a matmul's result that only its weight has moves to
    the weight, also through biases, activations and merges of other dimensions; so
    does a slice of a dimension that the parameter itself has, slices that divide
    another one into three or more (the queries, keys and values of a head), and the
    merging of an operand's dimensions. A parameter all of whose uses are then views
    (slices, splits, transposes) that have each of its elements once is divided into
    one for each view, which says by `nn.source` where files have it: fused weights,
    stacked layers, heads. Else (overlapping slices, a table read in part) it stays
    whole. A parameter's sharding goes to its views: that of a dimension to the
    outermost ones that are a part of it.

    ```mlir
    func.func @f(%x: tensor<8x16xf32>, %w: tensor<16x24xf32> {nn.param = "qk"}) {
      %0 = nn.einsum "ab,bc->ac" %x, %w : ...
      %1 = tensor.extract_slice %0[0, 0] [8, 12] [1, 1] : ...
      %2 = tensor.expand_shape %1 [[0], [1, 2]] output_shape [8, 3, 4] : ...
      // and the same of %0[0, 12]
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<8x16xf32>,
        %w0: tensor<16x3x4xf32> {nn.param = "qk.0", nn.source = #nn.source<"qk", [16, 24], offset 0, strides [24, 4, 1]>},
        %w1: tensor<16x3x4xf32> {nn.param = "qk.1", nn.source = #nn.source<"qk", [16, 24], offset 12, strides [24, 4, 1]>}) {
      %0 = nn.einsum "ab,bcd->acd" %x, %w0 : ...
      %1 = nn.einsum "ab,bcd->acd" %x, %w1 : ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect",
                           "::tessera::nn::NNDialect"];
}

def BoundIdsPass : Pass<"nn-bound-ids", "::mlir::ModuleOp"> {
  let summary = "Says which ids an argument of integers may hold";
  let description = [{
    An argument whose elements are rows of a table, labels or positions in a
    tensor gets `nn.vocab`, the number of ids that all these uses take, and
    `nn.ignored`, the label without a loss, where it is another than that of the
    argument's name. Uses that depend on a condition say nothing. A program
    refuses files with other ids.

    ```mlir
    func.func @f(%w: tensor<64x16xf32>, %i: tensor<8xi32> {nn.input = "i"}) -> tensor<8x16xf32> {
      %0 = nn.embedding %w, %i : tensor<64x16xf32>, tensor<8xi32> -> tensor<8x16xf32>
    ```
    becomes
    ```mlir
    func.func @f(%w: tensor<64x16xf32>, %i: tensor<8xi32> {nn.input = "i", nn.vocab = 64 : i64}) -> tensor<8x16xf32> {
      %0 = nn.embedding %w, %i : tensor<64x16xf32>, tensor<8xi32> -> tensor<8x16xf32>
    ```
  }];
}

#endif // TESSERA_RAISE_PASSES_TD
