//===- MaskedReductions.cpp - Reductions that end before padding ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mask in the body of a reduction makes the combination conditional, and LLVM
// does not vectorize it. Padding is at the end, so the loop can stop before it
// and needs no mask.
//
//===----------------------------------------------------------------------===//

#include "MaskedReductions.h"
#include "mlir/IR/Matchers.h"
#include "tessera/Codegen/ReductionLoops.h"

using namespace mlir;
using namespace tessera;

/// True if `combiner` returns its other operand when one operand is `value`.
/// Ignores the sign of a zero: sums start with 0.
static bool isNeutral(Operation *combiner, Value value) {
  if (isa<arith::AddFOp>(combiner))
    return matchPattern(value, m_AnyZeroFloat());
  TypedAttr constant;
  return matchPattern(value, m_Constant(&constant)) &&
         constant == *arith::getNeutralElement(combiner);
}

/// Returns the mask of the value that result number `number` combines. Returns
/// null if there is none, or if the body uses its accumulator otherwise.
static arith::CmpIOp findMask(linalg::GenericOp op, unsigned number) {
  Operation *combiner = getCombiner(op, number);
  if (!combiner)
    return nullptr;
  Value accumulator = op.getMatchingBlockArgument(op.getDpsInitOperand(number));
  bool isFirst = combiner->getOperand(0) == accumulator;
  auto select =
      combiner->getOperand(isFirst ? 1 : 0).getDefiningOp<arith::SelectOp>();
  if (!select || !isNeutral(combiner, select.getFalseValue()))
    return nullptr;
  return select.getCondition().getDefiningOp<arith::CmpIOp>();
}

/// Returns `mask` as the end of a loop.
static std::optional<ReductionEnd> asEnd(linalg::GenericOp op,
                                         arith::CmpIOp mask) {
  APInt end;
  if (mask.getPredicate() != arith::CmpIPredicate::slt ||
      !matchPattern(mask.getRhs(), m_ConstantInt(&end)))
    return std::nullopt;
  Value position = mask.getLhs();
  if (auto cast = position.getDefiningOp<arith::IndexCastOp>())
    position = cast.getIn();
  ReductionEnd result;
  result.end = end.getSExtValue();
  result.masks.push_back(mask);
  if (auto sum = position.getDefiningOp<arith::AddIOp>()) {
    position = sum.getLhs();
    result.offset = sum.getRhs();
    // A position computed in the body is unknown before the loop.
    if (result.offset.getParentBlock() == op.getBody())
      return std::nullopt;
  }
  auto index = position.getDefiningOp<linalg::IndexOp>();
  if (!index || op.getIteratorTypesArray()[index.getDim()] !=
                    utils::IteratorType::reduction)
    return std::nullopt;
  result.loop = index.getDim();
  return result;
}

std::optional<ReductionEnd> tessera::findReductionEnd(linalg::GenericOp op) {
  std::optional<ReductionEnd> end;
  if (!op.getNumReductionLoops())
    return std::nullopt;
  for (unsigned i = 0, e = op.getNumResults(); i < e; ++i) {
    arith::CmpIOp mask = findMask(op, i);
    std::optional<ReductionEnd> next =
        mask ? asEnd(op, mask) : std::optional<ReductionEnd>();
    if (!next)
      return std::nullopt;
    if (!end) {
      end = next;
      continue;
    }
    if (end->loop != next->loop || end->offset != next->offset ||
        end->end != next->end)
      return std::nullopt;
    if (!llvm::is_contained(end->masks, mask))
      end->masks.push_back(mask);
  }
  return end;
}
