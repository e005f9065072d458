//===- DistForeign.td - Ops that only a rule is known of ---*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_DIST_DISTFOREIGN_TD
#define TESSERA_DIALECTS_DIST_DISTFOREIGN_TD

include "dialects/Dist/DistOps.td"

def Dist_ForeignOp : Dist_Op<"foreign", [Pure,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface,
                              ["commutesWithReduction", "cloneWithShapes"]>]> {
  let summary = "an op of another dialect with a sharding rule as text";
  let description = [{
    Stands for an op that carries `dist.rule` while the program is partitioned
    (`dist-wrap-foreign`, `dist-unwrap-foreign`); `op_attributes` are those of that op.
    Who writes a `dist.rule` vouches that the op has no effects.
    (C1) the rule fits the types.

    ```mlir
    %y = dist.foreign "my.scale" (%x, %s) <"([i,j],[i])->([i,j]) {i=8, j=64}">
        : (tensor<8x64xf32>, tensor<8xf32>) -> tensor<8x64xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name, Variadic<AnyType>:$inputs,
                       Dist_RuleAttr:$rule, OptionalAttr<DictionaryAttr>:$op_attributes);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    $name `(` $inputs `)` $rule (`with` $op_attributes^)? attr-dict `:`
    functional-type($inputs, $results)
  }];
  let hasVerifier = 1;
}

#endif // TESSERA_DIALECTS_DIST_DISTFOREIGN_TD
