//===- NNConvolution.td - Convolutions ---------------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_NN_NNCONVOLUTION_TD
#define TESSERA_DIALECTS_NN_NNCONVOLUTION_TD

def NN_ConvolutionOp : NN_Op<"convolution", ["commutesWithReduction"],
                             [NN_Differentiable]> {
  let summary = "sums of products of a weight with windows of a tensor";
  let description = [{
    x is [batch, group, in, positions...], the weight [group, out, in, taps...],
    the result [batch, group, out, positions...], of one to three dimensions of
    positions. result[b, g, o, p] is the sum over i and t of

    ```
    x'[b, g, i, p * strides + t * dilation] * weight[g, o, i, t]
    ```

    x' has `x_dilation` - 1 zeros between any two neighbours of x, then `low`
    zeros before and `high` zeros after them; of a negative number, as many
    elements less. The lists have one number a dimension. `reversed` reads the
    taps from the last to the first. A transposed convolution has the strides of
    its source as `x_dilation`. Both gradients are convolutions again, as in
    StableHLO's general form. Sums are in f32 at least. The product of such a zero
    and an infinity or NaN may be left out.
    (C1) the ranks are equal, from 4 to 6; (C2) the lists have a number for each
    dimension of positions; strides and dilations are from 1 to 2^20, paddings
    from -2^40 to 2^40, there are at most 2^40 positions and taps along it, and x'
    has at most 2^48 elements; (C3) group and in agree; (C4) the result's shape
    follows: a window is inside x', or the result has no positions; (C5) both
    operands have one element type, the result that one or a wider float.

    ```mlir
    %y = nn.convolution %x, %w strides [2, 2] low [1, 1] high [1, 1] dilation [1, 1] x_dilation [1, 1]
        : tensor<2x1x3x8x8xf32>, tensor<1x8x3x3x3xf32> -> tensor<2x1x8x4x4xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$x, NN_Tensor:$weight,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$low,
                       DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$dilation,
                       DenseI64ArrayAttr:$x_dilation, UnitAttr:$reversed);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $x `,` $weight `strides` $strides `low` $low `high` $high `dilation` $dilation
    `x_dilation` $x_dilation (`reversed` $reversed^)? attr-dict `:` type($x) `,`
    type($weight) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The windows along each dimension of positions.
    ::llvm::SmallVector<::tessera::WindowDim, 3> getWindows();
    /// Number of dimensions of positions.
    unsigned getNumPositionDims() { return getStrides().size(); }
    /// The first of them, in all three tensors.
    static constexpr unsigned kFirstPosition = 3;
  }];
}

#endif // TESSERA_DIALECTS_NN_NNCONVOLUTION_TD
