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

/// The version that bytecode of the dialect is written in. Version 2 has the
/// terms of attention's scores.
constexpr uint64_t kCurrentVersion = 2;

/// True for the 8-bit floats that `nn.quantize` produces.
bool isQuantized(mlir::Type element);

/// Numbers of the factors of an op on experts: its tokens' (as many as they
/// have dimensions), then one for each of these.
struct ExpertFactors {
  unsigned tokens, choices, experts, widthOfX, ffn;

  /// Takes the ids of the op's tokens.
  explicit ExpertFactors(mlir::Value ids);
};

/// Returns the type of the stat of a norm, a loss or, without a bias,
/// attention: the result's without the last dimension, f32 (f64 for f64). With
/// a bias attention's has two numbers, in one more dimension.
mlir::RankedTensorType getStatType(mlir::RankedTensorType result, bool hasBias);

/// Numbers of attention's stat, [batch, query, group, head]: a key's weight is
/// exp(score - shift - logSum). Without a bias there is no logSum.
struct AttentionStat {
  mlir::Value shift, logSum;
};

/// Splits a stat into its numbers, and the inverse.
AttentionStat readStat(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value stat);
mlir::Value buildStat(mlir::OpBuilder &builder, mlir::Location loc,
                      AttentionStat stat);

/// Returns the weights of sinks [group, head] at a stat that contains them,
/// [batch, query, group, head].
mlir::Value buildSinksWeight(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value sinks, mlir::Value stat);

/// Result and stat of attention, both of 32 bits or more.
struct Attended {
  mlir::Value result, stat;
};

/// Combines the attention of the same queries to two sets of keys: results are
/// averaged by the sums of exponentials, which are added. A query that sees no
/// key of a set has the stat of such a query there.
Attended combine(mlir::OpBuilder &builder, mlir::Location loc,
                 const Attended &x, const Attended &y);

/// Adds sinks to the attention of queries that do not see them; unchanged if
/// there are none.
Attended addSinks(mlir::OpBuilder &builder, mlir::Location loc,
                  const Attended &x, mlir::Value sinks);

/// Rewrites an attention with sinks to one without, whose result and stat they
/// change in f32 at least. Returns it; null if there are no sinks.
AttentionOp separateSinks(mlir::RewriterBase &rewriter, AttentionOp op);

/// Quantizes `x` by its largest magnitude, over all devices; returns the result
/// of `nn.quantize` and its scale.
std::pair<mlir::Value, mlir::Value> buildQuantized(mlir::OpBuilder &builder,
                                                   mlir::Location loc,
                                                   mlir::Value x,
                                                   mlir::FloatType element);

} // namespace tessera::nn

#endif // TESSERA_DIALECTS_NN_NN_H
