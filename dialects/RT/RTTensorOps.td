//===- RTTensorOps.td - Records of calls, on tensors -------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_RT_RTTENSOROPS_TD
#define TESSERA_DIALECTS_RT_RTTENSOROPS_TD

include "dialects/RT/RTBase.td"

def RT_MatmulOp : RT_Op<"matmul", [Pure,
    DeclareOpInterfaceMethods<ReuseOpInterface>]> {
  let summary = "a matmul in the form of a library call";
  let description = [{
    Reads the operands and writes the result as the layout says, whatever their
    shapes: an einsum whose dimensions fall into batch, rows, columns and a
    contracted part is one of these without a copy. With `init` the matmul is
    added to it.
    (C1) the operands have one element type, f32, bf16, f16 or f64; the result has
    it too, or f32 with bf16 or f16 operands; (C2) no access of the layout is outside
    its tensor; (C3) the layout covers each element of the result once; (C4)
    init has the result's type.

    ```mlir
    %c = rt.matmul %a, %b <batch = 1, m = 4, n = 8, k = 16, lda = 16, ldb = 8,
        ldc = 8, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0,
        trans_b = 0> : tensor<2x2x16xf32>, tensor<16x8xf32> -> tensor<2x2x8xf32>
    ```
  }];
  let arguments = (ins RT_Tensor:$lhs, RT_Tensor:$rhs,
                       Optional<RT_Tensor>:$init, RT_MatmulAttr:$layout);
  let results = (outs RT_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs $layout (`init` $init^ `:` type($init))? attr-dict `:`
    type($lhs) `,` type($rhs) `->` type($result)
  }];
  let hasVerifier = 1;
}

def RT_MatmulFusedOp : RT_Op<"matmul_fused", [Pure, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<ReuseOpInterface>]> {
  let summary = "a matmul with a part of what follows it";
  let description = [{
    P = the result of `rt.matmul`, plus `init` where there is one; the
    rest follows for each element, of rows and columns of the layout's result:
    * `none`: the result is P.
    * `bias`: P + bias, which has an element a column.
    * `gelu`: GELU by tanh of P (+ bias); `extra` is its argument.
    * `gelu_gradient`: P times the derivative of that GELU at `argument`; `extra`
      is the sum of each column of the result.
    * `lhs_sums`, `rhs_sums`: P; `extra` is the sum of each column of the
      operand as it is stored, over the dimension that is contracted.

    Arithmetic is that of the matmul's sums, f32 at least, and what is written
    is rounded once; the runtime may do the matmul first, rounded to the
    result's type, and then the rest.
    (C1) to (C4) of `rt.matmul`; (C5) one batch, whose result is stored row after
    row; (C6) no operand or result but those that the kind has: init all but
    `gelu_gradient`, bias `bias` and perhaps `gelu`, argument `gelu_gradient`;
    one extra `lhs_sums` and `rhs_sums`, at most one `gelu` and `gelu_gradient`;
    (C7) bias and sums have an element for each column, and the result's type or
    f32; argument and GELU's extra have the result's type; (C8) the operand that
    is summed is stored with the contracted dimension first, row after row.

    ```mlir
    %y, %x = rt.matmul_fused <gelu> %a, %b <batch = 1, m = 4, n = 8, k = 16,
        lda = 16, ldb = 8, ldc = 8, stride_a = 0, stride_b = 0, stride_c = 0,
        trans_a = 0, trans_b = 0> bias %v : tensor<8xf32> : tensor<4x16xf32>,
        tensor<16x8xf32> -> tensor<4x8xf32> extra tensor<4x8xf32>
    ```
  }];
  let arguments = (ins RT_EpilogueAttr:$kind, RT_Tensor:$lhs, RT_Tensor:$rhs,
                       RT_MatmulAttr:$layout, Optional<RT_Tensor>:$init,
                       Optional<RT_Tensor>:$bias,
                       Optional<RT_Tensor>:$argument);
  let results = (outs RT_Tensor:$result, Variadic<RT_Tensor>:$extras);
  let assemblyFormat = [{
    $kind $lhs `,` $rhs $layout (`init` $init^ `:` type($init))?
    (`bias` $bias^ `:` type($bias))? (`argument` $argument^ `:` type($argument))?
    attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)
    (`extra` type($extras)^)?
  }];
  let hasVerifier = 1;
}

