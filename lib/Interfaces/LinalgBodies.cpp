//===- LinalgBodies.cpp - Analysis of the bodies of linalg ops ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Interfaces/LinalgBodies.h"
#include "UpstreamModels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "tessera/Interfaces/NeutralElements.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Returns the op that combines the running value of output `index` with a new
/// one. It is the yielded op, and it alone uses the output's block argument, as
/// one of its two operands.
static Operation *getCombiner(linalg::LinalgOp op, unsigned index) {
  Block *body = op.getBlock();
  BlockArgument running = body->getArgument(op.getNumDpsInputs() + index);
  Operation *combiner =
      body->getTerminator()->getOperand(index).getDefiningOp();
  if (!combiner || combiner->getNumOperands() != 2 || !running.hasOneUse() ||
      *running.user_begin() != combiner)
    return nullptr;
  return combiner;
}

/// True if `op` or an op inside it uses one of `values`.
static bool uses(Operation &op, const llvm::DenseSet<Value> &values) {
  WalkResult result = op.walk([&](Operation *inner) {
    bool found = llvm::any_of(inner->getOperands(), [&](Value operand) {
      return values.contains(operand);
    });
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

OpOperand &tessera::getAdded(linalg::LinalgOp op, unsigned index) {
  BlockArgument running =
      op.getBlock()->getArgument(op.getNumDpsInputs() + index);
  Operation *combiner = getCombiner(op, index);
  return combiner->getOpOperand(combiner->getOperand(0) == running ? 1 : 0);
}

/// Returns the reduction that output `index` computes, if it is known to be
/// associative and commutative.
static std::optional<ReductionKind> getReductionKind(linalg::LinalgOp op,
                                                     unsigned index) {
  Operation *combiner = getCombiner(op, index);
  if (!combiner)
    return std::nullopt;
  bool isBool = combiner->getResult(0).getType().isInteger(1);
  if (isa<arith::AddFOp>(combiner) || (isa<arith::AddIOp>(combiner) && !isBool))
    return ReductionKind::Sum;
  // These combiners ignore NaN, but a reduction of partial values does not. A
  // neutral start value ensures that no partial value is NaN.
  Value init = op.getDpsInits()[index];
  if (isa<arith::MaxNumFOp>(combiner) && isNeutral(init, ReductionKind::Max))
    return ReductionKind::Max;
  if (isa<arith::MinNumFOp>(combiner) && isNeutral(init, ReductionKind::Min))
    return ReductionKind::Min;
  return getExtremum(combiner);
}

std::optional<ReductionKind> tessera::getReductionKind(linalg::LinalgOp op) {
  std::optional<ReductionKind> kind;
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i) {
    std::optional<ReductionKind> found = ::getReductionKind(op, i);
    if (!found || (kind && *kind != *found))
      return std::nullopt;
    kind = found;
  }
  llvm::DenseSet<Value> running;
  for (BlockArgument arg : op.getRegionOutputArgs())
    running.insert(arg);
  for (Operation &inner : op.getBlock()->without_terminator())
    if (uses(inner, running))
      running.insert(inner.result_begin(), inner.result_end());
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i)
    if (running.contains(getAdded(op, i).get()))
      return std::nullopt;
  return kind;
}

//===----------------------------------------------------------------------===//
// Partial values
//===----------------------------------------------------------------------===//

bool tessera::yieldsPartial(linalg::LinalgOp op, ReductionKind kind,
                            llvm::DenseSet<Value> partial) {
  for (Operation &inner : op.getBlock()->without_terminator()) {
    if (!uses(inner, partial))
      continue;
    llvm::SmallBitVector bits(inner.getNumOperands());
    for (auto [i, value] : llvm::enumerate(inner.getOperands()))
      bits[i] = partial.contains(value);
    auto iface = dyn_cast<ShardingRuleOpInterface>(inner);
    if (!iface || inner.getNumRegions() != 0 ||
        !iface.commutesWithReduction(kind, bits))
      return false;
    partial.insert(inner.result_begin(), inner.result_end());
  }
  return llvm::all_of(op.getBlock()->getTerminator()->getOperands(),
                      [&](Value value) { return partial.contains(value); });
}

//===----------------------------------------------------------------------===//
// Zeros
//===----------------------------------------------------------------------===//

namespace {
/// The values of a body in the padding of some dimension.
struct PaddingOfBody {
  llvm::DenseSet<Value> zero;
  /// Values not known to be zero. All others have the same value as outside of
  /// padding.
  llvm::DenseSet<Value> other;

  void visit(Operation &op);
};
} // namespace

void PaddingOfBody::visit(Operation &op) {
  bool isOther = isa<linalg::IndexOp>(op) || uses(op, other);
  if (!isOther && !uses(op, zero))
    return;
  llvm::SmallBitVector bits(op.getNumOperands());
  for (auto [i, value] : llvm::enumerate(op.getOperands()))
    bits[i] = zero.contains(value) || isNeutral(value, ReductionKind::Sum);
  bool isZero = !isOther && op.getNumRegions() == 0 && keepsZeros(&op, bits);
  (isZero ? zero : other).insert(op.result_begin(), op.result_end());
}

bool tessera::yieldsZeros(linalg::LinalgOp op,
                          const llvm::SmallBitVector &zeros) {
  PaddingOfBody padding;
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument arg = op.getMatchingBlockArgument(&operand);
    if (zeros.test(operand.getOperandNumber()))
      padding.zero.insert(arg);
    else if (op.isDpsInit(&operand))
      padding.other.insert(arg);
  }
  for (Operation &inner : op.getBlock()->without_terminator())
    padding.visit(inner);
  for (auto [i, init] : llvm::enumerate(op.getDpsInitsMutable())) {
    bool isSum = !zeros.test(init.getOperandNumber()) &&
                 ::getReductionKind(op, i) == ReductionKind::Sum;
    Value value = isSum ? getAdded(op, i).get()
                        : op.getBlock()->getTerminator()->getOperand(i);
    if (!padding.zero.contains(value))
      return false;
  }
  return true;
}
