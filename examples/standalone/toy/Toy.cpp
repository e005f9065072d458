//===- Toy.cpp - Rules and meanings of the toy ops ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Toy.h"
#include "dialects/NN/NN.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tessera;

#include "ToyDialect.cpp.inc"
#define GET_OP_CLASSES
#include "ToyOps.cpp.inc"

toy::Fault toy::fault = toy::Fault::None;

void toy::ToyDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "ToyOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Rules: how an op shards
//===----------------------------------------------------------------------===//

/// Returns a factor for each dimension of a tensor: `last` for the last one,
/// parallel for the others.
static TensorFactors addDims(ShardingRule &rule, Value tensor, FactorKind last,
                             ReductionKind kind = ReductionKind::Sum) {
  TensorFactors dims;
  auto type = cast<RankedTensorType>(tensor.getType());
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    bool isLast = static_cast<int64_t>(dim) + 1 == type.getRank();
    dims.push_back(
        {rule.addFactor(size, isLast ? last : FactorKind::Parallel, kind)});
  }
  return dims;
}

/// The reduction is inside of the op: where its dimension is sharded, the
/// meaning takes the op's place.
ShardingRule toy::L2NormOp::getShardingRule() {
  ShardingRule rule;
  TensorFactors dims = addDims(
      rule, getX(),
      fault == Fault::Parallel ? FactorKind::Parallel : FactorKind::Decomposed);
  rule.operands = {dims};
  rule.results = {dims};
  return rule;
}

ShardingRule toy::RowScaleOp::getShardingRule() {
  ShardingRule rule;
  TensorFactors dims = addDims(rule, getX(), FactorKind::Parallel);
  TensorFactors rows(dims.begin(), dims.end() - 1);
  rule.operands = {dims, rows};
  rule.results = {dims};
  return rule;
}

/// Returns the rule of an op that reduces each row.
static ShardingRule getRowRule(Value x, FactorKind kind,
                               ReductionKind reduction = ReductionKind::Sum) {
  ShardingRule rule;
  TensorFactors dims = addDims(rule, x, kind, reduction);
  TensorFactors rows(dims.begin(), dims.end() - 1);
  rule.operands = {dims};
  rule.results = {rows};
  return rule;
}

/// A device that has a part of a row has a partial sum.
ShardingRule toy::SumExpOp::getShardingRule() {
  return getRowRule(getX(), FactorKind::Reduction);
}

ShardingRule toy::RowSumOp::getShardingRule() {
  return getRowRule(getX(), FactorKind::Reduction,
                    fault == Fault::Max ? ReductionKind::Max
                                        : ReductionKind::Sum);
}

/// A device that divides by its own number of elements has no summand of the
/// mean.
ShardingRule toy::RowMeanOp::getShardingRule() {
  return getRowRule(getX(), fault == Fault::LocalSize ? FactorKind::Reduction
                                                      : FactorKind::Decomposed);
}

//===----------------------------------------------------------------------===//
// Meanings: what an op computes
//===----------------------------------------------------------------------===//

/// The sum of each row.
static Value sumRows(OpBuilder &b, Location loc, Value x) {
  auto type = cast<RankedTensorType>(x.getType());
  auto rows =
      RankedTensorType::get(type.getShape().drop_back(), type.getElementType());
  return nn::ReduceOp::create(b, loc, rows, nn::ReduceKind::Sum, x,
                              type.getRank() - 1);
}

FailureOr<SmallVector<Value>> toy::L2NormOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  Value x = getX();
  auto type = cast<RankedTensorType>(x.getType());
  Value square = arith::MulFOp::create(b, loc, x, x);
  Value factor = math::RsqrtOp::create(b, loc, sumRows(b, loc, square));
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank() - 1));
  Value factors = nn::BroadcastOp::create(b, loc, type, factor, dims);
  return SmallVector<Value>{arith::MulFOp::create(b, loc, x, factors)};
}

FailureOr<SmallVector<Value>> toy::GateOp::decomposeOperation(OpBuilder &b) {
  Value gate = nn::SiluOp::create(b, getLoc(), getG());
  return SmallVector<Value>{arith::MulFOp::create(b, getLoc(), getX(), gate)};
}

FailureOr<SmallVector<Value>> toy::RowSumOp::decomposeOperation(OpBuilder &b) {
  return SmallVector<Value>{sumRows(b, getLoc(), getX())};
}

FailureOr<SmallVector<Value>> toy::RowMeanOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  Value sum = sumRows(b, loc, getX());
  auto type = cast<RankedTensorType>(sum.getType());
  auto element = cast<FloatType>(type.getElementType());
  int64_t size = cast<RankedTensorType>(getX().getType()).getShape().back();
  Value share = arith::ConstantOp::create(
      b, loc,
      SplatElementsAttr::get(
          type, b.getFloatAttr(element, 1.0 / static_cast<double>(size))));
  return SmallVector<Value>{arith::MulFOp::create(b, loc, sum, share)};
}
