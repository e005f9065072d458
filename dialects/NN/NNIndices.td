//===- NNIndices.td - Ops that write at indices ------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows that are written at run-time indices. The ops that read are embedding
// and take_along_axis. Included by NN.td, which defines the classes used here.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_NN_NNINDICES_TD
#define TESSERA_DIALECTS_NN_NNINDICES_TD

def NN_ScatterKind : I32EnumAttr<"ScatterKind", "effect of a scatter on rows", [
    I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Set", 1, "set">]> {
  let cppNamespace = "::tessera::nn";
  let genSpecializedAttr = 0;
}
def NN_ScatterKindAttr : EnumAttr<NN_Dialect, NN_ScatterKind, "scatter_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def NN_ScatterOp : NN_Op<"scatter",
    ["decompose", "setPositionOffset", "absorbPadding",
     "commutesWithReduction"],
    [AllTypesMatch<["x", "result"]>, NN_Differentiable]> {
  let summary = "rows of a matrix, changed at indices";
  let description = [{
    The rows of x; row ids[...] - offset is changed by updates[..., :]. `add` adds
    all updates of a row, in ascending order of positions, in f32 at least. `set`
    replaces the row by its last update in row-major order of the ids. Ids outside
    of x, and those from `rows` on, which is where its padding begins, change
    nothing. (`nn.embedding` gives NaN for an id that is no row; here there is no
    element that could be NaN.)
    (C1) x has rank 2; (C2) the updates have the shape of ids and x's width; (C3)
    element types of x and updates agree; (C4) rows, where given, is not negative.

    The gradient of x is the result's, with zeros in the rows that `set` replaces;
    that of an update is the result's row, of those that `set` replaces one row by
    only for the last one.

    ```mlir
    %y = nn.scatter <add> %x, %ids, %updates
        : tensor<64x16xf32>, tensor<2x8xi32>, tensor<2x8x16xf32>
    ```
  }];
  let arguments = (ins NN_ScatterKindAttr:$kind, NN_FloatTensor:$x,
                       NN_IntTensor:$ids, NN_FloatTensor:$updates,
                       Optional<Index>:$offset, OptionalAttr<I64Attr>:$rows);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = [{
    $kind $x `,` $ids `,` $updates (`rows` $rows^)? (`offset` $offset^)?
    attr-dict `:` type($x) `,` type($ids) `,` type($updates)
  }];
  let hasVerifier = 1;
}

#endif // TESSERA_DIALECTS_NN_NNINDICES_TD
