//===- NNAttention.td - Attention and its gradients -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_NN_NNATTENTION_TD
#define TESSERA_DIALECTS_NN_NNATTENTION_TD

def NN_AttentionOp : NN_Op<"attention",
    ["decompose", "setPositionOffset", "setPositionOrder", "absorbPadding",
     "commutesWithReduction"],
    [AttrSizedOperandSegments, NN_SavesStats, NN_NamesDims]> {
  let summary = "scaled dot-product attention with grouped queries";
  let description = [{
    q is [batch, query, group, head of the group, dim], k [batch, key, group,
    dim], v [batch, key, group, value dim]; the result is shaped like q with the
    value dim. Multi-head attention has groups of one head. With `causal` a
    query sees the keys at its own position and before it, with `window` W the
    last W of these: position p sees p - W + 1 to p. `q_offset` and
    `k_offset` are the positions of the first query and key (0 without them);
    keys at positions from `key_size` on are padding. `starts` are the positions
    at which the queries' documents start: a query sees no key before. They do not
    decrease along the queries. With an `order` queries and keys at index s have
    the position of that index in the order; offsets are indices. A query that sees
    no key gives 0. Softmax is in f32 at least.
    A scaled score x becomes c tanh(x / c) with `softcap` c; then the `bias`
    is added as it is: a key with minus infinity is hidden. It has some of the
    dimensions batch, query, group, head and key, numbered from 0, among them key. `sinks`, [group, head], are one more score of
    each head, which takes part in the sum of exponentials and has no value.
    With `stats` it also returns, for the backward, the logarithm of each query's
    sum of exponentials, of these scores, [batch, query, group, head]: minus
    infinity for a query that sees no key. With a bias, which may be the lowest
    number, the stat is [batch, query, group, head, 2]: the largest score (the
    lowest number for a query that sees no key), and the logarithm of the sum of
    exponentials of the differences to it.
    The result may be f32 where the operands are narrower: then it is not rounded,
    for those who add it to others.
    (C1) ranks are 5, 4, 4, 5; (C2) batch, group and dim sizes agree; (C3) k and
    v have one key size; (C4) operands have one element type and the result the same,
    or f32; (C5) there is no stat or
    one: of the result's shape without the last dimension, f32 (f64 for f64);
    (C6) a window is at least 1 and comes with `causal`; (C7) starts are i32
    [batch, query]; (C8) the dimensions of a bias ascend, have
    the operands' sizes, and the last is 4; bias and sinks have the operands'
    element type, or f32; (C9) a softcap is above 0.

    ```mlir
    %o = nn.attention causal scale 0.125 %q, %k, %v
        : tensor<2x8x4x1x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>
        -> tensor<2x8x4x1x64xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$q, NN_FloatTensor:$k, NN_FloatTensor:$v,
                       Optional<Index>:$q_offset, Optional<Index>:$k_offset,
                       Optional<NN_IntTensor>:$starts,
                       Optional<NN_FloatTensor>:$bias,
                       Optional<NN_FloatTensor>:$sinks,
                       OptionalAttr<DenseI64ArrayAttr>:$bias_dims,
                       UnitAttr:$causal, OptionalAttr<I64Attr>:$window,
                       F64Attr:$scale, OptionalAttr<F64Attr>:$softcap,
                       OptionalAttr<I64Attr>:$key_size,
                       OptionalAttr<NN_ZigzagAttr>:$order);
  let results = (outs NN_FloatTensor:$result,
                       Variadic<NN_FloatTensor>:$stats);
  let assemblyFormat = [{
    (`causal` $causal^)? (`window` $window^)? `scale` $scale
    (`softcap` $softcap^)? (`keys` $key_size^)?
    (`order` $order^)? $q `,` $k `,` $v (`q_offset` $q_offset^)?
    (`k_offset` $k_offset^)? (`starts` $starts^ `:` type($starts))?
    (`bias` $bias^ `dims` $bias_dims `:` type($bias))? (`sinks` $sinks^ `:` type($sinks))?
    attr-dict `:`
    type($q) `,` type($k) `,` type($v) `->` type($result)
    (`stats` type($stats)^)?
  }];
  let hasVerifier = 1;
  let useCustomPropertiesEncoding = 1;
}

def NN_AttentionBackwardOp : NN_Op<"attention_backward",
    ["decompose", "setPositionOffset", "setPositionOrder", "absorbPadding",
     "mayReducePadding", "commutesWithReduction"],
    [AttrSizedOperandSegments, AllTypesMatch<["grad", "out"]>]> {
  let summary = "gradients of attention's queries, keys and values";
  let description = [{
    From the gradient of the result, the operands, the result and the saved
    logsumexp of `nn.attention`, whose attributes, offsets, starts and bias it
    shares: with p = exp(score - logsumexp) (0 for a key that is not seen; both
    numbers of the stat are subtracted with a bias) and
    delta = sum over the dim of grad * result: dv = p^T grad,
    ds = scale p (grad.v - delta), times 1 - tanh^2 of a softcap, dq = ds k,
    dk = ds^T q. Sinks are in the result and the stat; the bias has no gradient.
    Sums are in f32 at least. Gradients have the types of q, k and v, or are f32 where these are
    narrower; then their types are written.
    (C1) the operands, the result and the attributes are those of
    `nn.attention` (C1 to C4, C6 to C9), grad and the result of the operands' type;
    (C2) logsumexp is its stat (C5); (C3) gradients have the shapes of q, k and v, and
    all of them the operands' element type, or all f32.

    ```mlir
    %dq, %dk, %dv = nn.attention_backward causal scale 0.125
        %grad, %q, %k, %v, %o, %lse
        : tensor<2x8x4x1x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>,
          tensor<2x8x4x1x64xf32>, tensor<2x8x4x1xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$grad, NN_FloatTensor:$q,
                       NN_FloatTensor:$k, NN_FloatTensor:$v,
                       NN_FloatTensor:$out, NN_FloatTensor:$logsumexp,
                       Optional<Index>:$q_offset, Optional<Index>:$k_offset,
                       Optional<NN_IntTensor>:$starts,
                       Optional<NN_FloatTensor>:$bias,
                       OptionalAttr<DenseI64ArrayAttr>:$bias_dims,
                       UnitAttr:$causal, OptionalAttr<I64Attr>:$window,
                       F64Attr:$scale, OptionalAttr<F64Attr>:$softcap,
                       OptionalAttr<I64Attr>:$key_size,
                       OptionalAttr<NN_ZigzagAttr>:$order);
  let results = (outs NN_FloatTensor:$dq, NN_FloatTensor:$dk,
                      NN_FloatTensor:$dv);
  let assemblyFormat = [{
    (`causal` $causal^)? (`window` $window^)? `scale` $scale
    (`softcap` $softcap^)? (`keys` $key_size^)?
    (`order` $order^)? $grad `,` $q `,` $k `,` $v `,` $out `,` $logsumexp
    (`q_offset` $q_offset^)? (`k_offset` $k_offset^)?
    (`starts` $starts^ `:` type($starts))? (`bias` $bias^ `dims` $bias_dims `:` type($bias))?
    attr-dict `:` type($q) `,` type($k)
    `,` type($v) `,` type($out) `,` type($logsumexp)
    custom<GradientTypes>(type($dq), type($dk), type($dv), ref(type($q)),
                          ref(type($k)), ref(type($v)))
  }];
  let hasVerifier = 1;
  let useCustomPropertiesEncoding = 1;
}

#endif // TESSERA_DIALECTS_NN_NNATTENTION_TD
