//===- DistCollectives.td - Communication ------------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_DIST_DISTCOLLECTIVES_TD
#define TESSERA_DIALECTS_DIST_DISTCOLLECTIVES_TD

include "dialects/Dist/DistInterfaces.td"
include "dialects/Dist/DistOps.td"

/// Base of the ops that communicate one tensor into one tensor. `args` come
/// before the axes in the assembly; `kind` is a CollectiveKind.
class Dist_CollectiveOp<string mnemonic, dag args, string format, string kind>
    : Dist_Op<mnemonic, [Pure,
        DeclareOpInterfaceMethods<SymbolUserOpInterface>,
        DeclareOpInterfaceMethods<CollectiveOpInterface,
            ["applyTo", "getLocalResultType"]>]> {
  let arguments = !con((ins AnyStaticShapeTensor:$input), args,
      (ins Dist_AxesAttr:$axes, FlatSymbolRefAttr:$mesh,
           OptionalAttr<Dist_ShardingAttr>:$from,
           OptionalAttr<Dist_ShardingAttr>:$to));
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = format # [{
    `over` $axes `on` $mesh (`from` $from^)? (`to` $to^)? attr-dict `:`
    type($input) `->` type($result)
  }];
  let extraClassDefinition = [{
    ::std::optional<::tessera::CollectiveKind> $cppClass::getCollectiveKind() {
      return }] # kind # [{;
    }
  }];
}

def Dist_AllGatherOp : Dist_CollectiveOp<"all_gather", (ins I64Attr:$dim),
    "$input `dim` $dim ",
    "::tessera::CollectiveKind::AllGather"> {
  let summary = "concatenates the shards of a group along a dimension";
  let description = [{
    `axes` are the minor axes of the dimension; they vanish from it.
    (C1) the tensors are of floats, integers or index and of at most 2^48
    elements, and in the local form the dimension grows by the group's size; (C2)
    in the global form `to` is what the op makes of `from`; these hold for every
    collective.

    ```mlir
    %1 = dist.all_gather %0 dim 1 over <{"tp"}> on @mesh
        : tensor<8x4xf32> -> tensor<8x16xf32>
    ```
  }];
}

def Dist_ReduceScatterOp : Dist_CollectiveOp<"reduce_scatter",
    (ins I64Attr:$dim, Dist_ReductionAttr:$kind), "$kind $input `dim` $dim ",
    "::tessera::CollectiveKind::ReduceScatter"> {
  let summary = "reduces partial values and leaves each device its shard";
  let description = [{
    `axes` are partial before and the minor axes of `dim` after.

    ```mlir
    %1 = dist.reduce_scatter <sum> %0 dim 0 over <{"tp"}> on @mesh
        : tensor<8x16xf32> -> tensor<2x16xf32>
    ```
  }];
}

def Dist_AllReduceOp : Dist_CollectiveOp<"all_reduce",
    (ins Dist_ReductionAttr:$kind), "$kind $input ",
    "::tessera::CollectiveKind::AllReduce"> {
  let summary = "reduces partial values; every device gets the result";
  let description = [{
    ```mlir
    %1 = dist.all_reduce <max> %0 over <{"tp"}> on @mesh
        : tensor<8x16xf32> -> tensor<8x16xf32>
    ```
  }];
}

def Dist_AllToAllOp : Dist_CollectiveOp<"all_to_all",
    (ins I64Attr:$gather_dim, I64Attr:$split_dim),
    "$input `gather` $gather_dim `split` $split_dim ",
    "::tessera::CollectiveKind::AllToAll"> {
  let summary = "moves axes from one dimension to another";
  let description = [{
    `axes` are the minor axes of `gather_dim` before and of `split_dim` after.
    (C3) the two dimensions differ.

    ```mlir
    %1 = dist.all_to_all %0 gather 0 split 1 over <{"tp"}> on @mesh
        : tensor<2x16xf32> -> tensor<8x4xf32>
    ```
  }];
  let hasVerifier = 1;
}

def Dist_CollectivePermuteOp : Dist_CollectiveOp<"collective_permute",
    (ins DenseI64ArrayAttr:$targets), "$input `targets` $targets ",
    "::tessera::CollectiveKind::Permute"> {
  let summary = "sends each device's value to another of its group";
  let description = [{
    Member i of a group sends its value to member `targets[i]`.
    (C3) `targets` is a permutation of the group's members.
    In the global form `to` is a sharding of which each device's block is the
    block that its sender holds under `from`.

    ```mlir
    %1 = dist.collective_permute %0 targets [0, 2, 1, 3] over <{"x", "y"}> on @mesh
        : tensor<8x16xf32> -> tensor<8x16xf32>
    ```
  }];
}

def Dist_AllSliceOp : Dist_CollectiveOp<"all_slice", (ins I64Attr:$dim),
    "$input `dim` $dim ", "::std::nullopt"> {
  let summary = "keeps a device's own part of a dimension; moves no bytes";
  let description = [{
    `axes` become the minor axes of the dimension.

    ```mlir
    %1 = dist.all_slice %0 dim 1 over <{"tp"}> on @mesh
        : tensor<8x16xf32> -> tensor<8x4xf32>
    ```
  }];
}

