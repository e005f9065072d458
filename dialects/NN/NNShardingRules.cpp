//===- NNShardingRules.cpp - Factors and linearity of nn ops --------------===//
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

//===----------------------------------------------------------------------===//
// einsum
//===----------------------------------------------------------------------===//

ShardingRule EinsumOp::getShardingRule() {
  ShardingRule rule;
  Letters letters = getLetters();
  llvm::SmallDenseMap<char, unsigned> factors;
  auto dimsOf = [&](StringRef text, RankedTensorType type) {
    TensorFactors dims;
    for (auto [c, size] : llvm::zip(text, type.getShape())) {
      auto [it, isNew] = factors.try_emplace(c, 0);
      if (isNew) {
        it->second = rule.addFactor(size, letters.result.contains(c)
                                              ? FactorKind::Parallel
                                              : FactorKind::Reduction);
        rule.factors.back().letter = c;
      }
      dims.push_back({it->second});
    }
    return dims;
  };
  rule.operands.push_back(dimsOf(letters.lhs, typeOf(getLhs())));
  rule.operands.push_back(dimsOf(letters.rhs, typeOf(getRhs())));
  rule.operands.resize(getNumOperands());
  rule.results.push_back(dimsOf(letters.result, getType()));
  return rule;
}

bool EinsumOp::commutesWithReduction(::tessera::ReductionKind kind,
                                     const Bits &partial) {
  return kind == ::tessera::ReductionKind::Sum && partial.count() == 1;
}

ShardingRule QuantizeOp::getShardingRule() {
  ShardingRule rule;
  TensorFactors dims = newDims(rule, typeOf(getX()));
  rule.operands = {dims, {}};
  rule.results = {dims, {}};
  return rule;
}

//===----------------------------------------------------------------------===//
// attention and rope
//===----------------------------------------------------------------------===//

ShardingRule AttentionOp::getShardingRule() {
  RankedTensorType q = typeOf(getQ()), v = typeOf(getV());
  ShardingRule rule;
  for (int64_t size : q.getShape())
    rule.addFactor(size);
  rule.addFactor(v.getDimSize(1), FactorKind::Decomposed);
  rule.addFactor(v.getDimSize(3));
  rule.factors[Dim].kind = FactorKind::Decomposed;
  rule.factors[Query].positional = rule.factors[Key].positional =
      getCausal() || getStarts();
  rule.operands = {{{Batch}, {Query}, {Group}, {Head}, {Dim}},
                   {{Batch}, {Key}, {Group}, {Dim}},
                   {{Batch}, {Key}, {Group}, {ValueDim}}};
  addScoreOperands(rule, *this);
  if (getSinks())
    rule.operands.push_back({{Group}, {Head}});
  rule.results = {{{Batch}, {Query}, {Group}, {Head}, {ValueDim}}};
  rule.results.resize(getNumResults(), getStatFactors(bool(getBias())));
  return rule;
}

bool AttentionOp::commutesWithReduction(::tessera::ReductionKind kind,
                                        const Bits &partial) {
  // The logsumexp does not depend on the values.
  return kind == ::tessera::ReductionKind::Sum && onlyPartial(partial, 2) &&
         getStats().empty();
}

void AttentionOp::setPositionOffset(unsigned factor, Value offset) {
  addOffset(*this, factor == Query ? getQOffsetMutable() : getKOffsetMutable(),
            offset);
}

bool AttentionOp::setPositionOrder(unsigned, Attribute order) {
  setOrderAttr(cast<ZigzagAttr>(order));
  return true;
}

bool AttentionOp::absorbPadding(unsigned factor, int64_t size) {
  // Scores sum over the dim, so the caller must mask its padding. A query or
  // head of zeros gives the mean of the values.
  if (factor != Key)
    return false;
  if (!getKeySize())
    setKeySize(size);
  return true;
}

ShardingRule RopeOp::getShardingRule() {
  ShardingRule rule;
  TensorFactors dims = newDims(rule, getType());
  setPositional(rule, dims, getDim());
  setKind(rule, dims, dims.size() - 1, FactorKind::Replicated);
  rule.operands = {dims};
  rule.operands.resize(getNumOperands());
  rule.results = {dims};
  return rule;
}

bool RopeOp::commutesWithReduction(::tessera::ReductionKind kind,
                                   const Bits &partial) {
  return kind == ::tessera::ReductionKind::Sum && onlyPartial(partial, 0);
}

void RopeOp::setPositionOffset(unsigned, Value offset) {
  addOffset(*this, getOffsetMutable(), offset);
}

bool RopeOp::setPositionOrder(unsigned, Attribute order) {
  setOrderAttr(cast<ZigzagAttr>(order));
  return true;
}

