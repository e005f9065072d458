//===- NNExpertsRules.cpp - Factors of mixtures of experts ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens are parallel, and summed in the gradients of weights. The experts and
// the ffn are summed in y: with the experts sharded, each device adds those
// that it holds. The width of x must be whole, since the activation is not
// linear; the choices of a token too, as each device looks through all of them.
//
//===----------------------------------------------------------------------===//

#include "RuleHelpers.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::nn;

using Bits = llvm::SmallBitVector;

//===----------------------------------------------------------------------===//
// Routing
//===----------------------------------------------------------------------===//

ShardingRule TopKOp::getShardingRule() {
  ShardingRule rule;
  TensorFactors dims = newDims(rule, typeOf(getX()));
  setKind(rule, dims, dims.size() - 1, FactorKind::Replicated);
  rule.operands = {dims};
  dims.back().clear();
  rule.results = {dims};
  return rule;
}

/// A sequence is counted as a whole, in its own order.
ShardingRule ExpertCapacityOp::getShardingRule() {
  ShardingRule rule;
  TensorFactors dims = newDims(rule, typeOf(getIds()));
  for (size_t dim : {dims.size() - 1, dims.size() - 2})
    setKind(rule, dims, dim, FactorKind::Replicated);
  setPositional(rule, dims, dims.size() - 2);
  rule.operands = {dims, dims};
  rule.results = {dims};
  return rule;
}

/// Only the order of positions matters.
void ExpertCapacityOp::setPositionOffset(unsigned, Value) {}

