//===- RTExperts.td - Mixtures of experts as calls ---------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records of the calls that route tokens to experts and multiply their rows,
// then the calls. A row is one use of a held expert by a token.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_RT_RTEXPERTS_TD
#define TESSERA_DIALECTS_RT_RTEXPERTS_TD

include "dialects/RT/RTBase.td"

def RT_Activation : I32EnumAttr<"Activation", "activation of gated experts", [
    I32EnumAttrCase<"Silu", 0, "silu">, I32EnumAttrCase<"GeluErf", 1, "gelu">,
    I32EnumAttrCase<"GeluTanh", 2, "gelu_tanh">]> {
  let cppNamespace = "::tessera::rt";
  let genSpecializedAttr = 0;
}
def RT_ActivationAttr : EnumAttr<RT_Dialect, RT_Activation, "activation"> {
  let assemblyFormat = "`<` $value `>`";
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

def RT_RouteOp : RT_Op<"route", [Pure]> {
  let summary = "which rows the held experts have";
  let description = [{
    The routing of tokens to `experts` experts from id `offset` on, for at most
    `room` rows: the first row of each expert and the number of all rows, the
    choice (its position in `ids`) of each row, and the row of each choice, -1
    where that has none. Rows are ordered by expert, then by choice. `of` is the
    number of all experts; with `layer` the rows count as loads of that layer.
    With `each` these are not loads, but a lack of room is noted: room for the rows
    of one expert, and as many as an even load has.
    (C1) ids are i32 or i64; (C2) the result is i32, with as many elements as
    experts, rows and ids, and one; (C3) `each` has two positive numbers.

    ```mlir
    %r = rt.route %ids experts 2 of 8 room 256 layer 3 offset %o
        : tensor<4x32x2xi32> -> tensor<515xi32>
    ```
  }];
  let arguments = (ins RT_Tensor:$ids, I64Attr:$experts, I64Attr:$all,
                       I64Attr:$room, OptionalAttr<DenseI64ArrayAttr>:$each,
                       OptionalAttr<I64Attr>:$layer, Optional<Index>:$offset);
  let results = (outs RT_Tensor:$routing);
  let assemblyFormat = [{
    $ids `experts` $experts `of` $all `room` $room (`each` $each^)?
    (`layer` $layer^)? (`offset` $offset^)? attr-dict `:` type($ids) `->` type($routing)
  }];
  let hasVerifier = 1;
}

def RT_ExpertCapacityOp : RT_Op<"expert_capacity", [Pure,
    AllTypesMatch<["ids", "result"]>]> {
  let summary = "drops choices beyond the capacity of experts";
  let description = [{
    As `nn.expert_capacity`; with `order` the tokens of a sequence are stored in
    zig-zag order: its shards and size.
    (C1) ids are i32 or i64 and have rank 2 at least; (C2) scores are f32 or f64
    and have their shape; (C3) an order is two numbers.

    ```mlir
    %kept = rt.expert_capacity 5 of 8 %ids, %scores
        : tensor<4x32x2xi32>, tensor<4x32x2xf32>
    ```
  }];
  let arguments = (ins RT_Tensor:$ids, RT_Tensor:$scores, I64Attr:$capacity,
                       I64Attr:$experts, OptionalAttr<DenseI64ArrayAttr>:$order);
  let results = (outs RT_Tensor:$result);
  let assemblyFormat = [{
    $capacity `of` $experts (`order` $order^)? $ids `,` $scores attr-dict `:`
    type($ids) `,` type($scores)
  }];
  let hasVerifier = 1;
}

def RT_ExpertsOp : RT_Op<"experts", [Pure,
    AllTypesMatch<["w_gate", "w_up"]>]> {
  let summary = "the gated MLPs of experts in the form of a library call";
  let description = [{
    As `nn.experts`, with the routing of its ids (`rt.route`) and stats that
    hold the rows of the routing alone; `of` is the number of all experts.
    (C1) x, weights, y and rows have one element type, f32, f64, bf16 or f16;
    gates are f32, or f64 with f64; (C2) x is [tokens..., in], y [tokens..., out],
    gates [tokens..., choices], the weights [experts, in, ffn] and
    [experts, ffn, out], rows [room, ffn]; the routing is of these sizes; (C3)
    there are no rows or 2.

    ```mlir
    %y, %g, %u = rt.experts <silu> of 8 %x, %r, %gates, %wg, %wu, %wd
        : tensor<4x32x64xf32>, tensor<515xi32>, tensor<4x32x2xf32>,
          tensor<2x64x96xf32>, tensor<2x96x64xf32> -> tensor<4x32x64xf32>
          rows tensor<256x96xf32>, tensor<256x96xf32>
    ```
  }];
  let arguments = (ins RT_ActivationAttr:$activation, I64Attr:$experts,
                       RT_Tensor:$x,
                       RT_Tensor:$routing, RT_Tensor:$gates, RT_Tensor:$w_gate,
                       RT_Tensor:$w_up, RT_Tensor:$w_down);
  let results = (outs RT_Tensor:$result, Variadic<RT_Tensor>:$rows);
  let assemblyFormat = [{
    $activation `of` $experts $x `,` $routing `,` $gates `,` $w_gate `,` $w_up `,` $w_down
    attr-dict `:` type($x) `,` type($routing) `,` type($gates) `,` type($w_up)
    `,` type($w_down) `->` type($result) (`rows` type($rows)^)?
  }];
  let extraClassDeclaration = [{
    /// Tokens, choices, experts, room, in, ffn, out.
    ::llvm::SmallVector<int64_t> getSizes();
  }];
  let hasVerifier = 1;
}

def RT_ExpertsBackwardOp : RT_Op<"experts_backward", [Pure,
    AllTypesMatch<["w_gate", "w_up"]>, AllTypesMatch<["gates", "dgates"]>,
    AllTypesMatch<["gate_rows", "up_rows", "dgate", "dup"]>]> {
  let summary = "gradients of experts' x, gates and rows as a library call";
  let description = [{
    As `nn.experts_backward`, with the routing and the rows of `rt.experts`.
    (C1) and (C2) as there, with grad for y and dx for x.

    ```mlir
    %dx, %dgates, %dg, %du = rt.experts_backward <silu> of 8
        %grad, %r, %gates, %wg, %wu, %wd, %g, %u
        : tensor<4x32x64xf32>, tensor<515xi32>, tensor<4x32x2xf32>,
          tensor<2x64x96xf32>, tensor<2x96x64xf32>, tensor<256x96xf32>
          -> tensor<4x32x64xf32>
    ```
  }];
  let arguments = (ins RT_ActivationAttr:$activation, I64Attr:$experts,
                       RT_Tensor:$grad,
                       RT_Tensor:$routing, RT_Tensor:$gates, RT_Tensor:$w_gate,
                       RT_Tensor:$w_up, RT_Tensor:$w_down,
                       RT_Tensor:$gate_rows, RT_Tensor:$up_rows);
  let results = (outs RT_Tensor:$dx, RT_Tensor:$dgates, RT_Tensor:$dgate,
                      RT_Tensor:$dup);
  let assemblyFormat = [{
    $activation `of` $experts $grad `,` $routing `,` $gates `,` $w_gate `,` $w_up `,` $w_down
    `,` $gate_rows `,` $up_rows attr-dict `:` type($grad) `,` type($routing) `,`
    type($gates) `,` type($w_up) `,` type($w_down) `,` type($up_rows) `->`
    type($dx)
  }];
  let extraClassDeclaration = [{
    /// Tokens, choices, experts, room, in, ffn, out.
    ::llvm::SmallVector<int64_t> getSizes();
  }];
  let hasVerifier = 1;
}

def RT_ExpertsWeightGradientOp : RT_Op<"experts_weight_gradient", [Pure,
    AllTypesMatch<["gate_rows", "up_rows", "dgate", "dup"]>,
    AllTypesMatch<["dw_gate", "dw_up"]>]> {
  let summary = "gradients of the weights of experts as a library call";
  let description = [{
    As `nn.experts_weight_gradient`, with the routing and the rows of
    `rt.experts`. x and grad are by token, or `rows` if they are [room, width].
    (C1) as for `rt.experts`; the gradients all have the element type of rows or
    all f32; (C2) x is [tokens..., in] or [room, in], grad [tokens..., out] or
    [room, out], gates [tokens..., choices], dw_gate [experts, in, ffn], dw_down
    [experts, ffn, out], the rows [room, ffn].

    ```mlir
    %dwg, %dwu, %dwd = rt.experts_weight_gradient <silu> of 8
        %x, %grad, %r, %gates, %g, %u, %dg, %du
        : tensor<4x32x64xf32>, tensor<4x32x64xf32>, tensor<515xi32>,
          tensor<4x32x2xf32>, tensor<256x96xf32>
          -> tensor<2x64x96xf32>, tensor<2x96x64xf32>
    ```
  }];
  let arguments = (ins RT_ActivationAttr:$activation, I64Attr:$experts,
                       RT_Tensor:$x,
                       RT_Tensor:$grad, RT_Tensor:$routing, RT_Tensor:$gates,
                       RT_Tensor:$gate_rows, RT_Tensor:$up_rows,
                       RT_Tensor:$dgate, RT_Tensor:$dup, UnitAttr:$x_in_rows,
                       UnitAttr:$grad_in_rows);
  let results = (outs RT_Tensor:$dw_gate, RT_Tensor:$dw_up,
                      RT_Tensor:$dw_down);
  let assemblyFormat = [{
    $activation `of` $experts (`rows` $x_in_rows^)? $x `,` (`rows` $grad_in_rows^)? $grad `,`
    $routing `,` $gates `,` $gate_rows `,` $up_rows `,` $dgate `,` $dup
    attr-dict `:` type($x) `,` type($grad) `,` type($routing) `,` type($gates)
    `,` type($up_rows) `->` type($dw_up) `,` type($dw_down)
  }];
  let extraClassDeclaration = [{
    /// Tokens, choices, experts, room, in, ffn, out.
    ::llvm::SmallVector<int64_t> getSizes();
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

def RT_CallRouteOp : RT_Op<"call_route", [
    DeclareOpInterfaceMethods<RuntimeCallOpInterface>]> {
  let summary = "routes tokens to experts: tessera_rt_route";
  let description = [{
    `sizes` are tokens, choices, experts, all experts, room, and room and even load
    of one expert, 0 without; offsets of ids and routing.
    (C1) seven sizes, two byte offsets.

    ```mlir
    rt.call_route i32 [128, 2, 2, 8, 256, 0, 0] layer 3 at [0, 1024] offset %o
    ```
  }];
  let arguments = (ins TypeAttr:$id_element, DenseI64ArrayAttr:$sizes,
                       OptionalAttr<I64Attr>:$layer,
                       DenseI64ArrayAttr:$offsets, Optional<Index>:$id_offset);
  let assemblyFormat = [{
    $id_element $sizes (`layer` $layer^)? `at` $offsets
    (`offset` $id_offset^)? attr-dict
  }];
  let hasVerifier = 1;
}

def RT_CallExpertCapacityOp : RT_Op<"call_expert_capacity", [
    DeclareOpInterfaceMethods<RuntimeCallOpInterface>]> {
  let summary = "drops choices: tessera_rt_expert_capacity";
  let description = [{
    `sizes` are sequences, tokens of one, choices, experts, capacity, and shards
    and size of the order, 0 without one; offsets of ids, scores and result.
    (C1) seven sizes, three byte offsets.

    ```mlir
    rt.call_expert_capacity i32, f32 [4, 32, 2, 8, 5, 0, 0] at [0, 1024, 2048]
    ```
  }];
  let arguments = (ins TypeAttr:$id_element, TypeAttr:$element,
                       DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$offsets);
  let assemblyFormat = [{
    $id_element `,` $element $sizes `at` $offsets attr-dict
  }];
  let hasVerifier = 1;
}

/// Calls on experts: `sizes` are tokens, choices, experts, room, in, ffn and
/// out; offsets of the tensors in the order of the call.
class RT_CallExpertsOpBase<string mnemonic> : RT_Op<mnemonic, [
    DeclareOpInterfaceMethods<RuntimeCallOpInterface>]> {
  let arguments = (ins RT_ActivationAttr:$activation, TypeAttr:$element,
                       TypeAttr:$result_element, DenseI64ArrayAttr:$sizes,
                       UnitAttr:$x_in_rows, UnitAttr:$grad_in_rows,
                       DenseI64ArrayAttr:$offsets);
  let assemblyFormat = [{
    $activation $element `->` $result_element $sizes
    (`x_in_rows` $x_in_rows^)? (`grad_in_rows` $grad_in_rows^)? `at` $offsets
    attr-dict
  }];
  let hasVerifier = 1;
}

def RT_CallExpertsOp : RT_CallExpertsOpBase<"call_experts"> {
  let summary = "the gated MLPs of experts: tessera_rt_experts";
  let description = [{
    Offsets of routing, x, gates, w_gate, w_up, w_down, result and, where they are
    wanted, both rows.
    (C1) seven sizes, seven or nine byte offsets.

    ```mlir
    rt.call_experts <silu> f32 -> f32 [128, 2, 2, 256, 64, 96, 64]
        at [0, 64, 128, 192, 256, 320, 384]
    ```
  }];
}

def RT_CallExpertsBackwardOp : RT_CallExpertsOpBase<"call_experts_backward"> {
  let summary = "gradients of experts: tessera_rt_experts_backward";
  let description = [{
    Offsets of routing, grad, gates, w_gate, w_up, w_down, both rows, dx, dgates
    and the gradients of both rows.
    (C1) seven sizes, twelve byte offsets.

    ```mlir
    rt.call_experts_backward <silu> f32 -> f32 [128, 2, 2, 256, 64, 96, 64]
        at [0, 64, 128, 192, 256, 320, 384, 448, 512, 576, 640, 704]
    ```
  }];
}

def RT_CallExpertsWeightGradientOp
    : RT_CallExpertsOpBase<"call_experts_weight_gradient"> {
  let summary =
      "gradients of experts' weights: tessera_rt_experts_weight_gradient";
  let description = [{
    Offsets of routing, x, grad, gates, both rows and their gradients, dw_gate,
    dw_up and dw_down.
    (C1) seven sizes, eleven byte offsets.

    ```mlir
    rt.call_experts_weight_gradient <silu> bf16 -> f32
        [128, 2, 2, 256, 64, 96, 64]
        at [0, 64, 128, 192, 256, 320, 384, 448, 512, 576, 640]
    ```
  }];
}

#endif // TESSERA_DIALECTS_RT_RTEXPERTS_TD
