//===- RTCallOps.td - Calls of the C ABI, on offsets -------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_RT_RTCALLOPS_TD
#define TESSERA_DIALECTS_RT_RTCALLOPS_TD

include "dialects/RT/RTBase.td"

/// One call of the C ABI. All but the scalars are attributes.
class RT_CallOp<string mnemonic, list<Trait> traits = []>
    : RT_Op<mnemonic, !listconcat(traits,
        [DeclareOpInterfaceMethods<RuntimeCallOpInterface>])>;

def RT_AxisOffsetOp : RT_Op<"axis_offset", [Pure]> {
  let summary = "global position of a rank's block: tessera_rt_axis_offset";
  let description = [{
    `axes` are pairs {stride, size}, major to minor; the result is the row-major
    number of the rank's coordinates on them, (rank / stride) % size, times `size`.
    (C1) an even number of integers, each stride and size at least 1.

    ```mlir
    %0 = rt.axis_offset [1, 2] size 64 : index
    ```
  }];
  let arguments = (ins DenseI64ArrayAttr:$axes, I64Attr:$local_size);
  let results = (outs Index:$offset);
  let assemblyFormat = "$axes `size` $local_size attr-dict `:` type($offset)";
  let hasVerifier = 1;
}

def RT_LaunchOp : RT_CallOp<"launch", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel over its rows: tessera_rt_launch";
  let description = [{
    The kernel gets the addresses at `offsets`, then the scalars.
    (C1) the callee is a function marked `rt.kernel` with as many arguments
    before its two bounds; (C2) rows and grain are at least 1.

    ```mlir
    rt.launch @kernel_0 rows 1024 grain 8 at [0, 4096]
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, I64Attr:$rows, I64Attr:$grain,
                       DenseI64ArrayAttr:$offsets, Variadic<Index>:$scalars);
  let assemblyFormat = [{
    $kernel `rows` $rows `grain` $grain `at` $offsets (`with` $scalars^)?
    attr-dict
  }];
}

def RT_LaunchDeviceOp : RT_CallOp<"launch_device", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel on a device: tessera_rt_launch_device";
  let description = [{
    `grid` blocks of `block` threads run the kernel with this number. It gets the
    addresses at `offsets`, then the scalars.
    (C1) where the module of the kernels stands, the callee is function `number`
    of it, with as many arguments; (C2) the grid has 1 to 2^31 - 1 blocks, a
    block 1 to 1024 threads and at most 49152 bytes of shared memory.

    ```mlir
    rt.launch_device @kernels::@kernel_0 number 0 grid 96 block 128 shared 512
        at [0, 4096]
    ```
  }];
  let arguments = (ins SymbolRefAttr:$kernel, I64Attr:$number, I64Attr:$grid,
                       I64Attr:$block, I64Attr:$shared,
                       DenseI64ArrayAttr:$offsets, Variadic<Index>:$scalars);
  let assemblyFormat = [{
    $kernel `number` $number `grid` $grid `block` $block `shared` $shared `at`
    $offsets (`with` $scalars^)? attr-dict
  }];
  let hasVerifier = 1;
}

def RT_CallCopyOp : RT_CallOp<"call_copy"> {
  let summary = "copies a strided block: tessera_rt_copy";
  let description = [{
    ```mlir
    rt.call_copy 4 [16, 8] from 0 [1, 16] to 4096 [8, 1]
    ```
    With a start: `start %i dim 0` shifts the source along a dimension, and
    `start %i dim 0 in_target` the target.
    (C1) as many strides as sizes, at most 8; (C2) dim is one of the dimensions.
  }];
  let arguments = (ins I64Attr:$element_size, DenseI64ArrayAttr:$sizes,
                       I64Attr:$source, DenseI64ArrayAttr:$source_strides,
                       I64Attr:$target, DenseI64ArrayAttr:$target_strides,
                       Optional<Index>:$start, OptionalAttr<I64Attr>:$dim,
                       UnitAttr:$in_target);
  let assemblyFormat = [{
    $element_size $sizes `from` $source $source_strides `to` $target
    $target_strides (`start` $start^ `dim` $dim (`in_target` $in_target^)?)?
    attr-dict
  }];
  let hasVerifier = 1;
}

def RT_CallFillOp : RT_CallOp<"call_fill"> {
  let summary = "writes one value: tessera_rt_fill";
  let description = [{
    ```mlir
    rt.call_fill 4 count 64 bits 0 to 4096
    ```
  }];
  let arguments = (ins I64Attr:$element_size, I64Attr:$count, I64Attr:$bits,
                       I64Attr:$target);
  let assemblyFormat = [{
    $element_size `count` $count `bits` $bits `to` $target attr-dict
  }];
}

def RT_ReadFlagOp : RT_CallOp<"read_flag"> {
  let summary = "reads a boolean in memory: tessera_rt_read_flag";
  let description = [{
    Waits for what writes it.

    ```mlir
    %0 = rt.read_flag 4096 : i1
    ```
  }];
  let arguments = (ins I64Attr:$offset);
  let results = (outs I1:$flag);
  let assemblyFormat = "$offset attr-dict `:` type($flag)";
}

def RT_StateFenceOp : RT_CallOp<"state_fence"> {
  let summary = "state may change from here on: tessera_rt_state_fence";
  let description = [{
    Stands before the first op that writes into the block of a donated argument of
    more than one element: a checkpoint of the state before the step may still be
    reading it.

    ```mlir
    rt.state_fence
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def RT_BlockBeginOp : RT_CallOp<"block_begin"> {
  let summary = "a block of memory begins: tessera_rt_block_begin";
  let description = [{
    `forget` fills it, so that nothing can be read that was not written.

    ```mlir
    rt.block_begin 4096 bytes 256 forget
    ```
  }];
  let arguments = (ins I64Attr:$offset, I64Attr:$bytes, UnitAttr:$forget);
  let assemblyFormat = "$offset `bytes` $bytes (`forget` $forget^)? attr-dict";
}

def RT_BlockEndOp : RT_CallOp<"block_end"> {
  let summary = "a block of memory ends: tessera_rt_block_end";
  let description = [{
    Checks the bytes after it; `forget` fills it.

    ```mlir
    rt.block_end 4096 bytes 256 forget
    ```
  }];
  let arguments = (ins I64Attr:$offset, I64Attr:$bytes, UnitAttr:$forget);
  let assemblyFormat = "$offset `bytes` $bytes (`forget` $forget^)? attr-dict";
}

def RT_CallMatmulOp : RT_CallOp<"call_matmul"> {
  let summary = "multiplies matrices: tessera_rt_matmul";
  let description = [{
    `accumulate` adds the result to what is stored at its offset.

    ```mlir
    rt.call_matmul <batch = 1, m = 4, n = 8, k = 16, lda = 16, ldb = 8, ldc = 8,
        stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0>
        f32 -> f32 at [0, 4096, 8192]
    ```
    (C1) three offsets.
  }];
  let arguments = (ins RT_MatmulAttr:$layout, UnitAttr:$accumulate,
                       TypeAttr:$element, TypeAttr:$result_element,
                       DenseI64ArrayAttr:$offsets);
  let assemblyFormat = [{
    (`accumulate` $accumulate^)? $layout $element `->` $result_element `at`
    $offsets attr-dict
  }];
  let hasVerifier = 1;
}

def RT_CallMatmulFusedOp : RT_CallOp<"call_matmul_fused"> {
  let summary = "a matmul with what follows: tessera_rt_matmul_fused";
  let description = [{
    `add` is the offset of what is added to the result, `bias` that of the bias
    or of sums, with their type, `aux` that of GELU's argument.

    ```mlir
    rt.call_matmul_fused <gelu> <batch = 1, m = 4, n = 8, k = 16, lda = 16,
        ldb = 8, ldc = 8, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0,
        trans_b = 0> f32 -> f32 at [0, 4096, 8192] bias 512 : f32 aux 12288
    ```
    (C1) three offsets; (C2) a bias has a type, and nothing else has.
  }];
  let arguments = (ins RT_EpilogueAttr:$kind, RT_MatmulAttr:$layout,
                       TypeAttr:$element, TypeAttr:$result_element,
                       DenseI64ArrayAttr:$offsets, OptionalAttr<I64Attr>:$addend,
                       OptionalAttr<I64Attr>:$bias,
                       OptionalAttr<TypeAttr>:$bias_element,
                       OptionalAttr<I64Attr>:$aux);
  let assemblyFormat = [{
    $kind $layout $element `->` $result_element `at` $offsets (`add` $addend^)?
    (`bias` $bias^ `:` $bias_element)? (`aux` $aux^)? attr-dict
  }];
  let hasVerifier = 1;
}

def RT_CallScaledMatmulOp : RT_CallOp<"call_scaled_matmul"> {
  let summary = "multiplies matrices in 8 bits: tessera_rt_scaled_matmul";
  let description = [{
    As `rt.call_matmul`, with element types of A, B and the result, and offsets of
    A, B, the scale of each and the result.

    ```mlir
    rt.call_scaled_matmul <batch = 1, m = 16, n = 16, k = 16, lda = 16, ldb = 16,
        ldc = 16, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0,
        trans_b = 1> [f8E4M3FN, f8E5M2, bf16] at [0, 4096, 8192, 8256, 12288]
    ```
    (C1) three types and five offsets.
  }];
  let arguments = (ins RT_MatmulAttr:$layout, UnitAttr:$accumulate,
                       TypeArrayAttr:$elements, DenseI64ArrayAttr:$offsets);
  let assemblyFormat = [{
    (`accumulate` $accumulate^)? $layout $elements `at` $offsets attr-dict
  }];
  let hasVerifier = 1;
}

/// Attributes of a call of attention.
defvar RT_AttentionArguments = (ins UnitAttr:$causal,
    OptionalAttr<I64Attr>:$window, F64Attr:$scale,
    OptionalAttr<F64Attr>:$softcap, OptionalAttr<I64Attr>:$key_size, TypeAttr:$element,
    TypeAttr:$result_element, DenseI64ArrayAttr:$sizes,
    DenseI64ArrayAttr:$offsets, OptionalAttr<I64Attr>:$starts,
    OptionalAttr<I64Attr>:$bias,
    OptionalAttr<DenseI64ArrayAttr>:$bias_strides,
    Variadic<Index>:$position_offsets);

def RT_CallAttentionOp : RT_CallOp<"call_attention"> {
  let summary = "attention: tessera_rt_attention";
  let description = [{
    `element` is that of the operands, `result_element` that of the result or the
    gradients; `sizes` are B, S, T, G, R, K, V of the header; offsets of q, k, v, result
    and, where it is wanted, logsumexp; `starts` is that of the starts, `bias` that of the
    bias, with its strides over sequences, queries, groups and heads.
    (C1) seven sizes, four or five byte offsets; (C2) both position offsets or
    none; (C3) four strides with a bias, none without.

    ```mlir
    rt.call_attention causal scale 0.125 f32 -> f32 [2, 8, 8, 4, 1, 64, 64]
        at [0, 4096, 8192, 12288]
    ```
  }];
  let arguments = RT_AttentionArguments;
  let assemblyFormat = [{
    (`causal` $causal^)? (`window` $window^)? `scale` $scale
    (`softcap` $softcap^)? (`keys` $key_size^)?
    $element `->` $result_element $sizes `at` $offsets (`starts` $starts^)?
    (`bias` $bias^ `by` $bias_strides)? (`offsets` $position_offsets^)? attr-dict
  }];
  let hasVerifier = 1;
}

def RT_CallAttentionBackwardOp : RT_CallOp<"call_attention_backward"> {
  let summary = "gradients of attention: tessera_rt_attention_backward";
  let description = [{
    As `rt.call_attention`, with the offsets of grad, q, k, v, out, logsumexp,
    dq, dk, dv.
    (C1) seven sizes, nine byte offsets; (C2), (C3) those of `rt.call_attention`.

    ```mlir
    rt.call_attention_backward scale 0.125 f32 -> f32 [2, 8, 8, 4, 1, 64, 64]
        at [0, 64, 128, 192, 256, 320, 384, 448, 512]
    ```
  }];
  let arguments = RT_AttentionArguments;
  let assemblyFormat = [{
    (`causal` $causal^)? (`window` $window^)? `scale` $scale
    (`softcap` $softcap^)? (`keys` $key_size^)?
    $element `->` $result_element $sizes `at` $offsets (`starts` $starts^)?
    (`bias` $bias^ `by` $bias_strides)? (`offsets` $position_offsets^)? attr-dict
  }];
  let hasVerifier = 1;
}

def RT_CallEmbeddingBackwardOp : RT_CallOp<"call_embedding_backward"> {
  let summary = "sums of rows by index: tessera_rt_embedding_backward";
  let description = [{
    `sizes` are positions, rows and width; offsets of grad, ids and result.
    `accumulate` adds the sums to what is there, `replace` replaces rows by the
    last of each sum. Ids from `limit` on count nowhere.
    (C1) three sizes, three byte offsets; (C2) not both accumulate and replace.

    ```mlir
    rt.call_embedding_backward f32, i32 -> f32 [16, 64, 32] at [0, 2048, 4096]
    ```
  }];
  let arguments = (ins UnitAttr:$accumulate, UnitAttr:$replace,
                       TypeAttr:$element, TypeAttr:$id_element,
                       TypeAttr:$result_element, DenseI64ArrayAttr:$sizes,
                       DenseI64ArrayAttr:$offsets, Optional<Index>:$id_offset,
                       OptionalAttr<I64Attr>:$limit);
  let assemblyFormat = [{
    (`accumulate` $accumulate^)? (`replace` $replace^)? $element `,` $id_element `->` $result_element
    $sizes `at` $offsets (`limit` $limit^)? (`offset` $id_offset^)? attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// Base of the ops that start a collective. `axes` are pairs {stride, size} of
/// the group's axes. `sequence` is the number of the collective in the program.
class RT_StartOp<string mnemonic, dag args, string format>
    : RT_CallOp<mnemonic # "_start"> {
  let summary = "starts a collective of this kind: tessera_rt_start";
  let arguments = !con((ins I64Attr:$slot, I64Attr:$sequence,
                            DenseI64ArrayAttr:$axes), args,
                       (ins TypeAttr:$element));
  let assemblyFormat = [{
    `slot` $slot `sequence` $sequence `over` $axes }] # format # [{
    attr-dict `:` $element
  }];
  let extraClassDefinition = [{
    ::llvm::StringRef $cppClass::getCallee() { return "tessera_rt_start"; }
  }];
}

def RT_AllGatherStartOp : RT_StartOp<"all_gather",
  (ins I64Attr:$outer, I64Attr:$inner, I64Attr:$source, I64Attr:$target),
  "`outer` $outer `inner` $inner `from` $source `to` $target">;
def RT_ReduceScatterStartOp : RT_StartOp<"reduce_scatter",
  (ins I64Attr:$reduction, I64Attr:$outer, I64Attr:$inner, I64Attr:$source,
       I64Attr:$target),
  "`reduction` $reduction `outer` $outer `inner` $inner `from` $source `to` $target">;
def RT_AllReduceStartOp : RT_StartOp<"all_reduce",
  (ins I64Attr:$reduction, I64Attr:$count, I64Attr:$source, I64Attr:$target),
  "`reduction` $reduction `count` $count `from` $source `to` $target">;
def RT_AllToAllStartOp : RT_StartOp<"all_to_all",
  (ins DenseI64ArrayAttr:$shape, I64Attr:$split_dim, I64Attr:$concat_dim,
       I64Attr:$source, I64Attr:$target),
  "`shape` $shape `split` $split_dim `concat` $concat_dim `from` $source `to` $target">;
def RT_PermuteStartOp : RT_StartOp<"permute",
  (ins DenseI64ArrayAttr:$pairs, I64Attr:$count, I64Attr:$source,
       I64Attr:$target),
  "`pairs` $pairs `count` $count `from` $source `to` $target">;
def RT_BroadcastStartOp : RT_StartOp<"broadcast",
  (ins I64Attr:$root, I64Attr:$count, I64Attr:$source, I64Attr:$target),
  "`root` $root `count` $count `from` $source `to` $target">;
def RT_SendStartOp : RT_StartOp<"send",
  (ins I64Attr:$peer, I64Attr:$tag, I64Attr:$count, I64Attr:$source),
  "`peer` $peer `tag` $tag `count` $count `from` $source">;
def RT_RecvStartOp : RT_StartOp<"recv",
  (ins I64Attr:$peer, I64Attr:$tag, I64Attr:$count, I64Attr:$target),
  "`peer` $peer `tag` $tag `count` $count `to` $target">;

/// Base of the collectives of tokens: `width` elements are a row, whose token
/// has `choices` ids of experts in blocks of `experts`; `at` are pairs {stride,
/// size} of the axes whose position numbers a member's block.
class RT_TokenStartOp<string mnemonic> : RT_CallOp<mnemonic # "_start"> {
  let summary = "starts a collective of tokens: tessera_rt_start_tokens";
  let arguments = (ins I64Attr:$slot, I64Attr:$sequence,
                       DenseI64ArrayAttr:$axes, I64Attr:$outer, I64Attr:$inner,
                       I64Attr:$width, I64Attr:$choices, I64Attr:$experts,
                       DenseI64ArrayAttr:$at, I64Attr:$source, I64Attr:$target,
                       I64Attr:$ids, TypeAttr:$id_element, TypeAttr:$element);
  let assemblyFormat = [{
    `slot` $slot `sequence` $sequence `over` $axes `outer` $outer
    `inner` $inner `width` $width `choices` $choices `experts` $experts
    `at` $at `from` $source `to` $target `by` $ids attr-dict `:` $id_element
    `,` $element
  }];
  let extraClassDefinition = [{
    ::llvm::StringRef $cppClass::getCallee() {
      return "tessera_rt_start_tokens";
    }
  }];
}
def RT_DispatchStartOp : RT_TokenStartOp<"dispatch">;
def RT_CombineStartOp : RT_TokenStartOp<"combine">;

def RT_WaitOp : RT_CallOp<"wait"> {
  let summary = "completes a collective: tessera_rt_wait";
  let description = [{
    ```mlir
    rt.wait slot 0
    ```
  }];
  let arguments = (ins I64Attr:$slot);
  let assemblyFormat = "`slot` $slot attr-dict";
}

#endif // TESSERA_DIALECTS_RT_RTCALLOPS_TD
