//===- DistMatmul.td - Matmuls with their collective -------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_DIST_DISTMATMUL_TD
#define TESSERA_DIALECTS_DIST_DISTMATMUL_TD

include "dialects/Dist/DistOps.td"

def Dist_CollectiveMatmulOp : Dist_Op<"collective_matmul",
    [SingleBlock, IsolatedFromAbove, RecursiveMemoryEffects]> {
  let summary = "a collective and matmuls that run beside it, chunk by chunk";
  let description = [{
    Computes what its region says. The region says it in one of two forms, and in
    both there is an order of steps in which each device sends and computes at
    one time:

    * an all-gather of the first argument, and matmuls of its result in which
      the gathered dimension stays: a device multiplies the chunk that it has
      while the next one comes from its neighbour;
    * a matmul, and a reduce-scatter of sums of its result along a dimension
      that is not summed over: a device computes its addend of its neighbour's
      chunk while that of another one comes by.

    (C1) the region takes the operands and yields the results' types; (C2) it
    holds one collective over a group of several, an all-gather of the first
    argument or a reduce-scatter of sums, last; (C3) all else are ops of two
    operands and one result whose rules make the collective's dimension a
    parallel factor by itself, one of them where a reduce-scatter follows.

    ```mlir
    %q, %k = dist.collective_matmul (%x, %wq, %wk)
        : (tensor<2x4x8xf32>, tensor<8x6xf32>, tensor<8x6xf32>)
        -> (tensor<2x8x6xf32>, tensor<2x8x6xf32>) {
    ^bb0(%a: tensor<2x4x8xf32>, %b: tensor<8x6xf32>, %c: tensor<8x6xf32>):
      %0 = dist.all_gather %a dim 1 over <{"tp"}> on @mesh
          : tensor<2x4x8xf32> -> tensor<2x8x8xf32>
      %1 = nn.einsum "bsd,de->bse" %0, %b
          : tensor<2x8x8xf32>, tensor<8x6xf32> -> tensor<2x8x6xf32>
      %2 = nn.einsum "bsd,de->bse" %0, %c
          : tensor<2x8x8xf32>, tensor<8x6xf32> -> tensor<2x8x6xf32>
      dist.yield %1, %2 : tensor<2x8x6xf32>, tensor<2x8x6xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$inputs);
  let results = (outs Variadic<AnyStaticShapeTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $inputs `)` attr-dict `:` functional-type($inputs, $results) $body
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The all-gather or reduce-scatter.
    CollectiveOpInterface getCollective();
    /// The matmuls, in order.
    ::llvm::SmallVector<::mlir::Operation *> getMatmuls();
    /// The op that ends the region.
    YieldOp getYield();
  }];
}

def Dist_AssembleOp : Dist_Op<"assemble", [Pure,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "puts chunks that came around a ring where they belong";
  let description = [{
    Chunk s is number `(i + s) mod n` of the result along `dim`, where i is the
    device's number over `axes` and n the size of the group: the order in which a
    device gets the chunks of a ring that begins with its own.
    (C1) one chunk for each member of a group over axes of the mesh; (C2) the
    chunks have one type, and the result n times their size in `dim`.

    ```mlir
    %r = dist.assemble %a, %b dim 0 over <{"tp"}> on @mesh
        : tensor<2x8xf32>, tensor<2x8xf32> -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$chunks, I64Attr:$dim,
                       Dist_AxesAttr:$axes, FlatSymbolRefAttr:$mesh);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = [{
    $chunks `dim` $dim `over` $axes `on` $mesh attr-dict `:` type($chunks) `->`
    type($result)
  }];
}

#endif // TESSERA_DIALECTS_DIST_DISTMATMUL_TD
