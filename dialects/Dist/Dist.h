//===- Dist.h - Meshes, shardings and communication -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one public header of the dialect, with the helpers that read and write
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
#include "tessera/Interfaces/ShardingRuleOpInterface.h"
#include "tessera/Support/Plan.h"

#include "dialects/Dist/DistDialect.h.inc"
#include "dialects/Dist/DistEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Dist/DistAttrs.h.inc"

namespace tessera::dist {
/// Assembly of a mesh, in the attribute and in the op (null in the attribute):
/// `["dp"=2, "tp"=4] stage "dp"`.
mlir::ParseResult parseMeshAxes(mlir::AsmParser &parser, MeshAttr &mesh);
void printMeshAxes(mlir::AsmPrinter &printer, mlir::Operation *op,
                   MeshAttr mesh);
} // namespace tessera::dist

#define GET_TYPEDEF_CLASSES
#include "dialects/Dist/DistTypes.h.inc"

#include "dialects/Dist/DistInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/Dist/DistOps.h.inc"

namespace tessera::dist {

/// True if two sub-axes of one axis overlap; a size of 0 is the full axis.
bool refsOverlap(AxisRefAttr a, AxisRefAttr b);

/// The enumerations of the IR and of the algorithms have the same values.
inline ::tessera::ReductionKind toPlain(ReductionKind kind) {
  return static_cast<::tessera::ReductionKind>(kind);
}
inline ReductionKind fromPlain(::tessera::ReductionKind kind) {
  return static_cast<ReductionKind>(kind);
}

/// True if dimension `dim` of an operand of an op of two operands and one
/// result is one parallel factor that the other operand does not have, so that
/// each part of it makes a part of the result, of dimension `resultDim`, by
/// itself.
bool isParallelIn(mlir::Operation *op, unsigned operand, int64_t dim,
                  unsigned &resultDim);
/// The operand and the dimension of which that is so, given the result's.
std::optional<std::pair<unsigned, unsigned>>
findParallelOperand(mlir::Operation *op, int64_t resultDim);

/// The mesh named `symbol` as seen from `op`; null if there is none.
MeshOp lookupMesh(mlir::Operation *op, mlir::FlatSymbolRefAttr symbol);

/// The only mesh of a module. None, with an error, if there is none or there
/// are several.
mlir::FailureOr<MeshOp> getOnlyMesh(mlir::ModuleOp module);

/// The sharding of a value: of a block argument of a function from
/// `dist.sharding`, of an op's result from `dist.shardings`, of a slice in a
/// `dist.accumulate` from what it is a slice of. Null if it has none.
ShardingAttr getSharding(mlir::Value value);
/// Sets the sharding of a function's argument or an op's result.
void setSharding(mlir::Value value, ShardingAttr sharding);

/// The type of a tensor's slices along its first dimension, which they lack.
/// Expects a rank of at least 1.
mlir::RankedTensorType getSliceType(mlir::RankedTensorType type);

/// The block of a function and those of the `dist.accumulate` ops in it, each
/// after the block that holds its op, in program order: all blocks of tensors
/// that are sharded over the mesh.
llvm::SmallVector<mlir::Block *> getBlocks(mlir::FunctionOpInterface func);

/// Checks that the axes exist in the mesh (label C3) and that their parts
/// divide them (label C4).
mlir::LogicalResult
verifyRefs(llvm::ArrayRef<AxisRefAttr> refs, const ::tessera::Mesh &mesh,
           mlir::FlatSymbolRefAttr symbol,
           llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// Checks that the mesh of an op is known, the axes as verifyRefs() does, and
/// that no two of them overlap; `label` is that of the op's constraint.
mlir::LogicalResult verifyAxes(mlir::Operation *op, AxesAttr axes,
                               mlir::FlatSymbolRefAttr symbol,
                               llvm::StringRef label);

/// The sharding of result `index` of a function; null if it has none.
ShardingAttr getResultSharding(mlir::FunctionOpInterface func, unsigned index);
void setResultSharding(mlir::FunctionOpInterface func, unsigned index,
                       ShardingAttr sharding);

/// Sets the shardings of many arguments and results at once, which takes time
/// linear in their number; a null entry keeps what is there. `results` may be
/// empty.
void setFunctionShardings(mlir::FunctionOpInterface func,
                          llvm::ArrayRef<ShardingAttr> args,
                          llvm::ArrayRef<ShardingAttr> results = {});

} // namespace tessera::dist

#endif // TESSERA_DIALECTS_DIST_DIST_H
