//===- NNTrainingRules.cpp - Factors of gradients and optimizers ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuleHelpers.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::nn;

using Bits = llvm::SmallBitVector;

/// True for a sum partial only in operand 0: a gradient is linear in the
/// incoming gradient.
static bool isLinearInGrad(::tessera::ReductionKind kind, const Bits &partial) {
  return kind == ::tessera::ReductionKind::Sum && onlyPartial(partial, 0);
}

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

/// Given the logsumexp, each score is independent of the others: dq sums over
/// keys, dk and dv over queries and the heads of a group. Scores sum over the
/// dim, and their gradients over the dim of the values.
ShardingRule AttentionBackwardOp::getShardingRule() {
  RankedTensorType q = typeOf(getQ()), v = typeOf(getV());
  ShardingRule rule;
  for (int64_t size : q.getShape())
    rule.addFactor(size);
  rule.addFactor(v.getDimSize(1), FactorKind::Reduction);
  rule.addFactor(v.getDimSize(3), FactorKind::Decomposed);
  rule.factors[Query].kind = rule.factors[Head].kind = FactorKind::Reduction;
  rule.factors[Dim].kind = FactorKind::Decomposed;
  rule.factors[Query].positional = rule.factors[Key].positional =
      getCausal() || getStarts();
  TensorFactors queries = {{Batch}, {Query}, {Group}, {Head}, {Dim}};
  TensorFactors keys = {{Batch}, {Key}, {Group}, {Dim}};
  TensorFactors values = {{Batch}, {Key}, {Group}, {ValueDim}};
  TensorFactors out = {{Batch}, {Query}, {Group}, {Head}, {ValueDim}};
  rule.operands = {out,    queries, keys,
                   values, out,     getStatFactors(bool(getBias()))};
  addScoreOperands(rule, *this);
  rule.results = {queries, keys, values};
  return rule;
}

void AttentionBackwardOp::setPositionOffset(unsigned factor, Value offset) {
  addOffset(*this, factor == Query ? getQOffsetMutable() : getKOffsetMutable(),
            offset);
}

bool AttentionBackwardOp::setPositionOrder(unsigned, Attribute order) {
  setOrderAttr(cast<ZigzagAttr>(order));
  return true;
}

/// Scores of padded keys are masked. Padded queries and heads add nothing to dk
/// and dv if grad is zero there, which the caller must ensure.
bool AttentionBackwardOp::absorbPadding(unsigned factor, int64_t size) {
  if (factor != Key)
    return false;
  if (!getKeySize())
    setKeySize(size);
  return true;
}

