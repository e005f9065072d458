//===- Passes.td - Passes that name dimensions and inputs --*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_NAMING_PASSES_TD
#define TESSERA_NAMING_PASSES_TD

include "mlir/Pass/PassBase.td"

def NameDimsPass : Pass<"nn-name-dims", "::mlir::func::FuncOp"> {
  let summary = "Names the dimensions of arguments and of the residual stream";
  let description = [{
    Strategies go by names (`nn.dims`). Dimensions that an op ties by a factor of its
    sharding rule are one class; a dimension that is split belongs to its major part,
    and constants tie nothing. A class gets the first name of:

    1. the option `given` (`ids=batch,seq;w=embed,ffn`), names that are there;
    2. attention (`batch`, `seq`, `kv_heads`, `q_per_kv`, `head_dim`), cross entropy
       (`vocab`), experts (`experts`, `ffn`);
    3. heads, `kv_heads`: a class that a weight makes, and that a matmul of two other
       values keeps as it sums over another one;
    4. weights. A matmul takes the class over which it and its weight sum, and makes
       that which only the weight has. The class that most weights take or make is
       the stream, `embed`. A class that one makes, and of whose takers, by elements,
       more than half make the stream, is `kv_heads` where a softmax keeps it, else
       `ffn`. Weights that touch no such class are looked at again with the next
       stream. Weights that still touch none, such as a chain of convolutions, get
       some: `ffn` is a class that one makes and another takes, if none of them has
       another, from the end of the chain with the larger weight on. What a weight makes in the last dimension of the result `logits` is
       `vocab`;
    5. a dimension that two matmuls around a softmax keep and no weight makes:
       `batch`; lookups by an argument's ids (`vocab`, `embed`, `batch`, `seq`) or by
       positions; if there is no `batch` then, the first dimension of an input in
       which all ops treat samples apart;
    6. the third dimension next to `batch` and `embed`: `seq`.

    Others of a named argument are `other`, and so are those of all
    parameters if one is named and no argument has a sharding. Sums of tensors of
    `batch`, `seq` and `embed` are the residual stream.
    The remark `UnnamedDims` lists weights of matmuls with a dimension without a
    name.

    ```mlir
    func.func @f(%ids: tensor<2x8xi32>, %table: tensor<64x16xf32>) {
      %0 = nn.embedding %table, %ids : ...
    ```
    becomes
    ```mlir
    func.func @f(%ids: tensor<2x8xi32> {nn.dims = ["batch", "seq"]},
                 %table: tensor<64x16xf32> {nn.dims = ["vocab", "embed"]}) {
      %0 = nn.embedding %table, %ids {nn.dims = ["batch", "seq", "embed"]} : ...
    ```
  }];
  let options = [
    Option<"given", "given", "std::string", "",
           "names of dimensions of arguments: ids=batch,seq;mask=batch">,
  ];
}

def NameInputsPass : Pass<"nn-name-inputs", "::mlir::func::FuncOp"> {
  let summary = "Says which inputs a program fills from a file of tokens";
  let description = [{
    Programs fill the inputs `tokens` and `labels` from `--data`: the labels of a row
    are its tokens, `label-shift` tokens later. It is 1 for a loss that compares each
    token's logits with its label, and 0 for one that shifts its labels itself.

    ```mlir
    func.func @f(%ids: tensor<2x8xi32> {nn.input = "ids"}, %y: tensor<2x8xi32> {nn.input = "y"})
    ```
    with `tokens=ids labels=y label-shift=0` becomes
    ```mlir
    func.func @f(%ids: tensor<2x8xi32> {nn.input = "tokens"},
                 %y: tensor<2x8xi32> {nn.input = "labels", nn.label_shift = 0 : i64})
    ```
  }];
  let options = [
    Option<"tokens", "tokens", "std::string", "", "name of the input of tokens">,
    Option<"labels", "labels", "std::string", "", "name of the input of labels">,
    Option<"labelShift", "label-shift", "int64_t", "1",
           "by how many tokens labels are later than tokens: 0 or 1">,
  ];
}

#endif // TESSERA_NAMING_PASSES_TD