//===----------------------------------------------------------------------===//
// Norms and softmax
//===----------------------------------------------------------------------===//

/// The rule of a norm: x with an internal reduction over the last dimension,
/// and vectors along it.
static ShardingRule getNormRule(Operation *op) {
  ShardingRule rule;
  TensorFactors dims =
      newDims(rule, cast<RankedTensorType>(op->getResult(0).getType()));
  setKind(rule, dims, dims.size() - 1, FactorKind::Decomposed);
  rule.operands = {dims};
  for (unsigned i = 1; i < op->getNumOperands(); ++i)
    rule.operands.push_back({dims.back()});
  rule.results = {dims};
  rule.results.resize(op->getNumResults(), {dims.begin(), dims.end() - 1});
  return rule;
}

ShardingRule LayerNormOp::getShardingRule() { return getNormRule(*this); }
ShardingRule RMSNormOp::getShardingRule() { return getNormRule(*this); }

ShardingRule SoftmaxOp::getShardingRule() {
  ShardingRule rule;
  TensorFactors dims = newDims(rule, getType());
  setKind(rule, dims, getDim(), FactorKind::Decomposed);
  rule.operands = {dims};
  rule.results = {dims};
  return rule;
}

//===----------------------------------------------------------------------===//
// Lookups and the loss
//===----------------------------------------------------------------------===//

ShardingRule EmbeddingOp::getShardingRule() {
  ShardingRule rule;
  TensorFactors dims = newDims(rule, getType());
  unsigned rows =
      rule.addFactor(typeOf(getTable()).getDimSize(0), FactorKind::Reduction);
  rule.factors[rows].positional = true;
  TensorFactors ids(dims.begin(), dims.end() - 1);
  rule.operands = {{{rows}, dims.back()}, ids};
  rule.operands.resize(getNumOperands());
  rule.results = {dims};
  return rule;
}

void EmbeddingOp::setPositionOffset(unsigned, Value offset) {
  // The number of rows of a table at an offset is no longer the limit of the
  // ids.
  if (std::optional<int64_t> rows = getIdLimit())
    setRows(*rows);
  addOffset(*this, getOffsetMutable(), offset);
}

/// Ids do not refer to padded rows, or these rows are zeros.
bool EmbeddingOp::mayReducePadding(unsigned) { return true; }

/// The number of rows of a padded or sharded table is no longer the limit of
/// the ids, so the clone keeps the limit.
FailureOr<Operation *> EmbeddingOp::cloneWithShapes(OpBuilder &builder,
                                                    ValueRange operands,
                                                    TypeRange resultTypes) {
  auto clone = cast<EmbeddingOp>(
      cloneWithTypes(builder, getOperation(), operands, resultTypes));
  std::optional<int64_t> rows = getIdLimit();
  if (rows && typeOf(clone.getTable()).getDimSize(0) != *rows)
    clone.setRows(*rows);
  return clone.getOperation();
}

/// Ids in padding may be outside the table (positions that go on counting).
/// Their NaN would reach other elements: a weight of zero does not hide it.
TypedAttr EmbeddingOp::getSafePadding(unsigned operand) {
  if (operand != 1)
    return {};
  return Builder(getContext()).getZeroAttr(typeOf(getIds()).getElementType());
}

ShardingRule CrossEntropyOp::getShardingRule() {
  ShardingRule rule;
  TensorFactors dims = newDims(rule, typeOf(getLogits()));
  setKind(rule, dims, dims.size() - 1, FactorKind::Decomposed);
  TensorFactors tokens(dims.begin(), dims.end() - 1);
  rule.operands = {dims, tokens};
  rule.results.assign(getNumResults(), tokens);
  return rule;
}

bool CrossEntropyOp::absorbPadding(unsigned factor, int64_t size) {
  if (factor + 1 != typeOf(getLogits()).getRank())
    return false;
  if (!getClasses())
    setClasses(size);
  return true;
}

ShardingRule TakeAlongAxisOp::getShardingRule() {
  ShardingRule rule;
  TensorFactors dims = newDims(rule, typeOf(getX()));
  setKind(rule, dims, dims.size() - 1, FactorKind::Reduction);
  setPositional(rule, dims, dims.size() - 1);
  TensorFactors picked(dims.begin(), dims.end() - 1);
  if (picked.size() < typeOf(getIndex()).getShape().size())
    picked.push_back({rule.addFactor(typeOf(getIndex()).getShape().back())});
  rule.operands = {dims, picked};
  rule.operands.resize(getNumOperands());
  rule.results = {picked};
  return rule;
}

bool TakeAlongAxisOp::commutesWithReduction(::tessera::ReductionKind kind,
                                            const Bits &partial) {
  return kind == ::tessera::ReductionKind::Sum && onlyPartial(partial, 0);
}