/// Keys and values of zeros add nothing to dq. The caller handles queries and
/// heads, see absorbPadding().
bool AttentionBackwardOp::mayReducePadding(unsigned factor) {
  return factor == Key;
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// The rule of a norm's backward: grad and x with internal reductions over the
/// last dimension, gamma along it, and stats per row.
static ShardingRule getNormBackwardRule(Operation *op) {
  ShardingRule rule;
  TensorFactors dims = newDims(rule, typeOf(op->getResult(0)));
  setKind(rule, dims, dims.size() - 1, FactorKind::Decomposed);
  TensorFactors rows(dims.begin(), dims.end() - 1);
  rule.operands = {dims, dims, {dims.back()}};
  rule.operands.resize(op->getNumOperands(), rows);
  rule.results = {dims};
  return rule;
}

ShardingRule LayerNormBackwardOp::getShardingRule() {
  return getNormBackwardRule(*this);
}
ShardingRule RMSNormBackwardOp::getShardingRule() {
  return getNormBackwardRule(*this);
}

//===----------------------------------------------------------------------===//
// Lookups and the loss
//===----------------------------------------------------------------------===//

ShardingRule EmbeddingBackwardOp::getShardingRule() {
  ShardingRule rule;
  TensorFactors dims = newDims(rule, typeOf(getGrad()), FactorKind::Reduction);
  setKind(rule, dims, dims.size() - 1, FactorKind::Parallel);
  unsigned rows = rule.addFactor(getType().getDimSize(0));
  rule.factors[rows].positional = true;
  rule.operands = {dims, {dims.begin(), dims.end() - 1}};
  rule.operands.resize(getNumOperands());
  rule.results = {{{rows}, dims.back()}};
  return rule;
}

void EmbeddingBackwardOp::setPositionOffset(unsigned, Value offset) {
  addOffset(*this, getOffsetMutable(), offset);
}

bool EmbeddingBackwardOp::absorbPadding(unsigned factor, int64_t size) {
  if (factor != typeOf(getGrad()).getRank())
    return false;
  if (!getRows())
    setRows(size);
  return true;
}

ShardingRule CrossEntropyBackwardOp::getShardingRule() {
  ShardingRule rule;
  TensorFactors dims = newDims(rule, getType());
  setPositional(rule, dims, dims.size() - 1);
  TensorFactors tokens(dims.begin(), dims.end() - 1);
  rule.operands = {tokens, dims, tokens, tokens, tokens};
  rule.operands.resize(getNumOperands());
  rule.results = {dims};
  return rule;
}

void CrossEntropyBackwardOp::setPositionOffset(unsigned, Value offset) {
  addOffset(*this, getOffsetMutable(), offset);
}

bool CrossEntropyBackwardOp::absorbPadding(unsigned factor, int64_t size) {
  if (factor + 1 != getType().getRank())
    return false;
  if (!getClasses())
    setClasses(size);
  return true;
}

ShardingRule TakeAlongAxisBackwardOp::getShardingRule() {
  ShardingRule rule;
  TensorFactors dims = newDims(rule, getType());
  setPositional(rule, dims, dims.size() - 1);
  TensorFactors picked(dims.begin(), dims.end() - 1);
  if (picked.size() < typeOf(getIndex()).getShape().size())
    picked.push_back({rule.addFactor(typeOf(getIndex()).getShape().back(),
                                     FactorKind::Reduction)});
  rule.operands = {picked, picked};
  rule.operands.resize(getNumOperands());
  rule.results = {dims};
  return rule;
}

/// A gradient of 0 adds 0 at any position.
bool TakeAlongAxisBackwardOp::mayReducePadding(unsigned) { return true; }

void TakeAlongAxisBackwardOp::setPositionOffset(unsigned, Value offset) {
  addOffset(*this, getOffsetMutable(), offset);
}

ShardingRule GeluBackwardOp::getShardingRule() {
  return getElementwiseRule(*this);
}
ShardingRule SiluBackwardOp::getShardingRule() {
  return getElementwiseRule(*this);
}

//===----------------------------------------------------------------------===//
// Linearity
//===----------------------------------------------------------------------===//

bool AttentionBackwardOp::commutesWithReduction(::tessera::ReductionKind kind,
                                                const Bits &partial) {
  return isLinearInGrad(kind, partial);
}
bool EmbeddingBackwardOp::commutesWithReduction(::tessera::ReductionKind kind,
                                                const Bits &partial) {
  return isLinearInGrad(kind, partial);
}
bool CrossEntropyBackwardOp::commutesWithReduction(
    ::tessera::ReductionKind kind, const Bits &partial) {
  return isLinearInGrad(kind, partial);
}
bool TakeAlongAxisBackwardOp::commutesWithReduction(
    ::tessera::ReductionKind kind, const Bits &partial) {
  return isLinearInGrad(kind, partial);
}
bool GeluBackwardOp::commutesWithReduction(::tessera::ReductionKind kind,
                                           const Bits &partial) {
  return isLinearInGrad(kind, partial);
}
bool SiluBackwardOp::commutesWithReduction(::tessera::ReductionKind kind,
                                           const Bits &partial) {
  return isLinearInGrad(kind, partial);
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

/// Ties tensors of the parameter's shape dimension by dimension; scalars are
/// not tied.
static ShardingRule getOptimizerRule(Operation *op) {
  ShardingRule rule;
  RankedTensorType param = typeOf(op->getResult(0));
  TensorFactors dims = newDims(rule, param);
  for (OpOperand &operand : op->getOpOperands()) {
    bool tied = typeOf(operand.get()).getShape() == param.getShape();
    rule.operands.push_back(tied ? dims : TensorFactors());
  }
  rule.results.assign(op->getNumResults(), dims);
  return rule;
}

ShardingRule AdamWOp::getShardingRule() { return getOptimizerRule(*this); }
ShardingRule SGDOp::getShardingRule() { return getOptimizerRule(*this); }

/// A parameter of 0 whose gradient and state are 0 stays 0, also with weight
/// decay.
bool AdamWOp::absorbPadding(unsigned, int64_t) {
  return getEps().convertToDouble() > 0;
}
bool SGDOp::absorbPadding(unsigned, int64_t) { return true; }