def Dist_BroadcastOp : Dist_CollectiveOp<"broadcast", (ins I64Attr:$root),
    "$input `root` $root ",
    "::tessera::CollectiveKind::Broadcast"> {
  let summary = "gives every device of a group the value of one of them";
  let description = [{
    (C3) `root` is a member of the group.

    ```mlir
    %1 = dist.broadcast %0 root 0 over <{"dp"}> on @mesh
        : tensor<8x16xf32> -> tensor<8x16xf32>
    ```
  }];
}

def Dist_SendOp : Dist_Op<"send", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "sends a value to another coordinate of an axis";
  let description = [{
    Devices at coordinate `from` of `axis` send to the device that differs only
    in having coordinate `to`; the others do nothing. The `dist.recv` with the
    same coordinates and tag takes it.
    (C1) the axis exists in the mesh and both coordinates are on it; (C2) they
    differ.

    ```mlir
    dist.send %0 along "pp" 0 to 1 tag 7 on @mesh : tensor<8x16xf32>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$input, StrAttr:$axis, I64Attr:$from,
                       I64Attr:$to, I64Attr:$tag, FlatSymbolRefAttr:$mesh);
  let assemblyFormat = [{
    $input `along` $axis $from `to` $to `tag` $tag `on` $mesh attr-dict `:`
    type($input)
  }];
}

def Dist_RecvOp : Dist_Op<"recv", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "receives a value from another coordinate of an axis";
  let description = [{
    The other side of `dist.send`. On devices that are not at coordinate `to`
    the result is zero.
    (C1) and (C2) as for `dist.send`.

    ```mlir
    %0 = dist.recv along "pp" 0 to 1 tag 7 on @mesh : tensor<8x16xf32>
    ```
  }];
  let arguments = (ins StrAttr:$axis, I64Attr:$from, I64Attr:$to, I64Attr:$tag,
                       FlatSymbolRefAttr:$mesh);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = [{
    `along` $axis $from `to` $to `tag` $tag `on` $mesh attr-dict `:`
    type($result)
  }];
}

def Dist_StartOp : Dist_Op<"start", [SingleBlock, IsolatedFromAbove]> {
  let summary = "starts a collective";
  let description = [{
    The region holds one collective, in the local form, of the operands; the
    future stands for its result. Anything may run until the `dist.wait`. The
    first operand is sent; the others (ids of a `dist.dispatch`) say what of it.
    (C1) the region holds one collective of its arguments and a `dist.yield` of
    its result; (C2) the types agree with the future's.

    ```mlir
    %f = dist.start %0 : tensor<8x4xf32> -> !dist.future<tensor<8x16xf32>> {
    ^bb0(%arg: tensor<8x4xf32>):
      %1 = dist.all_gather %arg dim 1 over <{"tp"}> on @mesh
          : tensor<8x4xf32> -> tensor<8x16xf32>
      dist.yield %1 : tensor<8x16xf32>
    }
    %2 = dist.wait %f, %0 : !dist.future<tensor<8x16xf32>>, tensor<8x4xf32>
        -> tensor<8x16xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$inputs);
  let results = (outs Dist_FutureType:$future);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $inputs attr-dict `:` type($inputs) `->` qualified(type($future)) $body
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The tensor that is sent.
    ::mlir::Value getInput() { return getInputs().front(); }
  }];
}

def Dist_BucketOp : Dist_Op<"bucket", [SingleBlock, IsolatedFromAbove,
    RecursiveMemoryEffects]> {
  let summary = "several collectives of one kind as one";
  let description = [{
    The region holds a collective of each operand; they are done as one, over
    the members' elements side by side, for one latency. Results are those that
    each would give by itself.
    (C1) the region takes the operands, holds one collective in the local form
    of each of its arguments, in order, and a `dist.yield` of their results; (C2)
    the types agree with those of operands and results; (C3) the collectives are
    all-reduces, reduce-scatters or all-gathers, all of one kind, over the same
    axes, by one reduction, of one element type.

    ```mlir
    %r:2 = dist.bucket (%0, %1) : (tensor<8xf32>, tensor<4x2xf32>)
        -> (tensor<8xf32>, tensor<4x2xf32>) {
    ^bb0(%a: tensor<8xf32>, %b: tensor<4x2xf32>):
      %2 = dist.all_reduce <sum> %a over <{"dp"}> on @mesh
          : tensor<8xf32> -> tensor<8xf32>
      %3 = dist.all_reduce <sum> %b over <{"dp"}> on @mesh
          : tensor<4x2xf32> -> tensor<4x2xf32>
      dist.yield %2, %3 : tensor<8xf32>, tensor<4x2xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$inputs);
  let results = (outs Variadic<AnyStaticShapeTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs) $body
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The collectives of the region, one per operand.
    ::llvm::SmallVector<CollectiveOpInterface> getMembers();
  }];
}

def Dist_YieldOp : Dist_Op<"yield", [Pure, Terminator,
    ParentOneOf<["StartOp", "AccumulateOp", "BucketOp", "CollectiveMatmulOp",
                  "RingAttentionOp"]>]> {
  let summary = "ends the region of a dist op";
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Dist_WaitOp : Dist_Op<"wait", []> {
  let summary = "waits for a started collective";
  let description = [{
    Takes the sources too, so that their lifetimes reach this op.
    (C1) the future is the result of a `dist.start` of the same sources.
  }];
  let arguments = (ins Dist_FutureType:$future,
                       Variadic<AnyStaticShapeTensor>:$sources);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = [{
    $future `,` $sources attr-dict `:` qualified(type($future)) `,` type($sources)
    `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif // TESSERA_DIALECTS_DIST_DISTCOLLECTIVES_TD
