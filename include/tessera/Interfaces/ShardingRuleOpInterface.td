//===- ShardingRuleOpInterface.td - Rules of ops -----------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_SHARDINGRULEOPINTERFACE_TD
#define TESSERA_INTERFACES_SHARDINGRULEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def ShardingRuleOpInterface : OpInterface<"ShardingRuleOpInterface"> {
  let cppNamespace = "::tessera";
  let description = [{
    An op that says how it may be sharded over devices. Everything that the
    compiler knows of an op when it propagates shardings and partitions comes
    from here. An op without this interface is replicated in every dimension.
  }];
  let methods = [
    InterfaceMethod<[{
      The factors of this op, see ShardingRule.h. Depends only on types and
      attributes; the same on global types and on local ones.
    }], "::tessera::ShardingRule", "getShardingRule", (ins)>,
    InterfaceMethod<[{
      Linearity: whether the op may run on partial values. Bit i of `partial`
      says that operand i is partial over some axis with reduction `kind`; the
      other operands are whole (equal on every device of the axis). True if the
      results are then partial with the same kind and equal, once reduced, the
      op on reduced operands.
    }], "bool", "commutesWithReduction",
      (ins "::tessera::ReductionKind":$kind,
           "const ::llvm::SmallBitVector &":$partial), "",
      [{ return false; }]>,
    InterfaceMethod<[{
      Rewrites the op, on global types and right before it, into ops whose
      reductions over the given factors (bits of `factors`, of kind Decomposed)
      are plain factors. Returns the values that replace the results; the
      caller replaces and erases. Failure: this op cannot be decomposed so.
    }], "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>", "decompose",
      (ins "::mlir::OpBuilder &":$builder,
           "const ::llvm::SmallBitVector &":$factors), "",
      [{ return ::mlir::failure(); }]>,
    InterfaceMethod<[{
      Gives the op the global position (an `index` value) of the first element
      along a positional factor.
    }], "void", "setPositionOffset",
      (ins "unsigned":$factor, "::mlir::Value":$offset), "",
      [{ llvm_unreachable("the op has no positional factor"); }]>,
    InterfaceMethod<[{
      Tells the op in which order a positional factor is stored: `order`, an
      attribute of the op's dialect, maps an index to a position. False: the op
      takes none.
    }], "bool", "setPositionOrder",
      (ins "unsigned":$factor, "::mlir::Attribute":$order), "",
      [{ return false; }]>,
    InterfaceMethod<[{
      Tells the op that from `size` on `factor` is padding. True: it is no part
      of what the op reduces (attention masks keys); results that have `factor`
      are 0 there if the operands that have it are. False: nothing is known.
    }], "bool", "absorbPadding",
      (ins "unsigned":$factor, "int64_t":$size), "",
      [{ return false; }]>,
    InterfaceMethod<[{
      Whether the op may reduce over padding of `factor`, a reduction: the
      reduction's neutral element in all operands that have the factor changes
      no result. An op need not say so where that follows from
      commutesWithReduction(), see keepsNeutral(), or where absorbPadding()
      takes the padding. Any other op runs on true elements alone along the
      factor.
    }], "bool", "mayReducePadding", (ins "unsigned":$factor), "",
      [{ return false; }]>,
    InterfaceMethod<[{
      A copy of the op for other shapes of the same ranks: padded ones or one
      device's. `operands` have the new types already. Ops that carry shapes in
      attributes or regions override this. Failure: these shapes cannot be (a
      slice that does not fall on a boundary); the caller reports it.
    }], "::llvm::FailureOr<::mlir::Operation *>", "cloneWithShapes",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands,
           "::mlir::TypeRange":$resultTypes), "",
      [{
        return ::tessera::cloneWithTypes(builder, $_op, operands, resultTypes);
      }]>,
  ];
}

#endif // TESSERA_INTERFACES_SHARDINGRULEOPINTERFACE_TD
