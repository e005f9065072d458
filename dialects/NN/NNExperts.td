//===- NNExperts.td - Ops of mixtures of experts -----------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The choice of experts, the experts and their gradients. A choice is a tensor
// of ids: token t goes to the experts ids[t, 0], ids[t, 1], ... Tensors by
// expert, [..., experts, width], are zero where a token does not go to the
// expert, so they have ordinary shardings. Included by NN.td, which defines the
// classes used here.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_NN_NNEXPERTS_TD
#define TESSERA_DIALECTS_NN_NNEXPERTS_TD

def NN_MakesChoice : NativeOpTrait<"MakesChoice"> {
  let cppNamespace = "::tessera";
}

def NN_Activation : I32EnumAttr<"Activation", "activation of gated experts", [
    I32EnumAttrCase<"Silu", 0, "silu">, I32EnumAttrCase<"GeluErf", 1, "gelu">,
    I32EnumAttrCase<"GeluTanh", 2, "gelu_tanh">]> {
  let cppNamespace = "::tessera::nn";
  let genSpecializedAttr = 0;
}
def NN_ActivationAttr : EnumAttr<NN_Dialect, NN_Activation, "activation"> {
  let assemblyFormat = "`<` $value `>`";
}

def NN_GroupScore : I32EnumAttr<"GroupScore", "score of a group of experts", [
    I32EnumAttrCase<"Max", 0, "max">, I32EnumAttrCase<"Sum2", 1, "sum2">]> {
  let cppNamespace = "::tessera::nn";
  let genSpecializedAttr = 0;
}
def NN_GroupScoreAttr : EnumAttr<NN_Dialect, NN_GroupScore, "group_score"> {
  let assemblyFormat = "`<` $value `>`";
}

//===----------------------------------------------------------------------===//
// Routing
//===----------------------------------------------------------------------===//