def RT_ScaledMatmulOp : RT_Op<"scaled_matmul", [Pure,
    DeclareOpInterfaceMethods<ReuseOpInterface>]> {
  let summary = "a matmul in 8 bits in the form of a library call";
  let description = [{
    As `rt.matmul`, with one number by which each element of an operand is
    multiplied to give its value.
    (C1) the operands are f8E4M3FN or f8E5M2, the result bf16 or f32; (C2) to
    (C4) of `rt.matmul`; (C5) the scales are one f32 each.

    ```mlir
    %c = rt.scaled_matmul %a, %b scales %sa, %sb <batch = 1, m = 16, n = 16,
        k = 16, lda = 16, ldb = 16, ldc = 16, stride_a = 0, stride_b = 0,
        stride_c = 0, trans_a = 0, trans_b = 1>
        : tensor<16x16xf8E4M3FN>, tensor<16x16xf8E5M2> -> tensor<16x16xbf16>
    ```
  }];
  let arguments = (ins RT_Tensor:$lhs, RT_Tensor:$rhs, RT_Scale:$lhs_scale,
                       RT_Scale:$rhs_scale, Optional<RT_Tensor>:$init,
                       RT_MatmulAttr:$layout);
  let results = (outs RT_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `scales` $lhs_scale `,` $rhs_scale $layout
    (`init` $init^ `:` type($init))? attr-dict `:` type($lhs) `,` type($rhs)
    `->` type($result)
  }];
  let hasVerifier = 1;
}

def RT_AttentionOp : RT_Op<"attention", [Pure, AttrSizedOperandSegments]> {
  let summary = "attention in the form of a library call";
  let description = [{
    As `nn.attention` without sinks, with its mask, the starts of documents, softcap
    and bias (f32). `offsets` are the
    positions of the first query and the first key; keys at positions from `keys` on
    are padding. The stat, where
    there is one, is that of `nn.attention`.
    (C1) element type f32 or bf16, one for all operands, the result the same or f32,
    the stat f32, starts i32; (C2) the shapes of
    `nn.attention`: q [B,S,G,R,K], k [B,T,G,K], v [B,T,G,V], result
    [B,S,G,R,V], stat [B,S,G,R] (with a bias [B,S,G,R,2]), starts [B,S], bias f32
    [B or 1, S or 1, G or 1, R or 1, T]; (C3) both offsets or none; (C4) one stat or
    none.

    ```mlir
    %o = rt.attention causal scale 0.125 %q, %k, %v
        : tensor<2x8x4x1x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>
        -> tensor<2x8x4x1x64xf32>
    ```
  }];
  let arguments = (ins RT_Tensor:$q, RT_Tensor:$k, RT_Tensor:$v,
                       Variadic<Index>:$position_offsets,
                       Optional<RT_Tensor>:$starts, Optional<RT_Tensor>:$bias,
                       UnitAttr:$causal, OptionalAttr<I64Attr>:$window,
                       F64Attr:$scale, OptionalAttr<F64Attr>:$softcap,
                       OptionalAttr<I64Attr>:$key_size);
  let results = (outs RT_Tensor:$result, Variadic<RT_Tensor>:$stats);
  let assemblyFormat = [{
    (`causal` $causal^)? (`window` $window^)? `scale` $scale
    (`softcap` $softcap^)? (`keys` $key_size^)?
    $q `,` $k `,` $v (`offsets` $position_offsets^)?
    (`starts` $starts^ `:` type($starts))? (`bias` $bias^ `:` type($bias))?
    attr-dict `:` type($q) `,` type($k) `,` type($v) `->` type($result)
    (`stats` type($stats)^)?
  }];
  let hasVerifier = 1;
}