void TakeAlongAxisOp::setPositionOffset(unsigned, Value offset) {
  if (std::optional<int64_t> size = getIndexLimit())
    setSize(*size);
  addOffset(*this, getOffsetMutable(), offset);
}

/// The rows of a shard no longer give the number of positions, so the clone
/// keeps it.
FailureOr<Operation *> TakeAlongAxisOp::cloneWithShapes(OpBuilder &builder,
                                                        ValueRange operands,
                                                        TypeRange resultTypes) {
  auto clone = cast<TakeAlongAxisOp>(
      cloneWithTypes(builder, getOperation(), operands, resultTypes));
  std::optional<int64_t> size = getIndexLimit();
  if (size && typeOf(clone.getX()).getShape().back() != *size)
    clone.setSize(*size);
  return clone.getOperation();
}

//===----------------------------------------------------------------------===//
// Elementwise and shapes
//===----------------------------------------------------------------------===//

ShardingRule GeluOp::getShardingRule() { return getElementwiseRule(*this); }
ShardingRule SiluOp::getShardingRule() { return getElementwiseRule(*this); }
bool GeluOp::absorbPadding(unsigned, int64_t) { return true; }
bool SiluOp::absorbPadding(unsigned, int64_t) { return true; }

ShardingRule StopGradientOp::getShardingRule() {
  return getElementwiseRule(*this);
}
bool StopGradientOp::absorbPadding(unsigned, int64_t) { return true; }
bool StopGradientOp::commutesWithReduction(::tessera::ReductionKind,
                                           const Bits &) {
  return true;
}

static ::tessera::ReductionKind toReduction(ReduceKind kind) {
  return static_cast<::tessera::ReductionKind>(kind);
}

ShardingRule nn::ReduceOp::getShardingRule() {
  ShardingRule rule;
  TensorFactors dims = newDims(rule, typeOf(getX())), left;
  for (auto [i, dim] : llvm::enumerate(dims)) {
    Factor &factor = rule.factors[dim.front()];
    if (!llvm::is_contained(getDims(), static_cast<int64_t>(i))) {
      left.push_back(dim);
      continue;
    }
    factor.kind = FactorKind::Reduction;
    factor.reduction = toReduction(getKind());
  }
  rule.operands = {dims};
  rule.results = {left};
  return rule;
}

bool nn::ReduceOp::commutesWithReduction(::tessera::ReductionKind kind,
                                         const Bits &) {
  return kind == toReduction(getKind());
}

ShardingRule nn::ArgReduceOp::getShardingRule() {
  ShardingRule rule;
  TensorFactors dims = newDims(rule, typeOf(getX()));
  nn::setKind(rule, dims, getDim(), FactorKind::Decomposed);
  TensorFactors left = dims;
  left.erase(left.begin() + getDim());
  rule.operands = {dims};
  rule.results = {left, left};
  return rule;
}

ShardingRule nn::BroadcastOp::getShardingRule() {
  ShardingRule rule;
  TensorFactors dims = newDims(rule, getType()), in;
  for (int64_t dim : getDims())
    in.push_back(dims[dim]);
  rule.operands = {in};
  rule.results = {dims};
  return rule;
}

bool nn::BroadcastOp::commutesWithReduction(::tessera::ReductionKind,
                                            const Bits &) {
  return true;
}

ShardingRule nn::TransposeOp::getShardingRule() {
  ShardingRule rule;
  TensorFactors dims = newDims(rule, typeOf(getX())), out;
  for (int64_t dim : getPermutation())
    out.push_back(dims[dim]);
  rule.operands = {dims};
  rule.results = {out};
  return rule;
}

bool nn::TransposeOp::commutesWithReduction(::tessera::ReductionKind,
                                            const Bits &) {
  return true;
}

ShardingRule IotaOp::getShardingRule() {
  ShardingRule rule;
  TensorFactors dims = newDims(rule, getType());
  setPositional(rule, dims, 0);
  rule.operands.resize(getNumOperands());
  rule.results = {dims};
  return rule;
}

void IotaOp::setPositionOffset(unsigned, Value offset) {
  addOffset(*this, getOffsetMutable(), offset);
}

bool IotaOp::setPositionOrder(unsigned, Attribute order) {
  setOrderAttr(cast<ZigzagAttr>(order));
  return true;
}

ShardingRule MaskPaddingOp::getShardingRule() {
  ShardingRule rule;
  TensorFactors dims = newDims(rule, getType());
  setPositional(rule, dims, getDim());
  rule.operands = {dims};
  rule.operands.resize(getNumOperands());
  rule.results = {dims};
  return rule;
}

void MaskPaddingOp::setPositionOffset(unsigned, Value offset) {
  addOffset(*this, getOffsetMutable(), offset);
}
