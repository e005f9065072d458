//===- DistExperts.td - Rows by expert ---------------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_DIST_DISTEXPERTS_TD
#define TESSERA_DIALECTS_DIST_DISTEXPERTS_TD

include "dialects/Dist/DistOps.td"

def Dist_PackRowsOp : Dist_Op<"pack_rows", [Pure]> {
  let summary = "a tensor by expert without the rows that are zero";
  let description = [{
    `values` holds a row for each token and expert, which is 0 where no id of the
    token is that of the expert, `offset` plus its position. The result holds the
    rows of the ids of these experts, by expert, then by token. Its further rows
    are undefined, and so is all of it if it has too few. A device's program
    alone has it.
    (C1) ids have rank 1 at least, and values their tokens, experts and a width;
    (C2) the result has rows of this width and type.

    ```mlir
    %r = dist.pack_rows %g by %ids offset %o
        : tensor<4x32x2x96xf32>, tensor<4x32x2xi32> -> tensor<256x96xf32>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$values, AnyStaticShapeTensor:$ids,
                       Optional<Index>:$offset);
  let results = (outs AnyStaticShapeTensor:$rows);
  let assemblyFormat = [{
    $values `by` $ids (`offset` $offset^)? attr-dict `:` type($values) `,`
    type($ids) `->` type($rows)
  }];
  let hasVerifier = 1;
}

def Dist_UnpackRowsOp : Dist_Op<"unpack_rows", [Pure]> {
  let summary = "rows by expert with the rows that are zero";
  let description = [{
    The inverse of `dist.pack_rows`, by the same ids.
    (C1) and (C2) as there, with values and rows exchanged.

    ```mlir
    %g = dist.unpack_rows %r by %ids offset %o
        : tensor<256x96xf32>, tensor<4x32x2xi32> -> tensor<4x32x2x96xf32>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$rows, AnyStaticShapeTensor:$ids,
                       Optional<Index>:$offset);
  let results = (outs AnyStaticShapeTensor:$values);
  let assemblyFormat = [{
    $rows `by` $ids (`offset` $offset^)? attr-dict `:` type($rows) `,`
    type($ids) `->` type($values)
  }];
  let hasVerifier = 1;
}

#endif // TESSERA_DIALECTS_DIST_DISTEXPERTS_TD
