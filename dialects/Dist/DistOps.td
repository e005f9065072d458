//===- DistOps.td - Mesh, constraint, reshard, offsets -----*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_DIST_DISTOPS_TD
#define TESSERA_DIALECTS_DIST_DISTOPS_TD

include "dialects/Dist/DistAttrs.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "tessera/Interfaces/DifferentiableOpInterface.td"
include "tessera/Interfaces/ShardingRuleOpInterface.td"

class Dist_Op<string mnemonic, list<Trait> traits = []>
    : Op<Dist_Dialect, mnemonic, traits>;

def Dist_MeshOp : Dist_Op<"mesh", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "a grid of devices with named axes";
  let description = [{
    The number of a device is row-major over the axes: the last axis is
    innermost.

    ```mlir
    dist.mesh @mesh ["dp"=2, "tp"=4]
    dist.mesh @staged ["pp"=4, "dp"=2] stage "pp"
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Dist_MeshAttr:$mesh);
  let assemblyFormat = "$sym_name custom<MeshAxes>($mesh) attr-dict";
}

def Dist_ConstraintOp : Dist_Op<"constraint", [Pure, SameOperandsAndResultType,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["getShardingRule"]>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "the value with a sharding that propagation must keep";
  let description = [{
    The result has the given sharding; open dimensions of it may be sharded
    further. A closed dimension is a barrier: axes of the operand do not flow
    through it, and a reshard follows where the two differ. The gradient of the
    result is free, unless the constraint is `with_gradient`.
    (C1) the sharding is valid for the type.

    ```mlir
    %1 = dist.constraint %0 <@mesh, [{"dp"}, {} ]> : tensor<8x16xf32>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$input, Dist_ShardingAttr:$sharding,
                       UnitAttr:$with_gradient);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = [{
    $input $sharding (`with_gradient` $with_gradient^)? attr-dict `:` type($result)
  }];
}

def Dist_ReshardOp : Dist_Op<"reshard", [Pure, SameOperandsAndResultType,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the same global value with another sharding";
  let description = [{
    On global types, between InsertReshards and ReshardToCollectives. `from` is
    the sharding the operand has; it may be partial, the result's too.
    (C1) both shardings are valid for the type and of one mesh.

    ```mlir
    %1 = dist.reshard %0 from <@mesh, [{}, {} ], unreduced={"tp"}>
                         to <@mesh, [{}, {} ]> : tensor<8x16xf32>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$input, Dist_ShardingAttr:$from,
                       Dist_ShardingAttr:$to);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$input `from` $from `to` $to attr-dict `:` type($result)";
}

def Dist_GroupOp : Dist_Op<"group"> {
  let summary = "ties values that have one sharding but no data flow";
  let description = [{
    All values of a group get one sharding: a parameter and its optimizer
    state. Propagation removes the op.
    (C1) all operands have one shape.

    ```mlir
    dist.group %w, %m, %v : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
  let hasVerifier = 1;
}

def Dist_ToPartialOp : Dist_Op<"to_partial", [Pure, SameOperandsAndResultType,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a whole value as a partial one";
  let description = [{
    On coordinate 0 of `axes` the value itself, elsewhere the neutral element of
    the reduction: reducing the result over `axes` gives the operand back. This
    is the only way to mix a whole value with partial ones.
    (C1) the axes exist in the mesh and none is used twice.

    ```mlir
    %1 = dist.to_partial <sum> %0 over <{"tp"}> on @mesh : tensor<8x16xf32>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$input, Dist_AxesAttr:$axes,
                       Dist_ReductionAttr:$kind, FlatSymbolRefAttr:$mesh);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = [{
    $kind $input `over` $axes `on` $mesh attr-dict `:` type($result)
  }];
}

def Dist_AxisOffsetOp : Dist_Op<"axis_offset", [Pure,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "global position of the first element of a device's shard";
  let description = [{
    The number of the device's shard over `axes` times `local_size`. The only
    op through which a value may depend on where it is computed.
    (C1) the axes exist in the mesh; (C2) local_size is not negative.

    ```mlir
    %0 = dist.axis_offset <{"tp"}> size 64 on @mesh : index
    ```
  }];
  let arguments = (ins Dist_AxesAttr:$axes, I64Attr:$local_size,
                       FlatSymbolRefAttr:$mesh);
  let results = (outs Index:$offset);
  let assemblyFormat = [{
    $axes `size` $local_size `on` $mesh attr-dict `:` type($offset)
  }];
}

def Dist_AccumulateOp : Dist_Op<"accumulate", [SingleBlock,
    RecursiveMemoryEffects]> {
  let summary = "sums or stacks what a region computes over micro-batches";
  let description = [{
    Runs the region `count` times, in order; its arguments are the operands'
    slices along their first dimension, of size `count`, which no sharding may
    spread. A result of the yielded type is the sum of what the region yields,
    added up in order; one with a further first dimension, of size `count`, has
    the yielded values as its slices, in order. Values from outside may be used
    inside. A yielded value that is partial over some axes makes a partial
    result: the reduction waits until after the last micro-batch. With
    `reduce_each` a reduction that leaves each device a shard is done for each
    micro-batch: it moves more bytes and keeps only shards of the sums.
    (C1) count is at least 1 and the first dimension of each operand; (C2) the
    region's arguments are the slices; (C3) it yields the results' types, or
    those of their slices.

    ```mlir
    %sum = dist.accumulate 4 (%tokens) : (tensor<4x2x8xi32>) -> tensor<64x16xf32> {
    ^bb0(%part: tensor<2x8xi32>):
      %g = nn.embedding_backward %x, %part
          : tensor<2x8x16xf32>, tensor<2x8xi32> -> tensor<64x16xf32>
      dist.yield %g : tensor<64x16xf32>
    }
    ```
  }];
  let arguments = (ins I64Attr:$count, UnitAttr:$reduce_each,
                       Variadic<AnyStaticShapeTensor>:$slices);
  let results = (outs Variadic<AnyStaticShapeTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $count (`reduce_each` $reduce_each^)? `(` $slices `)` attr-dict `:` functional-type($slices, $results) $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The op that ends the region.
    YieldOp getYield();
    /// True if a result stacks the yielded values as slices; else it is their
    /// sum.
    bool isStacked(unsigned result);
    /// True if a value of the region is only used in sums.
    bool isOnlySummed(::mlir::Value value);
  }];
}

#endif // TESSERA_DIALECTS_DIST_DISTOPS_TD
