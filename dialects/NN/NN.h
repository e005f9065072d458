//===- NN.h - The tensor ops of a transformer -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only public header of the dialect.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_NN_NN_H
#define TESSERA_DIALECTS_NN_NN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tessera/Interfaces/ChoiceTrait.h"
#include "tessera/Interfaces/DifferentiableOpInterface.h"
#include "tessera/Interfaces/LogicalDimsOpInterface.h"
#include "tessera/Interfaces/ModelBlocks.h"
#include "tessera/Interfaces/PaddingOpInterface.h"
#include "tessera/Interfaces/ShardingRuleOpInterface.h"
#include "tessera/Interfaces/WindowDim.h"

#include "dialects/NN/NNDialect.h.inc"
#include "dialects/NN/NNEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/NN/NNAttrs.h.inc"

#include "dialects/NN/NNInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/NN/NNOps.h.inc"

namespace tessera::nn {

/// True for the 8-bit floats that `nn.quantize` produces.
bool isQuantized(mlir::Type element);

/// Numbers of the factors of an op on experts: its tokens' (as many as they
/// have dimensions), then one for each of these.
struct ExpertFactors {
  unsigned tokens, choices, experts, widthOfX, ffn;

  /// Takes the ids of the op's tokens.
  explicit ExpertFactors(mlir::Value ids);
};

/// Quantizes `x` by its largest magnitude, over all devices; returns the result
/// of `nn.quantize` and its scale.
std::pair<mlir::Value, mlir::Value> buildQuantized(mlir::OpBuilder &builder,
                                                   mlir::Location loc,
                                                   mlir::Value x,
                                                   mlir::FloatType element);

} // namespace tessera::nn

#endif // TESSERA_DIALECTS_NN_NN_H