bool ExpertCapacityOp::setPositionOrder(unsigned, Attribute order) {
  setOrderAttr(cast<ZigzagAttr>(order));
  return true;
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

nn::ExpertFactors::ExpertFactors(Value ids) {
  tokens = typeOf(ids).getRank() - 1;
  choices = tokens;
  experts = choices + 1;
  widthOfX = experts + 1;
  ffn = widthOfX + 1;
}

namespace {
/// The rule of an op on experts, whose factors are numbered by ExpertFactors.
struct ExpertRule {
  ShardingRule rule;
  TensorFactors tokens, choices;
  unsigned experts;

  /// Adds the factors of tokens, of their choices and of `experts` experts.
  ExpertRule(Value ids, FactorKind tokenKind, int64_t numExperts,
             FactorKind expertKind) {
    tokens = newDims(rule, typeOf(ids), tokenKind);
    setKind(rule, tokens, tokens.size() - 1, FactorKind::Replicated);
    choices = tokens;
    tokens.pop_back();
    experts = rule.addFactor(numExperts, expertKind);
    rule.factors[experts].positional = true;
  }

  /// The dimensions of a tensor by token: [tokens..., more...].
  TensorFactors byToken(std::initializer_list<unsigned> more) const {
    TensorFactors dims = tokens;
    for (unsigned factor : more)
      dims.push_back({factor});
    return dims;
  }
};
} // namespace

ShardingRule ExpertRowsOp::getShardingRule() {
  RankedTensorType type = getType();
  ExpertRule f(getIds(), FactorKind::Parallel,
               type.getDimSize(type.getRank() - 2), FactorKind::Parallel);
  unsigned width = f.rule.addFactor(type.getShape().back());
  f.rule.operands = {f.byToken({width}), f.choices};
  f.rule.operands.resize(getNumOperands());
  f.rule.results = {f.byToken({f.experts, width})};
  return f.rule;
}

ShardingRule ExpertsOp::getShardingRule() {
  ArrayRef<int64_t> up = typeOf(getWUp()).getShape();
  ExpertRule f(getIds(), FactorKind::Parallel, up[0], FactorKind::Reduction);
  unsigned in = f.rule.addFactor(up[1], FactorKind::Replicated);
  unsigned ffn = f.rule.addFactor(up[2], FactorKind::Reduction);
  unsigned out = f.rule.addFactor(typeOf(getWDown()).getDimSize(2));
  TensorFactors rising = {{f.experts}, {in}, {ffn}};
  f.rule.operands = {f.byToken({in}), f.choices, f.choices,
                     rising,          rising,    {{f.experts}, {ffn}, {out}}};
  f.rule.operands.resize(getNumOperands());
  f.rule.results = {f.byToken({out})};
  f.rule.results.resize(getNumResults(), f.byToken({f.experts, ffn}));
  return f.rule;
}

/// All results are linear in grad, so its width is a plain sum.
ShardingRule ExpertsBackwardOp::getShardingRule() {
  ArrayRef<int64_t> up = typeOf(getWUp()).getShape();
  ExpertRule f(getIds(), FactorKind::Parallel, up[0], FactorKind::Reduction);
  unsigned in = f.rule.addFactor(up[1]);
  unsigned ffn = f.rule.addFactor(up[2], FactorKind::Reduction);
  unsigned out =
      f.rule.addFactor(typeOf(getWDown()).getDimSize(2), FactorKind::Reduction);
  TensorFactors rising = {{f.experts}, {in}, {ffn}};
  TensorFactors stats = f.byToken({f.experts, ffn});
  f.rule.operands = {f.byToken({out}),
                     f.choices,
                     f.choices,
                     rising,
                     rising,
                     {{f.experts}, {ffn}, {out}},
                     stats,
                     stats};
  f.rule.operands.resize(getNumOperands());
  f.rule.results = {f.byToken({in}), f.choices, stats, stats};
  return f.rule;
}

ShardingRule ExpertsWeightGradientOp::getShardingRule() {
  ArrayRef<int64_t> up = typeOf(getDwUp()).getShape();
  ExpertRule f(getIds(), FactorKind::Reduction, up[0], FactorKind::Parallel);
  unsigned in = f.rule.addFactor(up[1]), ffn = f.rule.addFactor(up[2]);
  unsigned out = f.rule.addFactor(typeOf(getDwDown()).getDimSize(2));
  TensorFactors rising = {{f.experts}, {in}, {ffn}};
  TensorFactors stats = f.byToken({f.experts, ffn});
  f.rule.operands = {f.byToken({f.experts, in}),
                     f.byToken({f.experts, out}),
                     f.choices,
                     f.choices,
                     stats,
                     stats,
                     stats,
                     stats};
  f.rule.operands.resize(getNumOperands());
  f.rule.results = {rising, rising, {{f.experts}, {ffn}, {out}}};
  return f.rule;
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

void ExpertRowsOp::setPositionOffset(unsigned, Value offset) {
  addOffset(*this, getOffsetMutable(), offset);
}
void ExpertsOp::setPositionOffset(unsigned, Value offset) {
  addOffset(*this, getOffsetMutable(), offset);
}
void ExpertsBackwardOp::setPositionOffset(unsigned, Value offset) {
  addOffset(*this, getOffsetMutable(), offset);
}
void ExpertsWeightGradientOp::setPositionOffset(unsigned, Value offset) {
  addOffset(*this, getOffsetMutable(), offset);
}

//===----------------------------------------------------------------------===//
// Results by expert
//===----------------------------------------------------------------------===//

std::optional<int64_t> ExpertsOp::getNumExperts() { return getExperts(); }
std::optional<int64_t> ExpertsBackwardOp::getNumExperts() {
  return getExperts();
}
std::optional<int64_t> ExpertsWeightGradientOp::getNumExperts() {
  return getExperts();
}
OpOperand *ExpertRowsOp::getTokens() { return &getXMutable(); }
OpOperand *ExpertsOp::getTokens() { return &getXMutable(); }
OpOperand *ExpertsBackwardOp::getTokens() { return &getGradMutable(); }
Value ExpertsOp::getTokenSum() { return getResult(); }
Value ExpertsBackwardOp::getTokenSum() { return getDx(); }
ResultRange ExpertRowsOp::getRowResults() { return (*this)->getResults(); }
ResultRange ExpertsOp::getRowResults() { return getStats(); }
ResultRange ExpertsBackwardOp::getRowResults() {
  return (*this)->getResults().drop_front(2);
}
ResultRange ExpertsWeightGradientOp::getRowResults() {
  return (*this)->getResults().take_front(0);
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

/// No id is that of an expert in the padding, so such experts add nothing, and
/// their stats are 0.
bool ExpertsOp::absorbPadding(unsigned factor, int64_t) {
  return factor == nn::ExpertFactors(getIds()).experts;
}
bool ExpertsBackwardOp::absorbPadding(unsigned factor, int64_t) {
  return factor == nn::ExpertFactors(getIds()).experts;
}

/// Weights of 0 make an h of 0, since that is a product with x w_up.
bool ExpertsOp::mayReducePadding(unsigned) { return true; }
bool ExpertsBackwardOp::mayReducePadding(unsigned) { return true; }

/// Rows of 0 add 0.
bool ExpertsWeightGradientOp::mayReducePadding(unsigned) { return true; }

//===----------------------------------------------------------------------===//
// Linearity
//===----------------------------------------------------------------------===//

bool ExpertRowsOp::commutesWithReduction(::tessera::ReductionKind kind,
                                         const Bits &partial) {
  return kind == ::tessera::ReductionKind::Sum && onlyPartial(partial, 0);
}

bool ExpertsBackwardOp::commutesWithReduction(::tessera::ReductionKind kind,
                                              const Bits &partial) {
  return kind == ::tessera::ReductionKind::Sum && onlyPartial(partial, 0);
}

/// Each gradient is linear in one of grad_rows, dgate and dup, which are
/// partial together.
bool ExpertsWeightGradientOp::commutesWithReduction(
    ::tessera::ReductionKind kind, const Bits &partial) {
  Bits gradients(partial.size());
  for (OpOperand *operand :
       {&getGradRowsMutable(), &getDgateMutable(), &getDupMutable()})
    gradients.set(operand->getOperandNumber());
  return kind == ::tessera::ReductionKind::Sum && partial == gradients;
}
