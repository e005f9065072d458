//===- Dist.h - Meshes, shardings and communication -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only public header of the dialect, with the helpers that read and write
// the shardings of values.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_DIST_DIST_H
#define TESSERA_DIALECTS_DIST_DIST_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tessera/Interfaces/Axes.h"
#include "tessera/Interfaces/CollectiveKind.h"
#include "tessera/Interfaces/DifferentiableOpInterface.h"
#include "tessera/Interfaces/RuleText.h"
#include "tessera/Interfaces/ShardingRuleOpInterface.h"
#include "tessera/Plan/Plan.h"

#include "dialects/Dist/DistDialect.h.inc"
#include "dialects/Dist/DistEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Dist/DistAttrs.h.inc"

namespace tessera::dist {
/// Parses and prints a mesh, in the attribute and in the op (null in the
/// attribute): `["dp"=2, "tp"=4] stage "dp"`.
mlir::ParseResult parseMeshAxes(mlir::AsmParser &parser, MeshAttr &mesh);
void printMeshAxes(mlir::AsmPrinter &printer, mlir::Operation *op,
                   MeshAttr mesh);
} // namespace tessera::dist

#define GET_TYPEDEF_CLASSES
#include "dialects/Dist/DistTypes.h.inc"

namespace tessera::dist {
struct Transfer;
} // namespace tessera::dist

#include "dialects/Dist/DistInterfaces.h.inc"

namespace tessera::dist {
/// A piece that each device sends to the one `distance` after it in a group.
struct Transfer {
  /// The collective of the region that moves the piece's tensor: its group, and
  /// the place that reports name.
  CollectiveOpInterface op;
  /// A device's piece in the elements that are sent.
  mlir::RankedTensorType piece;
  int64_t distance = 0;
};
} // namespace tessera::dist

#define GET_OP_CLASSES
#include "dialects/Dist/DistOps.h.inc"

namespace tessera::dist {

/// True if two sub-axes of one axis overlap; a size of 0 is the full axis.
bool refsOverlap(AxisRefAttr a, AxisRefAttr b);

/// Convert between the enumerations of the IR and of the algorithms, which have
/// the same values.
inline ::tessera::ReductionKind toPlain(ReductionKind kind) {
  return static_cast<::tessera::ReductionKind>(kind);
}
inline ReductionKind fromPlain(::tessera::ReductionKind kind) {
  return static_cast<ReductionKind>(kind);
}

/// True if dimension `dim` of an operand, of an op with two operands and one
/// result, is one parallel factor that the other operand does not have. Each
/// part of the dimension then determines a part of the result, along dimension
/// `resultDim`, by itself.
bool isParallelIn(mlir::Operation *op, unsigned operand, int64_t dim,
                  unsigned &resultDim);
/// Finds the operand and dimension for which isParallelIn() gives `resultDim`.
std::optional<std::pair<unsigned, unsigned>>
findParallelOperand(mlir::Operation *op, int64_t resultDim);

/// The probability that one of a token's `choices` different experts, of `all`,
/// is in a block of `experts`, if all choices are as likely: 1 -
/// C(all - experts, choices) / C(all, choices).
double getShareOfTokens(int64_t choices, int64_t experts, int64_t all);

/// The mesh named `symbol` as seen from `op`; null if there is none.
MeshOp lookupMesh(mlir::Operation *op, mlir::FlatSymbolRefAttr symbol);

/// The only mesh of a module. Fails, with an error, if there is none or there
/// are several.
mlir::FailureOr<MeshOp> getOnlyMesh(mlir::ModuleOp module);

/// The sharding of a value: `dist.sharding` of a function argument,
/// `dist.shardings` of an op's result, or, for a slice in a `dist.accumulate`,
/// the sharding of the sliced value without its first dimension. Null if it has
/// none.
ShardingAttr getSharding(mlir::Value value);
/// Sets the sharding of a function's argument or an op's result.
void setSharding(mlir::Value value, ShardingAttr sharding);

/// The type of a tensor's slices along its first dimension, without that
/// dimension. Expects a rank of at least 1.
mlir::RankedTensorType getSliceType(mlir::RankedTensorType type);

/// The block of a function and of each `dist.accumulate` op in it, in program
/// order, each after the block with its op: all blocks of tensors that are
/// sharded over the mesh.
llvm::SmallVector<mlir::Block *> getBlocks(mlir::FunctionOpInterface func);

/// The first op of a block that was built for gradients (`dist.backward`); null
/// if there is none.
mlir::Operation *findBackward(mlir::Block &block);

/// Checks that the axes exist in the mesh (label C3) and that their parts
/// divide them (label C4).
mlir::LogicalResult
verifyRefs(llvm::ArrayRef<AxisRefAttr> refs, const ::tessera::Mesh &mesh,
           mlir::FlatSymbolRefAttr symbol,
           llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// Checks that the mesh of an op is known, the axes as verifyRefs() does, and
/// that no two of them overlap; `label` is the label of the op's constraint.
mlir::LogicalResult verifyAxes(mlir::Operation *op, AxesAttr axes,
                               mlir::FlatSymbolRefAttr symbol,
                               llvm::StringRef label);

/// The sharding of result `index` of a function; null if it has none.
ShardingAttr getResultSharding(mlir::FunctionOpInterface func, unsigned index);
void setResultSharding(mlir::FunctionOpInterface func, unsigned index,
                       ShardingAttr sharding);

/// Sets the shardings of many arguments and results at once, in time linear in
/// their number; a null entry keeps the old sharding. `results` may be empty.
void setFunctionShardings(mlir::FunctionOpInterface func,
                          llvm::ArrayRef<ShardingAttr> args,
                          llvm::ArrayRef<ShardingAttr> results = {});

} // namespace tessera::dist

#endif // TESSERA_DIALECTS_DIST_DIST_H