def RT_AttentionBackwardOp : RT_Op<"attention_backward", [Pure,
    AttrSizedOperandSegments,
    AllTypesMatch<["grad", "out"]>]> {
  let summary = "gradients of attention in the form of a library call";
  let description = [{
    As `nn.attention_backward`; the attributes and offsets are those of
    `rt.attention`.
    (C1) to (C3) of `rt.attention`, for the operands, the result and the stat; the
    result has the operands' element type, and gradients the shapes of q, k and v and
    that type, or f32.

    ```mlir
    %dq, %dk, %dv = rt.attention_backward causal scale 0.125
        %grad, %q, %k, %v, %o, %lse
        : tensor<2x8x4x1x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>,
          tensor<2x8x4x1x64xf32>, tensor<2x8x4x1xf32>
        -> tensor<2x8x4x1x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>
    ```
  }];
  let arguments = (ins RT_Tensor:$grad, RT_Tensor:$q, RT_Tensor:$k,
                       RT_Tensor:$v, RT_Tensor:$out, RT_Tensor:$logsumexp,
                       Variadic<Index>:$position_offsets,
                       Optional<RT_Tensor>:$starts, Optional<RT_Tensor>:$bias,
                       UnitAttr:$causal, OptionalAttr<I64Attr>:$window,
                       F64Attr:$scale, OptionalAttr<F64Attr>:$softcap,
                       OptionalAttr<I64Attr>:$key_size);
  let results = (outs RT_Tensor:$dq, RT_Tensor:$dk, RT_Tensor:$dv);
  let assemblyFormat = [{
    (`causal` $causal^)? (`window` $window^)? `scale` $scale
    (`softcap` $softcap^)? (`keys` $key_size^)?
    $grad `,` $q `,` $k `,` $v `,` $out `,` $logsumexp
    (`offsets` $position_offsets^)? (`starts` $starts^ `:` type($starts))?
    (`bias` $bias^ `:` type($bias))? attr-dict `:` type($q) `,` type($k) `,` type($v) `,` type($out) `,` type($logsumexp)
    `->` type($dq) `,` type($dk) `,` type($dv)
  }];
  let hasVerifier = 1;
}

def RT_EmbeddingBackwardOp : RT_Op<"embedding_backward",
    [Pure, DeclareOpInterfaceMethods<ReuseOpInterface>,
     AttrSizedOperandSegments]> {
  let summary = "sums of rows by index in the form of a library call";
  let description = [{
    As `nn.embedding_backward`, whose `rows` is the `limit`; with `init` the sums
    are added to it. With `replace` the last row of grad of each sum takes the
    place of init's row, as in `nn.scatter <set>`.
    (C1) grad is f32, bf16 or f64 and the result of its type, or f32 of bf16;
    ids are i32 or i64; (C2) the result is [rows, width], grad has as many
    elements as ids times the width; (C3) init has the result's type; (C4) there
    is an init to replace rows of.

    ```mlir
    %dt = rt.embedding_backward %grad, %ids
        : tensor<2x8x16xf32>, tensor<2x8xi32> -> tensor<64x16xf32>
    ```
  }];
  let arguments = (ins RT_Tensor:$grad, RT_Tensor:$ids, Optional<Index>:$offset,
                       Optional<RT_Tensor>:$init, OptionalAttr<I64Attr>:$limit,
                       UnitAttr:$replace);
  let results = (outs RT_Tensor:$result);
  let assemblyFormat = [{
    (`replace` $replace^)? $grad `,` $ids (`limit` $limit^)? (`offset` $offset^)? (`init` $init^ `:` type($init))?
    attr-dict `:` type($grad) `,` type($ids) `->` type($result)
  }];
  let hasVerifier = 1;
}

