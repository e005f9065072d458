//===- Expansion.cpp - Foreign ops and their meanings ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Interfaces/Expansion.h"
#include "UpstreamModels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tessera;

template <typename... Dialects>
static void markModelled(DialectRegistry &registry) {
  (registry.addExtension(+[](MLIRContext *, Dialects *dialect) {
    dialect->template addInterfaces<ModelledDialect>();
  }),
   ...);
}

void tessera::registerModelledDialects(DialectRegistry &registry) {
  markModelled<arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect,
               math::MathDialect, scf::SCFDialect, tensor::TensorDialect>(
      registry);
}

bool tessera::isForeign(Operation *op) {
  Dialect *dialect = op->getDialect();
  return !dialect || !dialect->getRegisteredInterface<ModelledDialect>();
}

bool tessera::hasMeaning(Operation *op) {
  return isa<linalg::AggregatedOpInterface>(op) && isForeign(op);
}

/// Checks the values that a meaning gives for the results of `op`.
static LogicalResult checkValues(Operation *op, ArrayRef<Value> values) {
  if (values.size() != op->getNumResults())
    return op->emitOpError("expects a meaning of ")
           << op->getNumResults() << " values but got " << values.size();
  for (auto [i, value] : llvm::enumerate(values))
    if (!value || value.getType() != op->getResult(i).getType())
      return op->emitOpError("expects a meaning with value ")
             << i << " of type " << op->getResult(i).getType() << " but got "
             << (value ? value.getType() : Type());
  return success();
}

FailureOr<SmallVector<Value>> tessera::expand(Operation *op) {
  OpBuilder builder(op);
  FailureOr<SmallVector<Value>> values =
      cast<linalg::AggregatedOpInterface>(op).decomposeOperation(builder);
  if (failed(values))
    return op->emitOpError("expects a meaning (decomposeOperation) but got a "
                           "failure");
  if (failed(checkValues(op, *values)))
    return failure();
  return values;
}

namespace {
/// Expands ops, depth first.
class Expander {
public:
  Expander(llvm::function_ref<bool(Operation *)> filter,
           OnExpansion onExpansion)
      : filter(filter), onExpansion(onExpansion) {}

  LogicalResult run(Operation *op);

private:
  llvm::function_ref<bool(Operation *)> filter;
  OnExpansion onExpansion;
  /// The names of the ops whose meanings are being expanded into each other.
  SmallVector<OperationName> active;
};
} // namespace

/// Returns the ops after `before` (or from the block's begin) up to `end`.
static SmallVector<Operation *> getOpsBetween(Operation *before,
                                              Operation *end) {
  Block::iterator it =
      before ? std::next(before->getIterator()) : end->getBlock()->begin();
  SmallVector<Operation *> ops;
  for (; it != end->getIterator(); ++it)
    ops.push_back(&*it);
  return ops;
}

LogicalResult Expander::run(Operation *op) {
  if (llvm::is_contained(active, op->getName()))
    return op->emitOpError("expects a meaning without the op itself but got ")
           << op->getName() << " in the meaning of "
           << active.back().getStringRef();
  Operation *before = op->getPrevNode();
  FailureOr<SmallVector<Value>> values = expand(op);
  if (failed(values))
    return failure();
  SmallVector<Operation *> made = getOpsBetween(before, op);
  if (onExpansion)
    onExpansion(op, made, *values);
  active.push_back(op->getName());
  op->replaceAllUsesWith(*values);
  op->erase();
  for (Operation *part : made) {
    SmallVector<Operation *> inner;
    part->walk([&](Operation *each) {
      if (hasMeaning(each) && filter(each))
        inner.push_back(each);
    });
    for (Operation *each : inner)
      if (failed(run(each)))
        return failure();
  }
  active.pop_back();
  return success();
}

LogicalResult tessera::expandOps(Operation *root,
                                 llvm::function_ref<bool(Operation *)> filter,
                                 OnExpansion onExpansion) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (hasMeaning(op) && filter(op))
      ops.push_back(op);
  });
  Expander expander(filter, onExpansion);
  for (Operation *op : ops)
    if (failed(expander.run(op)))
      return failure();
  return success();
}

FailureOr<SmallVector<Value>>
tessera::decompose(ShardingRuleOpInterface op, OpBuilder &builder,
                   const llvm::SmallBitVector &factors) {
  FailureOr<SmallVector<Value>> values = op.decompose(builder, factors);
  if (failed(values) && hasMeaning(op))
    return expand(op);
  return values;
}