def NN_TopKOp : NN_Op<"top_k", [], [NN_MakesChoice]> {
  let summary = "positions of the largest elements of the last dimension";
  let description = [{
    The positions of the k largest elements of each row of x, the largest first,
    and the lower position among equals; with `smallest` those of the k smallest,
    the smallest first. NaN counts as larger than every number. So they are
    those of `jax.lax.top_k` and `torch.topk`, distinct and in range.

    With `groups M of G by <max>` the row is G groups of neighbours, and only
    elements of the M groups of the largest maximum are chosen; with `by <sum2>`
    those of the largest sum of their two largest elements (DeepSeek-V2 and V3).
    Groups are compared as elements are.
    (C1) k is in [1, size of the last dimension]; (C2) the result has x's shape
    but k elements in the last dimension; (C3) its integers can hold every
    position; (C4) there is a number of groups where groups are chosen, which
    divides the last dimension; the chosen ones, at least 1 and at most all, have
    k elements; there are no groups with `smallest`; (C5) by <sum2>, a group has 2
    elements.

    ```mlir
    %ids = nn.top_k 2 %x : tensor<4x32x8xf32> -> tensor<4x32x2xi32>
    %few = nn.top_k 4 groups 2 of 4 by <sum2> %y
        : tensor<4x32x16xf32> -> tensor<4x32x4xi32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, I64Attr:$k, UnitAttr:$smallest,
                       OptionalAttr<I64Attr>:$chosen_groups,
                       OptionalAttr<I64Attr>:$groups,
                       OptionalAttr<NN_GroupScoreAttr>:$group_score);
  let results = (outs NN_IntTensor:$result);
  let assemblyFormat = [{
    $k (`smallest` $smallest^)?
    (`groups` $chosen_groups^ `of` $groups `by` $group_score)? $x attr-dict `:`
    type($x) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NN_ExpertCapacityOp : NN_Op<"expert_capacity",
    ["setPositionOffset", "setPositionOrder"],
    [NN_MakesChoice, AllTypesMatch<["ids", "result"]>]> {
  let summary = "drops choices beyond the capacity of experts";
  let description = [{
    Of all choices of an expert in one sequence, the `capacity` of the highest
    score stay, the first token among equals; the others become -1, which is no
    expert. A sequence is all tokens along the next to last dimension; with
    `order` the tokens are stored in that order. NaN counts as larger than
    every number.
    (C1) ids have rank 2 at least; (C2) scores have their shape; (C3) the
    capacity is at least 1; (C4) there is 1 expert at least.

    ```mlir
    %kept = nn.expert_capacity 5 of 8 %ids, %scores
        : tensor<4x32x2xi32>, tensor<4x32x2xf32>
    ```
  }];
  let arguments = (ins NN_IntTensor:$ids, NN_FloatTensor:$scores,
                       I64Attr:$capacity, I64Attr:$experts,
                       OptionalAttr<NN_ZigzagAttr>:$order);
  let results = (outs NN_IntTensor:$result);
  let assemblyFormat = [{
    $capacity `of` $experts (`order` $order^)? $ids `,` $scores attr-dict `:`
    type($ids) `,` type($scores)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

class NN_ExpertOp<string mnemonic, list<string> rules, list<Trait> traits = [],
                  list<string> routed = []>
    : NN_Op<mnemonic, !listconcat(["setPositionOffset"], rules),
            !listconcat(traits, [DeclareOpInterfaceMethods<RoutedOpInterface,
                !listconcat(["getRowResults"], routed)>])>;

def NN_ExpertRowsOp : NN_ExpertOp<"expert_rows", ["commutesWithReduction"],
    [NN_Differentiable], ["getTokens"]> {
  let summary = "rows by the expert that they go to";
  let description = [{
    result[..., e, j] = x[..., j] where an id of the token is e + offset, 0
    elsewhere.
    (C1) ids have rank 1 at least, and x as many tokens; (C2) the result has the
    tokens of x, a dimension of experts, and the width of x; (C3) element types
    of x and result agree.

    ```mlir
    %rows = nn.expert_rows %x, %ids
        : tensor<4x32x64xf32>, tensor<4x32x2xi32> -> tensor<4x32x8x64xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_IntTensor:$ids,
                       Optional<Index>:$offset);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = [{
    $x `,` $ids (`offset` $offset^)? attr-dict `:` type($x) `,` type($ids) `->`
    type($result)
  }];
  let hasVerifier = 1;
}

def NN_ExpertsOp : NN_ExpertOp<"experts", ["absorbPadding", "mayReducePadding"],
    [NN_SavesStats, AllTypesMatch<["w_gate", "w_up"]>],
    ["getNumExperts", "getTokens", "getTokenSum"]> {
  let summary = "the gated MLPs of the experts that tokens go to";
  let description = [{
    With c(t, e) the sum of gates[t, j] over all j with ids[t, j] = e + offset:
    y[t] = sum over e of c(t, e) (act(x[t] w_gate[e]) * (x[t] w_up[e])) w_down[e].
    An id that is none of the held experts (-1 too) adds 0: it is on another
    device, or its choice was dropped. `of` gives the number of all experts.
    Sums are in f32 at least, and experts that no token goes to read no weights.
    With `stats` it also returns x w_gate and x w_up by expert, 0 where a token
    does not go, for the backward.
    (C1) ids have rank 1 at least, gates their shape, and x as many tokens; (C2)
    weights have rank 3: w_gate and w_up [experts, width of x, ffn], w_down
    [experts, ffn, width of y]; (C3) y has the tokens of x and the width of
    w_down; (C4) x, weights, y and stats have one element type, gates are f32
    (f64 for f64); (C5) there are no stats or 2, [tokens..., experts, ffn]; (C6)
    of all experts there is 1 at least.

    ```mlir
    %y = nn.experts <silu> of 8 %x, %ids, %gates, %wg, %wu, %wd
        : tensor<4x32x64xf32>, tensor<4x32x2xi32>, tensor<4x32x2xf32>,
          tensor<8x64x96xf32>, tensor<8x96x64xf32> -> tensor<4x32x64xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_IntTensor:$ids,
                       NN_FloatTensor:$gates, NN_FloatTensor:$w_gate,
                       NN_FloatTensor:$w_up, NN_FloatTensor:$w_down,
                       Optional<Index>:$offset, NN_ActivationAttr:$activation,
                       I64Attr:$experts);
  let results = (outs NN_FloatTensor:$result,
                      Variadic<NN_FloatTensor>:$stats);
  let assemblyFormat = [{
    $activation `of` $experts $x `,` $ids `,` $gates `,` $w_gate `,` $w_up `,`
    $w_down (`offset` $offset^)? attr-dict `:` type($x) `,` type($ids) `,`
    type($gates) `,` type($w_up) `,` type($w_down) `->` type($result)
    (`stats` type($stats)^)?
  }];
  let hasVerifier = 1;
}

def NN_ExpertsBackwardOp : NN_ExpertOp<"experts_backward",
    ["absorbPadding", "mayReducePadding", "commutesWithReduction"],
    [AllTypesMatch<["w_gate", "w_up"]>, AllTypesMatch<["gates", "dgates"]>,
     AllTypesMatch<["gate_stat", "up_stat", "dgate", "dup"]>],
    ["getNumExperts", "getTokens", "getTokenSum"]> {
  let summary = "gradients of experts' x and gates, and of its stats";
  let description = [{
    From the gradient of y and the stats g = x w_gate and u = x w_up of
    `nn.experts`, whose other operands it shares: with dh = grad w_down[e]^T where
    the token goes to e, dgate = c dh u act'(g) and dup = c dh act(g), by expert,
    dx = sum over e of dgate w_gate[e]^T + dup w_up[e]^T, and
    dgates[t, j] = sum over f of dh act(g) u of the expert ids[t, j], 0 if that
    is not held.
    (C1) to (C6) as for `nn.experts`, grad as its result and dx as its x.

    ```mlir
    %dx, %dgates, %dg, %du = nn.experts_backward <silu> of 8
        %grad, %ids, %gates, %wg, %wu, %wd, %g, %u
        : tensor<4x32x64xf32>, tensor<4x32x2xi32>, tensor<4x32x2xf32>,
          tensor<8x64x96xf32>, tensor<8x96x64xf32>, tensor<4x32x8x96xf32>
          -> tensor<4x32x64xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$grad, NN_IntTensor:$ids,
                       NN_FloatTensor:$gates, NN_FloatTensor:$w_gate,
                       NN_FloatTensor:$w_up, NN_FloatTensor:$w_down,
                       NN_FloatTensor:$gate_stat, NN_FloatTensor:$up_stat,
                       Optional<Index>:$offset, NN_ActivationAttr:$activation,
                       I64Attr:$experts);
  let results = (outs NN_FloatTensor:$dx, NN_FloatTensor:$dgates,
                      NN_FloatTensor:$dgate, NN_FloatTensor:$dup);
  let assemblyFormat = [{
    $activation `of` $experts $grad `,` $ids `,` $gates `,` $w_gate `,` $w_up
    `,` $w_down `,` $gate_stat `,` $up_stat (`offset` $offset^)? attr-dict `:`
    type($grad) `,` type($ids) `,` type($gates) `,` type($w_up) `,`
    type($w_down) `,` type($up_stat) `->` type($dx)
  }];
  let hasVerifier = 1;
}

def NN_ExpertsWeightGradientOp : NN_ExpertOp<"experts_weight_gradient",
    ["mayReducePadding", "commutesWithReduction"],
    [AllTypesMatch<["gate_stat", "up_stat", "dgate", "dup"]>,
     AllTypesMatch<["dw_gate", "dw_up"]>], ["getNumExperts"]> {
  let summary = "gradients of the weights of experts";
  let description = [{
    From the rows of x and of y's gradient by expert (`nn.expert_rows`), the stats
    g and u of `nn.experts`, and dgate and dup of its backward: sums over tokens
    dw_gate[e] = rows^T dgate, dw_up[e] = rows^T dup and
    dw_down[e] = (c act(g) u)^T grad_rows, in f32 at least.
    (C1) ids have rank 1 at least, gates their shape, rows and stats as many
    tokens and one number of experts; (C2) gradients have the shapes of weights:
    [experts, width of rows, ffn] and [experts, ffn, width of grad_rows]; (C3)
    rows, grad_rows and stats have one element type, gates are f32 (f64 for f64),
    gradients all have the element type of rows or all a wider one; (C4) of all
    experts there is 1 at least.

    ```mlir
    %dwg, %dwu, %dwd = nn.experts_weight_gradient <silu> of 8
        %rows, %grad_rows, %ids, %gates, %g, %u, %dg, %du
        : tensor<4x32x8x64xf32>, tensor<4x32x8x64xf32>, tensor<4x32x2xi32>,
          tensor<4x32x2xf32>, tensor<4x32x8x96xf32>
          -> tensor<8x64x96xf32>, tensor<8x96x64xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$rows, NN_FloatTensor:$grad_rows,
                       NN_IntTensor:$ids, NN_FloatTensor:$gates,
                       NN_FloatTensor:$gate_stat, NN_FloatTensor:$up_stat,
                       NN_FloatTensor:$dgate, NN_FloatTensor:$dup,
                       Optional<Index>:$offset, NN_ActivationAttr:$activation,
                       I64Attr:$experts);
  let results = (outs NN_FloatTensor:$dw_gate, NN_FloatTensor:$dw_up,
                      NN_FloatTensor:$dw_down);
  let assemblyFormat = [{
    $activation `of` $experts $rows `,` $grad_rows `,` $ids `,` $gates `,`
    $gate_stat `,` $up_stat `,` $dgate `,` $dup (`offset` $offset^)? attr-dict
    `:` type($rows) `,` type($grad_rows) `,` type($ids) `,` type($gates) `,`
    type($up_stat) `->` type($dw_up) `,` type($dw_down)
  }];
  let hasVerifier = 1;
}

#endif // TESSERA_DIALECTS_NN_NNEXPERTS_TD