def RT_CopyOp : RT_Op<"copy", [Pure]> {
  let summary = "a strided read of a tensor: transpose, slice, broadcast";
  let description = [{
    result[i...] = source at element `base + sum i_d * strides[d]`, counted in
    the source's row-major order; plus `start * strides[dim]` where there is a
    start that is known at run time only.
    (C1) one stride a dimension of the result; (C2) element types agree; (C3)
    without a start every element read is in the source; (C4) dim is a
    dimension of the result; (C5) at most 8 dimensions.

    ```mlir
    %t = rt.copy %x strides [1, 16] base 0 : tensor<8x16xf32> -> tensor<16x8xf32>
    %s = rt.copy %x strides [16, 1] base 0 start %i dim 0
        : tensor<8x16xf32> -> tensor<4x16xf32>
    ```
  }];
  let arguments = (ins RT_Tensor:$source, DenseI64ArrayAttr:$strides,
                       I64Attr:$base, Optional<Index>:$start,
                       OptionalAttr<I64Attr>:$dim);
  let results = (outs RT_Tensor:$result);
  let assemblyFormat = [{
    $source `strides` $strides `base` $base (`start` $start^ `dim` $dim)?
    attr-dict `:` type($source) `->` type($result)
  }];
  let extraClassDeclaration = [{
    /// The copy reads consecutive elements from an aligned offset on, so the
    /// result may be a part of the source's memory.
    bool mayBeInPlace();
    /// Memory planning (`rt.offsets`) has put the result where the elements
    /// already are, so nothing is copied.
    bool isInPlace();
  }];
  let hasVerifier = 1;
}

def RT_ConcatOp : RT_Op<"concat", [Pure]> {
  let summary = "tensors one after the other along a dimension";
  let description = [{
    (C1) at least one operand, all of the result's element type and rank; (C2)
    dim is a dimension, in which sizes add up; the others agree.

    ```mlir
    %c = rt.concat %a, %b dim 0
        : tensor<2x4xf32>, tensor<3x4xf32> -> tensor<5x4xf32>
    ```
  }];
  let arguments = (ins Variadic<RT_Tensor>:$sources, I64Attr:$dim);
  let results = (outs RT_Tensor:$result);
  let assemblyFormat = [{
    $sources `dim` $dim attr-dict `:` type($sources) `->` type($result)
  }];
  let hasVerifier = 1;
}

def RT_AssembleOp : RT_Op<"assemble", [Pure, AttrSizedOperandSegments]> {
  let summary = "tensors one after the other, at offsets known at run time";
  let description = [{
    Chunk s is at position `starts[s]` of the result's dimension `dim`. The
    starts are those of the chunks one after the other, in any order.
    (C1) a start for each chunk; (C2) the chunks have one type; the result has it,
    with as many times their size in `dim` as there are chunks.

    ```mlir
    %r = rt.assemble %a, %b at %i, %j dim 0
        : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<4x4xf32>
    ```
  }];
  let arguments = (ins Variadic<RT_Tensor>:$chunks, Variadic<Index>:$starts,
                       I64Attr:$dim);
  let results = (outs RT_Tensor:$result);
  let assemblyFormat = [{
    $chunks `at` $starts `dim` $dim attr-dict `:` type($chunks) `->`
    type($result)
  }];
  let hasVerifier = 1;
}

def RT_KernelOp : RT_Op<"kernel", [Pure,
    DeclareOpInterfaceMethods<ReuseOpInterface>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a call of an outlined kernel";
  let description = [{
    Operands are tensors first, then index scalars.
    (C1) the callee is a function marked `rt.kernel`; (C2) operand and result
    types are the callee's.

    ```mlir
    %y = rt.kernel @kernel_0(%x, %off) : (tensor<8x16xf32>, index) -> tensor<8x16xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee,
                       Variadic<AnyTypeOf<[RT_Tensor, Index]>>:$operands);
  let results = (outs Variadic<RT_Tensor>:$results);
  let assemblyFormat = [{
    $callee `(` $operands `)` attr-dict `:` functional-type($operands, $results)
  }];
}

#endif // TESSERA_DIALECTS_RT_RTTENSOROPS_TD
