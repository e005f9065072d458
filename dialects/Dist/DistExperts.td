//===- DistExperts.td - Rows by expert ---------------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_DIST_DISTEXPERTS_TD
#define TESSERA_DIALECTS_DIST_DISTEXPERTS_TD

include "dialects/Dist/DistInterfaces.td"
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

/// Base of the collectives that send only tokens that go to certain experts.
/// Experts are in blocks of `experts`; a device has the block of its position
/// on the axes `at`.
class Dist_TokenCollectiveOp<string mnemonic, string kind>
    : Dist_Op<mnemonic, [Pure,
        DeclareOpInterfaceMethods<SymbolUserOpInterface>,
        DeclareOpInterfaceMethods<CollectiveOpInterface,
            ["applyTo", "getLocalResultType", "getShareSent"]>]> {
  let arguments = (ins AnyStaticShapeTensor:$input, AnyStaticShapeTensor:$ids,
                       I64Attr:$experts, I64Attr:$all, Dist_AxesAttr:$at,
                       I64Attr:$dim, Dist_AxesAttr:$axes,
                       FlatSymbolRefAttr:$mesh,
                       OptionalAttr<Dist_ShardingAttr>:$from,
                       OptionalAttr<Dist_ShardingAttr>:$to);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = [{
    $input `by` $ids `experts` $experts `of` $all `at` $at `dim` $dim
    `over` $axes `on` $mesh (`from` $from^)? (`to` $to^)? attr-dict `:`
    type($input) `,` type($ids) `->` type($result)
  }];
  let extraClassDefinition = [{
    ::std::optional<::tessera::CollectiveKind> $cppClass::getCollectiveKind() {
      return }] # kind # [{;
    }
  }];
}

def Dist_DispatchOp : Dist_TokenCollectiveOp<"dispatch",
    "::tessera::CollectiveKind::AllGather"> {
  let summary = "gathers the tokens that go to a device's experts";
  let description = [{
    As `dist.all_gather`, but only of tokens with an id in the device's block of
    experts; the other rows of the result are undefined. `ids` are those of the
    result's tokens, `all` is the number of all experts.
    (C1) as for every collective; (C2) it has the local form; (C3) rows are
    floats, and ids i32 or i64 of the result's tokens; (C4) a block has 1 expert
    at least.

    ```mlir
    %1 = dist.dispatch %0 by %ids experts 2 of 8 at <{"dp"}> dim 0
        over <{"dp"}> on @mesh
        : tensor<1x32x64xf32>, tensor<4x32x2xi32> -> tensor<4x32x64xf32>
    ```
  }];
}

def Dist_CombineOp : Dist_TokenCollectiveOp<"combine",
    "::tessera::CollectiveKind::ReduceScatter"> {
  let summary = "sums the results of the experts that tokens went to";
  let description = [{
    As `dist.reduce_scatter` with a sum, of a value that is 0 on each device for
    tokens without an id in its block of experts: only devices with a block of a
    token's ids send its row. `ids` are those of the result's tokens.
    (C1) to (C4) as for `dist.dispatch`.

    ```mlir
    %1 = dist.combine %0 by %ids experts 2 of 8 at <{"dp"}> dim 0
        over <{"dp"}> on @mesh
        : tensor<4x32x64xf32>, tensor<1x32x2xi32> -> tensor<1x32x64xf32>
    ```
  }];
}

#endif // TESSERA_DIALECTS_DIST_DISTEXPERTS_TD
