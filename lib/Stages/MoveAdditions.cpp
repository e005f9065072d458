//===- MoveAdditions.cpp - Reduces before it adds over stages -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tied table has gradients from two stages. If they are added before a
// reduction in each micro-batch, the addition moves after the reduction. Then
// each stage reduces its own gradient, and the addition can leave the
// micro-batch:
//
//     scatter(embedding + head)  -->  scatter(embedding) + scatter(head)
//
//===----------------------------------------------------------------------===//

#include "MoveAdditions.h"
#include "SumOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tessera;

/// The addition of two stages' gradients from which linear ops compute a value;
/// null if there is none. `chain` gets these ops, the last one first.
static Operation *findAddition(Value value, Block &body,
                               const StageAssignment &stages,
                               SmallVectorImpl<Operation *> &chain) {
  Operation *def = value.getDefiningOp();
  while (def && def->getBlock() == &body && isLinear(def) && def->hasOneUse()) {
    chain.push_back(def);
    def = def->getOperand(0).getDefiningOp();
  }
  if (!isa_and_present<arith::AddFOp, arith::AddIOp>(def) ||
      def->getBlock() != &body || !def->hasOneUse())
    return nullptr;
  auto isBackward = [&](Operation *op) {
    return op && op->getBlock() == &body &&
           stages.getClass(op) == TaskClass::Backward;
  };
  Operation *left = def->getOperand(0).getDefiningOp(),
            *right = def->getOperand(1).getDefiningOp();
  bool isApart = isBackward(left) && isBackward(right) &&
                 stages.getStage(left) != stages.getStage(right);
  return isApart ? def : nullptr;
}

void tessera::moveAdditionsLast(dist::AccumulateOp op,
                                const StageAssignment &stages) {
  Block &body = op.getBody().front();
  SmallVector<OpOperand *> open;
  for (OpOperand &yielded : body.getTerminator()->getOpOperands())
    open.push_back(&yielded);
  while (!open.empty()) {
    OpOperand *use = open.pop_back_val();
    SmallVector<Operation *> chain;
    Operation *addition = findAddition(use->get(), body, stages, chain);
    if (!addition)
      continue;
    Value sum;
    if (chain.empty()) {
      sum = addition->getResult(0);
    } else {
      OpBuilder builder(chain.front());
      SmallVector<Value, 2> terms(addition->getOperands());
      for (Value &term : terms)
        for (Operation *linear : llvm::reverse(chain)) {
          IRMapping map;
          map.map(linear->getOperand(0), term);
          term = builder.clone(*linear, map)->getResult(0);
        }
      sum = addValues(builder, addition->getLoc(), terms[0], terms[1]);
      sum.getDefiningOp()->setDiscardableAttrs(
          addition->getDiscardableAttrDictionary());
      use->set(sum);
      for (Operation *linear : chain)
        linear->erase();
      addition->erase();
    }
    for (OpOperand &term : sum.getDefiningOp()->getOpOperands())
      open.push_back(&term);
  }
}
