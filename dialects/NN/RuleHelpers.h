//===- RuleHelpers.h - Helpers of nn sharding rules -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_NN_RULEHELPERS_H
#define TESSERA_DIALECTS_NN_RULEHELPERS_H

#include "dialects/NN/Verifiers.h"

namespace tessera::nn {

/// Numbers of the factors of attention, and of its gradients.
enum AttentionFactor { Batch, Query, Group, Head, Dim, Key, ValueDim };

/// One new factor for each dimension of a tensor.
inline TensorFactors newDims(ShardingRule &rule, mlir::RankedTensorType type,
                             FactorKind kind = FactorKind::Parallel) {
  TensorFactors dims;
  for (int64_t size : type.getShape())
    dims.push_back({rule.addFactor(size, kind)});
  return dims;
}

/// Sets the kind of the factor of dimension `dim`. `dims` is a result of
/// newDims(), with one factor per dimension.
inline void setKind(ShardingRule &rule, const TensorFactors &dims, int64_t dim,
                    FactorKind kind) {
  rule.factors[dims[dim].front()].kind = kind;
}

/// Marks the factor of dimension `dim` as positional: the op's result depends
/// on the index along it (Factor::positional).
inline void setPositional(ShardingRule &rule, const TensorFactors &dims,
                          int64_t dim) {
  rule.factors[dims[dim].front()].positional = true;
}

/// Returns the factors of attention's stat; those of a bias have two numbers.
inline TensorFactors getStatFactors(bool hasBias) {
  TensorFactors factors{{Batch}, {Query}, {Group}, {Head}};
  if (hasBias)
    factors.push_back({});
  return factors;
}

/// Adds attention's offsets, starts and bias to a rule's operands.
template <typename Op> void addScoreOperands(ShardingRule &rule, Op op) {
  for (mlir::Value offset : {op.getQOffset(), op.getKOffset()})
    if (offset)
      rule.operands.push_back({});
  if (op.getStarts())
    rule.operands.push_back({{Batch}, {Query}});
  if (!op.getBias())
    return;
  constexpr unsigned kFactors[] = {Batch, Query, Group, Head, Key};
  TensorFactors &bias = rule.operands.emplace_back();
  for (int64_t dim : op.getBiasDimsAttr().asArrayRef())
    bias.push_back({kFactors[dim]});
}

/// Adds `offset` to the op's existing offset.
inline void addOffset(mlir::Operation *op, mlir::MutableOperandRange operand,
                      mlir::Value offset) {
  if (!operand.empty()) {
    mlir::OpBuilder builder(op);
    offset = mlir::arith::AddIOp::create(builder, op->getLoc(),
                                         operand.begin()->get(), offset);
  }
  operand.assign(offset);
}

/// True if only `operand` is partial. An op that is linear in one operand may
/// then run before the reduction.
inline bool onlyPartial(const llvm::SmallBitVector &partial, unsigned operand) {
  return partial.count() == 1 && partial.test(operand);
}

} // namespace tessera::nn

#endif // TESSERA_DIALECTS_NN_RULEHELPERS_H
